// SPDX-License-Identifier: Apache-2.0
#include "fuzz/sqs_walk.h"

#include <stdio.h>

#include "base/utf8.h"
#include "fuzz/fuzz.h"
#include "fuzz/message_walk.h"
#include "sqs/attribute.h"
#include "sqs/message.h"
#include "sqs/name.h"
#include "sqs/policy.h"

static const struct sqs_place place = {{"us-east-1", 9}, {"000000000000", 12}};

void walk_fault(const struct sqs_fault *f, bool fine)
{
    CHECK(fine == (f->code == SQS_FAULT_NONE));
    CHECK(fine || (f->text.n > 0 && f->text.n <= SQS_FAULT_TEXT_MAX && utf8_valid(f->text)));
}

static void topic_make(struct topic_config *t, bool fifo)
{
    topic_config_init(t);
    snprintf(t->name, sizeof t->name, fifo ? "q.fifo" : "q");
    t->fifo = fifo;
    t->partitions = 1;
    t->state = TOPIC_READY;
}

static void walk_names(const struct sqs_request *r)
{
    struct sqs_arn arn;
    struct bytes name = sqs_name_of_url(r->queue_url);
    CHECK(name.n <= r->queue_url.n && sqs_account_of_url(r->queue_url).n <= r->queue_url.n);
    CHECK(!sqs_name_valid(name, sqs_name_is_fifo(name)) || name.n <= SQS_NAME_MAX);
    sqs_name_of_path(r->queue_url);
    if (sqs_arn_parse(r->source_arn, &arn))
        CHECK(arn.name.n > 0 && arn.name.n < r->source_arn.n);
    sqs_entry_id_valid(r->label);
    sqs_region_of_authorization(r->next_token);
}

static void walk_entry(const struct sqs_entry *e, struct arena *arena, bool batch, bool fifo)
{
    struct topic_config t;
    struct queue_message m;
    struct sqs_fault f = {.arena = arena};
    uint8_t md5[16];
    topic_make(&t, fifo);
    const struct sqs_message_rules rules = {&t, batch, e->id};
    bool fine = sqs_message_make(&rules, e, arena, &m, &f);
    walk_fault(&f, fine);
    if (fine) {
        sqs_attributes_md5(m.attributes, m.attributes_n, md5);
        sqs_trace_md5(m.trace, md5);
        walk_message(&m, &t);
    }
    topic_config_fini(&t);
}

static bool sends(const struct sqs_action *a)
{
    return a->id == SQS_SendMessage || a->id == SQS_SendMessageBatch;
}

static void walk_batch(const struct sqs_action *a, const struct sqs_request *r, struct arena *arena)
{
    struct sqs_fault f = {.arena = arena};
    bool fine = sqs_check_batch(a, r, &f);
    walk_fault(&f, fine);
    CHECK(!fine || (r->entries.n > 0 && r->entries.n == r->entries.sent));
    for (size_t i = 0; fine && i < r->entries.n; i++) {
        struct sqs_fault entry_fault = {.arena = arena};
        bool good = sqs_check_entry(a, r, i, &entry_fault);
        walk_fault(&entry_fault, good);
        if (good && sends(a)) {
            walk_entry(&r->entries.at[i], arena, true, false);
            walk_entry(&r->entries.at[i], arena, true, true);
        }
    }
}

static void walk_settings(const struct sqs_request *r, struct arena *arena, bool creating,
                          bool fifo)
{
    struct topic_config t;
    struct sqs_settings s;
    struct sqs_fault f = {.arena = arena};
    struct queue_counters counters = {0};
    struct buf shown = BUF_EMPTY;
    bool fine = sqs_settings_read(&r->attributes, fifo, creating, &place, arena, &s, &f);
    walk_fault(&f, fine);
    topic_make(&t, fifo);
    if (fine) {
        fine = sqs_settings_apply(&s, &t, &f);
        walk_fault(&f, fine);
    }
    if (fine) {
        CHECK(sqs_settings_differ(&s, &t, &place) == SQS_ATTRIBUTES_N);
        for (unsigned id = 0; id < SQS_ATTRIBUTES_N; id++)
            sqs_attribute_show((enum sqs_attribute_id)id, &t, &counters, &place, &shown);
        CHECK(utf8_valid(buf_bytes(&shown)));
        walk_topic(&t);
    }
    buf_fini(&shown);
    topic_config_fini(&t);
}

static void walk_tags(const struct sqs_request *r, struct arena *arena)
{
    struct topic_config t;
    struct sqs_fault f = {.arena = arena};
    bool fine = sqs_tags_check(&r->tags, BYTES_OF("q"), &f);
    walk_fault(&f, fine);
    topic_make(&t, false);
    for (size_t i = 0; fine && i < r->tags.n; i++)
        topic_tag_set(&t, arena_copy(arena, r->tags.at[i].name).at,
                      arena_copy(arena, r->tags.at[i].value).at);
    if (fine)
        walk_topic(&t);
    topic_config_fini(&t);
}

/* Added, taken for a repetition, shown to be sound, and taken away again. */
static void walk_permission(const struct sqs_request *r, struct arena *arena)
{
    struct sqs_fault f = {.arena = arena}, again = {.arena = arena};
    const struct sqs_permission p = {BYTES_OF("q"), r->label, &r->accounts, &r->actions};
    struct buf policy = BUF_EMPTY, other = BUF_EMPTY;
    bool fine = sqs_permission_check(&p, &f);
    walk_fault(&f, fine);
    if (fine) {
        fine = sqs_policy_add(NULL, &p, &place, &policy, &f);
        walk_fault(&f, fine);
    }
    if (fine) {
        CHECK(sqs_policy_check(buf_bytes(&policy), &f));
        buf_put_u8(&policy, 0);
        CHECK(!sqs_policy_add(policy.at, &p, &place, &other, &again));
        CHECK(sqs_policy_remove(policy.at, r->label, &other, &f) && other.n == 0);
    }
    buf_fini(&policy);
    buf_fini(&other);
}

void walk_request(const struct sqs_action *a, const struct sqs_request *r, struct arena *arena)
{
    struct sqs_fault f = {.arena = arena};
    walk_names(r);
    CHECK(r->entries.n <= SQS_ENTRIES_MAX && r->attributes.n <= SQS_LIST_MAX);
    bool fine = sqs_check_required(a, r, &f);
    walk_fault(&f, fine);
    if (fine) {
        fine = sqs_check_ranges(a, r, &f);
        walk_fault(&f, fine);
    }
    if (!fine)
        return;
    if (sqs_action_batch(a)->params != NULL)
        walk_batch(a, r, arena);
    if (a->id == SQS_SendMessage) {
        walk_entry(&r->one, arena, false, false);
        walk_entry(&r->one, arena, false, true);
    }
    if (a->id == SQS_CreateQueue || a->id == SQS_SetQueueAttributes) {
        bool creating = a->id == SQS_CreateQueue;
        walk_settings(r, arena, creating, creating && sqs_settings_fifo(&r->attributes));
    }
    if (a->id == SQS_CreateQueue || a->id == SQS_TagQueue)
        walk_tags(r, arena);
    if (a->id == SQS_AddPermission)
        walk_permission(r, arena);
    for (size_t i = 0; i < r->message_names.n; i++)
        sqs_attribute_wanted(&r->message_names, r->message_names.at[i]);
}
