# SPDX-License-Identifier: Apache-2.0
# Tests of the room queue.
QUEUE_TEST_LIBS = libtestlib.a libqueue.a libcatalog.a libreplica.a libpartition.a libplog.a libdisk.a libbase.a \
	$(CHECK_LIBS) $(SQLITE_LIBS) $(JANSSON_LIBS) $(NETTLE_LIBS)

TEST_RUNNERS += tests/unit/test_queue
tests_unit_test_queue_SOURCES = tests/unit/queue_fixture.c tests/unit/queue_fixture.h \
	tests/unit/test_queue.c tests/unit/test_queue_clean.c tests/unit/test_queue_fifo.c \
	tests/unit/test_queue_history.c tests/unit/test_queue_keep.c tests/unit/test_queue_limit.c tests/unit/test_queue_look.c tests/unit/test_queue_moves.c \
	tests/unit/test_queue_polls.c tests/unit/test_queue_redrive.c tests/unit/test_queue_restart.c \
	tests/unit/test_queue_send.c tests/unit/test_queue_spread.c tests/unit/test_queue_topics.c \
	tests/unit/test_queue_verbs.c tests/unit/test_queue_window.c
tests_unit_test_queue_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_queue_LDADD = $(QUEUE_TEST_LIBS)

TEST_RUNNERS += tests/unit/test_queue_threads
tests_unit_test_queue_threads_SOURCES = tests/unit/test_queue_threads.c
tests_unit_test_queue_threads_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_queue_threads_LDADD = $(QUEUE_TEST_LIBS)

TEST_RUNNERS += tests/unit/test_queue_growth
tests_unit_test_queue_growth_SOURCES = tests/unit/queue_fixture.c tests/unit/queue_fixture.h \
	tests/unit/test_queue_growth.c
tests_unit_test_queue_growth_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_queue_growth_LDADD = $(QUEUE_TEST_LIBS)

TEST_RUNNERS += tests/unit/test_compact
tests_unit_test_compact_SOURCES = tests/unit/queue_fixture.c tests/unit/queue_fixture.h \
	tests/unit/test_compact.c
tests_unit_test_compact_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_compact_LDADD = liboffline.a libplogtest.a $(QUEUE_TEST_LIBS)

TEST_RUNNERS += tests/unit/test_copies
tests_unit_test_copies_SOURCES = tests/unit/copies_fixture.c tests/unit/copies_fixture.h \
	tests/unit/copies_verbs.c \
	tests/unit/test_copies.c tests/unit/test_copies_repeat.c \
	tests/unit/test_copies_rot.c
tests_unit_test_copies_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_copies_LDADD = libplogtest.a $(QUEUE_TEST_LIBS)

TEST_RUNNERS += tests/unit/test_copies_moves
tests_unit_test_copies_moves_SOURCES = tests/unit/copies_fixture.c tests/unit/copies_fixture.h \
	tests/unit/copies_verbs.c \
	tests/unit/test_copies_moves.c
tests_unit_test_copies_moves_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_copies_moves_LDADD = libplogtest.a $(QUEUE_TEST_LIBS)

TEST_RUNNERS += tests/unit/test_copies_random
tests_unit_test_copies_random_SOURCES = tests/unit/copies_fixture.c tests/unit/copies_fixture.h \
	tests/unit/copies_verbs.c \
	tests/unit/test_copies_random.c
tests_unit_test_copies_random_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_copies_random_LDADD = libplogtest.a $(QUEUE_TEST_LIBS)
