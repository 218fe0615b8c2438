# SPDX-License-Identifier: Apache-2.0
# Tests of the room http.
TEST_RUNNERS += tests/unit/test_http tests/unit/test_http_park tests/unit/test_http_shapes
http_test_libs = libtestlib.a libhttp.a libbase.a $(CHECK_LIBS) $(MHD_LIBS) $(NETTLE_LIBS)
tests_unit_test_http_SOURCES = tests/unit/test_http.c tests/unit/http_fixture.c \
	tests/unit/http_fixture.h
tests_unit_test_http_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_http_LDADD = $(http_test_libs)
tests_unit_test_http_park_SOURCES = tests/unit/test_http_park.c tests/unit/http_fixture.c \
	tests/unit/http_fixture.h
tests_unit_test_http_park_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_http_park_LDADD = $(http_test_libs)
tests_unit_test_http_shapes_SOURCES = tests/unit/test_http_shapes.c tests/unit/http_fixture.c \
	tests/unit/http_fixture.h
tests_unit_test_http_shapes_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_http_shapes_LDADD = $(http_test_libs)
