# SPDX-License-Identifier: Apache-2.0
noinst_LIBRARIES += libcli.a
libcli_a_CFLAGS = $(AM_CFLAGS) $(CURL_CFLAGS) $(JANSSON_CFLAGS)
libcli_a_SOURCES = %D%/answer.c %D%/answer.h %D%/args.c %D%/args.h %D%/cli.c %D%/cli.h \
	%D%/client.c %D%/client.h %D%/health.c %D%/help.c %D%/help.h %D%/input.c %D%/input.h \
	%D%/receive.c %D%/run.h %D%/send.c %D%/text.c %D%/text.h %D%/topics.c
EXTRA_DIST += api/cli_commands.def api/cli_options.def
