# SPDX-License-Identifier: Apache-2.0
# Tests of the room catalog.
TEST_RUNNERS += tests/unit/test_catalog tests/unit/test_catalog_copy tests/unit/test_catalog_etcd \
	tests/unit/test_topic
tests_unit_test_catalog_SOURCES = tests/unit/test_catalog.c tests/unit/catalog_contract.c \
	tests/unit/catalog_contract.h tests/unit/catalog_live.c tests/unit/catalog_live.h
tests_unit_test_catalog_CFLAGS = $(TEST_CFLAGS) $(SQLITE_CFLAGS)
tests_unit_test_catalog_LDADD = libtestlib.a libcatalog.a libbase.a $(CHECK_LIBS) $(SQLITE_LIBS) \
	$(JANSSON_LIBS) $(NETTLE_LIBS) $(CURL_LIBS)

tests_unit_test_topic_SOURCES = tests/unit/test_topic.c
tests_unit_test_topic_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_topic_LDADD = libtestlib.a libcatalog.a libbase.a $(CHECK_LIBS) $(SQLITE_LIBS) \
	$(JANSSON_LIBS) $(NETTLE_LIBS) $(CURL_LIBS)

tests_unit_test_catalog_etcd_SOURCES = tests/unit/test_catalog_etcd.c tests/unit/catalog_contract.c \
	tests/unit/catalog_contract.h tests/unit/catalog_live.c tests/unit/catalog_live.h \
	tests/unit/etcd_process.c tests/unit/etcd_process.h
tests_unit_test_catalog_etcd_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_catalog_etcd_LDADD = libtestlib.a libcatalog.a libbase.a $(CHECK_LIBS) $(SQLITE_LIBS) \
	$(JANSSON_LIBS) $(NETTLE_LIBS) $(CURL_LIBS)

tests_unit_test_catalog_copy_SOURCES = tests/unit/test_catalog_copy.c
tests_unit_test_catalog_copy_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_catalog_copy_LDADD = libtestlib.a libcatalog.a libbase.a $(CHECK_LIBS) $(SQLITE_LIBS) \
	$(JANSSON_LIBS) $(NETTLE_LIBS) $(CURL_LIBS)

# Several members, certificates, a full database: minutes of waiting for real time-outs, so it is a
# stage of scripts/check-long and no test of make check.
check_PROGRAMS += tests/unit/long_catalog_members
tests_unit_long_catalog_members_SOURCES = tests/unit/long_catalog_members.c \
	tests/unit/catalog_contract.c tests/unit/catalog_contract.h tests/unit/catalog_live.c \
	tests/unit/catalog_live.h tests/unit/etcd_process.c tests/unit/etcd_process.h
tests_unit_long_catalog_members_CFLAGS = $(TEST_CFLAGS)
tests_unit_long_catalog_members_LDADD = libtestlib.a libcatalog.a libbase.a $(CHECK_LIBS) $(SQLITE_LIBS) \
	$(JANSSON_LIBS) $(NETTLE_LIBS) $(CURL_LIBS)
