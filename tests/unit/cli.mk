# SPDX-License-Identifier: Apache-2.0
# Tests of the room cli.
TEST_RUNNERS += tests/unit/test_cli tests/unit/test_cli_texts
cli_test_libs = libtestlib.a libcli.a libbench.a libbase.a $(CHECK_LIBS) $(CURL_LIBS) $(JANSSON_LIBS) \
	$(NETTLE_LIBS)
tests_unit_test_cli_SOURCES = tests/unit/test_cli.c
tests_unit_test_cli_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_cli_LDADD = $(cli_test_libs)
tests_unit_test_cli_texts_SOURCES = tests/unit/test_cli_texts.c
tests_unit_test_cli_texts_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_cli_texts_LDADD = $(cli_test_libs)
