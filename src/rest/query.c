// SPDX-License-Identifier: Apache-2.0
#include "rest/query.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/buf.h"
#include "base/check.h"
#include "base/utf8.h"
#include "rest/duration.h"

enum { NAMES_ROOM = 200 };

/* ---- percent-coding ---- */

static int hex_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

bool rest_percent_decode(struct bytes raw, bool plus, struct arena *arena, struct bytes *out)
{
    const char *at = raw.at;
    char *decoded = arena_get(arena, raw.n + 1);
    size_t n = 0;
    for (size_t i = 0; i < raw.n; i++) {
        if (at[i] == '+' && plus) {
            decoded[n++] = ' ';
        } else if (at[i] != '%') {
            decoded[n++] = at[i];
        } else {
            if (raw.n - i < 3 || hex_value(at[i + 1]) < 0 || hex_value(at[i + 2]) < 0)
                return false;
            decoded[n++] = (char)(hex_value(at[i + 1]) << 4 | hex_value(at[i + 2]));
            i += 2;
        }
    }
    decoded[n] = 0;
    *out = (struct bytes){decoded, n};
    return true;
}

void rest_percent_put(struct buf *out, struct bytes text)
{
    static const char digits[] = "0123456789ABCDEF";
    const unsigned char *at = text.at;
    for (size_t i = 0; i < text.n; i++) {
        unsigned char c = at[i];
        bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                     c == '-' || c == '_' || c == '.' || c == '~';
        if (plain) {
            buf_put_u8(out, c);
        } else {
            buf_put_u8(out, '%');
            buf_put_u8(out, (uint8_t)digits[c >> 4]);
            buf_put_u8(out, (uint8_t)digits[c & 15]);
        }
    }
}

/* ---- values ---- */

#define REFUSE(...)                                                                                \
    return rest_fault_at(f, REST_PROBLEM_INVALID_PARAMETER, "parameter", p->name, __VA_ARGS__)

static bool choice_known(const char *choices, struct bytes text)
{
    const char *at = choices;
    while (*at != 0) {
        size_t n = strcspn(at, "|");
        if (bytes_equal(text, (struct bytes){at, n}))
            return true;
        at += n + (at[n] == '|');
    }
    return false;
}

static bool flag_read(struct bytes text, int64_t *out)
{
    if (text.n == 0 || bytes_equal(text, BYTES_OF("1")) || bytes_equal(text, BYTES_OF("true")))
        *out = 1;
    else if (bytes_equal(text, BYTES_OF("0")) || bytes_equal(text, BYTES_OF("false")))
        *out = 0;
    else
        return false;
    return true;
}

static bool text_read(const struct rest_param *p, struct bytes text, struct rest_fault *f)
{
    if ((int64_t)text.n < p->min || (int64_t)text.n > p->max)
        REFUSE("%s must have %" PRId64 " to %" PRId64 " bytes", p->name, p->min, p->max);
    if (utf8_first_forbidden(text) != text.n)
        REFUSE("%s must be UTF-8, of control characters only tabs and line ends", p->name);
    return true;
}

static bool value_read(const struct rest_param *p, struct bytes text, struct rest_value *v,
                       struct rest_fault *f)
{
    v->there = true;
    v->text = text;
    switch (p->kind) {
    case REST_NUMBER:
        if (!rest_number_read(text, &v->number) || v->number < p->min || v->number > p->max)
            REFUSE("%s must be a whole number from %" PRId64 " to %" PRId64, p->name, p->min,
                   p->max);
        return true;
    case REST_DURATION:
        if (!rest_duration_read(text, &v->number) || v->number < p->min * 1000 ||
            v->number > p->max * 1000)
            REFUSE("%s must be a duration (30s, 5m, 2h, 500ms, or whole seconds) from %" PRId64
                   "s to %" PRId64 "s",
                   p->name, p->min, p->max);
        return true;
    case REST_FLAG:
        if (!flag_read(text, &v->number))
            REFUSE("%s must be 1, true or empty, or 0 or false", p->name);
        return true;
    case REST_CHOICE:
        if (!choice_known(p->choices, text))
            REFUSE("%s must be one of %s", p->name, p->choices);
        return true;
    case REST_TEXT:
        return text_read(p, text, f);
    case REST_OBJECT:
        break;
    }
    CHECK(false);
    return false;
}

/* ---- pairs ---- */

static bool next_pair(struct bytes *rest, struct bytes *name, struct bytes *value)
{
    if (rest->n == 0)
        return false;
    const char *at = rest->at, *end = memchr(at, '&', rest->n);
    size_t n = end == NULL ? rest->n : (size_t)(end - at);
    const char *equals = memchr(at, '=', n);
    size_t name_n = equals == NULL ? n : (size_t)(equals - at);
    *name = (struct bytes){at, name_n};
    *value = equals == NULL ? BYTES_NONE : (struct bytes){equals + 1, n - name_n - 1};
    size_t used = end == NULL ? n : n + 1;
    *rest = (struct bytes){at + used, rest->n - used};
    return true;
}

static bool refuse_unknown(struct bytes name, const struct rest_query *q, struct rest_fault *f)
{
    char known[NAMES_ROOM] = "", shown[65];
    size_t n = 0;
    for (size_t i = 0; i < q->n && n < sizeof known; i++)
        n += (size_t)snprintf(known + n, sizeof known - n, "%s, ", q->params[i].name);
    snprintf(shown, sizeof shown, "%.*s", (int)(name.n < 64 ? name.n : 64),
             name.n == 0 ? "" : (const char *)name.at);
    return rest_fault_at(f, REST_PROBLEM_INVALID_PARAMETER, "parameter", shown,
                         "unknown query parameter; known are %spretty", known);
}

static bool pair_read(struct bytes name, struct bytes raw, struct arena *arena,
                      struct rest_query *q, bool *pretty_seen, struct rest_fault *f)
{
    static const struct rest_param pretty = {"pretty", REST_FLAG, 0, 1, "0", ""};
    struct rest_value ignored = {0}, *v = NULL;
    const struct rest_param *p = NULL;
    struct bytes value;
    for (size_t i = 0; i < q->n && p == NULL; i++)
        if (bytes_equal(name, bytes_of_text(q->params[i].name))) {
            p = &q->params[i];
            v = &q->values[i];
        }
    if (p == NULL && bytes_equal(name, BYTES_OF("pretty"))) {
        p = &pretty;
        v = &ignored;
        v->given = *pretty_seen;
        *pretty_seen = true;
    }
    if (p == NULL)
        return refuse_unknown(name, q, f);
    if (v->given)
        REFUSE("%s is given twice", p->name);
    v->given = true;
    if (!rest_percent_decode(raw, true, arena, &value))
        REFUSE("%s has a broken percent escape", p->name);
    return value_read(p, value, v, f);
}

bool rest_query_read(struct bytes raw, const struct rest_param *params, size_t n,
                     struct arena *arena, struct rest_query *out, struct rest_fault *f)
{
    struct bytes name, value, decoded;
    bool pretty_seen = false;
    CHECK(n <= REST_PARAMS_MAX);
    *out = (struct rest_query){.params = params, .n = n};
    while (next_pair(&raw, &name, &value)) {
        if (!rest_percent_decode(name, true, arena, &decoded))
            return rest_fault_set(f, REST_PROBLEM_INVALID_PARAMETER,
                                  "a parameter's name has a broken percent escape");
        if (!pair_read(decoded, value, arena, out, &pretty_seen, f))
            return false;
    }
    for (size_t i = 0; i < n; i++)
        if (!out->values[i].given && params[i].preset[0] != 0)
            CHECK(value_read(&params[i], bytes_of_text(params[i].preset), &out->values[i], f));
    return true;
}

const struct rest_value *rest_query_get(const struct rest_query *q, const char *name)
{
    size_t i = 0;
    while (i < q->n && strcmp(q->params[i].name, name) != 0)
        i++;
    CHECK(i < q->n); /* a name that api/rest.def does not give this operation */
    return &q->values[i];
}

bool rest_query_pretty(struct bytes raw)
{
    struct bytes name, value;
    int64_t on = 0;
    while (next_pair(&raw, &name, &value))
        if (bytes_equal(name, BYTES_OF("pretty")))
            return flag_read(value, &on) && on == 1;
    return false;
}
