# SPDX-License-Identifier: Apache-2.0
noinst_LIBRARIES += libcluster.a
libcluster_a_CFLAGS = $(AM_CFLAGS) $(JANSSON_CFLAGS)
libcluster_a_SOURCES = %D%/admin.c %D%/admin.h %D%/adopt.c %D%/adopt.h %D%/cluster.c %D%/cluster.h %D%/control.c %D%/control.h %D%/data.c %D%/data.h \
	%D%/election.c %D%/election.h %D%/file.c %D%/file.h %D%/inside.h %D%/keys.c %D%/keys.h %D%/knock.c \
	%D%/member.c %D%/member.h %D%/place.c %D%/place.h %D%/reign.c %D%/show.c %D%/suspect.c \
	%D%/suspect.h %D%/swap.c %D%/swap.h %D%/view.c %D%/view.h %D%/work.c
