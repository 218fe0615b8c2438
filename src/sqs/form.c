// SPDX-License-Identifier: Apache-2.0
#include "sqs/form.h"

#include <string.h>

#include "base/utf8.h"

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

static bool is_coded(struct bytes text, bool plus)
{
    return text.n > 0 &&
           (memchr(text.at, '%', text.n) != NULL || (plus && memchr(text.at, '+', text.n) != NULL));
}

bool sqs_percent_decode(struct bytes text, bool plus, struct arena *arena, struct bytes *out)
{
    if (!is_coded(text, plus)) {
        *out = text;
        return true;
    }
    const char *at = text.at;
    char *to = arena_get(arena, text.n);
    size_t n = 0;
    for (size_t i = 0; i < text.n; i++) {
        if (at[i] == '+' && plus) {
            to[n++] = ' ';
        } else if (at[i] != '%') {
            to[n++] = at[i];
        } else {
            int high = i + 2 < text.n ? hex_digit(at[i + 1]) : -1;
            int low = i + 2 < text.n ? hex_digit(at[i + 2]) : -1;
            if (high < 0 || low < 0)
                return false;
            to[n++] = (char)(high << 4 | low);
            i += 2;
        }
    }
    *out = (struct bytes){to, n};
    return true;
}

/* What is quoted of a parameter in a refusal: its beginning, if that may be shown. */
static struct bytes shown(struct bytes raw)
{
    enum { SHOWN_MAX = 80 };
    struct bytes text = {raw.at, raw.n < SHOWN_MAX ? raw.n : SHOWN_MAX};
    return text.n > 0 && utf8_first_forbidden(text) == text.n ? text : BYTES_OF("with such bytes");
}

static bool decode(struct bytes raw, struct bytes name, struct arena *arena, struct bytes *out,
                   struct sqs_fault *f)
{
    if (!sqs_percent_decode(raw, true, arena, out))
        return sqs_fault_set(f, SQS_FAULT_SERIALIZATION,
                             "The parameter %.*s has a '%%' that two hexadecimal digits do not "
                             "follow; a percent sign itself is written %%25.",
                             SQS_SHOW(shown(name)));
    if (out->n > 0 && (memchr(out->at, 0, out->n) != NULL || !utf8_valid(*out)))
        return sqs_fault_set(f, SQS_FAULT_SERIALIZATION,
                             "The parameter %.*s is not UTF-8 text without zero bytes.",
                             SQS_SHOW(shown(name)));
    if (out->n == 0)
        out->at = ""; /* given, though empty */
    return true;
}

/* A receive has five or so, and keeps them as long as it waits. */
static void make_room(struct sqs_form *form, struct arena *arena)
{
    enum { ROOM_FIRST = 8 };
    struct sqs_form_pair *before = form->at;
    if (form->n < form->room)
        return;
    form->room = form->room == 0 ? ROOM_FIRST : form->room * 2;
    form->at = arena_get(arena, form->room * sizeof *form->at);
    if (form->n > 0)
        memcpy(form->at, before, form->n * sizeof *form->at);
}

static bool add_one(struct sqs_form *form, struct bytes raw, struct arena *arena,
                    struct sqs_fault *f)
{
    const char *at = raw.at, *sign = memchr(at, '=', raw.n);
    size_t name_n = sign == NULL ? raw.n : (size_t)(sign - at);
    struct bytes name = {at, name_n}, value = BYTES_NONE;
    if (sign != NULL)
        value = (struct bytes){sign + 1, raw.n - name_n - 1};
    if (form->n == SQS_FORM_PAIRS_MAX)
        return sqs_fault_set(f, SQS_FAULT_SERIALIZATION, "The request has more than %d parameters.",
                             SQS_FORM_PAIRS_MAX);
    make_room(form, arena);
    struct sqs_form_pair *pair = &form->at[form->n];
    if (!decode(name, name, arena, &pair->name, f) || !decode(value, name, arena, &pair->value, f))
        return false;
    form->n++;
    return true;
}

bool sqs_form_add(struct sqs_form *form, struct bytes text, struct arena *arena,
                  struct sqs_fault *f)
{
    const char *at = text.at;
    size_t left = text.n;
    while (left > 0) {
        const char *end = memchr(at, '&', left);
        size_t n = end == NULL ? left : (size_t)(end - at);
        if (n > 0 && !add_one(form, (struct bytes){at, n}, arena, f))
            return false;
        n = end == NULL ? n : n + 1;
        at += n;
        left -= n;
    }
    return true;
}

struct bytes sqs_form_get(const struct sqs_form *form, const char *name)
{
    for (size_t i = 0; i < form->n; i++)
        if (bytes_equal(form->at[i].name, bytes_of_text(name)))
            return form->at[i].value;
    return BYTES_NONE;
}
