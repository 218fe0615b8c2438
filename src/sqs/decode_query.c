// SPDX-License-Identifier: Apache-2.0
/* The parameters of a Query request by the table api/actions.def.
 *
 * Lists and maps are flattened: SendMessageBatchRequestEntry.2.MessageAttribute.1.Value.DataType is
 * the list's name, an index, and what is set within that item. All parameters of one list are
 * gathered and sorted by index; those with the same index are one item, whose own parameters are
 * what stands behind the index. Only the indices' order counts: they may have gaps, and a name
 * without an index is item 1. */
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/codec.h"
#include "sqs/decode.h"

enum { INDEX_DIGITS_MAX = 9 };

/* A parameter on its way: its name (below the item it belongs to) and its value. */
struct given {
    struct bytes name;
    struct bytes value;
    uint32_t index; /* once it is known to belong to a list */
    uint32_t order; /* in the request, for a stable sort */
};

struct givens {
    struct given *at;
    size_t n;
};

struct decoder {
    struct arena *arena;
    struct sqs_fault *fault;
};

/* ---- names ---- */

static struct bytes word_take(struct bytes *rest)
{
    const char *at = rest->at, *dot = rest->n == 0 ? NULL : memchr(at, '.', rest->n);
    size_t n = dot == NULL ? rest->n : (size_t)(dot - at);
    struct bytes word = {at, n};
    size_t used = dot == NULL ? n : n + 1;
    *rest = (struct bytes){at + used, rest->n - used};
    return word;
}

static bool is_digits(struct bytes word)
{
    const char *at = word.at;
    for (size_t i = 0; i < word.n; i++)
        if (at[i] < '0' || at[i] > '9')
            return false;
    return word.n > 0;
}

/* The list's name in the Query protocol ("MessageAttribute" of "MessageAttribute.N"), or the
 * member's own, which some versions of the Java SDK used. */
static bool is_named(const struct sqs_param *p, struct bytes word)
{
    struct bytes query = bytes_of_text(p->query);
    return bytes_equal(word, word_take(&query)) || bytes_equal(word, p->member);
}

/* Splits "LIST[.member].7.rest" behind its first word. False: the index is none that we take. */
static bool index_read(struct decoder *d, struct bytes whole, struct bytes rest, struct given *out)
{
    struct bytes behind = rest, word = word_take(&behind);
    if (bytes_equal(word, BYTES_OF("member")) || bytes_equal(word, BYTES_OF("entry"))) {
        rest = behind;
        word = word_take(&behind);
    }
    out->index = 1;
    out->name = rest;
    if (!is_digits(word))
        return true;
    if (word.n > INDEX_DIGITS_MAX)
        return sqs_fault_set(d->fault, SQS_FAULT_SERIALIZATION,
                             "The index in the parameter %.*s has more than %d digits.",
                             (int)(whole.n < 80 ? whole.n : 80), (const char *)whole.at,
                             INDEX_DIGITS_MAX);
    out->index = 0;
    for (size_t i = 0; i < word.n; i++)
        out->index = out->index * 10 + (uint32_t)(((const char *)word.at)[i] - '0');
    out->name = behind;
    return true;
}

static int compare(const void *a, const void *b)
{
    const struct given *x = a, *y = b;
    if (x->index != y->index)
        return x->index < y->index ? -1 : 1;
    return x->order < y->order ? -1 : 1;
}

/* Everything of one list, in the order of its indices. */
static bool gather(struct decoder *d, const struct givens *all, const struct sqs_param *p,
                   struct givens *out)
{
    *out = (struct givens){NULL, 0};
    for (size_t i = 0; i < all->n; i++) {
        struct bytes rest = all->at[i].name;
        if (!is_named(p, word_take(&rest)))
            continue;
        if (out->at == NULL)
            out->at = arena_get(d->arena, (all->n - i) * sizeof *out->at);
        struct given *g = &out->at[out->n];
        *g = (struct given){.value = all->at[i].value, .order = (uint32_t)i};
        if (!index_read(d, all->at[i].name, rest, g))
            return false;
        out->n++;
    }
    if (out->n > 1)
        qsort(out->at, out->n, sizeof *out->at, compare);
    return true;
}

/* Cuts the next item off the front of a gathered list. */
static struct givens item_take(struct givens *list)
{
    size_t n = 1;
    while (n < list->n && list->at[n].index == list->at[0].index)
        n++;
    struct givens item = {list->at, n};
    *list = (struct givens){list->at + n, list->n - n};
    return item;
}

static size_t items_count(struct givens list)
{
    size_t n = 0;
    for (; list.n > 0; n++)
        (void)item_take(&list);
    return n;
}

/* ---- values ---- */

/* The one value with this name; at = NULL: it is absent. Twice the same is once; two that differ
 * are refused, since either could be meant. */
static bool value_of(struct decoder *d, const struct givens *all, struct bytes name,
                     struct bytes *out)
{
    *out = BYTES_NONE;
    for (size_t i = 0; i < all->n; i++) {
        if (!bytes_equal(all->at[i].name, name))
            continue;
        if (out->at != NULL && !bytes_equal(*out, all->at[i].value))
            return sqs_fault_set(d->fault, SQS_FAULT_SERIALIZATION,
                                 "The parameter %.*s is given twice, with different values.",
                                 SQS_SHOW(name));
        *out = all->at[i].value;
    }
    return true;
}

static bool read_integer(struct decoder *d, const struct sqs_param *p, struct bytes text,
                         struct sqs_integer *out)
{
    const char *at = text.at;
    bool negative = text.n > 0 && at[0] == '-';
    struct bytes digits = {at + negative, text.n - negative};
    int64_t value = 0;
    if (!is_digits(digits))
        return sqs_fault_set(d->fault, SQS_FAULT_SERIALIZATION,
                             "The parameter %.*s must be an integer in decimal digits.",
                             SQS_SHOW(p->member));
    for (size_t i = negative; i < text.n; i++)
        value = value > (INT64_MAX - (at[i] - '0')) / 10 ? INT64_MAX : value * 10 + (at[i] - '0');
    *out = (struct sqs_integer){true, negative ? -value : value, text};
    return true;
}

static bool refuse_long(struct decoder *d, const struct sqs_param *p)
{
    return sqs_fault_set(d->fault, SQS_FAULT_INVALID_PARAMETER_VALUE,
                         "Value for parameter %.*s is invalid. Reason: It can hold at most %d "
                         "values.",
                         SQS_SHOW(p->member), SQS_LIST_MAX);
}

static bool read_texts(struct decoder *d, const struct sqs_param *p, const struct givens *list,
                       struct sqs_texts *out)
{
    if (list->n > SQS_LIST_MAX)
        return refuse_long(d, p);
    out->at = arena_get(d->arena, list->n * sizeof *out->at);
    for (size_t i = 0; i < list->n; i++)
        if (list->at[i].name.n == 0)
            out->at[out->n++] = list->at[i].value;
    return true;
}

static bool refuse_half(struct decoder *d, const struct sqs_param *p, uint32_t index,
                        const char *missing)
{
    struct bytes query = bytes_of_text(p->query), base = word_take(&query);
    return sqs_fault_set(d->fault, SQS_FAULT_MISSING_PARAMETER,
                         "The request must contain the parameter %.*s.%u.%s.", SQS_SHOW(base),
                         (unsigned)index, missing);
}

/* In JSON a map that has a key twice is no JSON we take; here it says just as little. */
static bool refuse_twice(struct decoder *d, struct bytes name, const struct sqs_param *p)
{
    return sqs_fault_set(d->fault, SQS_FAULT_SERIALIZATION,
                         "The name %.*s stands twice in the parameter %.*s.", SQS_SHOW(name),
                         SQS_SHOW(p->member));
}

static bool read_pairs(struct decoder *d, const struct sqs_param *p, struct givens list,
                       struct sqs_pairs *out)
{
    size_t n = items_count(list);
    if (n > SQS_LIST_MAX)
        return refuse_long(d, p);
    out->given = true;
    out->at = arena_get(d->arena, n * sizeof *out->at);
    while (list.n > 0) {
        struct givens item = item_take(&list);
        struct sqs_pair *pair = &out->at[out->n++];
        if (!value_of(d, &item, BYTES_OF("Name"), &pair->name) ||
            (pair->name.at == NULL && !value_of(d, &item, BYTES_OF("Key"), &pair->name)) ||
            !value_of(d, &item, BYTES_OF("Value"), &pair->value))
            return false;
        if (pair->name.at == NULL)
            return refuse_half(d, p, item.at[0].index, strrchr(p->query, '.') + 1);
        if (pair->value.at == NULL)
            return refuse_half(d, p, item.at[0].index, "Value");
        for (const struct sqs_pair *other = out->at; other < pair; other++)
            if (bytes_equal(other->name, pair->name))
                return refuse_twice(d, pair->name, p);
    }
    return true;
}

static bool read_blob(struct decoder *d, struct bytes text, struct bytes *out)
{
    if (text.at == NULL)
        return true;
    if (codec_base64_decode(text, d->arena, out) != ERR_OK)
        return sqs_fault_set(d->fault, SQS_FAULT_SERIALIZATION, "BinaryValue is not valid base64");
    if (out->at == NULL)
        out->at = "";
    return true;
}

static bool read_attribute(struct decoder *d, const struct givens *item, struct sqs_attribute *out)
{
    struct bytes blob;
    if (!value_of(d, item, BYTES_OF("Name"), &out->name) ||
        !value_of(d, item, BYTES_OF("Value.DataType"), &out->data_type) ||
        !value_of(d, item, BYTES_OF("Value.StringValue"), &out->text) ||
        !value_of(d, item, BYTES_OF("Value.BinaryValue"), &blob) ||
        !read_blob(d, blob, &out->binary))
        return false;
    for (size_t i = 0; i < item->n; i++)
        if (bytes_start_with(item->at[i].name, BYTES_OF("Value.StringListValue")) ||
            bytes_start_with(item->at[i].name, BYTES_OF("Value.BinaryListValue")))
            out->is_list = true;
    return true;
}

static bool read_attributes(struct decoder *d, const struct sqs_param *p, struct givens list,
                            struct sqs_attributes *out)
{
    out->at = arena_zeros(d->arena, SQS_MESSAGE_ATTRIBUTES_MAX * sizeof *out->at);
    for (; list.n > 0; out->sent++) {
        struct givens item = item_take(&list);
        if (out->n == SQS_MESSAGE_ATTRIBUTES_MAX)
            continue; /* too many: they are only counted */
        struct sqs_attribute *attribute = &out->at[out->n++];
        if (!read_attribute(d, &item, attribute))
            return false;
        for (const struct sqs_attribute *other = out->at; other < attribute; other++)
            if (bytes_equal(other->name, attribute->name))
                return refuse_twice(d, attribute->name, p);
    }
    return true;
}

/* ---- structures ---- */

static bool read_members(struct decoder *d, const struct sqs_param *params,
                         const struct sqs_param *entry_params, const struct givens *all,
                         void *holder);

static bool read_entries(struct decoder *d, const struct sqs_param *entry_params,
                         struct givens list, struct sqs_entries *out)
{
    out->at = arena_zeros(d->arena, SQS_ENTRIES_MAX * sizeof *out->at);
    for (; list.n > 0; out->sent++) {
        struct givens item = item_take(&list);
        if (out->n < SQS_ENTRIES_MAX &&
            !read_members(d, entry_params, NULL, &item, &out->at[out->n++]))
            return false;
    }
    return true;
}

static bool read_list(struct decoder *d, const struct sqs_param *p,
                      const struct sqs_param *entry_params, const struct givens *list, void *field)
{
    switch (p->kind) {
    case SQS_KIND_TEXTS:
        return read_texts(d, p, list, field);
    case SQS_KIND_PAIRS:
        return read_pairs(d, p, *list, field);
    case SQS_KIND_ATTRIBUTES:
        return read_attributes(d, p, *list, field);
    case SQS_KIND_ENTRIES:
        CHECK(entry_params != NULL);
        return read_entries(d, entry_params, *list, field);
    case SQS_KIND_TEXT:
    case SQS_KIND_INTEGER:
        break;
    }
    UNREACHABLE();
}

static bool read_member(struct decoder *d, const struct sqs_param *p,
                        const struct sqs_param *entry_params, const struct givens *all, void *field)
{
    struct givens list;
    struct bytes value;
    if (p->kind == SQS_KIND_TEXT || p->kind == SQS_KIND_INTEGER) {
        if (!value_of(d, all, p->member, &value))
            return false;
        if (value.at == NULL)
            return true;
        if (p->kind == SQS_KIND_INTEGER)
            return read_integer(d, p, value, field);
        *(struct bytes *)field = value;
        return true;
    }
    if (!gather(d, all, p, &list))
        return false;
    /* A batch without entries cannot be told from an absent one, and AWS answers that it is empty.
     */
    if (p->kind == SQS_KIND_ENTRIES)
        ((struct sqs_entries *)field)->given = true;
    return list.n == 0 || read_list(d, p, entry_params, &list, field);
}

static bool read_members(struct decoder *d, const struct sqs_param *params,
                         const struct sqs_param *entry_params, const struct givens *all,
                         void *holder)
{
    for (const struct sqs_param *p = params; p->member.n > 0; p++)
        if (!read_member(d, p, entry_params, all, (char *)holder + p->offset))
            return false;
    return true;
}

bool sqs_decode_query(const struct sqs_action *a, const struct sqs_form *form, struct arena *arena,
                      struct sqs_request *out, struct sqs_fault *f)
{
    struct decoder d = {arena, f};
    struct givens all = {arena_get(arena, (form->n + 1) * sizeof *all.at), form->n};
    memset(out, 0, sizeof *out);
    for (size_t i = 0; i < form->n; i++)
        all.at[i] = (struct given){.name = form->at[i].name, .value = form->at[i].value};
    return read_members(&d, a->params, sqs_action_batch(a)->params, &all, out);
}
