// SPDX-License-Identifier: Apache-2.0
#include "base/json.h"

#include <string.h>

#include "base/check.h"
#include "base/json_lex.h"

enum { KEYS_COMPARED_PAIRWISE = 16 };

void json_init(struct json *p, struct bytes text, struct arena *arena)
{
    static const unsigned char empty[1];
    p->at = text.n == 0 ? empty : text.at;
    p->end = p->at + text.n;
    p->arena = arena;
    p->verdict = ERR_OK;
    p->value_due = true;
    p->depth = 0;
    p->depth_max = JSON_DEPTH_MAX;
    p->keys = NULL;
    p->key_count = 0;
    p->key_room = JSON_KEYS_FIRST;
}

void json_limit_depth(struct json *p, unsigned depth_max)
{
    CHECK(depth_max <= JSON_DEPTH_MAX && p->depth == 0);
    p->depth_max = depth_max;
}

static void corrupt(struct json *p)
{
    p->verdict = ERR_CORRUPT;
    p->value_due = false;
}

static void space_skip(struct json *p)
{
    const unsigned char *at = p->at;
    while (at < p->end && (*at == ' ' || *at == '\n' || *at == '\t' || *at == '\r'))
        at++;
    p->at = at;
}

/* Steps over `c`, which must come next. */
static bool expect(struct json *p, unsigned char c)
{
    if (p->at == p->end || *p->at != c) {
        corrupt(p);
        return false;
    }
    p->at++;
    return true;
}

/* Whether `c` comes next behind white space; takes nothing but the white space. */
static bool comes(struct json *p, unsigned char c)
{
    space_skip(p);
    return p->at < p->end && *p->at == c;
}

/* Takes the string whose opening quote stands at p->at. */
static bool string_take(struct json *p, struct bytes *value)
{
    const unsigned char *from = p->at + 1;
    bool escaped;
    const unsigned char *close = json_lex_string(from, p->end, &escaped);
    if (close == NULL) {
        corrupt(p);
        return false;
    }
    p->at = close + 1;
    *value = (struct bytes){from, (size_t)(close - from)};
    if (escaped) {
        char *plain = arena_get(p->arena, value->n);
        *value = (struct bytes){plain, json_lex_unescape(from, close, plain)};
    }
    return true;
}

static bool literal_take(struct json *p, struct bytes literal)
{
    struct bytes rest = {p->at, (size_t)(p->end - p->at)};
    if (!bytes_start_with(rest, literal)) {
        corrupt(p);
        return false;
    }
    p->at += literal.n;
    return true;
}

static struct bytes *keys_of(struct json *p)
{
    return p->keys == NULL ? p->keys_first : p->keys;
}

static void key_push(struct json *p, struct bytes key)
{
    if (p->key_count == p->key_room) {
        struct bytes *more = arena_get(p->arena, 2 * (size_t)p->key_room * sizeof *more);
        memcpy(more, keys_of(p), p->key_count * sizeof *more);
        p->keys = more;
        p->key_room *= 2;
    }
    keys_of(p)[p->key_count++] = key;
}

/* Any order will do for finding equals; by length first spares most comparisons of bytes. */
static bool key_before(struct bytes a, struct bytes b)
{
    return a.n != b.n ? a.n < b.n : memcmp(a.at, b.at, a.n) < 0;
}

static void key_sift(struct bytes *keys, size_t i, size_t n)
{
    struct bytes key = keys[i];
    for (size_t child; (child = 2 * i + 1) < n; i = child) {
        if (child + 1 < n && key_before(keys[child], keys[child + 1]))
            child++;
        if (!key_before(key, keys[child]))
            break;
        keys[i] = keys[child];
    }
    keys[i] = key;
}

/* Heapsort: in place, and no choice of keys makes it slow, as it would a hash table. */
static void keys_sort(struct bytes *keys, size_t n)
{
    for (size_t i = n / 2; i-- > 0;)
        key_sift(keys, i, n);
    for (size_t last = n - 1; last > 0; last--) {
        struct bytes greatest = keys[0];
        keys[0] = keys[last];
        keys[last] = greatest;
        key_sift(keys, 0, last);
    }
}

static bool keys_repeat(struct bytes *keys, size_t n)
{
    if (n <= KEYS_COMPARED_PAIRWISE) {
        for (size_t i = 1; i < n; i++)
            for (size_t j = 0; j < i; j++)
                if (bytes_equal(keys[i], keys[j]))
                    return true;
        return false;
    }
    keys_sort(keys, n);
    for (size_t i = 1; i < n; i++)
        if (bytes_equal(keys[i - 1], keys[i]))
            return true;
    return false;
}

static struct json_level *level_top(struct json *p)
{
    return &p->levels[p->depth - 1];
}

static bool level_enter(struct json *p, bool is_object)
{
    if (p->depth == p->depth_max) {
        corrupt(p);
        return false;
    }
    p->at++;
    p->value_due = false;
    p->levels[p->depth++] = (struct json_level){is_object, false, p->key_count};
    return true;
}

/* Steps over the bracket at p->at, which closes the innermost level. */
static void level_leave(struct json *p)
{
    uint32_t first = level_top(p)->key_first;
    if (keys_repeat(keys_of(p) + first, p->key_count - first)) {
        corrupt(p);
        return;
    }
    p->at++;
    p->key_count = first;
    p->depth--;
}

/* At the place between two members or elements, or before the first: whether there is one more. */
static bool level_goes_on(struct json *p, bool is_object)
{
    if (p->verdict == ERR_OK && p->value_due)
        json_skip(p);
    if (p->verdict != ERR_OK)
        return false;
    CHECK(p->depth > 0 && level_top(p)->is_object == is_object);
    if (comes(p, is_object ? '}' : ']')) {
        level_leave(p);
        return false;
    }
    if (level_top(p)->begun && !expect(p, ','))
        return false;
    level_top(p)->begun = true;
    return true;
}

bool json_next_member(struct json *p, struct bytes *key)
{
    if (!level_goes_on(p, true))
        return false;
    struct bytes found;
    if (!comes(p, '"')) {
        corrupt(p);
        return false;
    }
    if (!string_take(p, &found))
        return false;
    if (found.n > 0 && memchr(found.at, '\0', found.n) != NULL) {
        corrupt(p);
        return false;
    }
    key_push(p, found);
    space_skip(p);
    if (!expect(p, ':'))
        return false;
    p->value_due = true;
    *key = found;
    return true;
}

bool json_next_element(struct json *p)
{
    if (!level_goes_on(p, false))
        return false;
    p->value_due = true;
    return true;
}

enum json_type json_peek(struct json *p)
{
    if (!p->value_due)
        return JSON_TYPE_NOTHING;
    space_skip(p);
    if (p->at == p->end)
        return JSON_TYPE_NOTHING;
    unsigned char c = *p->at;
    switch (c) {
    case '{':
        return JSON_TYPE_OBJECT;
    case '[':
        return JSON_TYPE_ARRAY;
    case '"':
        return JSON_TYPE_STRING;
    case 't':
    case 'f':
        return JSON_TYPE_BOOL;
    case 'n':
        return JSON_TYPE_NULL;
    default:
        return c == '-' || (c >= '0' && c <= '9') ? JSON_TYPE_NUMBER : JSON_TYPE_NOTHING;
    }
}

/* Reads on to the end of the text, whoever has asked for what so far. */
static void rest_skip(struct json *p)
{
    struct bytes key;
    if (p->value_due)
        json_skip(p);
    while (p->verdict == ERR_OK && p->depth > 0) {
        if (level_top(p)->is_object)
            while (json_next_member(p, &key))
                json_skip(p);
        else
            while (json_next_element(p))
                json_skip(p);
    }
    space_skip(p);
    if (p->at != p->end)
        corrupt(p);
}

/* The value that is due, or was taken just now, is not what the caller wants. */
static enum err invalid(struct json *p)
{
    rest_skip(p);
    if (p->verdict == ERR_OK)
        p->verdict = ERR_INVALID;
    return p->verdict;
}

/* Whether a value of this type is due. */
static bool value_is(struct json *p, enum json_type type)
{
    if (p->verdict != ERR_OK)
        return false;
    CHECK(p->value_due);
    enum json_type found = json_peek(p);
    if (found == type)
        return true;
    if (found == JSON_TYPE_NOTHING)
        corrupt(p);
    else
        invalid(p);
    return false;
}

enum err json_enter_object(struct json *p)
{
    if (value_is(p, JSON_TYPE_OBJECT))
        level_enter(p, true);
    return p->verdict;
}

enum err json_enter_array(struct json *p)
{
    if (value_is(p, JSON_TYPE_ARRAY))
        level_enter(p, false);
    return p->verdict;
}

enum err json_read_string(struct json *p, struct bytes *value)
{
    struct bytes found;
    if (value_is(p, JSON_TYPE_STRING) && string_take(p, &found)) {
        p->value_due = false;
        *value = found;
    }
    return p->verdict;
}

enum err json_read_int64(struct json *p, int64_t *value)
{
    if (!value_is(p, JSON_TYPE_NUMBER))
        return p->verdict;
    bool integer;
    const unsigned char *from = p->at, *end = json_lex_number(from, p->end, &integer);
    if (end == NULL) {
        corrupt(p);
        return p->verdict;
    }
    p->at = end;
    p->value_due = false;
    if (!integer || !json_lex_int64(from, end, value))
        return invalid(p);
    return ERR_OK;
}

enum err json_read_bool(struct json *p, bool *value)
{
    if (!value_is(p, JSON_TYPE_BOOL))
        return p->verdict;
    bool is_true = *p->at == 't';
    if (literal_take(p, is_true ? BYTES_OF("true") : BYTES_OF("false"))) {
        p->value_due = false;
        *value = is_true;
    }
    return p->verdict;
}

bool json_read_null(struct json *p)
{
    if (json_peek(p) != JSON_TYPE_NULL || !literal_take(p, BYTES_OF("null")))
        return false;
    p->value_due = false;
    return true;
}

/* Takes a string, number, boolean or null, and looks at nothing but its form. */
static void scalar_skip(struct json *p, enum json_type type)
{
    bool aside;
    const unsigned char *end = NULL;
    if (type == JSON_TYPE_NULL)
        literal_take(p, BYTES_OF("null"));
    else if (type == JSON_TYPE_BOOL)
        literal_take(p, *p->at == 't' ? BYTES_OF("true") : BYTES_OF("false"));
    else if (type == JSON_TYPE_STRING && (end = json_lex_string(p->at + 1, p->end, &aside)) != NULL)
        p->at = end + 1;
    else if (type == JSON_TYPE_NUMBER && (end = json_lex_number(p->at, p->end, &aside)) != NULL)
        p->at = end;
    else
        corrupt(p);
    p->value_due = false;
}

/* Recursion is bounded by depth_max. */
enum err json_skip(struct json *p)
{
    if (p->verdict != ERR_OK)
        return p->verdict;
    CHECK(p->value_due);
    enum json_type type = json_peek(p);
    struct bytes key;
    if (type == JSON_TYPE_OBJECT && level_enter(p, true))
        while (json_next_member(p, &key))
            json_skip(p);
    else if (type == JSON_TYPE_ARRAY && level_enter(p, false))
        while (json_next_element(p))
            json_skip(p);
    else if (p->verdict == ERR_OK)
        scalar_skip(p, type);
    return p->verdict;
}

enum err json_read_raw(struct json *p, struct bytes *text)
{
    json_peek(p); /* steps over white space */
    const unsigned char *from = p->at;
    if (json_skip(p) == ERR_OK)
        *text = (struct bytes){from, (size_t)(p->at - from)};
    return p->verdict;
}

enum err json_finish(struct json *p)
{
    if (p->verdict == ERR_OK)
        rest_skip(p);
    return p->verdict;
}
