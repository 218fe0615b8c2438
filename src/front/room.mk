# SPDX-License-Identifier: Apache-2.0
noinst_LIBRARIES += libfront.a
libfront_a_CFLAGS = $(AM_CFLAGS) $(JANSSON_CFLAGS)
libfront_a_SOURCES = %D%/call.c %D%/call.h %D%/links.h %D%/poll.c %D%/poll.h %D%/rules.c %D%/rules.h %D%/verbs.c %D%/verbs.h
