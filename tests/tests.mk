# SPDX-License-Identifier: Apache-2.0
# A room's test links only the rooms below it, so the linker catches an arrow that points upward.
TEST_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS) -I$(top_srcdir)/tests -Wno-conversion
TEST_EXTENSIONS = .sh
SH_LOG_COMPILER = $(SHELL)
AM_TESTS_ENVIRONMENT = builddir='$(abs_builddir)'; srcdir='$(abs_srcdir)'; export builddir srcdir;

if HAVE_CHECK
check_LIBRARIES += libtestlib.a
libtestlib_a_SOURCES = %D%/lib/fake_clock.c %D%/lib/fake_clock.h %D%/lib/folder.c \
	%D%/lib/folder.h %D%/lib/http_client.c %D%/lib/http_client.h %D%/lib/mark.c \
	%D%/lib/runner.c %D%/lib/runner.h
libtestlib_a_CFLAGS = $(TEST_CFLAGS)
TEST_RUNNERS =
include tests/unit/base.mk
include tests/unit/plog.mk
include tests/unit/partition.mk
include tests/unit/replica.mk
include tests/unit/catalog.mk
include tests/unit/queue.mk
include tests/unit/http.mk
include tests/unit/peer.mk
include tests/unit/cluster.mk
include tests/unit/cluster_data.mk
include tests/unit/front.mk
include tests/unit/route.mk
include tests/unit/sqs.mk
include tests/unit/rest.mk
include tests/sim/sim.mk
include tests/sim/replica/replica.mk
include tests/sim/cluster/cluster.mk
include tests/compat/compat.mk
include tests/unit/bench.mk
include tests/unit/cli.mk
include tests/fuzz/fuzz.mk
include tests/bench/bench.mk
check_PROGRAMS += $(TEST_RUNNERS)
TESTS += $(TEST_RUNNERS)
endif
include tests/integration/integration.mk
include tests/cluster/cluster.mk
