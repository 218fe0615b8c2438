# SPDX-License-Identifier: Apache-2.0
# Tests of the data side of the room cluster; the room queue is played by a double.
CLUSTER_DATA_LIBS = libtestlib.a libclusterdata.a libpeer.a libhttp.a libreplica.a libbase.a \
	$(CHECK_LIBS) $(CURL_LIBS) $(MHD_LIBS) $(NETTLE_LIBS)
TEST_RUNNERS += tests/unit/test_cluster_data
tests_unit_test_cluster_data_SOURCES = tests/unit/test_cluster_data.c tests/unit/cluster_double.c \
	tests/unit/cluster_double.h
tests_unit_test_cluster_data_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_cluster_data_LDADD = $(CLUSTER_DATA_LIBS)

# Not run by check: make tests/bench/bench_fetch.
EXTRA_PROGRAMS += tests/bench/bench_fetch
tests_bench_bench_fetch_SOURCES = tests/bench/bench_fetch.c tests/unit/cluster_double.c \
	tests/unit/cluster_double.h
tests_bench_bench_fetch_CFLAGS = $(TEST_CFLAGS)
tests_bench_bench_fetch_LDADD = libclusterdata.a libpeer.a libhttp.a libreplica.a libbase.a $(CURL_LIBS) \
	$(MHD_LIBS) $(NETTLE_LIBS)
