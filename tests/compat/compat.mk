# SPDX-License-Identifier: Apache-2.0
# Data directories of earlier formats.
TEST_RUNNERS += tests/compat/test_compat
tests_compat_test_compat_SOURCES = tests/compat/test_compat.c tests/unit/queue_fixture.c \
	tests/unit/queue_fixture.h
tests_compat_test_compat_CFLAGS = $(TEST_CFLAGS)
tests_compat_test_compat_LDADD = $(QUEUE_TEST_LIBS)
EXTRA_DIST += tests/compat/format-1.tar.gz tests/compat/README.md
