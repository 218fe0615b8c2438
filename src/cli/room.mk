# SPDX-License-Identifier: Apache-2.0
noinst_LIBRARIES += libcli.a
libcli_a_CFLAGS = $(AM_CFLAGS) $(CURL_CFLAGS) $(JANSSON_CFLAGS)
libcli_a_SOURCES = %D%/answer.c %D%/answer.h %D%/args.c %D%/args.h %D%/bench.c %D%/bench_report.c %D%/bench_report.h %D%/body.c %D%/body.h %D%/cli.c %D%/cli.h \
	%D%/client.c %D%/client.h %D%/cluster.c %D%/completion.c %D%/completion.h %D%/groups.c %D%/health.c \
	%D%/help.c %D%/help.h %D%/input.c %D%/input.h %D%/job.c %D%/job.h %D%/job_env.c \
	%D%/job_env.h %D%/lease.c %D%/lease.h %D%/man.c %D%/man.h %D%/offline_commands.c %D%/offline_commands.h %D%/peek.c %D%/purge.c \
	%D%/receive.c %D%/run.h %D%/send.c %D%/serve_options.c %D%/serve_options.h \
	%D%/signals.c %D%/signals.h %D%/table.c %D%/table.h %D%/text.c %D%/text.h %D%/topics.c \
	%D%/work.c %D%/work.h
EXTRA_DIST += api/cli_commands.def api/cli_exits.def api/cli_options.def

# The manual page says what the program says of itself, so it is made by it.
nodist_man_MANS = leaselog.1
CLEANFILES += leaselog.1
leaselog.1: leaselog$(EXEEXT)
	$(AM_V_GEN)./leaselog$(EXEEXT) help --man >$@.tmp && mv $@.tmp $@
