// SPDX-License-Identifier: Apache-2.0
/* Digests, text codecs and UTF-8. */
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/codec.h"
#include "base/digest.h"
#include "base/utf8.h"
#include "lib/runner.h"

START_TEST(md5_matches_the_vectors_of_rfc_1321)
{
    static const char *const vectors[][2] = {
        {"", "d41d8cd98f00b204e9800998ecf8427e"},
        {"a", "0cc175b9c0f1b6a831c399e269772661"},
        {"abc", "900150983cd24fb0d6963f7d28e17f72"},
        {"message digest", "f96b697d7cb7938d525a2f31aaf161d0"},
        {"abcdefghijklmnopqrstuvwxyz", "c3fcd3d76192e4007dfb496cca67e13b"},
        {"12345678901234567890123456789012345678901234567890123456789012345678901234567890",
         "57edf4a22be3c955ac49da2e2107b67a"}};
    char hex[DIGEST_MD5_HEX_ROOM];
    for (size_t i = 0; i < sizeof vectors / sizeof vectors[0]; i++) {
        digest_md5_hex(bytes_of_text(vectors[i][0]), hex);
        ck_assert_str_eq(hex, vectors[i][1]);
    }
}
END_TEST

START_TEST(sha256_matches_the_vectors_of_fips_180)
{
    static const char *const vectors[][2] = {
        {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
        {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
        {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
         "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"}};
    char hex[DIGEST_SHA256_HEX_ROOM];
    for (size_t i = 0; i < sizeof vectors / sizeof vectors[0]; i++) {
        digest_sha256_hex(bytes_of_text(vectors[i][0]), hex);
        ck_assert_str_eq(hex, vectors[i][1]);
    }
}
END_TEST

static void hmac_is(struct bytes secret, struct bytes data, const char *wanted)
{
    struct digest_hmac key;
    unsigned char raw[DIGEST_SHA256_BYTES];
    char hex[2 * DIGEST_SHA256_BYTES + 1];
    digest_hmac_init(&key, secret);
    for (int again = 0; again < 2; again++) { /* one key serves many */
        digest_hmac_sha256(&key, data, raw);
        codec_hex_text((struct bytes){raw, sizeof raw}, hex);
        ck_assert_str_eq(hex, wanted);
    }
    digest_hmac_fini(&key);
}

START_TEST(hmac_matches_the_vectors_of_rfc_4231)
{
    unsigned char secret[131], data[50];
    memset(secret, 0x0b, 20);
    hmac_is((struct bytes){secret, 20}, BYTES_OF("Hi There"),
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
    hmac_is(BYTES_OF("Jefe"), BYTES_OF("what do ya want for nothing?"),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
    memset(secret, 0xaa, sizeof secret);
    memset(data, 0xdd, sizeof data);
    hmac_is((struct bytes){secret, 20}, (struct bytes){data, sizeof data},
            "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe");
    hmac_is((struct bytes){secret, 131},
            BYTES_OF("Test Using Larger Than Block-Size Key - Hash Key First"),
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}
END_TEST

START_TEST(a_finished_hmac_key_holds_no_secret)
{
    struct digest_hmac key;
    static const struct digest_hmac zeros;
    digest_hmac_init(&key, BYTES_OF("secret"));
    ck_assert_mem_ne(&key, &zeros, sizeof key);
    digest_hmac_fini(&key);
    ck_assert_mem_eq(&key, &zeros, sizeof key);
}
END_TEST

START_TEST(secrets_are_equal_only_when_every_byte_is)
{
    ck_assert(digest_equal(BYTES_OF("abc"), BYTES_OF("abc")));
    ck_assert(digest_equal(BYTES_NONE, BYTES_NONE));
    ck_assert(!digest_equal(BYTES_OF("abc"), BYTES_OF("abd")));
    ck_assert(!digest_equal(BYTES_OF("abc"), BYTES_OF("bbc")));
    ck_assert(!digest_equal(BYTES_OF("abc"), BYTES_OF("ab")));
    ck_assert(!digest_equal(BYTES_OF("abc"), BYTES_NONE));
}
END_TEST

START_TEST(base64_matches_the_vectors_of_rfc_4648)
{
    static const char *const vectors[][2] = {{"", ""},
                                             {"f", "Zg=="},
                                             {"fo", "Zm8="},
                                             {"foo", "Zm9v"},
                                             {"foob", "Zm9vYg=="},
                                             {"fooba", "Zm9vYmE="},
                                             {"foobar", "Zm9vYmFy"}};
    struct arena arena;
    arena_init(&arena, NULL, 0);
    for (size_t i = 0; i < sizeof vectors / sizeof vectors[0]; i++) {
        struct bytes data = bytes_of_text(vectors[i][0]), text = bytes_of_text(vectors[i][1]), back;
        struct buf out = BUF_EMPTY;
        codec_base64_put(&out, data);
        ck_assert(bytes_equal(buf_bytes(&out), text));
        ck_assert_uint_eq(codec_base64_chars(data.n), text.n);
        ck_assert_int_eq(codec_base64_decode(text, &arena, &back), ERR_OK);
        ck_assert(bytes_equal(back, data));
        buf_fini(&out);
    }
    arena_fini(&arena);
}
END_TEST

START_TEST(base64_that_no_encoder_writes_is_refused)
{
    static const char *const bad[] = {
        "Zg",   "Zg=",     "Zg===",        "Z",     "=",        "====",     "Zh==",
        "Zm9=", "Z===",    "Zm9v\n",       " Zm9v", "Zm 9v",    "Zm9v Zg=", "Zg==Zg==",
        "Zm-_", "Zm9\xff", "Zm9v\t\t\t\t", "A===",  "Zm9vA===", "Zg==    "};
    struct arena arena;
    arena_init(&arena, NULL, 0);
    struct bytes data = BYTES_OF("before");
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        ck_assert_msg(codec_base64_decode(bytes_of_text(bad[i]), &arena, &data) == ERR_INVALID,
                      "%s", bad[i]);
    ck_assert_int_eq(codec_base64_decode(BYTES_OF("Zm\0v"), &arena, &data), ERR_INVALID);
    ck_assert(bytes_equal(data, BYTES_OF("before")));
    arena_fini(&arena);
}
END_TEST

START_TEST(any_bytes_survive_base64_and_hex)
{
    struct rng rng = {.state = test_seed()};
    for (int round = 0; round < 500; round++) {
        unsigned char raw[100], unhexed[100];
        struct bytes data = {raw, rng_below(&rng, sizeof raw + 1)}, back;
        rng_fill(&rng, raw, sizeof raw);
        struct arena arena;
        struct buf out = BUF_EMPTY;
        arena_init(&arena, NULL, 0);
        codec_base64_put(&out, data);
        ck_assert_int_eq(codec_base64_decode(buf_bytes(&out), &arena, &back), ERR_OK);
        ck_assert(bytes_equal(data, back));
        buf_clear(&out);
        codec_hex_put(&out, data);
        ck_assert_int_eq(codec_hex_decode(buf_bytes(&out), unhexed, data.n), ERR_OK);
        ck_assert(bytes_equal(data, (struct bytes){unhexed, data.n}));
        buf_fini(&out);
        arena_fini(&arena);
    }
}
END_TEST

START_TEST(hex_is_written_in_lower_case_and_read_in_both)
{
    struct buf out = BUF_EMPTY;
    unsigned char raw[2];
    codec_hex_put(&out, BYTES_OF("\x00\xaf"));
    ck_assert(bytes_equal(buf_bytes(&out), BYTES_OF("00af")));
    buf_fini(&out);
    ck_assert_int_eq(codec_hex_decode(BYTES_OF("aFFe"), raw, 2), ERR_OK);
    ck_assert_mem_eq(raw, "\xaf\xfe", 2);
    ck_assert_int_eq(codec_hex_decode(BYTES_OF("aFF"), raw, 2), ERR_INVALID);
    ck_assert_int_eq(codec_hex_decode(BYTES_OF("aFFe0"), raw, 2), ERR_INVALID);
    ck_assert_int_eq(codec_hex_decode(BYTES_OF("aFFe00"), raw, 2), ERR_INVALID);
    ck_assert_int_eq(codec_hex_decode(BYTES_OF("aF e"), raw, 2), ERR_INVALID);
    ck_assert_int_eq(codec_hex_decode(BYTES_OF("aFge"), raw, 2), ERR_INVALID);
}
END_TEST

START_TEST(a_uuid_has_the_form_of_version_4)
{
    struct rng rng = {.state = test_seed()};
    char text[CODEC_UUID_ROOM], other[CODEC_UUID_ROOM];
    for (int round = 0; round < 100; round++) {
        codec_uuid(&rng, text);
        ck_assert_uint_eq(strlen(text), 36);
        ck_assert_uint_eq(strspn(text, "0123456789abcdef-"), 36);
        ck_assert(text[8] == '-' && text[13] == '-' && text[18] == '-' && text[23] == '-');
        ck_assert_int_eq(text[14], '4');
        ck_assert_ptr_nonnull(strchr("89ab", text[19]));
        codec_uuid(&rng, other);
        ck_assert_str_ne(text, other);
    }
}
END_TEST

/* Every code point, surrogates and those above the last one too, as the plain scheme would write
 * it. */
static size_t scheme_encode(uint32_t code, size_t n, unsigned char out[4])
{
    static const unsigned char lead[] = {0, 0, 0xc0, 0xe0, 0xf0};
    for (size_t i = n - 1; i > 0; i--, code >>= 6)
        out[i] = (unsigned char)(0x80 | (code & 0x3f));
    out[0] = (unsigned char)(n == 1 ? code : lead[n] | code);
    return n;
}

static size_t shortest_form(uint32_t code)
{
    return code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
}

START_TEST(every_code_point_is_utf8_in_its_shortest_form_only)
{
    static const uint32_t room[] = {0, 0x80, 0x800, 0x10000, 0x200000};
    for (size_t n = 1; n <= 4; n++) {
        for (uint32_t code = 0; code < room[n]; code++) {
            unsigned char at[4];
            bool surrogate = code >= 0xd800 && code <= 0xdfff;
            bool good = n == shortest_form(code) && !surrogate && code <= 0x10ffff;
            scheme_encode(code, n, at);
            if (utf8_char_bytes(at, n) != (good ? n : 0) || (good && utf8_char_bytes(at, 4) != n))
                ck_abort_msg("U+%04x in %zu bytes", code, n);
            char out[4];
            if (good && (utf8_encode(code, out) != n || memcmp(out, at, n) != 0))
                ck_abort_msg("U+%04x written", code);
            if (good && n > 1 && utf8_char_bytes(at, n - 1) != 0)
                ck_abort_msg("U+%04x cut short", code);
        }
    }
}
END_TEST

START_TEST(every_pair_of_bytes_is_judged_by_the_table_of_rfc_3629)
{
    for (unsigned first = 0x80; first < 0x100; first++) {
        for (unsigned second = 0; second < 0x100; second++) {
            unsigned char at[4] = {(unsigned char)first, (unsigned char)second, 0x80, 0x80};
            bool tail = second >= 0x80 && second <= 0xbf;
            size_t wanted = 0;
            if (first >= 0xc2 && first <= 0xdf)
                wanted = tail ? 2 : 0;
            else if (first >= 0xe0 && first <= 0xef)
                wanted =
                    tail && !(first == 0xe0 && second < 0xa0) && !(first == 0xed && second > 0x9f)
                        ? 3
                        : 0;
            else if (first >= 0xf0 && first <= 0xf4)
                wanted =
                    tail && !(first == 0xf0 && second < 0x90) && !(first == 0xf4 && second > 0x8f)
                        ? 4
                        : 0;
            ck_assert_uint_eq(utf8_char_bytes(at, 4), wanted);
        }
    }
}
END_TEST

START_TEST(bad_bytes_are_seen_at_any_place_of_a_text)
{
    char text[40];
    for (size_t n = 1; n <= sizeof text; n++) {
        for (size_t at = 0; at < n; at++) {
            struct bytes all = {text, n};
            memset(text, 'a', sizeof text);
            ck_assert(utf8_valid(all));
            ck_assert_uint_eq(utf8_first_forbidden(all), n);
            text[at] = '\x80';
            ck_assert(!utf8_valid(all));
            ck_assert_uint_eq(utf8_first_forbidden(all), at);
            text[at] = '\x01';
            ck_assert(utf8_valid(all));
            ck_assert_uint_eq(utf8_first_forbidden(all), at);
            text[at] = '\n';
            ck_assert_uint_eq(utf8_first_forbidden(all), n);
            text[at] = '\xc3'; /* followed by an a, or by nothing */
            ck_assert(!utf8_valid(all));
            ck_assert_uint_eq(utf8_first_forbidden(all), at);
        }
    }
    ck_assert(utf8_valid(BYTES_NONE));
    ck_assert_uint_eq(utf8_first_forbidden(BYTES_NONE), 0);
}
END_TEST

/* The character set of SendMessage, word for word. */
static bool sqs_allows(uint32_t c)
{
    return c == 0x9 || c == 0xa || c == 0xd || (c >= 0x20 && c <= 0xd7ff) ||
           (c >= 0xe000 && c <= 0xfffd) || (c >= 0x10000 && c <= 0x10ffff);
}

START_TEST(sqs_takes_exactly_its_character_set)
{
    for (uint32_t code = 0; code <= 0x10ffff; code++) {
        char text[20] = "before..";
        size_t n = shortest_form(code);
        scheme_encode(code, n, (unsigned char *)text + 8);
        memcpy(text + 8 + n, "behind..", 8);
        struct bytes all = {text, 16 + n};
        if (utf8_first_forbidden(all) != (sqs_allows(code) ? all.n : 8))
            ck_abort_msg("U+%04x", code);
    }
}
END_TEST

Suite *suite_new(void)
{
    Suite *s = suite_create("codec");
    TCase *t = tcase_create("codec");
    tcase_add_test(t, md5_matches_the_vectors_of_rfc_1321);
    tcase_add_test(t, sha256_matches_the_vectors_of_fips_180);
    tcase_add_test(t, hmac_matches_the_vectors_of_rfc_4231);
    tcase_add_test(t, a_finished_hmac_key_holds_no_secret);
    tcase_add_test(t, secrets_are_equal_only_when_every_byte_is);
    tcase_add_test(t, base64_matches_the_vectors_of_rfc_4648);
    tcase_add_test(t, base64_that_no_encoder_writes_is_refused);
    tcase_add_test(t, any_bytes_survive_base64_and_hex);
    tcase_add_test(t, hex_is_written_in_lower_case_and_read_in_both);
    tcase_add_test(t, a_uuid_has_the_form_of_version_4);
    tcase_add_test(t, every_code_point_is_utf8_in_its_shortest_form_only);
    tcase_add_test(t, every_pair_of_bytes_is_judged_by_the_table_of_rfc_3629);
    tcase_add_test(t, bad_bytes_are_seen_at_any_place_of_a_text);
    tcase_add_test(t, sqs_takes_exactly_its_character_set);
    suite_add_tcase(s, t);
    return s;
}
