# SPDX-License-Identifier: Apache-2.0
# The data side of the room cluster: what carries batches between brokers. A library of its own, since
# it needs nothing of the catalogue.
noinst_LIBRARIES += libclusterdata.a
libclusterdata_a_CFLAGS = $(AM_CFLAGS)
libclusterdata_a_SOURCES = %D%/conversation.c %D%/conversation.h %D%/fetcher.c %D%/fetcher.h %D%/parked.c \
	%D%/parked.h %D%/serve.c %D%/serve.h %D%/snapshots.c %D%/snapshots.h \
	%D%/worker.c %D%/worker.h
EXTRA_DIST += %D%/DATA.md
