// SPDX-License-Identifier: Apache-2.0
/* Our JSON parser against jansson's (json_against.h), on texts made up from a seed and then
 * damaged.
 *
 *     fuzz_json [N]      N texts (default 20,000); LEASELOG_SEED=… begins elsewhere
 *
 * Text i is made from seed + i alone, so that a disagreement is played again with
 * LEASELOG_SEED=(the printed seed) fuzz_json 1. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/json.h"
#include "fuzz/json_against.h"

static struct rng rng;

static size_t below(size_t limit)
{
    return (size_t)rng_below(&rng, limit);
}

#define PUT_ANY(b, choices) buf_put_text(b, choices[below(sizeof choices / sizeof choices[0])])

static void space_make(struct buf *b)
{
    static const char *const spaces[] = {" ", "\n", "\t", "\r", "  "};
    while (below(6) == 0)
        PUT_ANY(b, spaces);
}

static void number_make(struct buf *b)
{
    static const char *const odd[] = {"-0",
                                      "0",
                                      "1e999",
                                      "-1e999",
                                      "1e-999",
                                      "0123",
                                      "-",
                                      "1.",
                                      ".5",
                                      "1.5",
                                      "1e5",
                                      "1E+2",
                                      "1e",
                                      "1e+",
                                      "+1",
                                      "00",
                                      "0e0",
                                      "-01",
                                      "1.e1",
                                      "0x10",
                                      "NaN",
                                      "1.0",
                                      "-0.0",
                                      "1e308",
                                      "1e309",
                                      "9223372036854775807",
                                      "9223372036854775808",
                                      "-9223372036854775808",
                                      "-9223372036854775809",
                                      "18446744073709551616",
                                      "123456789012345678901234567890"};
    switch (below(4)) {
    case 0:
        PUT_ANY(b, odd);
        break;
    case 1:
        buf_put_format(b, "%lld", (long long)rng_next(&rng));
        break;
    case 2:
        buf_put_format(b, "%zu.%zue%d", below(100), below(1000), (int)below(700) - 350);
        break;
    default:
        buf_put_format(b, "%zu", below(1000));
    }
}

// clang-format off
static const char *const good_pieces[] = {
    "a", "b", "key", "plain text that is a little longer", " ", "/", "\x7f", "\xc3\xa4",
    "\xe2\x82\xac", "\xf0\x9f\x98\x80", "\xef\xbf\xbf", "\xed\x9f\xbf", "\xee\x80\x80",
    "\xf4\x8f\xbf\xbf", "\\n", "\\\"", "\\\\", "\\/", "\\b\\f\\r\\t", "\\u0041", "\\u00e4",
    "\\u20AC", "\\ud83d\\ude00", "\\uD83D\\uDE00", "\\uffff", "\\u0061",
};
static const char *const bad_pieces[] = {
    "\xc0\x80", "\xc1\xbf", "\xe0\x80\x80", "\xe0\x9f\xbf", "\xed\xa0\x80", "\xed\xbf\xbf",
    "\xf0\x80\x80\x80", "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\x80",
    "\xff", "\xe2\x82", "\xf0\x9f\x98", "\xc3", "\\ud83d", "\\ude00", "\\ud83d\\u0041",
    "\\ud83dx", "\\ud83d\\n", "\\udbff\\ue000", "\\u12", "\\u12g4", "\\x41", "\\'", "\\", "\n",
    "\t", "\x1f", "\x01", "\\U0041", "\\ud83d\\ud83d", "\\u0000",
};
// clang-format on

static void string_make(struct buf *b, size_t pieces)
{
    buf_put_u8(b, '"');
    for (size_t i = below(pieces + 1); i > 0; i--) {
        if (below(60) == 0)
            PUT_ANY(b, bad_pieces);
        else
            PUT_ANY(b, good_pieces);
    }
    buf_put_u8(b, '"');
}

static void value_make(struct buf *b, int depth);

static void members_make(struct buf *b, int depth, bool is_object)
{
    size_t n = below(40) == 0 ? below(60) : below(5);
    buf_put_u8(b, is_object ? '{' : '[');
    for (size_t i = 0; i < n; i++) {
        if (i > 0)
            buf_put_u8(b, ',');
        space_make(b);
        if (is_object) {
            if (below(8) == 0)
                string_make(b, 2); /* likely to be there already */
            else
                buf_put_format(b, below(2) == 0 ? "\"k%zu\"" : "\"\\u006b%zu\"", i);
            space_make(b);
            buf_put_u8(b, ':');
            space_make(b);
        }
        value_make(b, n > 10 ? 0 : depth - 1);
        space_make(b);
    }
    buf_put_u8(b, is_object ? '}' : ']');
}

static void value_make(struct buf *b, int depth)
{
    static const char *const literals[] = {"true", "false", "null"};
    size_t kind = below(depth > 0 ? 7 : 3);
    if (kind == 0)
        PUT_ANY(b, literals);
    else if (kind == 1)
        number_make(b);
    else if (kind == 2)
        string_make(b, 6);
    else
        members_make(b, depth, kind % 2 == 1);
}

/* Nested about as deep as we allow, or as jansson does. */
static void deep_make(struct buf *b)
{
    size_t depth = below(20) == 0 ? 2040 + below(12) : JSON_DEPTH_MAX - 3 + below(6);
    char *closing = malloc(depth);
    for (size_t i = 0; i < depth; i++) {
        bool is_object = below(2) == 0;
        buf_put_text(b, is_object ? "{\"a\":" : "[");
        closing[i] = is_object ? '}' : ']';
    }
    value_make(b, 1);
    while (depth > 0)
        buf_put_u8(b, (uint8_t)closing[--depth]);
    free(closing);
}

/* Tokens in any order, which finds holes in the grammar that damage to sound texts would not. */
static void soup_make(struct buf *b)
{
    static const char *const tokens[] = {
        "{",  "}", "[", "]", ",",    ":", "\"a\"", "1",  "-",        "null", "t",      " ",
        "\"", "0", ".", "e", "true", "+", "{}",    "[]", "{\"a\":1", "[1,",  "\"b\":", "\\"};
    for (size_t i = below(8); i > 0; i--)
        PUT_ANY(b, tokens);
}

static void damage(struct buf *b)
{
    static const char *const odd[] = {
        "\"",  "\\",           ",", "}", "]", "{", "[", ":",
        "\\u", "\xed\xa0\x80", "e", ".", "-", "0", " ", "\xef\xbb\xbf",
        "\n",  "\\ud800"};
    if (b->n == 0)
        return;
    size_t at = below(b->n), n = below(b->n - at) + 1, kind = below(7);
    if (n > 8 && below(4) != 0)
        n = below(8) + 1;
    if (kind == 0) {
        b->at[at] = (char)(b->at[at] ^ 1 << below(8));
    } else if (kind == 1) {
        b->at[at] = (char)rng_next(&rng);
    } else if (kind == 2) {
        memmove(b->at + at, b->at + at + n, b->n - at - n);
        b->n -= n;
    } else if (kind == 3) {
        b->n = at;
    } else if (kind == 4) {
        struct buf tail = BUF_EMPTY; /* a stretch twice, or an odd thing put in */
        buf_put(&tail, b->at + at, b->n - at);
        b->n = at;
        if (below(2) == 0)
            buf_put(b, tail.at, n);
        else
            PUT_ANY(b, odd);
        buf_put(b, tail.at, tail.n);
        buf_fini(&tail);
    } else if (kind == 5) {
        b->at[at] = '\0';
    } else {
        size_t to = below(b->n); /* splice: bytes from elsewhere */
        memmove(b->at + to, b->at + at, n < b->n - to ? n : b->n - to);
    }
}

static void text_make(struct buf *b)
{
    size_t kind = below(16);
    space_make(b);
    if (kind == 0)
        deep_make(b);
    else if (kind == 1)
        soup_make(b);
    else
        value_make(b, 4);
    space_make(b);
    if (below(2) == 0)
        for (size_t i = below(4); i > 0; i--)
            damage(b);
}

struct counts {
    size_t accepted, too_deep, blotted;
};

static bool one_text(uint64_t seed, struct counts *counts)
{
    rng = (struct rng){.state = seed};
    rng_next(&rng); /* seeds lie side by side; their texts should not */
    rng.state = rng_next(&rng);
    struct buf made = BUF_EMPTY;
    text_make(&made);
    /* A copy without a byte to spare, so that a sanitizer sees any step beyond. */
    char *copy = malloc(made.n);
    if (made.n > 0)
        memcpy(copy, made.at, made.n);
    struct bytes text = {copy, made.n};
    struct json_agreed agreed;
    const char *wrong = json_against(text, &rng, &agreed);
    counts->accepted += agreed.accepted;
    counts->too_deep += agreed.too_deep;
    counts->blotted += agreed.blotted;
    if (wrong != NULL) {
        fprintf(stderr, "%s: LEASELOG_SEED=%llu, jansson %s: ", wrong, (unsigned long long)seed,
                agreed.accepted ? "accepts" : "refuses");
        for (size_t i = 0; i < text.n; i++)
            fprintf(stderr, "%02x", ((const unsigned char *)text.at)[i]);
        fprintf(stderr, "\n");
    }
    free(copy);
    buf_fini(&made);
    return wrong == NULL;
}

int main(int argc, char **argv)
{
    const char *from = getenv("LEASELOG_SEED");
    uint64_t seed = from == NULL ? 1 : strtoull(from, NULL, 10);
    uint64_t n = argc > 1 ? strtoull(argv[1], NULL, 10) : 20000;
    struct counts counts = {0, 0, 0};
    printf("fuzz_json: %llu texts, LEASELOG_SEED=%llu\n", (unsigned long long)n,
           (unsigned long long)seed);
    for (uint64_t i = 0; i < n; i++)
        if (!one_text(seed + i, &counts))
            return EXIT_FAILURE;
    printf("jansson accepts %zu, %zu of them deeper than we do; numbers beyond its range in %zu\n",
           counts.accepted, counts.too_deep, counts.blotted);
    return EXIT_SUCCESS;
}
