# SPDX-License-Identifier: Apache-2.0
# Tests of the room rest: its pure parts. The rest of it is tested with the real server.
TEST_RUNNERS += tests/unit/test_rest tests/unit/test_rest_settings
REST_TEST_LIBS = libtestlib.a librest.a libfront.a libhttp.a libqueue.a libcatalog.a libreplica.a libpartition.a \
	libplog.a libdisk.a libbase.a $(CHECK_LIBS) $(MHD_LIBS) $(SQLITE_LIBS) $(JANSSON_LIBS) $(NETTLE_LIBS)
tests_unit_test_rest_SOURCES = tests/unit/test_rest.c
tests_unit_test_rest_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_rest_LDADD = $(REST_TEST_LIBS)
tests_unit_test_rest_settings_SOURCES = tests/unit/test_rest_settings.c
tests_unit_test_rest_settings_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_rest_settings_LDADD = $(REST_TEST_LIBS)
