// SPDX-License-Identifier: Apache-2.0
#include "catalog/topic_json.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum err catalog_json_load_upto(struct bytes json, int newest, json_t **out)
{
    json_t *root = json_loadb(json.n == 0 ? "" : json.at, json.n, JSON_REJECT_DUPLICATES, NULL);
    json_t *format = json_object_get(root, "format"); /* NULL when root is no object */
    enum err e = ERR_CORRUPT;
    if (json_is_integer(format) && json_integer_value(format) > newest)
        e = ERR_NEWER_FORMAT;
    else if (json_is_integer(format) && json_integer_value(format) >= CATALOG_JSON_FORMAT)
        e = ERR_OK;
    if (e == ERR_OK)
        *out = root;
    else
        json_decref(root);
    return e;
}

enum err catalog_json_load(struct bytes json, json_t **out)
{
    return catalog_json_load_upto(json, CATALOG_JSON_FORMAT, out);
}

static int buf_sink(const char *at, size_t n, void *self)
{
    buf_put(self, at, n);
    return 0;
}

void catalog_json_store(json_t *root, struct buf *json)
{
    CHECK(root != NULL); /* no memory, or text that is not UTF-8, which callers keep out */
    CHECK(json_dump_callback(root, buf_sink, json, JSON_COMPACT) == 0);
    json_decref(root);
}

json_t *catalog_json_int64(int64_t v)
{
    return json_sprintf("%lld", (long long)v);
}

bool catalog_int64_read(const char *text, int64_t min, int64_t max, int64_t *out)
{
    char again[24];
    errno = 0;
    long long v = strtoll(text, NULL, 10);
    if (errno != 0 || v < min || v > max)
        return false;
    /* Written again it must be the same text: no blanks, plus signs, leading zeros or tails. */
    (void)snprintf(again, sizeof again, "%lld", v);
    if (strcmp(again, text) != 0)
        return false;
    *out = v;
    return true;
}

void catalog_hex_write(char *hex, const uint8_t *at, size_t n)
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < n; i++) {
        hex[2 * i] = digits[at[i] >> 4];
        hex[2 * i + 1] = digits[at[i] & 15];
    }
    hex[2 * n] = '\0';
}

static int digit_of(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool catalog_hex_read(const char *hex, uint8_t *at, size_t n)
{
    if (strlen(hex) != 2 * n)
        return false;
    for (size_t i = 0; i < n; i++) {
        int high = digit_of(hex[2 * i]), low = digit_of(hex[2 * i + 1]);
        if (high < 0 || low < 0)
            return false;
        at[i] = (uint8_t)(high << 4 | low);
    }
    return true;
}
