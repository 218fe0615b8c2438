// SPDX-License-Identifier: Apache-2.0
/* GetQueueAttributes, SetQueueAttributes. */
#include <string.h>

#include "base/check.h"
#include "front/rules.h"
#include "sqs/attribute.h"
#include "sqs/call.h"

/* ---- GetQueueAttributes ---- */

static bool choose(struct sqs_call *c, bool wanted[SQS_ATTRIBUTES_N])
{
    const struct sqs_texts *names = &c->request.attribute_names;
    for (size_t i = 0; i < names->n; i++) {
        if (bytes_equal(names->at[i], BYTES_OF("All"))) {
            for (size_t id = 0; id < SQS_ATTRIBUTES_N; id++)
                wanted[id] = true;
            return true;
        }
    }
    for (size_t i = 0; i < names->n; i++) {
        enum sqs_attribute_id id = sqs_attribute_find(names->at[i]);
        if (id == SQS_ATTRIBUTES_N)
            return sqs_fault_set(&c->fault, SQS_FAULT_INVALID_ATTRIBUTE_NAME,
                                 "Unknown Attribute %.*s.", SQS_SHOW(names->at[i]));
        wanted[id] = true;
    }
    return true;
}

static void put_attributes(struct sqs_call *c, struct sqs_out *out,
                           const bool wanted[SQS_ATTRIBUTES_N],
                           const struct queue_counters *counters)
{
    struct buf value = BUF_EMPTY;
    sqs_out_map_begin(out, "Attributes", "Attribute", "Name");
    for (unsigned i = 0; i < SQS_ATTRIBUTES_N; i++) {
        enum sqs_attribute_id id = (enum sqs_attribute_id)i;
        buf_clear(&value);
        if (wanted[i] && sqs_attribute_show(id, c->config, counters, &c->place, &value))
            sqs_out_map_put(out, bytes_of_text(sqs_attribute_name(id)), buf_bytes(&value));
    }
    sqs_out_map_end(out);
    buf_fini(&value);
}

struct attributes_get {
    bool wanted[SQS_ATTRIBUTES_N];
    struct front_sum sum;
};

static void attributes_reply(struct sqs_call *c)
{
    const struct attributes_get *get = c->state;
    struct buf body = BUF_EMPTY;
    if (get->sum.err != ERR_OK) {
        sqs_reply_err(c, get->sum.err);
        return;
    }
    struct sqs_out out = sqs_reply_begin(c, &body);
    put_attributes(c, &out, get->wanted, &get->sum.counters);
    sqs_reply_send(c, &out);
}

/* What was counted may not be durable yet, so the answer waits: else it would tell of messages that
 * a receive behind it is not given, or that a crash takes back. */
void sqs_answer_GetQueueAttributes(struct sqs_call *c)
{
    struct attributes_get *get = arena_zeros(c->arena, sizeof *get);
    c->state = get;
    if (!choose(c, get->wanted)) {
        sqs_reply_fault(c);
        return;
    }
    sqs_call_count(c, BYTES_NONE, &get->sum, attributes_reply);
}

/* ---- SetQueueAttributes ---- */

bool sqs_redrive_check(struct sqs_call *c, const struct sqs_redrive *r, struct bytes source,
                       bool fifo)
{
    struct queue_topic *target;
    if (queue_topic_find(c->front->queue, r->target, &target) != ERR_OK)
        return sqs_redrive_refuse(r, "Dead letter target does not exist.", &c->fault);
    const struct topic_config *config = queue_topic_config(target);
    bool fine = true;
    if (config->fifo != fifo)
        fine = sqs_redrive_refuse(r, "Dead-letter queue must be same type of queue as the source.",
                                  &c->fault);
    else if (config->compact)
        fine = sqs_redrive_refuse(r, "A compact topic takes no dead letters.", &c->fault);
    else if (!front_redrive_allowed(topic_attribute_get(config, "RedriveAllowPolicy"), source))
        fine = sqs_redrive_refuse(
            r, "The dead-letter target's RedriveAllowPolicy does not allow this queue as a source.",
            &c->fault);
    queue_topic_give_back(target);
    return fine;
}

static enum err change(void *arg, struct topic_config *settings)
{
    struct sqs_call *c = arg;
    return sqs_settings_apply(c->state, settings, &c->fault) ? ERR_OK : ERR_INVALID;
}

static void set_work(struct sqs_call *c)
{
    const struct sqs_settings *s = c->state;
    if (s->redrive.receives_max > 0 &&
        !sqs_redrive_check(c, &s->redrive, bytes_of_text(c->config->name), c->config->fifo))
        return;
    enum err e = queue_topic_change(c->topic, change, c);
    if (e != ERR_OK && c->fault.code == SQS_FAULT_NONE)
        (void)sqs_fault_of_err(&c->fault, e);
}

void sqs_answer_SetQueueAttributes(struct sqs_call *c)
{
    struct sqs_settings *s = arena_zeros(c->arena, sizeof *s);
    c->state = s;
    if (c->request.attributes.n == 0) {
        sqs_fault_set(&c->fault, SQS_FAULT_MISSING_PARAMETER,
                      "The request must contain the parameter Attribute.Name.");
        sqs_reply_fault(c);
        return;
    }
    if (!sqs_settings_read(&c->request.attributes, c->config->fifo, false, &c->place, c->arena, s,
                           &c->fault))
        sqs_reply_fault(c);
    else
        sqs_call_run(c, set_work, sqs_reply_fault_or_empty);
}
