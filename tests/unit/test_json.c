// SPDX-License-Identifier: Apache-2.0
/* The JSON parser and writer. tests/fuzz/fuzz_json.c compares the parser with jansson at large;
 * here stand the rules that a reader should know. */
#include <string.h>

#include "base/json.h"
#include "base/json_lex.h"
#include "base/json_write.h"
#include "base/mem.h"
#include "base/rng.h"
#include "lib/runner.h"

static struct arena arena;

static void arena_setup(void)
{
    arena_init(&arena, NULL, 0);
}

static void arena_teardown(void)
{
    arena_fini(&arena);
}

static enum err verdict(struct bytes text)
{
    struct json p;
    json_init(&p, text, &arena);
    json_skip(&p);
    return json_finish(&p);
}

static struct json parser(const char *text)
{
    struct json p;
    json_init(&p, bytes_of_text(text), &arena);
    return p;
}

START_TEST(a_caller_takes_the_members_it_knows)
{
    struct json p = parser(" { \"QueueUrl\" : \"http://h/q\" , \"Delay\":-7,\"x\":[1,{\"y\":null}],"
                           "\"Raw\": true, \"No\":null, \"list\":[ \"a\\n\" , \"\" ] } ");
    struct bytes key, url = BYTES_NONE, item[3] = {BYTES_NONE, BYTES_NONE, BYTES_NONE};
    int64_t delay = 0;
    bool raw = false;
    size_t items = 0, nulls = 0;
    ck_assert_int_eq(json_enter_object(&p), ERR_OK);
    while (json_next_member(&p, &key)) {
        if (json_read_null(&p)) {
            nulls++;
        } else if (bytes_equal(key, BYTES_OF("QueueUrl"))) {
            json_read_string(&p, &url);
        } else if (bytes_equal(key, BYTES_OF("Delay"))) {
            json_read_int64(&p, &delay);
        } else if (bytes_equal(key, BYTES_OF("Raw"))) {
            json_read_bool(&p, &raw);
        } else if (bytes_equal(key, BYTES_OF("list"))) {
            json_enter_array(&p);
            while (json_next_element(&p))
                json_read_string(&p, &item[items++]);
        }
    }
    ck_assert_int_eq(json_finish(&p), ERR_OK);
    ck_assert(bytes_equal(url, BYTES_OF("http://h/q")));
    ck_assert_int_eq(delay, -7);
    ck_assert(raw);
    ck_assert_uint_eq(nulls, 1);
    ck_assert_uint_eq(items, 2);
    ck_assert(bytes_equal(item[0], BYTES_OF("a\n")));
    ck_assert_uint_eq(item[1].n, 0);
}
END_TEST

START_TEST(peek_tells_the_type_and_takes_nothing)
{
    static const enum json_type wanted[] = {JSON_TYPE_NULL,   JSON_TYPE_BOOL,   JSON_TYPE_BOOL,
                                            JSON_TYPE_NUMBER, JSON_TYPE_NUMBER, JSON_TYPE_STRING,
                                            JSON_TYPE_ARRAY,  JSON_TYPE_OBJECT};
    struct json p = parser("[null, true, false, 1, -1, \"\", [], {}]");
    ck_assert_int_eq(json_peek(&p), JSON_TYPE_ARRAY);
    json_enter_array(&p);
    ck_assert_int_eq(json_peek(&p), JSON_TYPE_NOTHING);
    size_t n = 0;
    for (; json_next_element(&p); n++) {
        ck_assert_int_eq(json_peek(&p), wanted[n]);
        ck_assert_int_eq(json_peek(&p), wanted[n]);
    }
    ck_assert_uint_eq(n, 8);
    ck_assert_int_eq(json_finish(&p), ERR_OK);
    ck_assert_int_eq(json_peek(&p), JSON_TYPE_NOTHING);
}
END_TEST

START_TEST(a_string_without_escapes_is_lent_from_the_text)
{
    static const char text[] = "\"plain \xc3\xa4\"";
    struct json p = parser(text);
    struct bytes value;
    ck_assert_int_eq(json_read_string(&p, &value), ERR_OK);
    ck_assert_ptr_eq(value.at, text + 1);
    ck_assert_uint_eq(value.n, 8);
    ck_assert_ptr_null(arena.chunks);
}
END_TEST

START_TEST(escapes_mean_what_rfc_8259_says)
{
    struct json p = parser(
        "\"\\\"\\\\\\/"
        "\\b\\f\\n\\r\\t\\u0041\\u00E4\\u20ac\\ud83d\\uDE00\\udbff\\udfff\\ud800\\udc00\\u0000.\"");
    struct bytes value;
    ck_assert_int_eq(json_read_string(&p, &value), ERR_OK);
    ck_assert(bytes_equal(
        value,
        BYTES_OF(
            "\"\\/"
            "\b\f\n\r\tA\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80\xf4\x8f\xbf\xbf\xf0\x90\x80\x80\0.")));
    ck_assert_int_eq(json_finish(&p), ERR_OK);
}
END_TEST

// clang-format off
static const char *const not_json[] = {
    "", " ", "{", "}", "[", "]", "{]", "[}", "[1", "[1,", "[1,]", "[,1]", "[1 2]", "[1]]", "1 1",
    "{\"a\"}", "{\"a\":}", "{\"a\":1,}", "{,\"a\":1}", "{\"a\":1 \"b\":2}", "{\"a\" 1}", "{a:1}",
    "{1:1}", "{\"a\":1}x", "\xef\xbb\xbf{}", "nul", "nulll", "True", "truefalse", "t", "01",
    "-01", "00", "-", "+1", ".5", "1.", "1.e1", "1e", "1e+", "0x1", "NaN", "Infinity", "1a", "\"",
    "\"a", "'a'", "\"\n\"", "\"\x1f\"", "\"\\\"", "\"\\x41\"", "\"\\u12\"", "\"\\u12g4\"",
    "\"\\U0041\"", "\"\\ud83d\"", "\"\\ude00\"", "\"\\ud83d\\u0041\"", "\"\\ud83d\\ud83d\"",
    "\"\\ud83d\\n.....\"", "\"\\ud83d......\"", "\"\x80\"", "\"\xc0\x80\"", "\"\xed\xa0\x80\"",
    "\"\xf4\x90\x80\x80\"", "\"\xe2\x82\"", "\xc3\xa4", "/* */1", "1//", "[\v1]", "[\f1]",
};
// clang-format on

START_TEST(texts_that_are_not_json_are_corrupt)
{
    for (size_t i = 0; i < sizeof not_json / sizeof not_json[0]; i++)
        ck_assert_msg(verdict(bytes_of_text(not_json[i])) == ERR_CORRUPT, "%zu: %s", i,
                      not_json[i]);
    ck_assert_int_eq(verdict(BYTES_NONE), ERR_CORRUPT);
    ck_assert_int_eq(verdict(BYTES_OF("1\0")), ERR_CORRUPT);
    ck_assert_int_eq(verdict(BYTES_OF("\"\0\"")), ERR_CORRUPT);
    ck_assert_int_eq(verdict(BYTES_OF("\"\\\0\"")), ERR_CORRUPT);
}
END_TEST

// clang-format off
static const char *const is_json[] = {
    "0", "-0", "-0.0e-0", "1E+400", "123456789012345678901234567890", " \t\r\n[ \t\r\n] \t\r\n",
    "{}", "[[],{}]", "null", "\"\"", "\"\x7f\"", "\"\\u0000\"",
    "\"\xf4\x8f\xbf\xbf\xef\xbf\xbf\"", "{\"\":1,\"a\":2,\"A\":3}", "[{\"a\":1},{\"a\":1}]",
    "{\"a\":{\"a\":{\"a\":1}},\"b\":1}",
};
// clang-format on

START_TEST(texts_that_are_json_are_sound)
{
    for (size_t i = 0; i < sizeof is_json / sizeof is_json[0]; i++)
        ck_assert_msg(verdict(bytes_of_text(is_json[i])) == ERR_OK, "%zu: %s", i, is_json[i]);
}
END_TEST

START_TEST(a_text_cut_anywhere_is_corrupt)
{
    static const char text[] = "{\"key\":[1.5e3,\"\\ud83d\\ude00 \xf0\x9f\x98\x80 long enough\\n\","
                               "true,null,false,{\"a\":-12}],\"b\":\"\"}";
    size_t n = sizeof text - 1;
    ck_assert_int_eq(verdict((struct bytes){text, n}), ERR_OK);
    for (size_t cut = 0; cut < n; cut++)
        ck_assert_int_eq(verdict((struct bytes){text, cut}), ERR_CORRUPT);
}
END_TEST

static void integer_is(const char *text, enum err wanted, int64_t value)
{
    struct json p = parser(text);
    int64_t found = 77;
    ck_assert_msg(json_read_int64(&p, &found) == wanted, "%s", text);
    ck_assert_msg(json_finish(&p) == wanted, "%s", text);
    ck_assert_msg(found == (wanted == ERR_OK ? value : 77), "%s", text);
}

START_TEST(integers_are_exact_or_refused)
{
    integer_is("0", ERR_OK, 0);
    integer_is("-0", ERR_OK, 0);
    integer_is(" 43200 ", ERR_OK, 43200);
    integer_is("9223372036854775807", ERR_OK, INT64_MAX);
    integer_is("-9223372036854775808", ERR_OK, INT64_MIN);
    integer_is("9223372036854775808", ERR_INVALID, 0);
    integer_is("-9223372036854775809", ERR_INVALID, 0);
    integer_is("92233720368547758070", ERR_INVALID, 0);
    integer_is("1.0", ERR_INVALID, 0);
    integer_is("1e1", ERR_INVALID, 0);
    integer_is("\"1\"", ERR_INVALID, 0);
    integer_is("null", ERR_INVALID, 0);
    integer_is("1.", ERR_CORRUPT, 0);
    integer_is("-", ERR_CORRUPT, 0);
}
END_TEST

START_TEST(the_wrong_type_is_invalid_only_if_the_rest_is_json)
{
    struct bytes value = BYTES_OF("before"), key;
    struct json p = parser("{\"a\":[1,{\"b\":2}],\"c\":3}");
    json_enter_object(&p);
    ck_assert(json_next_member(&p, &key));
    ck_assert_int_eq(json_read_string(&p, &value), ERR_INVALID);
    ck_assert(bytes_equal(value, BYTES_OF("before")));
    ck_assert(!json_next_member(&p, &key));
    ck_assert_int_eq(json_skip(&p), ERR_INVALID);
    ck_assert_int_eq(json_finish(&p), ERR_INVALID);
    p = parser("{\"a\":[1,{\"b\":2}],\"c\":3,}");
    json_enter_object(&p);
    ck_assert(json_next_member(&p, &key));
    ck_assert_int_eq(json_read_string(&p, &value), ERR_CORRUPT);
    ck_assert_int_eq(json_finish(&p), ERR_CORRUPT);
    p = parser("[]");
    ck_assert_int_eq(json_enter_object(&p), ERR_INVALID);
    ck_assert(!json_next_member(&p, &key));
}
END_TEST

START_TEST(once_bad_every_call_fails)
{
    struct json p = parser("[1 x, 2, 3]");
    int64_t number = 0;
    bool flag;
    struct bytes text;
    json_enter_array(&p);
    ck_assert(json_next_element(&p));
    ck_assert_int_eq(json_read_int64(&p, &number), ERR_OK);
    ck_assert(!json_next_element(&p));
    ck_assert(!json_next_element(&p));
    ck_assert_int_eq(json_read_int64(&p, &number), ERR_CORRUPT);
    ck_assert_int_eq(json_read_string(&p, &text), ERR_CORRUPT);
    ck_assert_int_eq(json_read_bool(&p, &flag), ERR_CORRUPT);
    ck_assert_int_eq(json_read_raw(&p, &text), ERR_CORRUPT);
    ck_assert_int_eq(json_enter_object(&p), ERR_CORRUPT);
    ck_assert_int_eq(json_enter_array(&p), ERR_CORRUPT);
    ck_assert(!json_read_null(&p));
    ck_assert_int_eq(json_peek(&p), JSON_TYPE_NOTHING);
    ck_assert_int_eq(json_finish(&p), ERR_CORRUPT);
    ck_assert_int_eq(number, 1);
}
END_TEST

START_TEST(giving_up_early_still_judges_the_whole_text)
{
    struct bytes key;
    struct json p = parser("{\"a\":{\"b\":[1,2]},\"c\":3}");
    json_enter_object(&p);
    json_next_member(&p, &key);
    json_enter_object(&p);
    ck_assert_int_eq(json_finish(&p), ERR_OK);
    p = parser("{\"a\":{\"b\":[1,2]},\"c\":03}");
    json_enter_object(&p);
    json_next_member(&p, &key);
    json_enter_object(&p);
    ck_assert_int_eq(json_finish(&p), ERR_CORRUPT);
}
END_TEST

START_TEST(raw_lends_a_value_without_the_space_around_it)
{
    struct bytes key, raw;
    struct json p = parser("{\"a\" :  [1, {\"b\" : \"]\"} ]  , \"c\":3}");
    json_enter_object(&p);
    json_next_member(&p, &key);
    ck_assert_int_eq(json_read_raw(&p, &raw), ERR_OK);
    ck_assert(bytes_equal(raw, BYTES_OF("[1, {\"b\" : \"]\"} ]")));
    ck_assert_int_eq(json_finish(&p), ERR_OK);
}
END_TEST

START_TEST(a_repeated_key_is_corrupt_however_it_is_written)
{
    ck_assert_int_eq(verdict(BYTES_OF("{\"a\":1,\"a\":1}")), ERR_CORRUPT);
    ck_assert_int_eq(verdict(BYTES_OF("{\"a\":1,\"b\":2,\"\\u0061\":1}")), ERR_CORRUPT);
    ck_assert_int_eq(verdict(BYTES_OF("{\"\":1,\"\":1}")), ERR_CORRUPT);
    ck_assert_int_eq(verdict(BYTES_OF("[[{\"x\":{\"a\":1,\"a\":1}}]]")), ERR_CORRUPT);
    ck_assert_int_eq(verdict(BYTES_OF("{\"a\":{\"b\":1},\"b\":1,\"a\":2}")), ERR_CORRUPT);
    ck_assert_int_eq(verdict(BYTES_OF("{\"a\\u0000\":1}")), ERR_CORRUPT);
}
END_TEST

/* An object of n keys, the last of which is `last`. */
static enum err many_keys(size_t n, size_t last)
{
    struct buf text = BUF_EMPTY;
    buf_put_text(&text, "{\"in\":{");
    for (size_t i = 0; i + 1 < n; i++)
        buf_put_format(&text, "\"%zu\":0,", i);
    buf_put_format(&text, "\"%zu\":0}}", last);
    enum err e = verdict(buf_bytes(&text));
    buf_fini(&text);
    return e;
}

START_TEST(a_repeated_key_is_found_among_any_number)
{
    for (size_t n = 2; n < 70; n++) {
        ck_assert_int_eq(many_keys(n, n), ERR_OK);
        for (size_t i = 0; i + 1 < n; i++)
            ck_assert_int_eq(many_keys(n, i), ERR_CORRUPT);
    }
    ck_assert_int_eq(many_keys(100000, 100000), ERR_OK);
    ck_assert_int_eq(many_keys(100000, 54321), ERR_CORRUPT);
}
END_TEST

static enum err nested(size_t depth, unsigned limit)
{
    struct buf text = BUF_EMPTY;
    for (size_t i = 0; i < depth; i++)
        buf_put_text(&text, i % 2 == 0 ? "[" : "{\"a\":");
    buf_put_text(&text, "1");
    for (size_t i = depth; i > 0; i--)
        buf_put_text(&text, i % 2 == 1 ? "]" : "}");
    struct json p;
    json_init(&p, buf_bytes(&text), &arena);
    json_limit_depth(&p, limit);
    json_skip(&p);
    enum err e = json_finish(&p);
    buf_fini(&text);
    return e;
}

START_TEST(nesting_is_limited)
{
    ck_assert_int_eq(nested(JSON_DEPTH_MAX, JSON_DEPTH_MAX), ERR_OK);
    ck_assert_int_eq(nested(JSON_DEPTH_MAX + 1, JSON_DEPTH_MAX), ERR_CORRUPT);
    ck_assert_int_eq(nested(100000, JSON_DEPTH_MAX), ERR_CORRUPT);
    ck_assert_int_eq(nested(0, 0), ERR_OK);
    ck_assert_int_eq(nested(1, 0), ERR_CORRUPT);
    ck_assert_int_eq(nested(3, 3), ERR_OK);
    ck_assert_int_eq(nested(4, 3), ERR_CORRUPT);
}
END_TEST

START_TEST(what_ends_a_plain_stretch_is_seen_at_any_place)
{
    static const unsigned char special[] = {'"', '\\', 0x1f, 0x00, 0x80, 0xff};
    for (size_t n = 1; n <= 40; n++) {
        for (size_t at = 0; at < n; at++) {
            char text[42];
            memset(text, 'a', sizeof text);
            text[0] = text[n + 1] = '"';
            ck_assert_int_eq(verdict((struct bytes){text, n + 2}), ERR_OK);
            for (size_t i = 0; i < sizeof special; i++) {
                text[1 + at] = (char)special[i];
                ck_assert_int_eq(verdict((struct bytes){text, n + 2}), ERR_CORRUPT);
            }
        }
    }
}
END_TEST

START_TEST(the_writer_sets_commas_and_escapes)
{
    struct buf out = BUF_EMPTY;
    struct json_writer w = json_writer_to(&out);
    json_begin_object(&w);
    json_put_key(&w, "a");
    json_begin_array(&w);
    json_put_int64(&w, INT64_MIN);
    json_put_int64(&w, 0);
    json_put_uint64(&w, UINT64_MAX);
    json_begin_object(&w);
    json_end_object(&w);
    json_begin_array(&w);
    json_end_array(&w);
    json_end_array(&w);
    json_put_key(&w, "b\"");
    json_put_string(&w, BYTES_OF("\"\\/\b\f\n\r\t\x00\x1f\x7f\xc3\xa4"));
    json_put_key(&w, "c");
    json_put_bool(&w, true);
    json_put_key(&w, "d");
    json_put_null(&w);
    json_put_key(&w, "e");
    json_put_base64(&w, BYTES_OF("foob"));
    json_put_key(&w, "f");
    json_put_raw(&w, BYTES_OF("[1]"));
    json_put_key(&w, "g");
    json_put_text(&w, "");
    json_end_object(&w);
    json_writer_done(&w);
    ck_assert(bytes_equal(
        buf_bytes(&out),
        BYTES_OF("{\"a\":[-9223372036854775808,0,18446744073709551615,{},[]],\"b\\\"\":\""
                 "\\\"\\\\/\\b\\f\\n\\r\\t\\u0000\\u001f\x7f\xc3\xa4\",\"c\":true,\"d\":null,"
                 "\"e\":\"Zm9vYg==\",\"f\":[1],\"g\":\"\"}")));
    buf_fini(&out);
}
END_TEST

START_TEST(what_is_written_is_read_back)
{
    struct rng rng = {.state = test_seed()};
    for (int round = 0; round < 2000; round++) {
        unsigned char raw[60];
        struct bytes value = {raw, rng_below(&rng, sizeof raw + 1)}, back;
        for (size_t i = 0; i < value.n; i++) /* ASCII, half of it in need of an escape */
            raw[i] = (unsigned char)(rng_below(&rng, 2) == 0 ? rng_below(&rng, 0x80)
                                                             : (unsigned char)"\"\\\n\x01"[i % 4]);
        struct buf out = BUF_EMPTY;
        struct json_writer w = json_writer_to(&out);
        json_put_string(&w, value);
        json_writer_done(&w);
        struct json p;
        json_init(&p, buf_bytes(&out), &arena);
        ck_assert_int_eq(json_read_string(&p, &back), ERR_OK);
        ck_assert_int_eq(json_finish(&p), ERR_OK);
        ck_assert(bytes_equal(value, back));
        buf_fini(&out);
    }
}
END_TEST

START_TEST(a_string_may_be_escaped_in_pieces)
{
    static const char text[] = "a\"b\\c\n\xf0\x9f\x98\x80 and more";
    struct buf whole = BUF_EMPTY;
    json_escape(&whole, bytes_of_text(text));
    for (size_t cut = 0; cut < sizeof text; cut++) {
        struct buf parts = BUF_EMPTY;
        json_escape(&parts, (struct bytes){text, cut});
        json_escape(&parts, (struct bytes){text + cut, sizeof text - 1 - cut});
        ck_assert(bytes_equal(buf_bytes(&whole), buf_bytes(&parts)));
        buf_fini(&parts);
    }
    buf_fini(&whole);
}
END_TEST

/* Looked at in blocks: one byte of each kind at each place, and each length, of memory that ends
 * with the text. */
START_TEST(the_end_of_a_string_is_found_wherever_it_is_and_what_may_not_be_in_it)
{
    static const unsigned char kinds[] = {'"', '\\', 0, 0x1f, 0x20, 0x7f, 0x80, 0xc3, 0xff};
    for (size_t n = 1; n < 70; n++) {
        unsigned char *raw = mem_new(n);
        memset(raw, 'm', n);
        for (size_t k = 0; k < sizeof kinds; k++)
            for (size_t i = 0; i < n; i++) {
                bool escaped;
                raw[n - 1] = '"';
                raw[i] = kinds[k];
                bool plain = kinds[k] == 0x20 || kinds[k] == 0x7f;
                const unsigned char *wanted = kinds[k] == '"'      ? raw + i
                                              : plain && i + 1 < n ? raw + n - 1
                                                                   : NULL;
                ck_assert_ptr_eq(json_lex_string(raw, raw + n, &escaped), wanted);
                ck_assert(wanted == NULL || !escaped);
                raw[i] = 'm';
            }
        mem_free(raw);
    }
}
END_TEST

/* One byte of each kind, at each place of a text that is long enough for whole plain blocks. */
START_TEST(one_byte_in_need_of_an_escape_is_seen_wherever_it_stands)
{
    static const unsigned char kinds[] = {'"', '\\', 0, 0x1f, 0x20, 0x7f, 0x80, 0xff};
    unsigned char raw[300];
    memset(raw, 'm', sizeof raw);
    for (size_t k = 0; k < sizeof kinds; k++) {
        for (size_t i = 0; i < sizeof raw; i++) {
            struct buf whole = BUF_EMPTY, parts = BUF_EMPTY;
            raw[i] = kinds[k];
            json_escape(&whole, (struct bytes){raw, sizeof raw});
            for (size_t at = 0; at < sizeof raw; at++)
                json_escape(&parts, (struct bytes){raw + at, 1});
            ck_assert(bytes_equal(buf_bytes(&whole), buf_bytes(&parts)));
            ck_assert_uint_eq(whole.n, sizeof raw + (k < 2 ? 1 : k < 4 ? 5 : 0));
            raw[i] = 'm';
            buf_fini(&whole);
            buf_fini(&parts);
        }
    }
}
END_TEST

Suite *suite_new(void)
{
    Suite *s = suite_create("json");
    TCase *t = tcase_create("json");
    tcase_add_checked_fixture(t, arena_setup, arena_teardown);
    tcase_add_test(t, a_caller_takes_the_members_it_knows);
    tcase_add_test(t, peek_tells_the_type_and_takes_nothing);
    tcase_add_test(t, a_string_without_escapes_is_lent_from_the_text);
    tcase_add_test(t, escapes_mean_what_rfc_8259_says);
    tcase_add_test(t, texts_that_are_not_json_are_corrupt);
    tcase_add_test(t, texts_that_are_json_are_sound);
    tcase_add_test(t, a_text_cut_anywhere_is_corrupt);
    tcase_add_test(t, integers_are_exact_or_refused);
    tcase_add_test(t, the_wrong_type_is_invalid_only_if_the_rest_is_json);
    tcase_add_test(t, once_bad_every_call_fails);
    tcase_add_test(t, giving_up_early_still_judges_the_whole_text);
    tcase_add_test(t, raw_lends_a_value_without_the_space_around_it);
    tcase_add_test(t, a_repeated_key_is_corrupt_however_it_is_written);
    tcase_add_test(t, a_repeated_key_is_found_among_any_number);
    tcase_add_test(t, nesting_is_limited);
    tcase_add_test(t, what_ends_a_plain_stretch_is_seen_at_any_place);
    tcase_add_test(t, the_writer_sets_commas_and_escapes);
    tcase_add_test(t, what_is_written_is_read_back);
    tcase_add_test(t, a_string_may_be_escaped_in_pieces);
    tcase_add_test(t, the_end_of_a_string_is_found_wherever_it_is_and_what_may_not_be_in_it);
    tcase_add_test(t, one_byte_in_need_of_an_escape_is_seen_wherever_it_stands);
    suite_add_tcase(s, t);
    return s;
}
