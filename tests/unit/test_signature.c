// SPDX-License-Identifier: Apache-2.0
/* Signatures: requests with a known one, and what is odd about them. The whole server is asked in
 * tests/integration/test_signature.py, whose signer made the signatures here. */
#include <string.h>
#include <strings.h>

#include "base/buf.h"
#include "base/mem.h"
#include "lib/runner.h"
#include "sqs/signature.h"

#define SCOPE "Credential=AKIDOFTHETEST/20261129/eu-west-1/sqs/aws4_request"
#define SIGNED "SignedHeaders=host;x-amz-date;x-odd"
#define PLAIN "Signature=d15138d700efbd9692a42623dbd0a2e97ed19b4eef88128a916f03e6dd334651"
#define QUERY "Signature=e4066c2dcb305635289ccc79d7ed5f9dc25b52625026d56894381db00db523ee"
#define NAMES "Signature=3e06c9dfedfee7f4ca52c24aab90350f9dbaa0ce30ec4eefec042b6b20ef601c"
#define MANY "Signature=d24a2a0d23176bc7289d95fba059c1833f22dc4e238e6e3f6333a8f14fd3d337"

static const int64_t signed_ms = INT64_C(1795951951000); /* 20261129T113231Z */

static struct arena arena;
static struct sqs_access_keys keys;
static struct sqs_fault fault;
static const char *authorization, *odd, *target;

static void set_up(void)
{
    unsigned wrong;
    arena_init(&arena, NULL, 0);
    fault = (struct sqs_fault){.arena = &arena};
    struct bytes text = BYTES_OF("AKIDOFTHETEST wJalr/XUtnFEMI+K7MDENG");
    ck_assert(sqs_access_keys_read(text, &keys, &wrong));
    odd = "a   b c ";
    target = NULL;
}

static void tear_down(void)
{
    sqs_access_keys_fini(&keys);
    arena_fini(&arena);
}

static struct bytes header(const void *self, const char *name)
{
    (void)self;
    if (strcasecmp(name, "Host") == 0)
        return BYTES_OF("127.0.0.1:9324");
    if (strcasecmp(name, "X-Amz-Date") == 0)
        return BYTES_OF("20261129T113231Z");
    if (strcasecmp(name, "X-Odd") == 0)
        return bytes_of_text(odd);
    if (strcasecmp(name, "X-Amz-Target") == 0 && target != NULL)
        return bytes_of_text(target);
    return strcasecmp(name, "Authorization") == 0 ? bytes_of_text(authorization) : BYTES_NONE;
}

static enum sqs_fault_code check(const char *path, const char *query, const char *signature,
                                 int64_t now_ms)
{
    const struct sqs_signed_request r = {
        .method = "POST",
        .path = bytes_of_text(path),
        .query = bytes_of_text(query),
        .body = BYTES_OF("body"),
        .header = header,
    };
    authorization = signature;
    fault.code = SQS_FAULT_NONE;
    bool good = sqs_signature_check(&keys, &r, now_ms, &fault);
    ck_assert(good == (fault.code == SQS_FAULT_NONE));
    return fault.code;
}

START_TEST(spaces_around_and_inside_of_header_values_are_folded)
{
    const char *good = "AWS4-HMAC-SHA256 " SCOPE ", " SIGNED ", " PLAIN;
    ck_assert_int_eq(check("/", "", good, signed_ms), SQS_FAULT_NONE);
    odd = "a b c";
    ck_assert_int_eq(check("/", "", good, signed_ms), SQS_FAULT_NONE);
    odd = "  a b     c";
    ck_assert_int_eq(check("/", "", good, signed_ms), SQS_FAULT_NONE);
    odd = "ab c";
    ck_assert_int_eq(check("/", "", good, signed_ms), SQS_FAULT_INVALID_SIGNATURE);
    odd = "";
    ck_assert_int_eq(check("/", "", good, signed_ms), SQS_FAULT_INVALID_SIGNATURE);
}
END_TEST

START_TEST(paths_are_encoded_once_more_and_queries_sorted_and_written_anew)
{
    const char *good = "AWS4-HMAC-SHA256 " SCOPE "," SIGNED "," QUERY;
    ck_assert_int_eq(check("/0/a%20b", "b=1&a=%7e2&a=&c", good, signed_ms), SQS_FAULT_NONE);
    ck_assert_int_eq(check("/0/a%20b", "a=&%61=~2&&b=1&c=", good, signed_ms), SQS_FAULT_NONE);
    ck_assert_int_eq(check("/0/a%20b", "a=&a=~2&b=1", good, signed_ms),
                     SQS_FAULT_INVALID_SIGNATURE);
    ck_assert_int_eq(check("/0/a b", "b=1&a=%7e2&a=&c", good, signed_ms),
                     SQS_FAULT_INVALID_SIGNATURE);
    ck_assert_int_eq(check("/0/a%20b", "%&%a&%zz=%&=&", good, signed_ms),
                     SQS_FAULT_INVALID_SIGNATURE);
}
END_TEST

START_TEST(names_in_a_query_are_sorted_before_values_and_a_plus_is_a_space)
{
    const char *good = "AWS4-HMAC-SHA256 " SCOPE "," SIGNED "," NAMES;
    ck_assert_int_eq(check("/", "N.1=c&N.10=b&p=x%20%2By", good, signed_ms), SQS_FAULT_NONE);
    ck_assert_int_eq(check("/", "N.10=b&N.1=c&p=x+%2By", good, signed_ms), SQS_FAULT_NONE);
    /* Not what was signed: the one becomes a space when it is read, the other does not. */
    ck_assert_int_eq(check("/", "N.10=b&N.1=c&p=x++y", good, signed_ms),
                     SQS_FAULT_INVALID_SIGNATURE);
    ck_assert_int_eq(check("/", "N.10=b&N.1=c&p=x%2B%2By", good, signed_ms),
                     SQS_FAULT_INVALID_SIGNATURE);
}
END_TEST

START_TEST(no_parameter_of_a_long_query_is_left_unsigned)
{
    enum { PAIRS = 1001, PAIR_BYTES = 4 };
    const char *good = "AWS4-HMAC-SHA256 " SCOPE "," SIGNED "," MANY;
    char query[PAIRS * PAIR_BYTES + sizeof "b=2"];
    for (size_t i = 0; i < PAIRS; i++)
        memcpy(query + i * PAIR_BYTES, "a=1&", PAIR_BYTES);
    query[sizeof query - sizeof "b=2"] = '\0';
    ck_assert_int_eq(check("/", query, good, signed_ms), SQS_FAULT_NONE);
    memcpy(query + PAIRS * PAIR_BYTES, "b=2", sizeof "b=2");
    ck_assert_int_eq(check("/", query, good, signed_ms), SQS_FAULT_INVALID_SIGNATURE);
}
END_TEST

START_TEST(the_header_that_names_the_action_must_be_signed_when_it_is_there)
{
    const char *good = "AWS4-HMAC-SHA256 " SCOPE ", " SIGNED ", " PLAIN;
    target = "AmazonSQS.DeleteQueue";
    ck_assert_int_eq(check("/", "", good, signed_ms), SQS_FAULT_INCOMPLETE_SIGNATURE);
    target = "";
    ck_assert_int_eq(check("/", "", good, signed_ms), SQS_FAULT_INCOMPLETE_SIGNATURE);
}
END_TEST

START_TEST(fifteen_minutes_are_the_bound_to_the_millisecond)
{
    const char *good = "AWS4-HMAC-SHA256 " SCOPE ", " SIGNED ", " PLAIN;
    const int64_t skew_ms = SQS_SIGNATURE_SKEW_MS;
    ck_assert_int_eq(check("/", "", good, signed_ms + skew_ms), SQS_FAULT_NONE);
    ck_assert_int_eq(check("/", "", good, signed_ms - skew_ms), SQS_FAULT_NONE);
    ck_assert_int_eq(check("/", "", good, signed_ms + skew_ms + 1), SQS_FAULT_INVALID_SIGNATURE);
    ck_assert_int_eq(check("/", "", good, signed_ms - skew_ms - 1), SQS_FAULT_INVALID_SIGNATURE);
}
END_TEST

START_TEST(headers_that_are_cut_anywhere_are_refused)
{
    static const char good[] = "AWS4-HMAC-SHA256 " SCOPE ", " SIGNED ", " PLAIN;
    char *cut = mem_new(sizeof good);
    for (size_t n = 1; n < sizeof good - 1; n++) {
        memcpy(cut, good, n);
        cut[n] = '\0';
        ck_assert_int_eq(check("/", "", cut, signed_ms), SQS_FAULT_INCOMPLETE_SIGNATURE);
    }
    mem_free(cut);
    ck_assert_int_eq(check("/", "", "", signed_ms), SQS_FAULT_ACCESS_DENIED);
}
END_TEST

/* Each name brings a value that may fill a head: without a bound a small request would cost much.
 */
START_TEST(more_names_than_a_request_has_headers_are_refused)
{
    struct buf text = BUF_EMPTY;
    for (int n = 61; n <= 62; n++) {
        buf_clear(&text);
        buf_put_text(&text, "AWS4-HMAC-SHA256 " SCOPE ", " SIGNED);
        for (int i = 0; i < n; i++)
            buf_put_text(&text, ";a");
        buf_put_text(&text, ", " PLAIN);
        buf_put_u8(&text, 0);
        ck_assert_int_eq(check("/", "", text.at, signed_ms),
                         n == 61 ? SQS_FAULT_INVALID_SIGNATURE : SQS_FAULT_INCOMPLETE_SIGNATURE);
    }
    buf_fini(&text);
}
END_TEST

START_TEST(a_file_of_keys_is_read_line_by_line)
{
    unsigned wrong;
    struct bytes text = BYTES_OF("# comment\r\n\r\n a\tb \r\nc d");
    ck_assert(sqs_access_keys_read(text, &keys, &wrong));
    ck_assert_uint_eq(keys.n, 2);
    ck_assert_str_eq(keys.at[0].id, "a");
    ck_assert_str_eq(keys.at[0].secret, "b");
    ck_assert_str_eq(keys.at[1].id, "c");
    ck_assert_str_eq(keys.at[1].secret, "d");
    ck_assert(!sqs_access_keys_read(BYTES_OF("a b\n\nc\n"), &keys, &wrong));
    ck_assert_uint_eq(wrong, 3);
    /* Else the secret would be empty, or the id one that nobody has. */
    ck_assert(!sqs_access_keys_read(BYTES_OF("a b\nc \0d"), &keys, &wrong));
    ck_assert_uint_eq(wrong, 2);
    ck_assert(!sqs_access_keys_read(BYTES_OF("\xef\xbb\xbf"
                                             "a b"),
                                    &keys, &wrong));
    ck_assert_uint_eq(wrong, 1);
    ck_assert(!sqs_access_keys_read(BYTES_OF("a b\na c\n"), &keys, &wrong)); /* which of them? */
    ck_assert_uint_eq(wrong, 2);
}
END_TEST

Suite *suite_new(void)
{
    Suite *s = suite_create("signature");
    TCase *t = tcase_create("signature");
    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_test(t, spaces_around_and_inside_of_header_values_are_folded);
    tcase_add_test(t, paths_are_encoded_once_more_and_queries_sorted_and_written_anew);
    tcase_add_test(t, names_in_a_query_are_sorted_before_values_and_a_plus_is_a_space);
    tcase_add_test(t, no_parameter_of_a_long_query_is_left_unsigned);
    tcase_add_test(t, the_header_that_names_the_action_must_be_signed_when_it_is_there);
    tcase_add_test(t, fifteen_minutes_are_the_bound_to_the_millisecond);
    tcase_add_test(t, headers_that_are_cut_anywhere_are_refused);
    tcase_add_test(t, more_names_than_a_request_has_headers_are_refused);
    tcase_add_test(t, a_file_of_keys_is_read_line_by_line);
    suite_add_tcase(s, t);
    return s;
}
