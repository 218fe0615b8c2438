// SPDX-License-Identifier: Apache-2.0
#include "sqs/action.h"

#include <string.h>

#include "base/check.h"
#include "base/utf8.h"
#include "sqs/name.h"

enum { QUEUE = 1, NO_QUEUE = 0 };

/* The parameters of all actions lie in one array, those of one list together, each list with an
 * empty row before it, which ends the one before. This enum counts the rows: FIRST_x is the place
 * of x's first row (BACK_x only makes the next row take that number). */
enum place {
#define ACTION(name, queue) END_BEFORE_##name, FIRST_##name, BACK_##name = FIRST_##name - 1,
#define ENTRY(name, query)                                                                         \
    END_BEFORE_ENTRY_##name, FIRST_ENTRY_##name, BACK_ENTRY_##name = FIRST_ENTRY_##name - 1,
#define PARAM(action, member, query, kind, field, need, low, high, text) AT_##action##_##member,
#define ENTRY_PARAM(action, member, query, kind, field, need, low, high, text)                     \
    AT_ENTRY_##action##_##member,
#include "actions.def"
};

#define END                                                                                        \
    {                                                                                              \
        .query = NULL                                                                              \
    }
#define ROW(holder, member, query, kind, field, need, low, high, text)                             \
    {{#member, sizeof #member - 1},                                                                \
     query,                                                                                        \
     SQS_KIND_##kind,                                                                              \
     SQS_##need,                                                                                   \
     offsetof(struct holder, field),                                                               \
     low,                                                                                          \
     high,                                                                                         \
     text},

static const struct sqs_param params[] = {
#define ACTION(name, queue) END,
#define ENTRY(name, query) END,
#define PARAM(action, member, query, kind, field, need, low, high, text)                           \
    ROW(sqs_request, member, query, kind, field, need, low, high, text)
#define ENTRY_PARAM(action, member, query, kind, field, need, low, high, text)                     \
    ROW(sqs_entry, member, query, kind, field, need, low, high, text)
#include "actions.def"
    END,
};

static const struct sqs_action actions[SQS_ACTIONS_N] = {
#define ACTION(action, queue)                                                                      \
    {SQS_##action, {#action, sizeof #action - 1}, queue, &params[FIRST_##action]},
#include "actions.def"
};

static const struct sqs_batch batches[SQS_ACTIONS_N] = {
#define ENTRY(action, query) [SQS_##action] = {&params[FIRST_ENTRY_##action], query},
#include "actions.def"
};

const struct sqs_action *sqs_action(enum sqs_action_id id)
{
    CHECK(id < SQS_ACTIONS_N);
    return &actions[id];
}

const struct sqs_batch *sqs_action_batch(const struct sqs_action *a)
{
    return &batches[a->id];
}

bool sqs_action_find(struct bytes name, const struct sqs_action **out, struct sqs_fault *f)
{
    for (size_t i = 0; i < SQS_ACTIONS_N; i++) {
        if (bytes_equal(actions[i].name, name)) {
            *out = &actions[i];
            return true;
        }
    }
    if (name.n > 80 || !utf8_valid(name)) /* a header's bytes have not been checked yet */
        name = BYTES_OF("asked for");
    return sqs_fault_set(f, SQS_FAULT_UNKNOWN_OPERATION,
                         "The action %.*s is not valid for this endpoint.", SQS_SHOW(name));
}

static const void *field_of(const void *holder, const struct sqs_param *p)
{
    return (const char *)holder + p->offset;
}

/* Whether the member is there; `filled`: and not empty. */
static bool is_there(const void *holder, const struct sqs_param *p, bool filled)
{
    const void *field = field_of(holder, p);
    switch (p->kind) {
    case SQS_KIND_TEXT: {
        const struct bytes *text = field;
        return filled ? text->n > 0 : text->at != NULL;
    }
    case SQS_KIND_INTEGER:
        return ((const struct sqs_integer *)field)->given;
    case SQS_KIND_PAIRS: {
        const struct sqs_pairs *pairs = field;
        return filled ? pairs->n > 0 : pairs->given;
    }
    case SQS_KIND_TEXTS:
        return ((const struct sqs_texts *)field)->n > 0;
    case SQS_KIND_ENTRIES:
        return ((const struct sqs_entries *)field)->given;
    case SQS_KIND_ATTRIBUTES:
        break; /* no action requires one */
    }
    return true;
}

static const struct sqs_param *first_missing(const void *holder, const struct sqs_param *p)
{
    for (; p->member.n > 0; p++)
        if (p->need != SQS_OPTIONAL && !is_there(holder, p, p->need == SQS_FILLED))
            return p;
    return NULL;
}

/* The row's text with the value in place of `$`. */
static bool refuse_range(const struct sqs_param *p, struct bytes value, struct sqs_fault *f)
{
    const char *sign = strchr(p->text, '$');
    if (value.n > 40)
        value.n = 40; /* enough of a number of a thousand digits */
    if (sign == NULL)
        return sqs_fault_set(f, SQS_FAULT_INVALID_PARAMETER_VALUE, "%s", p->text);
    return sqs_fault_set(f, SQS_FAULT_INVALID_PARAMETER_VALUE, "%.*s%.*s%s", (int)(sign - p->text),
                         p->text, SQS_SHOW(value), sign + 1);
}

static bool check_ranges(const void *holder, const struct sqs_param *p, struct sqs_fault *f)
{
    for (; p->member.n > 0; p++) {
        if (p->kind != SQS_KIND_INTEGER)
            continue;
        const struct sqs_integer *i = field_of(holder, p);
        if (i->given && (i->value < p->low || i->value > p->high))
            return refuse_range(p, i->text, f);
    }
    return true;
}

bool sqs_check_required(const struct sqs_action *a, const struct sqs_request *r,
                        struct sqs_fault *f)
{
    const struct sqs_param *missing = first_missing(r, a->params);
    if (missing != NULL)
        return sqs_fault_set(f, SQS_FAULT_MISSING_PARAMETER,
                             "The request must contain the parameter %.*s.",
                             SQS_SHOW(missing->member));
    return true;
}

bool sqs_check_ranges(const struct sqs_action *a, const struct sqs_request *r, struct sqs_fault *f)
{
    return check_ranges(r, a->params, f);
}

bool sqs_check_entry(const struct sqs_action *a, const struct sqs_request *r, size_t i,
                     struct sqs_fault *f)
{
    const struct sqs_batch *batch = sqs_action_batch(a);
    const struct sqs_param *missing = first_missing(&r->entries.at[i], batch->params);
    if (missing != NULL)
        return sqs_fault_set(f, SQS_FAULT_MISSING_PARAMETER,
                             "The request must contain the parameter %s.%zu.%.*s.", batch->query,
                             i + 1, SQS_SHOW(missing->member));
    return check_ranges(&r->entries.at[i], batch->params, f);
}

bool sqs_check_batch(const struct sqs_action *a, const struct sqs_request *r, struct sqs_fault *f)
{
    const struct sqs_entries *e = &r->entries;
    const char *query = sqs_action_batch(a)->query;
    if (e->sent == 0)
        return sqs_fault_set(f, SQS_FAULT_EMPTY_BATCH_REQUEST,
                             "There should be at least one %s in the request.", query);
    if (e->sent > SQS_ENTRIES_MAX)
        return sqs_fault_set(f, SQS_FAULT_TOO_MANY_ENTRIES,
                             "Maximum number of entries per request are %d. You have sent %zu.",
                             SQS_ENTRIES_MAX, e->sent);
    for (size_t i = 0; i < e->n; i++)
        if (e->at[i].id.at == NULL)
            return sqs_fault_set(f, SQS_FAULT_MISSING_PARAMETER,
                                 "The request must contain the parameter %s.%zu.Id.", query, i + 1);
    for (size_t i = 0; i < e->n; i++)
        if (!sqs_entry_id_valid(e->at[i].id))
            return sqs_fault_set(f, SQS_FAULT_INVALID_BATCH_ENTRY_ID,
                                 "A batch entry id can only contain alphanumeric characters, "
                                 "hyphens and underscores. It can be at most 80 letters long.");
    for (size_t i = 1; i < e->n; i++)
        for (size_t j = 0; j < i; j++)
            if (bytes_equal(e->at[i].id, e->at[j].id))
                return sqs_fault_set(f, SQS_FAULT_BATCH_ENTRY_IDS_NOT_DISTINCT, "Id %.*s repeated.",
                                     SQS_SHOW(e->at[i].id));
    return true;
}
