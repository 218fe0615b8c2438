# SPDX-License-Identifier: Apache-2.0
# Tests of the room front, which play http and queue themselves.
TEST_RUNNERS += tests/unit/test_front
tests_unit_test_front_SOURCES = tests/unit/test_front.c
tests_unit_test_front_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_front_LDADD = libtestlib.a libfront.a libbase.a $(CHECK_LIBS) \
	$(JANSSON_LIBS) $(NETTLE_LIBS)
