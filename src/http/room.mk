# SPDX-License-Identifier: Apache-2.0
noinst_LIBRARIES += libhttp.a
libhttp_a_CFLAGS = $(AM_CFLAGS) $(MHD_CFLAGS)
libhttp_a_SOURCES = %D%/conn.c %D%/head.c %D%/head.h %D%/http.h %D%/inside.h %D%/listen.c \
	%D%/loop.c %D%/mailbox.c %D%/mailbox.h %D%/park.c %D%/receive.c %D%/reply.c %D%/request.c \
	%D%/server.c
