// SPDX-License-Identifier: Apache-2.0
#include "sqs/attribute.h"

#include <inttypes.h>
#include <strings.h>

#include "base/check.h"
#include "base/utf8.h"

enum kind {
    KIND_NUMBER,
    KIND_BOOLEAN,
    KIND_CONSENT,
    KIND_CHOICE,
    KIND_KMS_KEY,
    KIND_POLICY,
    KIND_REDRIVE,
    KIND_REDRIVE_ALLOW,
    KIND_COUNTER, /* from here on computed */
    KIND_TIME,
    KIND_ARN,
};
enum scope { SCOPE_ANY, SCOPE_FIFO };
enum shown { SHOWN_ALWAYS, SHOWN_WHEN_SET };

enum { KMS_KEY_MAX = 2048, TAGS_MAX = 50, TAG_KEY_MAX = 128, TAG_VALUE_MAX = 256 };

static const struct row {
    const char *name;
    enum kind kind;
    enum scope scope;
    int64_t low, high;
    enum shown shown;
} rows[SQS_ATTRIBUTES_N] = {
#define ATTRIBUTE(name, kind, scope, low, high, shown)                                             \
    {#name, KIND_##kind, SCOPE_##scope, low, high, SHOWN_##shown},
#include "attributes.def"
};

const char *sqs_attribute_name(enum sqs_attribute_id id)
{
    CHECK(id < SQS_ATTRIBUTES_N);
    return rows[id].name;
}

enum sqs_attribute_id sqs_attribute_find(struct bytes name)
{
    unsigned id = 0;
    while (id < SQS_ATTRIBUTES_N && !bytes_equal(bytes_of_text(rows[id].name), name))
        id++;
    return (enum sqs_attribute_id)id;
}

/* ---- reading what a request gives ---- */

static bool refuse_name(struct bytes name, struct sqs_fault *f)
{
    return sqs_fault_set(f, SQS_FAULT_INVALID_ATTRIBUTE_NAME, "Unknown Attribute %.*s.",
                         SQS_SHOW(name));
}

static bool refuse_value(const struct row *row, const char *reason, struct sqs_fault *f)
{
    return sqs_fault_set(f, SQS_FAULT_INVALID_ATTRIBUTE_VALUE,
                         "Invalid value for the parameter %s. Reason: %s", row->name, reason);
}

static bool is_word(struct bytes value, const char *word)
{
    return value.n == strlen(word) && strncasecmp(value.at, word, value.n) == 0;
}

/* Digits only, at most ten; leading zeros are dropped. */
static bool read_number(const struct row *row, struct bytes *value, struct sqs_fault *f)
{
    const char *at = value->at;
    int64_t n = 0;
    bool valid = value->n > 0 && value->n <= 10;
    for (size_t i = 0; valid && i < value->n; i++) {
        valid = at[i] >= '0' && at[i] <= '9';
        n = n * 10 + (at[i] - '0');
    }
    if (!valid || n < row->low || n > row->high)
        return sqs_fault_set(f, SQS_FAULT_INVALID_ATTRIBUTE_VALUE,
                             "Invalid value for the parameter %s. Reason: Must be an integer "
                             "between %" PRId64 " and %" PRId64 ".",
                             row->name, row->low, row->high);
    while (value->n > 1 && at[0] == '0') {
        at++;
        *value = (struct bytes){at, value->n - 1};
    }
    return true;
}

static bool read_choice(enum sqs_attribute_id id, struct bytes value, struct sqs_fault *f)
{
    bool scope = id == SQS_ATTRIBUTE_DeduplicationScope;
    if (bytes_equal(value, bytes_of_text(scope ? "queue" : "perQueue")) ||
        bytes_equal(value, bytes_of_text(scope ? "messageGroup" : "perMessageGroupId")))
        return true;
    return refuse_value(
        &rows[id],
        scope ? "Must be queue or messageGroup." : "Must be perQueue or perMessageGroupId.", f);
}

static bool read_value(enum sqs_attribute_id id, struct bytes *value, const struct sqs_place *place,
                       struct arena *arena, struct sqs_settings *out, struct sqs_fault *f)
{
    const struct row *row = &rows[id];
    switch (row->kind) {
    case KIND_NUMBER:
        return read_number(row, value, f);
    case KIND_BOOLEAN:
    case KIND_CONSENT:
        if (!is_word(*value, "true") && !is_word(*value, "false"))
            return refuse_value(row, "Must be true or false.", f);
        *value = is_word(*value, "true") ? BYTES_OF("true") : BYTES_OF("false");
        return true;
    case KIND_CHOICE:
        return read_choice(id, *value, f);
    case KIND_KMS_KEY:
        if (value->n > KMS_KEY_MAX || utf8_first_forbidden(*value) != value->n)
            return refuse_value(row, "Must be a key's id, ARN or alias.", f);
        return true;
    case KIND_POLICY:
        return value->n == 0 || sqs_policy_check(*value, f);
    case KIND_REDRIVE:
        return value->n == 0 || sqs_redrive_read(*value, place, arena, &out->redrive, f);
    case KIND_REDRIVE_ALLOW:
        return value->n == 0 || sqs_allow_check(*value, f);
    case KIND_COUNTER:
    case KIND_TIME:
    case KIND_ARN:
        break;
    }
    return refuse_name(bytes_of_text(row->name), f);
}

static bool check_scope(enum sqs_attribute_id id, bool fifo, struct sqs_fault *f)
{
    if (rows[id].scope != SCOPE_FIFO || fifo)
        return true;
    if (rows[id].kind == KIND_CHOICE)
        return sqs_fault_set(f, SQS_FAULT_INVALID_ATTRIBUTE_NAME,
                             "You can specify the %s only when FifoQueue is set to true.",
                             rows[id].name);
    return refuse_name(bytes_of_text(rows[id].name), f);
}

bool sqs_settings_fifo(const struct sqs_pairs *pairs)
{
    for (size_t i = 0; i < pairs->n; i++)
        if (sqs_attribute_find(pairs->at[i].name) == SQS_ATTRIBUTE_FifoQueue)
            return is_word(pairs->at[i].value, "true");
    return false;
}

bool sqs_settings_read(const struct sqs_pairs *pairs, bool fifo, bool creating,
                       const struct sqs_place *place, struct arena *arena, struct sqs_settings *out,
                       struct sqs_fault *f)
{
    memset(out, 0, sizeof *out);
    for (size_t i = 0; i < pairs->n; i++) {
        struct bytes value = pairs->at[i].value;
        enum sqs_attribute_id id = sqs_attribute_find(pairs->at[i].name);
        if (id == SQS_ATTRIBUTES_N)
            return refuse_name(pairs->at[i].name, f);
        if (!check_scope(id, fifo, f) || !read_value(id, &value, place, arena, out, f))
            return false;
        if (id == SQS_ATTRIBUTE_FifoQueue && !creating && is_word(value, "false"))
            return refuse_value(&rows[id], "Modifying queue type is not supported.", f);
        out->given[id] = true;
        out->value[id] = value;
    }
    /* Both kinds of encryption at once; AWS names the attribute, not the value. */
    if (out->value[SQS_ATTRIBUTE_KmsMasterKeyId].n > 0 &&
        is_word(out->value[SQS_ATTRIBUTE_SqsManagedSseEnabled], "true"))
        return sqs_fault_set(f, SQS_FAULT_INVALID_ATTRIBUTE_NAME,
                             "You can use one type of server-side encryption (SSE) at one time. "
                             "You can either enable KMS SSE or SQS SSE.");
    return true;
}

/* ---- putting it into a topic's settings ---- */

static int64_t number_of(struct bytes digits)
{
    const char *at = digits.at;
    int64_t n = 0;
    for (size_t i = 0; i < digits.n; i++)
        n = n * 10 + (at[i] - '0');
    return n;
}

static void copy_name(char to[TOPIC_NAME_MAX + 1], struct bytes name)
{
    CHECK(name.n <= TOPIC_NAME_MAX);
    if (name.n > 0)
        memcpy(to, name.at, name.n);
    to[name.n] = 0;
}

static void keep(struct topic_config *t, enum sqs_attribute_id id, struct bytes value)
{
    struct arena arena;
    char room[256];
    arena_init(&arena, room, sizeof room);
    topic_attribute_set(t, rows[id].name, arena_copy(&arena, value).at);
    arena_fini(&arena);
}

static void apply_one(enum sqs_attribute_id id, const struct sqs_settings *s,
                      struct topic_config *t)
{
    struct bytes value = s->value[id];
    switch ((int)id) {
    case SQS_ATTRIBUTE_ContentBasedDeduplication:
        t->content_dedup = is_word(value, "true");
        return;
    case SQS_ATTRIBUTE_DeduplicationScope:
        t->dedup_per_group = is_word(value, "messageGroup");
        return;
    case SQS_ATTRIBUTE_DelaySeconds:
        t->delay_ms = number_of(value) * 1000;
        return;
    case SQS_ATTRIBUTE_FifoQueue:
        return; /* decided at birth */
    case SQS_ATTRIBUTE_allow_single_copy:
    case SQS_ATTRIBUTE_copies:
    case SQS_ATTRIBUTE_min_isr:
        return; /* so are these (apply_copies) */
    case SQS_ATTRIBUTE_MaximumMessageSize:
        t->message_bytes_max = (uint32_t)number_of(value);
        return;
    case SQS_ATTRIBUTE_MessageRetentionPeriod:
        t->retention_ms = number_of(value) * 1000;
        return;
    case SQS_ATTRIBUTE_ReceiveMessageWaitTimeSeconds:
        t->receive_wait_ms = number_of(value) * 1000;
        return;
    case SQS_ATTRIBUTE_RedrivePolicy:
        t->receives_max = s->redrive.receives_max;
        copy_name(t->dead_letter, s->redrive.target);
        return;
    case SQS_ATTRIBUTE_VisibilityTimeout:
        t->visibility_ms = number_of(value) * 1000;
        return;
    default:
        keep(t, id, value);
    }
}

/* A KMS key switches SQS's own encryption off, and that one drops the key; without the key its
 * reuse period has no meaning. Nothing is encrypted here: the values are kept and shown. */
static void apply_encryption(const struct sqs_settings *s, struct topic_config *t)
{
    enum sqs_attribute_id key = SQS_ATTRIBUTE_KmsMasterKeyId;
    if (s->given[key] && s->value[key].n > 0) {
        keep(t, SQS_ATTRIBUTE_SqsManagedSseEnabled, BYTES_OF("false"));
        return;
    }
    if (is_word(s->value[SQS_ATTRIBUTE_SqsManagedSseEnabled], "true"))
        keep(t, key, BYTES_NONE);
    if (topic_attribute_get(t, rows[key].name) == NULL)
        keep(t, SQS_ATTRIBUTE_KmsDataKeyReusePeriodSeconds, BYTES_NONE);
}

/* What a topic has whose settings do not say it was made on one node. */
static uint32_t one_if_unsaid(uint32_t n)
{
    return n == 0 ? 1 : n;
}

static bool apply_copies(const struct sqs_settings *s, struct topic_config *t, struct sqs_fault *f)
{
    enum sqs_attribute_id ids[2] = {SQS_ATTRIBUTE_copies, SQS_ATTRIBUTE_min_isr};
    uint32_t *now[2] = {&t->copies, &t->min_isr};
    bool fresh = t->state == TOPIC_CREATING;
    for (unsigned i = 0; i < 2; i++) {
        if (!s->given[ids[i]])
            continue;
        uint32_t wanted = (uint32_t)number_of(s->value[ids[i]]);
        if (fresh)
            *now[i] = wanted;
        else if (wanted != one_if_unsaid(*now[i]))
            return refuse_value(&rows[ids[i]], "It is fixed when the queue is made.", f);
    }
    if (!fresh)
        return true;
    t->allow_single_copy = is_word(s->value[SQS_ATTRIBUTE_allow_single_copy], "true");
    if (t->min_isr > (t->copies == 0 ? TOPIC_COPIES_DEFAULT : t->copies))
        return refuse_value(&rows[SQS_ATTRIBUTE_min_isr], "There are fewer copies than that.", f);
    return true;
}

bool sqs_settings_apply(const struct sqs_settings *s, struct topic_config *t, struct sqs_fault *f)
{
    if (!apply_copies(s, t, f))
        return false;
    for (unsigned id = 0; id < SQS_ATTRIBUTES_N; id++)
        if (s->given[id])
            apply_one((enum sqs_attribute_id)id, s, t);
    apply_encryption(s, t);
    const char *limit = topic_attribute_get(t, rows[SQS_ATTRIBUTE_FifoThroughputLimit].name);
    if (limit != NULL && strcmp(limit, "perMessageGroupId") == 0 && !t->dedup_per_group)
        return sqs_fault_set(f, SQS_FAULT_INVALID_ATTRIBUTE_VALUE,
                             "The perMessageGroupId value is allowed only when the value for "
                             "DeduplicationScope is messageGroup");
    if (t->fifo && !t->dedup_per_group && t->partitions > 1)
        return refuse_value(&rows[SQS_ATTRIBUTE_DeduplicationScope],
                            "A queue of more than one partition deduplicates by message group.", f);
    return true;
}

/* ---- showing ---- */

static void put_seconds(struct buf *out, int64_t ms)
{
    buf_put_format(out, "%" PRId64, ms / 1000);
}

static void put_kept(struct buf *out, const struct topic_config *t, enum sqs_attribute_id id,
                     const char *otherwise)
{
    const char *value = topic_attribute_get(t, rows[id].name);
    buf_put_text(out, value != NULL ? value : otherwise);
}

static void put_computed(enum sqs_attribute_id id, const struct topic_config *t,
                         const struct queue_counters *counters, const struct sqs_place *place,
                         struct buf *out)
{
    switch ((int)id) {
    case SQS_ATTRIBUTE_ApproximateNumberOfMessages:
        buf_put_format(out, "%" PRIu64, counters->visible);
        return;
    case SQS_ATTRIBUTE_ApproximateNumberOfMessagesDelayed:
        buf_put_format(out, "%" PRIu64, counters->delayed);
        return;
    case SQS_ATTRIBUTE_ApproximateNumberOfMessagesNotVisible:
        buf_put_format(out, "%" PRIu64, counters->in_flight);
        return;
    case SQS_ATTRIBUTE_CreatedTimestamp:
        put_seconds(out, t->created_wall_ms);
        return;
    case SQS_ATTRIBUTE_LastModifiedTimestamp:
        put_seconds(out, t->modified_wall_ms);
        return;
    case SQS_ATTRIBUTE_QueueArn:
        sqs_arn_put(out, place, bytes_of_text(t->name));
        return;
    default:
        UNREACHABLE();
    }
}

/* What can be set, as it would be set; nothing when it is not set. */
static void put_settable(enum sqs_attribute_id id, const struct topic_config *t,
                         const struct sqs_place *place, struct buf *out)
{
    switch ((int)id) {
    case SQS_ATTRIBUTE_allow_single_copy:
        if (t->copies > 0 && t->min_isr == 1)
            buf_put_text(out, "true");
        return;
    case SQS_ATTRIBUTE_copies:
        if (t->copies > 0)
            buf_put_format(out, "%u", t->copies);
        return;
    case SQS_ATTRIBUTE_min_isr:
        if (t->min_isr > 0)
            buf_put_format(out, "%u", t->min_isr);
        return;
    case SQS_ATTRIBUTE_ContentBasedDeduplication:
        buf_put_text(out, t->content_dedup ? "true" : "false");
        return;
    case SQS_ATTRIBUTE_DeduplicationScope:
        buf_put_text(out, t->dedup_per_group ? "messageGroup" : "queue");
        return;
    case SQS_ATTRIBUTE_DelaySeconds:
        put_seconds(out, t->delay_ms);
        return;
    case SQS_ATTRIBUTE_FifoQueue:
        buf_put_text(out, t->fifo ? "true" : "false");
        return;
    case SQS_ATTRIBUTE_FifoThroughputLimit:
        put_kept(out, t, id, "perQueue");
        return;
    case SQS_ATTRIBUTE_KmsDataKeyReusePeriodSeconds:
        if (topic_attribute_get(t, rows[SQS_ATTRIBUTE_KmsMasterKeyId].name) != NULL)
            put_kept(out, t, id, "300");
        return;
    case SQS_ATTRIBUTE_MaximumMessageSize:
        buf_put_format(out, "%u", t->message_bytes_max);
        return;
    case SQS_ATTRIBUTE_MessageRetentionPeriod:
        put_seconds(out, t->retention_ms);
        return;
    case SQS_ATTRIBUTE_ReceiveMessageWaitTimeSeconds:
        put_seconds(out, t->receive_wait_ms);
        return;
    case SQS_ATTRIBUTE_RedrivePolicy:
        if (t->receives_max > 0)
            sqs_redrive_put(out, place, bytes_of_text(t->dead_letter), t->receives_max);
        return;
    case SQS_ATTRIBUTE_SqsManagedSseEnabled:
        put_kept(out, t, id, "true");
        return;
    case SQS_ATTRIBUTE_VisibilityTimeout:
        put_seconds(out, t->visibility_ms);
        return;
    default:
        put_kept(out, t, id, "");
    }
}

bool sqs_attribute_show(enum sqs_attribute_id id, const struct topic_config *t,
                        const struct queue_counters *counters, const struct sqs_place *place,
                        struct buf *out)
{
    CHECK(id < SQS_ATTRIBUTES_N);
    if (rows[id].scope == SCOPE_FIFO && !t->fifo)
        return false;
    size_t before = out->n;
    if (rows[id].kind >= KIND_COUNTER)
        put_computed(id, t, counters, place, out);
    else
        put_settable(id, t, place, out);
    return rows[id].shown == SHOWN_ALWAYS || out->n > before;
}

/* ---- comparing ---- */

static bool differs(enum sqs_attribute_id id, const struct sqs_settings *s,
                    const struct topic_config *t, const struct sqs_place *place)
{
    struct bytes wanted = s->value[id];
    /* Without a key it was not kept when it was given; with one, the key is what differs. */
    if (id == SQS_ATTRIBUTE_KmsDataKeyReusePeriodSeconds &&
        topic_attribute_get(t, rows[SQS_ATTRIBUTE_KmsMasterKeyId].name) == NULL)
        return false;
    if (rows[id].kind == KIND_REDRIVE)
        return s->redrive.receives_max != t->receives_max ||
               !bytes_equal(s->redrive.target, bytes_of_text(t->dead_letter));
    if (rows[id].kind == KIND_CONSENT) /* it asks for nothing */
        return false;
    if (id == SQS_ATTRIBUTE_copies || id == SQS_ATTRIBUTE_min_isr)
        return number_of(wanted) !=
               one_if_unsaid(id == SQS_ATTRIBUTE_copies ? t->copies : t->min_isr);
    struct buf now = BUF_EMPTY;
    put_settable(id, t, place, &now);
    bool same = rows[id].kind == KIND_POLICY || rows[id].kind == KIND_REDRIVE_ALLOW
                    ? sqs_json_equal(wanted, buf_bytes(&now))
                    : bytes_equal(wanted, buf_bytes(&now));
    buf_fini(&now);
    return !same;
}

enum sqs_attribute_id sqs_settings_differ(const struct sqs_settings *s,
                                          const struct topic_config *t,
                                          const struct sqs_place *place)
{
    unsigned id = 0;
    while (id < SQS_ATTRIBUTES_N &&
           !(s->given[id] && differs((enum sqs_attribute_id)id, s, t, place)))
        id++;
    return (enum sqs_attribute_id)id;
}

/* ---- tags ---- */

static bool tag_text_valid(struct bytes text)
{
    const unsigned char *at = text.at;
    for (size_t i = 0; i < text.n; i++) {
        bool letter = (at[i] >= 'a' && at[i] <= 'z') || (at[i] >= 'A' && at[i] <= 'Z') ||
                      (at[i] >= '0' && at[i] <= '9') || at[i] >= 0x80;
        if (!letter && (at[i] == 0 || strchr(" _.:/=+-@", at[i]) == NULL))
            return false;
    }
    return utf8_first_forbidden(text) == text.n;
}

static size_t characters(struct bytes text)
{
    const unsigned char *at = text.at;
    size_t n = 0;
    for (size_t i = 0; i < text.n; i++)
        n += (at[i] & 0xc0) != 0x80;
    return n;
}

bool sqs_tags_check(const struct sqs_pairs *tags, struct bytes queue, struct sqs_fault *f)
{
    enum sqs_fault_code code = SQS_FAULT_INVALID_PARAMETER_VALUE;
    if (tags->n > TAGS_MAX)
        return sqs_fault_set(f, code, "Too many tags added for queue %.*s.", SQS_SHOW(queue));
    for (size_t i = 0; i < tags->n; i++) {
        struct bytes key = tags->at[i].name, value = tags->at[i].value;
        size_t key_n = characters(key);
        if (key_n < 1 || key_n > TAG_KEY_MAX)
            return sqs_fault_set(f, code, "Tag keys must be between 1 and %d characters in length.",
                                 TAG_KEY_MAX);
        if (characters(value) > TAG_VALUE_MAX)
            return sqs_fault_set(f, code,
                                 "Tag values must be between 0 and %d characters in length.",
                                 TAG_VALUE_MAX);
        if (!tag_text_valid(key) || !tag_text_valid(value) ||
            (key.n >= 4 && strncasecmp(key.at, "aws:", 4) == 0))
            return sqs_fault_set(f, code,
                                 "Tags can only contain Unicode letters, digits, white space, _.:/"
                                 "=+-@, and their keys can't begin with aws:.");
    }
    return true;
}
