# SPDX-License-Identifier: Apache-2.0
noinst_LIBRARIES += libcluster.a
libcluster_a_CFLAGS = $(AM_CFLAGS)
libcluster_a_SOURCES = %D%/cluster.h %D%/fetcher.c %D%/fetcher.h %D%/parked.c %D%/parked.h %D%/serve.c %D%/serve.h \
	%D%/snapshots.c %D%/snapshots.h
