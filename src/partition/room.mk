# SPDX-License-Identifier: Apache-2.0
noinst_LIBRARIES += libpartition.a
libpartition_a_CFLAGS = $(AM_CFLAGS)
libpartition_a_SOURCES = %D%/apply.c %D%/codec.h %D%/count.c %D%/dedup.c %D%/dedup.h \
	%D%/delayed.c %D%/delays.c %D%/delays.h %D%/fronts.c %D%/fronts.h %D%/order.c %D%/order.h \
	%D%/group.c %D%/live.c %D%/look.c %D%/look.h %D%/map.c %D%/map.h %D%/moves.c %D%/origins.c %D%/origins.h \
	%D%/partition.c %D%/partition.h %D%/plan_fair.c %D%/plan_fifo.c %D%/plan_receipt.c \
	%D%/plan_receive.c %D%/plan_receive.h %D%/record.c %D%/record.h \
	%D%/record_message.c %D%/record_message.h %D%/record_runs.c %D%/runs.c %D%/runs.h \
	%D%/snapshot.c %D%/snapshot.h %D%/snapshot_load.c %D%/state.h %D%/window.c \
	%D%/wanted.c %D%/window.h %D%/window_due.c %D%/window_state.h
