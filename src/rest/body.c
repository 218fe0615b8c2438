// SPDX-License-Identifier: Apache-2.0
#include "rest/body.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/buf.h"
#include "base/check.h"
#include "base/codec.h"
#include "rest/duration.h"

enum { TEXT_MAX = 300, NAME_SHOWN_MAX = 80 };

static void place_put(struct buf *out, const struct rest_place *at)
{
    if (at == NULL)
        return;
    place_put(out, at->up);
    buf_put_u8(out, '/');
    if (at->name.at == NULL) {
        buf_put_format(out, "%zu", at->index);
        return;
    }
    const char *name = at->name.at;
    for (size_t i = 0; i < at->name.n && i < NAME_SHOWN_MAX; i++) {
        if (name[i] == '~' || name[i] == '/')
            buf_put_text(out, name[i] == '~' ? "~0" : "~1");
        else
            buf_put_u8(out, (uint8_t)name[i]);
    }
}

bool rest_body_fault(struct rest_fault *f, enum rest_problem p, const struct rest_place *at,
                     const char *format, ...)
{
    char text[TEXT_MAX];
    struct buf pointer = BUF_EMPTY;
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    place_put(&pointer, at);
    buf_put_u8(&pointer, 0);
    rest_fault_at(f, p, "pointer", pointer.at, "%s", text);
    buf_fini(&pointer);
    return false;
}

#define REFUSE(...) return rest_body_fault(f, REST_PROBLEM_INVALID_BODY, at, __VA_ARGS__)

/* Whether the value is of another type. A broken text is none. */
static bool is_other(struct json *j, enum json_type wanted)
{
    enum json_type there = json_peek(j);
    return there != wanted && there != JSON_TYPE_NOTHING;
}

bool rest_body_object(struct json *j, const struct rest_place *at, struct rest_fault *f)
{
    if (is_other(j, JSON_TYPE_OBJECT))
        REFUSE("must be an object");
    (void)json_enter_object(j);
    return true;
}

bool rest_body_array(struct json *j, const struct rest_place *at, struct rest_fault *f)
{
    if (is_other(j, JSON_TYPE_ARRAY))
        REFUSE("must be an array");
    (void)json_enter_array(j);
    return true;
}

bool rest_body_text(struct json *j, const struct rest_place *at, size_t bytes_min, size_t bytes_max,
                    struct bytes *out, struct rest_fault *f)
{
    struct bytes text = BYTES_NONE;
    if (is_other(j, JSON_TYPE_STRING))
        REFUSE("must be a text of %zu to %zu bytes", bytes_min, bytes_max);
    if (json_read_string(j, &text) != ERR_OK)
        return true;
    if (text.n < bytes_min || text.n > bytes_max)
        REFUSE("must have %zu to %zu bytes, not %zu", bytes_min, bytes_max, text.n);
    *out = text;
    return true;
}

bool rest_body_flag(struct json *j, const struct rest_place *at, bool *out, struct rest_fault *f)
{
    if (is_other(j, JSON_TYPE_BOOL))
        REFUSE("must be true or false");
    (void)json_read_bool(j, out);
    return true;
}

bool rest_body_number(struct json *j, const struct rest_place *at, int64_t min, int64_t max,
                      int64_t *out, struct rest_fault *f)
{
    struct bytes raw = BYTES_NONE;
    int64_t value;
    if (is_other(j, JSON_TYPE_NUMBER))
        REFUSE("must be a whole number from %" PRId64 " to %" PRId64, min, max);
    if (json_read_raw(j, &raw) != ERR_OK)
        return true;
    if (!rest_number_read(raw, &value) || value < min || value > max)
        REFUSE("must be a whole number from %" PRId64 " to %" PRId64, min, max);
    *out = value;
    return true;
}

bool rest_body_duration(struct json *j, const struct rest_place *at, int64_t seconds_min,
                        int64_t seconds_max, int64_t *ms, struct rest_fault *f)
{
    struct bytes text = BYTES_NONE;
    int64_t value;
    enum err e;
    if (json_peek(j) == JSON_TYPE_NUMBER)
        e = json_read_raw(j, &text);
    else if (is_other(j, JSON_TYPE_STRING))
        goto refuse;
    else
        e = json_read_string(j, &text);
    if (e != ERR_OK)
        return true;
    if (rest_duration_read(text, &value) && value >= seconds_min * 1000 &&
        value <= seconds_max * 1000) {
        *ms = value;
        return true;
    }
refuse:
    REFUSE("must be a duration (\"30s\", \"5m\", \"2h\", \"500ms\", or a number of whole seconds) "
           "from %" PRId64 "s to %" PRId64 "s",
           seconds_min, seconds_max);
}

/* digits[.d[d[d]]] */
static bool seconds_read(struct bytes raw, int64_t *ms)
{
    const char *at = raw.at, *dot = raw.n == 0 ? NULL : memchr(at, '.', raw.n);
    size_t whole_n = dot == NULL ? raw.n : (size_t)(dot - at);
    int64_t whole, part = 0;
    if (whole_n > REST_DIGITS_MAX || !rest_number_read((struct bytes){at, whole_n}, &whole))
        return false;
    if (dot != NULL) {
        size_t n = raw.n - whole_n - 1;
        if (n > 3 || !rest_number_read((struct bytes){dot + 1, n}, &part))
            return false;
        for (; n < 3; n++)
            part *= 10;
    }
    *ms = whole * 1000 + part;
    return true;
}

bool rest_body_seconds(struct json *j, const struct rest_place *at, int64_t seconds_min,
                       int64_t seconds_max, int64_t *ms, struct rest_fault *f)
{
    struct bytes raw = BYTES_NONE;
    int64_t value;
    if (!is_other(j, JSON_TYPE_NUMBER)) {
        if (json_read_raw(j, &raw) != ERR_OK)
            return true;
        if (seconds_read(raw, &value) && value >= seconds_min * 1000 &&
            value <= seconds_max * 1000) {
            *ms = value;
            return true;
        }
    }
    REFUSE("must be a number of seconds from %" PRId64 " to %" PRId64
           " with at most three digits of fraction",
           seconds_min, seconds_max);
}

bool rest_body_base64(struct json *j, const struct rest_place *at, struct arena *arena,
                      struct bytes *out, struct rest_fault *f)
{
    struct bytes text = BYTES_NONE;
    if (is_other(j, JSON_TYPE_STRING))
        REFUSE("must be base64 (RFC 4648, with padding)");
    if (json_read_string(j, &text) != ERR_OK)
        return true;
    if (codec_base64_decode(text, arena, out) != ERR_OK)
        REFUSE("must be base64 (RFC 4648, with padding)");
    return true;
}

bool rest_body_unknown(const struct rest_place *at, const char *known, struct rest_fault *f)
{
    REFUSE("unknown member; known are %s", known);
}

bool rest_body_finish(struct json *j, bool fine, struct rest_fault *f)
{
    enum err e = json_finish(j);
    if (!fine && e != ERR_CORRUPT)
        return false;
    if (e == ERR_OK)
        return true;
    return rest_fault_set(f, REST_PROBLEM_INVALID_BODY,
                          "the body is not JSON in UTF-8, or has a member twice, or is nested too "
                          "deeply");
}
