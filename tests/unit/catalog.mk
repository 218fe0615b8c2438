# Tests of the room catalog.
TEST_RUNNERS += tests/unit/test_catalog
tests_unit_test_catalog_SOURCES = tests/unit/test_catalog.c
tests_unit_test_catalog_CFLAGS = $(TEST_CFLAGS) $(SQLITE_CFLAGS)
tests_unit_test_catalog_LDADD = libtestlib.a libcatalog.a libbase.a $(CHECK_LIBS) $(SQLITE_LIBS) \
	$(JANSSON_LIBS) $(NETTLE_LIBS)
