# SPDX-License-Identifier: Apache-2.0
# Tests of the room cluster.
CLUSTER_TEST_LIBS = libtestlib.a libcluster.a libcatalog.a libreplica.a libbase.a $(CHECK_LIBS) \
	$(SQLITE_LIBS) $(JANSSON_LIBS) $(NETTLE_LIBS) $(CURL_LIBS)
TEST_RUNNERS += tests/unit/test_cluster_view tests/unit/test_cluster_control tests/unit/test_cluster \
	tests/unit/test_cluster_queue tests/unit/test_cluster_suspect tests/unit/test_cluster_swap

tests_unit_test_cluster_view_SOURCES = tests/unit/test_cluster_view.c
tests_unit_test_cluster_view_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_cluster_view_LDADD = $(CLUSTER_TEST_LIBS)

tests_unit_test_cluster_suspect_SOURCES = tests/unit/test_cluster_suspect.c
tests_unit_test_cluster_suspect_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_cluster_suspect_LDADD = $(CLUSTER_TEST_LIBS)

tests_unit_test_cluster_swap_SOURCES = tests/unit/test_cluster_swap.c
tests_unit_test_cluster_swap_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_cluster_swap_LDADD = $(CLUSTER_TEST_LIBS)

tests_unit_test_cluster_control_SOURCES = tests/unit/test_cluster_control.c
tests_unit_test_cluster_control_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_cluster_control_LDADD = $(CLUSTER_TEST_LIBS)

# The queue is a double, so nothing above cluster and nothing of the queue is linked.
tests_unit_test_cluster_SOURCES = tests/unit/test_cluster.c tests/unit/cluster_told.c \
	tests/unit/cluster_told.h tests/lib/fault_disk.c tests/lib/fault_disk.h
tests_unit_test_cluster_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_cluster_LDADD = libtestlib.a libcluster.a libclusterdata.a libpeer.a libhttp.a libcatalog.a \
	libreplica.a libbase.a $(CHECK_LIBS) $(SQLITE_LIBS) $(JANSSON_LIBS) $(CURL_LIBS) \
	$(MHD_LIBS) $(NETTLE_LIBS)

tests_unit_test_cluster_queue_SOURCES = tests/unit/test_cluster_queue.c
tests_unit_test_cluster_queue_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_cluster_queue_LDADD = libtestlib.a libplogtest.a libcluster.a libclusterdata.a \
	libpeer.a libhttp.a libqueue.a libcatalog.a libreplica.a libpartition.a libplog.a libdisk.a \
	libbase.a $(CHECK_LIBS) $(SQLITE_LIBS) $(JANSSON_LIBS) $(CURL_LIBS) $(MHD_LIBS) $(NETTLE_LIBS)
