# SPDX-License-Identifier: Apache-2.0
# Tests of the room bench.
TEST_RUNNERS += tests/unit/test_bench
tests_unit_test_bench_SOURCES = tests/unit/test_bench.c
tests_unit_test_bench_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_bench_LDADD = libtestlib.a libbench.a libbase.a $(CHECK_LIBS) $(NETTLE_LIBS)
