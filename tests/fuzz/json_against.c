// SPDX-License-Identifier: Apache-2.0
#include "fuzz/json_against.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/json.h"
#include "base/json_write.h"

static struct buf scratch;

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
static void random_read(struct json *p, struct rng *rng)
{
    struct bytes text;
    int64_t number;
    bool flag;
    size_t kind = (size_t)rng_below(rng, 12);
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
            random_read(p, rng);
    else if (kind == 11 && json_enter_array(p) == ERR_OK)
        while (json_next_element(p))
            random_read(p, rng);
}

/* What is wrong with our reading of the text, or NULL. */
static const char *disagreement(struct bytes text, json_t *tree, bool blotted, struct arena *arena,
                                struct rng *rng)
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
    random_read(&p, rng);
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

const char *json_against(struct bytes text, struct rng *rng, struct json_agreed *out)
{
    bool blotted;
    json_t *tree = jansson_read(text, &blotted);
    struct arena arena;
    arena_init(&arena, NULL, 0);
    const char *wrong = disagreement(text, tree, blotted, &arena, rng);
    bool too_deep = tree != NULL && tree_depth(tree) > JSON_DEPTH_MAX;
    if (wrong == NULL && tree != NULL && !too_deep && !write_anew(tree))
        wrong = "what was written is not what was read";
    *out = (struct json_agreed){tree != NULL, too_deep, blotted};
    arena_fini(&arena);
    json_decref(tree);
    buf_fini(&scratch);
    return wrong;
}
