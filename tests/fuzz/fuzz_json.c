// SPDX-License-Identifier: Apache-2.0
/* Our JSON parser against jansson's, on texts made up from a seed and then damaged.
 *
 *     fuzz_json [N]      N texts (default 20,000); LEASELOG_SEED=… begins elsewhere
 *
 * Text i is made from seed + i alone, so that a disagreement is played again with
 * LEASELOG_SEED=(the printed seed) fuzz_json 1. Both must agree on which texts are JSON and, for
 * those that are, on every value. The known differences are modelled exactly:
 *   - jansson refuses integers beyond int64 and reals beyond double. Where it says so, that number
 * is blotted out with a 0 in jansson's copy of the text, and jansson is asked again.
 *   - jansson loses a NUL byte that follows a number or a literal ([1<NUL>] is 1 in an array to
 *     it). No JSON text holds a NUL byte, so a text that does counts as refused.
 *   - we refuse to nest deeper than JSON_DEPTH_MAX, jansson than 2048. The depth of what jansson
 *     accepted is measured.
 * Besides: skipping the whole text, taking it apart, and reading it at random must all come to the
 * same verdict. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/json.h"
#include "base/json_write.h"
#include "base/rng.h"

static struct rng rng;
static struct buf scratch;

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

static bool in_number(char c)
{
    return c != '\0' && strchr("+-.eE0123456789", c) != NULL;
}

/* jansson's tree, or NULL. `blotted`: some numbers in it are 0 instead of what the text has. */
static json_t *jansson_read(struct bytes text, bool *blotted)
{
    json_t *tree;
    *blotted = false;
    if (text.n == 0 || memchr(text.at, '\0', text.n) != NULL)
        return NULL;
    char *copy = malloc(text.n);
    memcpy(copy, text.at, text.n);
    for (;;) {
        json_error_t error;
        tree = json_loadb(copy, text.n, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY | JSON_ALLOW_NUL,
                          &error);
        if (tree != NULL || json_error_code(&error) != json_error_numeric_overflow)
            break;
        size_t at = (size_t)error.position; /* the number's end */
        for (bool begun = false; !begun && at > 0 && in_number(copy[at - 1]);) {
            begun = copy[--at] == '-' && (at == 0 || (copy[at - 1] | 0x20) != 'e');
            copy[at] = ' ';
        }
        copy[error.position - 2] = '0'; /* between blanks: it must join neither neighbour */
        *blotted = true;
    }
    free(copy);
    return tree;
}

static size_t tree_depth(json_t *tree)
{
    size_t deepest = 0, i;
    const char *key;
    json_t *child;
    if (!json_is_object(tree) && !json_is_array(tree))
        return 0;
    json_object_foreach(tree, key, child)
    {
        size_t depth = tree_depth(child);
        deepest = depth > deepest ? depth : deepest;
    }
    json_array_foreach(tree, i, child)
    {
        size_t depth = tree_depth(child);
        deepest = depth > deepest ? depth : deepest;
    }
    return deepest + 1;
}

static bool tree_has_real(json_t *tree)
{
    size_t i;
    const char *key;
    json_t *child;
    json_object_foreach(tree, key, child) if (tree_has_real(child)) return true;
    json_array_foreach(tree, i, child) if (tree_has_real(child)) return true;
    return json_is_real(tree);
}

static bool same_value(struct json *p, json_t *tree, bool blotted);

static bool same_members(struct json *p, json_t *tree, bool blotted)
{
    struct bytes key;
    size_t n = 0;
    json_enter_object(p);
    for (; json_next_member(p, &key); n++) {
        json_t *child = json_object_getn(tree, key.at, key.n);
        if (child == NULL || !same_value(p, child, blotted))
            return false;
    }
    return n == json_object_size(tree);
}

static bool same_elements(struct json *p, json_t *tree, bool blotted)
{
    size_t n = 0;
    json_enter_array(p);
    for (; json_next_element(p); n++) {
        json_t *child = json_array_get(tree, n);
        if (child == NULL || !same_value(p, child, blotted))
            return false;
    }
    return n == json_array_size(tree);
}

static bool same_integer(struct json *p, json_t *tree, bool blotted)
{
    int64_t number;
    struct bytes text;
    if (!blotted)
        return json_read_int64(p, &number) == ERR_OK && number == json_integer_value(tree);
    return json_peek(p) == JSON_TYPE_NUMBER && json_read_raw(p, &text) == ERR_OK;
}

static bool same_value(struct json *p, json_t *tree, bool blotted)
{
    struct bytes text;
    bool flag;
    switch (json_typeof(tree)) {
    case JSON_OBJECT:
        return same_members(p, tree, blotted);
    case JSON_ARRAY:
        return same_elements(p, tree, blotted);
    case JSON_STRING:
        return json_read_string(p, &text) == ERR_OK &&
               bytes_equal(text, (struct bytes){json_string_value(tree), json_string_length(tree)});
    case JSON_INTEGER:
        return same_integer(p, tree, blotted);
    case JSON_REAL:
        if (json_peek(p) != JSON_TYPE_NUMBER || json_read_raw(p, &text) != ERR_OK)
            return false;
        buf_put_bytes(&scratch, text);
        buf_put_u8(&scratch, '\0');
        bool same = strtod(scratch.at, NULL) == json_real_value(tree);
        buf_clear(&scratch);
        return same;
    case JSON_TRUE:
    case JSON_FALSE:
        return json_read_bool(p, &flag) == ERR_OK && flag == json_is_true(tree);
    case JSON_NULL:
        return json_read_null(p);
    }
    return false;
}

/* Takes the value as an int64 wherever a number stands. */
static void integers_read(struct json *p)
{
    struct bytes key;
    int64_t number;
    enum json_type type = json_peek(p);
    if (type == JSON_TYPE_OBJECT) {
        json_enter_object(p);
        while (json_next_member(p, &key))
            integers_read(p);
    } else if (type == JSON_TYPE_ARRAY) {
        json_enter_array(p);
        while (json_next_element(p))
            integers_read(p);
    } else if (type == JSON_TYPE_NUMBER) {
        json_read_int64(p, &number);
    } else {
        json_skip(p);
    }
}

/* Takes the value as whatever comes to mind, or not at all. */
static void random_read(struct json *p)
{
    struct bytes text;
    int64_t number;
    bool flag;
    size_t kind = below(12);
    enum json_type type = json_peek(p);
    if (kind < 6 && (type == JSON_TYPE_OBJECT || type == JSON_TYPE_ARRAY))
        kind = type == JSON_TYPE_OBJECT ? 10 : 11;
    if (kind == 0)
        json_read_string(p, &text);
    else if (kind == 1)
        json_read_int64(p, &number);
    else if (kind == 2)
        json_read_bool(p, &flag);
    else if (kind == 3)
        json_read_null(p);
    else if (kind == 4)
        json_read_raw(p, &text);
    else if (kind == 5)
        json_skip(p);
    else if (kind == 10 && json_enter_object(p) == ERR_OK)
        while (json_next_member(p, &text))
            random_read(p);
    else if (kind == 11 && json_enter_array(p) == ERR_OK)
        while (json_next_element(p))
            random_read(p);
}

/* What is wrong with our reading of the text, or NULL. */
static const char *disagreement(struct bytes text, json_t *tree, bool blotted, struct arena *arena)
{
    struct json p;
    enum err sound = tree != NULL && tree_depth(tree) <= JSON_DEPTH_MAX ? ERR_OK : ERR_CORRUPT;
    json_init(&p, text, arena);
    json_skip(&p);
    if (json_finish(&p) != sound)
        return "one accepts what the other refuses";
    json_init(&p, text, arena);
    if (sound == ERR_OK && (!same_value(&p, tree, blotted) || json_finish(&p) != ERR_OK))
        return "the values differ";
    json_init(&p, text, arena);
    integers_read(&p);
    bool only_integers = tree != NULL && !blotted && !tree_has_real(tree);
    enum err wanted = sound == ERR_OK && !only_integers ? ERR_INVALID : sound;
    if (json_finish(&p) != wanted)
        return "numbers were taken for what they are not";
    json_init(&p, text, arena);
    random_read(&p);
    enum err found = json_finish(&p);
    if (found != sound && !(sound == ERR_OK && found == ERR_INVALID))
        return "the way of reading changes the verdict";
    return NULL;
}

static void tree_write(struct json_writer *w, json_t *tree)
{
    size_t i;
    const char *key;
    json_t *child;
    if (json_is_object(tree)) {
        json_begin_object(w);
        json_object_foreach(tree, key, child)
        {
            json_put_key(w, key);
            tree_write(w, child);
        }
        json_end_object(w);
    } else if (json_is_array(tree)) {
        json_begin_array(w);
        json_array_foreach(tree, i, child) tree_write(w, child);
        json_end_array(w);
    } else if (json_is_string(tree)) {
        json_put_string(w, (struct bytes){json_string_value(tree), json_string_length(tree)});
    } else if (json_is_integer(tree)) {
        json_put_int64(w, json_integer_value(tree));
    } else if (json_is_real(tree)) {
        char *text = json_dumps(tree, JSON_ENCODE_ANY | JSON_REAL_PRECISION(17));
        json_put_raw(w, bytes_of_text(text));
        free(text);
    } else if (json_is_boolean(tree)) {
        json_put_bool(w, json_is_true(tree));
    } else {
        json_put_null(w);
    }
}

/* What we accepted, written anew by json_write, must mean the same. */
static bool write_anew(json_t *tree)
{
    struct buf out = BUF_EMPTY;
    struct json_writer w = json_writer_to(&out);
    tree_write(&w, tree);
    json_writer_done(&w);
    bool blotted;
    json_t *again = jansson_read(buf_bytes(&out), &blotted);
    bool same = again != NULL && json_equal(tree, again) == 1;
    json_decref(again);
    buf_fini(&out);
    return same;
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
    bool blotted;
    json_t *tree = jansson_read(text, &blotted);
    struct arena arena;
    arena_init(&arena, NULL, 0);
    const char *wrong = disagreement(text, tree, blotted, &arena);
    if (wrong == NULL && tree != NULL && tree_depth(tree) <= JSON_DEPTH_MAX && !write_anew(tree))
        wrong = "what was written is not what was read";
    counts->accepted += tree != NULL;
    counts->too_deep += tree != NULL && tree_depth(tree) > JSON_DEPTH_MAX;
    counts->blotted += blotted;
    if (wrong != NULL) {
        fprintf(stderr, "%s: LEASELOG_SEED=%llu, jansson %s: ", wrong, (unsigned long long)seed,
                tree == NULL ? "refuses" : "accepts");
        for (size_t i = 0; i < text.n; i++)
            fprintf(stderr, "%02x", ((const unsigned char *)text.at)[i]);
        fprintf(stderr, "\n");
    }
    arena_fini(&arena);
    json_decref(tree);
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
    buf_fini(&scratch);
    return EXIT_SUCCESS;
}
