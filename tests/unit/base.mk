# Tests of the room base.
TEST_RUNNERS += tests/unit/test_base
tests_unit_test_base_SOURCES = tests/unit/test_base.c
tests_unit_test_base_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_base_LDADD = libtestlib.a libbase.a $(CHECK_LIBS) $(NETTLE_LIBS)
