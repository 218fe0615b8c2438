// SPDX-License-Identifier: Apache-2.0
/* Message attributes: names, types and values (SQS developer guide, "Message metadata"), and the
 * digests over them. */
#include <nettle/md5.h>
#include <strings.h>

#include "base/check.h"
#include "base/decimal.h"
#include "base/utf8.h"
#include "sqs/message.h"

enum { NAME_MAX_BYTES = 256 };

#define REFUSE(...) return sqs_fault_set(f, SQS_FAULT_INVALID_PARAMETER_VALUE, __VA_ARGS__)

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* AWS takes letters beyond ASCII in names; which ones is not documented, so all are taken. */
static bool name_char(unsigned char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit((char)c) || c == '_' ||
           c == '-' || c == '.' || c >= 0x80;
}

static bool starts_with_any_case(struct bytes name, const char *prefix)
{
    size_t n = strlen(prefix);
    return name.n >= n && strncasecmp(name.at, prefix, n) == 0;
}

static bool check_name(struct bytes name, struct sqs_fault *f)
{
    const char *at = name.at;
    if (name.n == 0)
        REFUSE("The request must contain non-empty message (user) attribute names.");
    if (name.n > NAME_MAX_BYTES)
        REFUSE("Message (user) attribute name must be shorter than %d bytes.", NAME_MAX_BYTES);
    if (starts_with_any_case(name, "AWS.") || starts_with_any_case(name, "Amazon."))
        REFUSE("You can't use message attribute names beginning with 'AWS.' or 'Amazon'. These "
               "strings are reserved for internal use.");
    bool valid = at[0] != '.' && at[name.n - 1] != '.' && memmem(at, name.n, "..", 2) == NULL &&
                 utf8_first_forbidden(name) == name.n;
    for (size_t i = 0; valid && i < name.n; i++)
        valid = name_char((unsigned char)at[i]);
    if (!valid)
        REFUSE("The message (user) attribute name '%.*s' is invalid. A name can contain letters, "
               "digits, underscores, hyphens and single periods, and can't start or end with a "
               "period.",
               SQS_SHOW(name));
    return true;
}

/* The type before its label, such as Number in "Number.int"; n = 0: none of the three. */
static struct bytes base_type(struct bytes data_type)
{
    static const struct bytes types[] = {
        {"Binary", 6},
        {"Number", 6},
        {"String", 6},
    };
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        if (bytes_start_with(data_type, types[i]) &&
            (data_type.n == types[i].n || ((const char *)data_type.at)[types[i].n] == '.'))
            return types[i];
    return BYTES_NONE;
}

static bool check_type(const struct sqs_attribute *a, struct sqs_fault *f)
{
    if (a->data_type.n == 0)
        REFUSE("The message (user) attribute '%.*s' must contain a non-empty message attribute "
               "type.",
               SQS_SHOW(a->name));
    if (a->data_type.n > NAME_MAX_BYTES)
        REFUSE("Message (user) attribute type must be shorter than %d bytes.", NAME_MAX_BYTES);
    if (base_type(a->data_type).n == 0 || utf8_first_forbidden(a->data_type) != a->data_type.n)
        REFUSE("The type of message (user) attribute '%.*s' is invalid. You must use only the "
               "following supported type prefixes: Binary, Number, String.",
               SQS_SHOW(a->name));
    return true;
}

bool sqs_attribute_make(const struct sqs_attribute *a, struct queue_attribute *out,
                        struct sqs_fault *f)
{
    if (!check_name(a->name, f) || !check_type(a, f))
        return false;
    if (a->is_list)
        return sqs_fault_set(f, SQS_FAULT_UNSUPPORTED_OPERATION,
                             "Message attribute list values in SendMessage operation are not "
                             "supported.");
    struct bytes type = base_type(a->data_type);
    bool binary = bytes_equal(type, BYTES_OF("Binary"));
    struct bytes value = binary ? a->binary : a->text;
    if (a->text.at == NULL && a->binary.at == NULL)
        REFUSE("The message (user) attribute '%.*s' must contain a non-empty message attribute "
               "value.",
               SQS_SHOW(a->name));
    if (value.at == NULL)
        REFUSE("The message (user) attribute '%.*s' with type '%.*s' must use field '%s'.",
               SQS_SHOW(a->name), SQS_SHOW(type), binary ? "BinaryValue" : "StringValue");
    if (value.n == 0)
        REFUSE("Message (user) attribute '%.*s' must contain a non-empty value of type '%.*s'.",
               SQS_SHOW(a->name), SQS_SHOW(type));
    if (bytes_equal(type, BYTES_OF("String")) && utf8_first_forbidden(value) != value.n)
        REFUSE("Invalid characters found. Valid unicode characters are #x9 | #xA | #xD | #x20 to "
               "#xD7FF | #xE000 to #xFFFD | #x10000 to #x10FFFF");
    if (bytes_equal(type, BYTES_OF("Number")) && !decimal_valid(value))
        REFUSE("Can't cast the value of message (user) attribute '%.*s' to a number.",
               SQS_SHOW(a->name));
    *out = (struct queue_attribute){a->name, a->data_type, binary, value};
    return true;
}

static void update_sized(struct md5_ctx *md5, struct bytes b)
{
    uint8_t length[4] = {(uint8_t)(b.n >> 24), (uint8_t)(b.n >> 16), (uint8_t)(b.n >> 8),
                         (uint8_t)b.n};
    md5_update(md5, sizeof length, length);
    md5_update(md5, b.n, b.at);
}

/* Big-endian length and bytes of name, type and value, with a byte before the value that tells text
 * (1) from binary (2), in byte order of the names; nothing between attributes. */
void sqs_attributes_md5(const struct queue_attribute *attributes, size_t n, uint8_t out[16])
{
    const struct queue_attribute *sorted[SQS_MESSAGE_ATTRIBUTES_MAX];
    struct md5_ctx md5;
    CHECK(n <= SQS_MESSAGE_ATTRIBUTES_MAX);
    for (size_t i = 0; i < n; i++) {
        size_t at = i;
        for (; at > 0 && bytes_compare(attributes[i].name, sorted[at - 1]->name) < 0; at--)
            sorted[at] = sorted[at - 1];
        sorted[at] = &attributes[i];
    }
    md5_init(&md5);
    for (size_t i = 0; i < n; i++) {
        uint8_t kind = sorted[i]->binary ? 2 : 1;
        update_sized(&md5, sorted[i]->name);
        update_sized(&md5, sorted[i]->data_type);
        md5_update(&md5, 1, &kind);
        update_sized(&md5, sorted[i]->value);
    }
    md5_digest(&md5, 16, out);
}

void sqs_trace_md5(struct bytes trace, uint8_t out[16])
{
    struct queue_attribute a = {BYTES_OF("AWSTraceHeader"), BYTES_OF("String"), false, trace};
    sqs_attributes_md5(&a, 1, out);
}
