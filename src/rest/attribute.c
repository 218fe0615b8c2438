// SPDX-License-Identifier: Apache-2.0
#include "rest/attribute.h"

#include <strings.h>

#include "base/check.h"
#include "base/decimal.h"
#include "base/utf8.h"
#include "front/rules.h"

enum { TYPE_MAX = 256, PLAIN_DIGITS_MAX = 15 };

static bool starts_with_any_case(struct bytes text, const char *prefix)
{
    size_t n = strlen(prefix);
    return text.n >= n && strncasecmp(text.at, prefix, n) == 0;
}

static bool name_char(unsigned char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '.' || c >= 0x80;
}

static bool name_valid(struct bytes name)
{
    const char *at = name.at;
    if (name.n == 0 || name.n > REST_ATTRIBUTE_NAME_MAX || at[0] == '.' || at[name.n - 1] == '.' ||
        memmem(at, name.n, "..", 2) != NULL || utf8_first_forbidden(name) != name.n)
        return false;
    for (size_t i = 0; i < name.n; i++)
        if (!name_char((unsigned char)at[i]))
            return false;
    return true;
}

/* `type` is `base`, or base and a label behind a dot. */
static bool type_is(struct bytes type, const char *base)
{
    size_t n = strlen(base);
    return bytes_start_with(type, (struct bytes){base, n}) &&
           (type.n == n || ((const char *)type.at)[n] == '.');
}

const char *rest_attribute_wrong(const struct queue_attribute *a)
{
    bool number = type_is(a->data_type, "Number");
    if (starts_with_any_case(a->name, "AWS.") || starts_with_any_case(a->name, "Amazon."))
        return "names that begin with AWS. or Amazon. are reserved";
    if (!name_valid(a->name))
        return "an attribute's name has 1 to 256 bytes: letters, digits, underscores, hyphens and "
               "single periods, none first or last";
    if ((!number && !type_is(a->data_type, "String") && !type_is(a->data_type, "Binary")) ||
        a->data_type.n > TYPE_MAX || utf8_first_forbidden(a->data_type) != a->data_type.n)
        return "an attribute's type is String, Number or Binary, perhaps with a label (String.x), "
               "of at most 256 bytes";
    if (a->value.n == 0)
        return "an attribute's value is not empty";
    if (number && !decimal_valid(a->value))
        return "a number has at most 38 digits and lies between 1e-128 and 1e126";
    if (!a->binary && utf8_first_forbidden(a->value) != a->value.n)
        return "text has only characters of XML 1.0: #x9 | #xA | #xD | #x20 to #xD7FF | #xE000 to "
               "#xFFFD | #x10000 to #x10FFFF";
    return NULL;
}

/* ---- reading ---- */

struct typed {
    struct bytes type, text, binary;
};

static bool read_typed(struct json *j, const struct rest_place *up, struct arena *arena,
                       struct queue_attribute *a, struct rest_fault *f)
{
    struct typed t = {BYTES_NONE, BYTES_NONE, BYTES_NONE};
    struct bytes key;
    if (!rest_body_object(j, up, f))
        return false;
    while (json_next_member(j, &key)) {
        const struct rest_place at = {up, key, 0};
        bool fine;
        if (bytes_equal(key, BYTES_OF("type")))
            fine = rest_body_text(j, &at, 1, TYPE_MAX, &t.type, f);
        else if (bytes_equal(key, BYTES_OF("value")))
            fine = rest_body_text(j, &at, 1, QUEUE_BODY_BYTES_MAX, &t.text, f);
        else if (bytes_equal(key, BYTES_OF("value_base64")))
            fine = rest_body_base64(j, &at, arena, &t.binary, f);
        else
            fine = rest_body_unknown(&at, "type, value, value_base64", f);
        if (!fine)
            return false;
    }
    a->data_type = t.type;
    a->binary = type_is(t.type, "Binary");
    a->value = a->binary ? t.binary : t.text;
    if (a->binary ? t.text.at != NULL : t.binary.at != NULL)
        return rest_body_fault(f, REST_PROBLEM_INVALID_BODY, up,
                               "Binary has value_base64, other types have value");
    return true;
}

static bool read_value(struct json *j, const struct rest_place *at, struct arena *arena,
                       struct queue_attribute *a, struct rest_fault *f)
{
    switch (json_peek(j)) {
    case JSON_TYPE_STRING:
        a->data_type = BYTES_OF("String");
        (void)json_read_string(j, &a->value);
        return true;
    case JSON_TYPE_NUMBER:
        a->data_type = BYTES_OF("Number");
        (void)json_read_raw(j, &a->value);
        return true;
    case JSON_TYPE_OBJECT:
        return read_typed(j, at, arena, a, f);
    case JSON_TYPE_NOTHING:
        (void)json_skip(j);
        return true;
    case JSON_TYPE_NULL:
    case JSON_TYPE_BOOL:
    case JSON_TYPE_ARRAY:
        break;
    }
    return rest_body_fault(f, REST_PROBLEM_INVALID_BODY, at,
                           "must be a text, a number, or an object with type and value or "
                           "value_base64");
}

bool rest_attributes_read(struct json *j, const struct rest_place *up, struct arena *arena,
                          struct rest_attributes *out, struct rest_fault *f)
{
    struct bytes key;
    if (!rest_body_object(j, up, f))
        return false;
    while (json_next_member(j, &key)) {
        const struct rest_place at = {up, key, 0};
        struct queue_attribute a = {.name = key};
        if (!read_value(j, &at, arena, &a, f))
            return false;
        if (bytes_equal(a.name, BYTES_OF(FRONT_ENCODING_NAME)))
            continue; /* ours to say, by the body */
        if (out->n == REST_ATTRIBUTES_MAX)
            return rest_body_fault(f, REST_PROBLEM_INVALID_BODY, up, "must have at most %d members",
                                   REST_ATTRIBUTES_MAX);
        const char *wrong = rest_attribute_wrong(&a);
        if (wrong != NULL)
            return rest_body_fault(f, REST_PROBLEM_INVALID_BODY, &at, "%s", wrong);
        out->at[out->n++] = a;
    }
    return true;
}

/* ---- showing ---- */

/* Numbers that every reader of JSON keeps as they are. */
static bool is_plain_number(struct bytes value)
{
    const char *at = value.at;
    size_t i = value.n > 0 && at[0] == '-' ? 1 : 0, digits = value.n - i;
    if (digits == 0 || digits > PLAIN_DIGITS_MAX || (at[i] == '0' && (digits > 1 || i == 1)))
        return false;
    for (; i < value.n; i++)
        if (at[i] < '0' || at[i] > '9')
            return false;
    return true;
}

void rest_attributes_put(struct json_writer *w, const struct queue_attribute *a, size_t n)
{
    if (n == 0)
        return;
    json_put_key(w, "attributes");
    json_begin_object(w);
    for (size_t i = 0; i < n; i++) {
        json_put_key_bytes(w, a[i].name);
        if (bytes_equal(a[i].data_type, BYTES_OF("String"))) {
            json_put_string(w, a[i].value);
            continue;
        }
        if (bytes_equal(a[i].data_type, BYTES_OF("Number")) && is_plain_number(a[i].value)) {
            json_put_raw(w, a[i].value);
            continue;
        }
        json_begin_object(w);
        json_put_key(w, "type");
        json_put_string(w, a[i].data_type);
        json_put_key(w, a[i].binary ? "value_base64" : "value");
        if (a[i].binary)
            json_put_base64(w, a[i].value);
        else
            json_put_string(w, a[i].value);
        json_end_object(w);
    }
    json_end_object(w);
}
