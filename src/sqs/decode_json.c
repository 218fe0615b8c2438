// SPDX-License-Identifier: Apache-2.0
#include "sqs/decode.h"

#include <string.h>

#include "base/check.h"
#include "base/codec.h"
#include "base/json.h"

struct decoder {
    struct json json;
    struct arena *arena;
    struct sqs_fault *fault;
    bool refused; /* the fault is set; reading goes on, for broken JSON outranks it */
};

static void refuse(struct decoder *d, const char *text)
{
    if (!d->refused)
        sqs_fault_set(d->fault, SQS_FAULT_SERIALIZATION, "%s", text);
    d->refused = true;
}

static void refuse_type(struct decoder *d, const char *found, const char *called)
{
    if (!d->refused)
        sqs_fault_set(d->fault, SQS_FAULT_SERIALIZATION, "%s can not be converted to %s", found,
                      called);
    d->refused = true;
}

static void refuse_long(struct decoder *d, struct bytes member)
{
    if (!d->refused)
        sqs_fault_set(d->fault, SQS_FAULT_INVALID_PARAMETER_VALUE,
                      "Value for parameter %.*s is invalid. Reason: It can hold at most %d values.",
                      SQS_SHOW(member), SQS_LIST_MAX);
    d->refused = true;
}

/* True: the value that is due has the type `wanted`. False: it was skipped; unless it was null,
 * which is as absent, the request is refused. `called` is the wanted type in AWS's words. */
static bool due(struct decoder *d, enum json_type wanted, const char *called)
{
    enum json_type type = json_peek(&d->json);
    if (type == wanted)
        return true;
    bool yes = false;
    switch (type) {
    case JSON_TYPE_NULL:
    case JSON_TYPE_NOTHING:
        break;
    case JSON_TYPE_OBJECT:
        refuse(d, "Start of structure or map found where not expected.");
        break;
    case JSON_TYPE_ARRAY:
        refuse(d, "Start of list found where not expected");
        break;
    case JSON_TYPE_BOOL:
        (void)json_read_bool(&d->json, &yes);
        refuse_type(d, yes ? "TRUE_VALUE" : "FALSE_VALUE", called);
        return false;
    case JSON_TYPE_NUMBER:
        refuse_type(d, "NUMBER_VALUE", called);
        break;
    case JSON_TYPE_STRING:
        refuse_type(d, "STRING_VALUE", called);
        break;
    }
    (void)json_skip(&d->json);
    return false;
}

static void read_text(struct decoder *d, struct bytes *out)
{
    if (!due(d, JSON_TYPE_STRING, "a String") || json_read_string(&d->json, out) != ERR_OK)
        return;
    if (out->at == NULL)
        out->at = ""; /* given, though empty */
}

static void read_integer(struct decoder *d, struct sqs_integer *out)
{
    struct bytes text;
    if (!due(d, JSON_TYPE_NUMBER, "an Integer") || json_read_raw(&d->json, &text) != ERR_OK)
        return;
    const char *at = text.at;
    bool negative = text.n > 0 && at[0] == '-';
    int64_t value = 0;
    for (size_t i = negative ? 1 : 0; i < text.n; i++) {
        if (at[i] < '0' || at[i] > '9') {
            refuse(d, "NUMBER_VALUE can not be converted to an Integer");
            return;
        }
        int digit = at[i] - '0';
        value = value > (INT64_MAX - digit) / 10 ? INT64_MAX : value * 10 + digit;
    }
    *out = (struct sqs_integer){true, negative ? -value : value, text};
}

/* Room for one more of `size` bytes at *at, which holds n; NULL when the list is full. */
static void *one_more(struct decoder *d, void *at, size_t n, size_t size)
{
    if (n == SQS_LIST_MAX)
        return NULL;
    if (n >= 4 ? (n & (n - 1)) != 0 : n != 0)
        return at; /* rooms are 4, 8, 16 … */
    void *bigger = arena_get(d->arena, (n == 0 ? 4 : 2 * n) * size);
    if (n > 0)
        memcpy(bigger, at, n * size);
    return bigger;
}

static void read_texts(struct decoder *d, const struct sqs_param *p, struct sqs_texts *out)
{
    if (!due(d, JSON_TYPE_ARRAY, "a List") || json_enter_array(&d->json) != ERR_OK)
        return;
    while (json_next_element(&d->json)) {
        struct bytes text = BYTES_NONE;
        read_text(d, &text);
        if (text.at == NULL)
            continue;
        struct bytes *at = one_more(d, out->at, out->n, sizeof *at);
        if (at == NULL) {
            refuse_long(d, p->member);
            continue;
        }
        out->at = at;
        out->at[out->n++] = text;
    }
}

static void read_pairs(struct decoder *d, const struct sqs_param *p, struct sqs_pairs *out)
{
    struct sqs_pair pair;
    if (!due(d, JSON_TYPE_OBJECT, "a Map") || json_enter_object(&d->json) != ERR_OK)
        return;
    out->given = true;
    while (json_next_member(&d->json, &pair.name)) {
        pair.value = BYTES_NONE;
        read_text(d, &pair.value);
        if (pair.value.at == NULL)
            continue;
        struct sqs_pair *at = one_more(d, out->at, out->n, sizeof *at);
        if (at == NULL) {
            refuse_long(d, p->member);
            continue;
        }
        out->at = at;
        out->at[out->n++] = pair;
    }
}

static bool read_list_is_filled(struct decoder *d)
{
    bool filled = false;
    if (!due(d, JSON_TYPE_ARRAY, "a List") || json_enter_array(&d->json) != ERR_OK)
        return false;
    while (json_next_element(&d->json)) {
        filled = true;
        (void)json_skip(&d->json);
    }
    return filled;
}

static void read_blob(struct decoder *d, struct bytes *out)
{
    struct bytes text = BYTES_NONE;
    read_text(d, &text);
    if (text.at == NULL)
        return;
    if (codec_base64_decode(text, d->arena, out) != ERR_OK)
        refuse(d, "BinaryValue is not valid base64");
    else if (out->at == NULL)
        out->at = "";
}

static void read_attribute(struct decoder *d, struct sqs_attribute *out)
{
    struct bytes key;
    if (!due(d, JSON_TYPE_OBJECT, "a Structure") || json_enter_object(&d->json) != ERR_OK)
        return;
    while (json_next_member(&d->json, &key)) {
        if (bytes_equal(key, BYTES_OF("DataType")))
            read_text(d, &out->data_type);
        else if (bytes_equal(key, BYTES_OF("StringValue")))
            read_text(d, &out->text);
        else if (bytes_equal(key, BYTES_OF("BinaryValue")))
            read_blob(d, &out->binary);
        else if (bytes_equal(key, BYTES_OF("StringListValues")) ||
                 bytes_equal(key, BYTES_OF("BinaryListValues")))
            out->is_list |= read_list_is_filled(d);
        else
            (void)json_skip(&d->json);
    }
}

static void read_attributes(struct decoder *d, struct sqs_attributes *out)
{
    struct bytes name;
    if (!due(d, JSON_TYPE_OBJECT, "a Map") || json_enter_object(&d->json) != ERR_OK)
        return;
    while (json_next_member(&d->json, &name)) {
        struct sqs_attribute one = {.name = name};
        if (json_read_null(&d->json))
            continue;
        read_attribute(d, &one);
        if (out->at == NULL)
            out->at = arena_get(d->arena, SQS_MESSAGE_ATTRIBUTES_MAX * sizeof *out->at);
        if (out->n < SQS_MESSAGE_ATTRIBUTES_MAX)
            out->at[out->n++] = one;
        out->sent++;
    }
}

static void read_members(struct decoder *d, const struct sqs_param *params,
                         const struct sqs_param *entry_params, void *holder);

static void read_entries(struct decoder *d, const struct sqs_param *entry_params,
                         struct sqs_entries *out)
{
    if (!due(d, JSON_TYPE_ARRAY, "a List") || json_enter_array(&d->json) != ERR_OK)
        return;
    out->given = true;
    while (json_next_element(&d->json)) {
        out->sent++;
        if (out->n == SQS_ENTRIES_MAX) {
            (void)json_skip(&d->json); /* too many: they are only counted */
            continue;
        }
        if (out->at == NULL)
            out->at = arena_zeros(d->arena, SQS_ENTRIES_MAX * sizeof *out->at);
        struct sqs_entry *entry = &out->at[out->n++];
        if (due(d, JSON_TYPE_OBJECT, "a Structure"))
            read_members(d, entry_params, NULL, entry);
    }
}

static void read_member(struct decoder *d, const struct sqs_param *p,
                        const struct sqs_param *entry_params, void *field)
{
    switch (p->kind) {
    case SQS_KIND_TEXT:
        read_text(d, field);
        return;
    case SQS_KIND_INTEGER:
        read_integer(d, field);
        return;
    case SQS_KIND_TEXTS:
        read_texts(d, p, field);
        return;
    case SQS_KIND_PAIRS:
        read_pairs(d, p, field);
        return;
    case SQS_KIND_ATTRIBUTES:
        read_attributes(d, field);
        return;
    case SQS_KIND_ENTRIES:
        CHECK(entry_params != NULL);
        read_entries(d, entry_params, field);
        return;
    }
    UNREACHABLE();
}

static void read_members(struct decoder *d, const struct sqs_param *params,
                         const struct sqs_param *entry_params, void *holder)
{
    struct bytes key;
    if (json_enter_object(&d->json) != ERR_OK)
        return;
    while (json_next_member(&d->json, &key)) {
        const struct sqs_param *p = params;
        while (p->member.n > 0 && !bytes_equal(p->member, key))
            p++;
        if (p->member.n == 0)
            (void)json_skip(&d->json);
        else
            read_member(d, p, entry_params, (char *)holder + p->offset);
    }
}

bool sqs_decode_json(const struct sqs_action *a, struct bytes body, struct arena *arena,
                     struct sqs_request *out, struct sqs_fault *f)
{
    struct decoder d = {.arena = arena, .fault = f};
    memset(out, 0, sizeof *out);
    json_init(&d.json, body, arena);
    bool is_object = json_peek(&d.json) == JSON_TYPE_OBJECT;
    if (is_object)
        read_members(&d, a->params, sqs_action_batch(a)->params, out);
    if (json_finish(&d.json) != ERR_OK || !is_object)
        return sqs_fault_set(f, SQS_FAULT_SERIALIZATION, "The request body is not a JSON object.");
    return !d.refused;
}
