// SPDX-License-Identifier: Apache-2.0
/* CreateQueue, DeleteQueue, GetQueueUrl, PurgeQueue. */
#include <string.h>

#include "base/check.h"
#include "sqs/attribute.h"
#include "sqs/call.h"
#include "sqs/name.h"

static void reply_url(struct sqs_call *c, struct bytes name)
{
    struct buf body = BUF_EMPTY;
    struct sqs_out out = sqs_reply_begin(c, &body);
    sqs_out_text(&out, "QueueUrl", sqs_queue_url(c, name));
    sqs_reply_send(c, &out);
}

static int64_t now_ms(const struct sqs_call *c)
{
    return clock_boot_ms(c->front->clock);
}

static bool cooling(struct sqs_call *c, struct sqs_cooldown *cooldown, struct bytes name)
{
    return c->front->strict_cooldowns && sqs_cooldown_holds(cooldown, name, now_ms(c));
}

static void reply_fault_or_url(struct sqs_call *c)
{
    if (c->fault.code != SQS_FAULT_NONE)
        sqs_reply_fault(c);
    else
        reply_url(c, c->request.queue_name);
}

/* ---- CreateQueue ---- */

struct create {
    bool fifo;
    struct sqs_settings settings;
};

static bool check_name(struct sqs_call *c, struct create *create)
{
    struct bytes name = c->request.queue_name;
    create->fifo = sqs_settings_fifo(&c->request.attributes);
    if (name.n == 0)
        return sqs_fault_set(&c->fault, SQS_FAULT_INVALID_PARAMETER_VALUE,
                             "Queue name cannot be empty");
    if (create->fifo || sqs_name_is_fifo(name)) {
        if (create->fifo && sqs_name_valid(name, true))
            return true;
        return sqs_fault_set(&c->fault, SQS_FAULT_INVALID_PARAMETER_VALUE,
                             "The name of a FIFO queue can only include alphanumeric characters, "
                             "hyphens, or underscores, must end with .fifo suffix and be 1 to 80 "
                             "in length");
    }
    if (!sqs_name_valid(name, false))
        return sqs_fault_set(&c->fault, SQS_FAULT_INVALID_PARAMETER_VALUE,
                             "Can only include alphanumeric characters, hyphens, or underscores. "
                             "1 to 80 in length");
    return true;
}

/* The name is taken: equal in what was given is a success, as if it had been made now. */
static bool compare(struct sqs_call *c, const struct create *create)
{
    enum sqs_attribute_id other =
        sqs_settings_differ(&create->settings, queue_topic_config(c->topic), &c->place);
    if (other == SQS_ATTRIBUTES_N)
        return true;
    return sqs_fault_set(&c->fault, SQS_FAULT_QUEUE_NAME_EXISTS,
                         "A queue already exists with the same name and a different value for "
                         "attribute %s",
                         sqs_attribute_name(other));
}

static char *text_of(struct sqs_call *c, struct bytes b)
{
    return (char *)(uintptr_t)arena_copy(c->arena, b).at;
}

static bool fill_in(struct sqs_call *c, const struct create *create, struct topic_config *want)
{
    struct bytes name = c->request.queue_name;
    const struct sqs_pairs *tags = &c->request.tags;
    memcpy(want->name, name.at, name.n);
    want->name[name.n] = 0;
    want->fifo = create->fifo;
    if (!sqs_settings_apply(&create->settings, want, &c->fault))
        return false;
    if (tags->n == 0)
        return true;
    /* Lent for the call: the core copies what it keeps, and these are taken out again below. */
    want->tags = arena_zeros(c->arena, tags->n * sizeof *want->tags);
    want->tags_n = tags->n;
    for (size_t i = 0; i < tags->n; i++) {
        want->tags[i].name = text_of(c, tags->at[i].name);
        want->tags[i].value = text_of(c, tags->at[i].value);
    }
    return true;
}

static enum err make(struct sqs_call *c, const struct create *create)
{
    struct topic_config want;
    enum err e = ERR_OK;
    topic_config_init(&want);
    if (fill_in(c, create, &want))
        e = queue_topic_create(c->front->queue, &want, &c->topic);
    want.tags = NULL;
    want.tags_n = 0;
    topic_config_fini(&want);
    return e;
}

/* No other job of this name runs meanwhile, so between the look and the making nobody else makes
 * it.
 */
static void create_work(struct sqs_call *c)
{
    const struct create *create = c->state;
    struct bytes name = c->request.queue_name;
    enum err e = queue_topic_find(c->front->queue, name, &c->topic);
    if (e == ERR_OK) {
        (void)compare(c, create);
        return;
    }
    if (e != ERR_NOT_FOUND) {
        (void)sqs_fault_of_err(&c->fault, e);
        return;
    }
    if (cooling(c, &c->front->deleted, name)) {
        sqs_fault_set(&c->fault, SQS_FAULT_QUEUE_DELETED_RECENTLY,
                      "You must wait 60 seconds after deleting a queue before you can create "
                      "another with the same name.");
        return;
    }
    if (create->settings.redrive.receives_max > 0 &&
        !sqs_redrive_check(c, &create->settings.redrive, name, create->fifo))
        return;
    e = make(c, create);
    if (e == ERR_EXISTS) /* taken, but not ready: it is being made or deleted */
        e = ERR_BUSY;
    if (e != ERR_OK)
        (void)sqs_fault_of_err(&c->fault, e);
}

void sqs_answer_CreateQueue(struct sqs_call *c)
{
    struct create *create = arena_zeros(c->arena, sizeof *create);
    c->state = create;
    if (!check_name(c, create) ||
        !sqs_settings_read(&c->request.attributes, create->fifo, true, &c->place, c->arena,
                           &create->settings, &c->fault) ||
        !sqs_tags_check(&c->request.tags, c->request.queue_name, &c->fault)) {
        sqs_reply_fault(c);
        return;
    }
    /* Cooldowns are kept without a lock, for jobs that run alone. */
    if (!c->front->strict_cooldowns)
        c->call.job.beside = queue_job_beside(c->request.queue_name);
    sqs_call_run(c, create_work, reply_fault_or_url);
}

/* ---- DeleteQueue ---- */

static void delete_work(struct sqs_call *c)
{
    struct bytes name = sqs_name_of_url(c->request.queue_url);
    enum err e = queue_topic_delete(c->topic);
    if (e != ERR_OK) {
        (void)sqs_fault_of_err(&c->fault, e);
        return;
    }
    sqs_cooldown_forget(&c->front->purged, name);
    if (c->front->strict_cooldowns)
        sqs_cooldown_note(&c->front->deleted, name, now_ms(c));
}

void sqs_answer_DeleteQueue(struct sqs_call *c)
{
    sqs_call_run(c, delete_work, sqs_reply_fault_or_empty);
}

/* ---- PurgeQueue ---- */

static void purged(struct sqs_call *c)
{
    const struct front_sum *sum = c->state;
    if (sum->err != ERR_OK)
        sqs_reply_err(c, sum->err);
    else
        sqs_reply_empty(c);
}

static void purge(struct sqs_call *c)
{
    if (c->fault.code != SQS_FAULT_NONE)
        sqs_reply_fault(c);
    else
        sqs_call_purge(c, BYTES_NONE, c->state, purged);
}

/* A job, though it needs no file, because the cooldowns belong to that thread. One begins whatever
 * becomes of the purge. */
static void cooldown_work(struct sqs_call *c)
{
    struct bytes name = sqs_name_of_url(c->request.queue_url);
    if (cooling(c, &c->front->purged, name)) {
        sqs_fault_set(&c->fault, SQS_FAULT_PURGE_QUEUE_IN_PROGRESS,
                      "Only one PurgeQueue operation on %.*s is allowed every 60 seconds.",
                      SQS_SHOW(name));
        return;
    }
    sqs_cooldown_note(&c->front->purged, name, now_ms(c));
}

void sqs_answer_PurgeQueue(struct sqs_call *c)
{
    c->state = arena_zeros(c->arena, sizeof(struct front_sum));
    if (c->front->strict_cooldowns)
        sqs_call_run(c, cooldown_work, purge);
    else
        purge(c);
}

/* ---- GetQueueUrl ---- */

void sqs_answer_GetQueueUrl(struct sqs_call *c)
{
    struct bytes name = c->request.queue_name;
    if (name.n == 0) {
        sqs_fault_set(&c->fault, SQS_FAULT_INVALID_PARAMETER_VALUE,
                      "Value for parameter QueueName is invalid. Reason: Must specify a queue "
                      "name.");
        sqs_reply_fault(c);
        return;
    }
    enum err e = ERR_NOT_FOUND;
    if (sqs_name_valid(name, sqs_name_is_fifo(name)) && sqs_account_is_ours(c, c->request.owner))
        e = queue_topic_find(c->front->queue, name, &c->topic);
    if (e != ERR_OK)
        sqs_reply_err(c, e);
    else
        reply_url(c, name);
}
