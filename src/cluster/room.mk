# SPDX-License-Identifier: Apache-2.0
noinst_LIBRARIES += libcluster.a
libcluster_a_CFLAGS = $(AM_CFLAGS) $(JANSSON_CFLAGS)
libcluster_a_SOURCES = %D%/cluster.h %D%/control.c %D%/control.h %D%/election.c %D%/election.h \
	%D%/keys.c %D%/keys.h %D%/place.c %D%/place.h %D%/view.c %D%/view.h
