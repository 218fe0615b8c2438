# SPDX-License-Identifier: Apache-2.0
noinst_LIBRARIES += libqueue.a
libqueue_a_CFLAGS = $(AM_CFLAGS) $(NETTLE_CFLAGS) $(JANSSON_CFLAGS)
libqueue_a_SOURCES = %D%/account.c %D%/advice.c %D%/attempt.c %D%/clean.c %D%/commit.c %D%/compact.c %D%/copies.h %D%/copy.c %D%/copy_events.c %D%/copy_inside.h %D%/copy_redrive.c %D%/copy_serve.c \
	%D%/copy_topic.c %D%/copy_work.c %D%/finish.c %D%/hand_over.c %D%/hand_over.h %D%/heads.c \
	%D%/housekeeper.c %D%/jobs.c %D%/keep.c %D%/key_map.c %D%/key_map.h %D%/limit.c %D%/look.c %D%/move.c %D%/move_take.c \
	%D%/move_trip.c %D%/oldest.c \
	%D%/open.c %D%/partition.c %D%/peek.c %D%/poll.c %D%/queue.h %D%/read.c %D%/records.c %D%/receipt.c \
	%D%/receive.c %D%/redrive.c %D%/retention.c %D%/secret.c %D%/send.c %D%/snapshot.c %D%/space.c %D%/spread.h %D%/state.h \
	%D%/time.c %D%/topic.c %D%/topic_change.c %D%/wait.c %D%/window.c
EXTRA_DIST += %D%/COPIES.md
