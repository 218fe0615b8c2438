# SPDX-License-Identifier: Apache-2.0
# Tests of the room sqs: its pure parts need no queue and no http behind them, only topics' settings.
TEST_RUNNERS += tests/unit/test_signature tests/unit/test_sqs tests/unit/test_sqs_message tests/unit/test_sqs_query
EXTRA_DIST += tests/wire/md5-vectors.txt tests/wire/json-requests tests/wire/js-requests \
	tests/wire/json-responses tests/wire/query-requests tests/wire/query-responses \
	tests/wire/README.md tests/wire/cases
tests_unit_test_sqs_SOURCES = tests/unit/test_sqs.c
tests_unit_test_sqs_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_sqs_LDADD = libtestlib.a libsqs.a libfront.a libcatalog.a libbase.a $(CHECK_LIBS) \
	$(SQLITE_LIBS) $(JANSSON_LIBS) $(NETTLE_LIBS)

tests_unit_test_sqs_message_SOURCES = tests/unit/test_sqs_message.c
tests_unit_test_sqs_message_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_sqs_message_LDADD = $(tests_unit_test_sqs_LDADD)

tests_unit_test_sqs_query_SOURCES = tests/unit/test_sqs_query.c
tests_unit_test_sqs_query_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_sqs_query_LDADD = $(tests_unit_test_sqs_LDADD)

tests_unit_test_signature_SOURCES = tests/unit/test_signature.c
tests_unit_test_signature_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_signature_LDADD = $(tests_unit_test_sqs_LDADD)
