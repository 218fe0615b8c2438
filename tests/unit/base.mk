# SPDX-License-Identifier: Apache-2.0
# Tests of the room base.
BASE_TEST_LIBS = libtestlib.a libbase.a $(CHECK_LIBS) $(NETTLE_LIBS)
TEST_RUNNERS += tests/unit/test_base tests/unit/test_codec tests/unit/test_json
tests_unit_test_base_SOURCES = tests/unit/test_base.c
tests_unit_test_base_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_base_LDADD = $(BASE_TEST_LIBS)
tests_unit_test_codec_SOURCES = tests/unit/test_codec.c
tests_unit_test_codec_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_codec_LDADD = $(BASE_TEST_LIBS)
tests_unit_test_json_SOURCES = tests/unit/test_json.c
tests_unit_test_json_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_json_LDADD = $(BASE_TEST_LIBS)

# Our JSON parser against jansson's; fuzz_json N for more than the usual 20,000 texts.
check_PROGRAMS += tests/fuzz/fuzz_json
TESTS += tests/fuzz/fuzz_json
tests_fuzz_fuzz_json_SOURCES = tests/fuzz/fuzz_json.c tests/fuzz/json_against.c \
	tests/fuzz/json_against.h
tests_fuzz_fuzz_json_CFLAGS = $(TEST_CFLAGS) $(JANSSON_CFLAGS)
tests_fuzz_fuzz_json_LDADD = libbase.a $(JANSSON_LIBS) $(NETTLE_LIBS)
