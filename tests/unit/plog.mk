# SPDX-License-Identifier: Apache-2.0
# Tests of the rooms disk and plog, and the disk that fails for them.
TEST_RUNNERS += tests/unit/test_disk
tests_unit_test_disk_SOURCES = tests/unit/test_disk.c
tests_unit_test_disk_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_disk_LDADD = libtestlib.a libdisk.a libbase.a $(CHECK_LIBS)

check_LIBRARIES += libplogtest.a
libplogtest_a_SOURCES = tests/lib/fault_disk.c tests/lib/fault_disk.h tests/lib/plog_model.c \
	tests/lib/plog_model.h
libplogtest_a_CFLAGS = $(TEST_CFLAGS)

TEST_RUNNERS += tests/unit/test_plog_history
tests_unit_test_plog_history_SOURCES = tests/unit/test_plog_history.c
tests_unit_test_plog_history_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_plog_history_LDADD = libtestlib.a libplogtest.a libplog.a libdisk.a libbase.a \
	$(CHECK_LIBS)

# Not run by check: make tests/bench/bench_plog.
EXTRA_PROGRAMS = tests/bench/bench_plog
tests_bench_bench_plog_SOURCES = tests/bench/bench_plog.c
tests_bench_bench_plog_CFLAGS = $(TEST_CFLAGS)
tests_bench_bench_plog_LDADD = libplog.a libdisk.a libbase.a

# Nor this: make tests/bench/bench_topics.
EXTRA_PROGRAMS += tests/bench/bench_topics
tests_bench_bench_topics_SOURCES = tests/bench/bench_topics.c
tests_bench_bench_topics_CFLAGS = $(TEST_CFLAGS)
tests_bench_bench_topics_LDADD = libbase.a

TEST_RUNNERS += tests/unit/test_plog
tests_unit_test_plog_SOURCES = tests/unit/test_plog.c tests/unit/test_plog_marks.c \
	tests/unit/test_plog_marks.h
tests_unit_test_plog_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_plog_LDADD = libtestlib.a libplogtest.a libplog.a libdisk.a libbase.a $(CHECK_LIBS)

TEST_RUNNERS += tests/unit/test_plog_kept
tests_unit_test_plog_kept_SOURCES = tests/unit/test_plog_kept.c
tests_unit_test_plog_kept_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_plog_kept_LDADD = libtestlib.a libplogtest.a libplog.a libdisk.a libbase.a \
	$(CHECK_LIBS)

TEST_RUNNERS += tests/unit/test_plog_journal
tests_unit_test_plog_journal_SOURCES = tests/unit/test_plog_journal.c
tests_unit_test_plog_journal_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_plog_journal_LDADD = libtestlib.a libplogtest.a libplog.a libdisk.a libbase.a \
	$(CHECK_LIBS)

TEST_RUNNERS += tests/unit/test_plog_clean
tests_unit_test_plog_clean_SOURCES = tests/unit/test_plog_clean.c \
	tests/unit/test_plog_clean_faults.c tests/unit/plog_clean_fixture.c \
	tests/unit/plog_clean_fixture.h
tests_unit_test_plog_clean_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_plog_clean_LDADD = libtestlib.a libplogtest.a libplog.a libdisk.a libbase.a \
	$(CHECK_LIBS)

TEST_RUNNERS += tests/unit/test_plog_many
tests_unit_test_plog_many_SOURCES = tests/unit/test_plog_many.c
tests_unit_test_plog_many_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_plog_many_LDADD = libtestlib.a libplogtest.a libplog.a libdisk.a libbase.a \
	$(CHECK_LIBS)

TEST_RUNNERS += tests/unit/test_plog_copy
tests_unit_test_plog_copy_SOURCES = tests/unit/test_plog_copy.c
tests_unit_test_plog_copy_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_plog_copy_LDADD = libtestlib.a libplogtest.a libplog.a libdisk.a libbase.a \
	$(CHECK_LIBS)

TEST_RUNNERS += tests/unit/test_plog_copies
tests_unit_test_plog_copies_SOURCES = tests/unit/test_plog_copies.c
tests_unit_test_plog_copies_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_plog_copies_LDADD = libtestlib.a libplogtest.a libplog.a libdisk.a libbase.a \
	$(CHECK_LIBS)

TEST_RUNNERS += tests/unit/test_plog_cut
tests_unit_test_plog_cut_SOURCES = tests/unit/test_plog_cut.c
tests_unit_test_plog_cut_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_plog_cut_LDADD = libtestlib.a libplogtest.a liboffline.a libplog.a libdisk.a \
	libbase.a $(CHECK_LIBS) $(NETTLE_LIBS)
