# SPDX-License-Identifier: Apache-2.0
# Tests of the room catalog.
TEST_RUNNERS += tests/unit/test_catalog tests/unit/test_topic
tests_unit_test_catalog_SOURCES = tests/unit/test_catalog.c
tests_unit_test_catalog_CFLAGS = $(TEST_CFLAGS) $(SQLITE_CFLAGS)
tests_unit_test_catalog_LDADD = libtestlib.a libcatalog.a libbase.a $(CHECK_LIBS) $(SQLITE_LIBS) \
	$(JANSSON_LIBS) $(NETTLE_LIBS)

tests_unit_test_topic_SOURCES = tests/unit/test_topic.c
tests_unit_test_topic_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_topic_LDADD = libtestlib.a libcatalog.a libbase.a $(CHECK_LIBS) $(SQLITE_LIBS) \
	$(JANSSON_LIBS) $(NETTLE_LIBS)
