// SPDX-License-Identifier: Apache-2.0
/* AddPermission, RemovePermission: they edit the attribute Policy. */
#include "base/check.h"
#include "sqs/call.h"
#include "sqs/policy.h"

static struct sqs_permission permission_of(struct sqs_call *c)
{
    return (struct sqs_permission){
        .queue = bytes_of_text(c->config->name),
        .label = c->request.label,
        .accounts = &c->request.accounts,
        .actions = &c->request.actions,
    };
}

/* The new policy; an empty one is none. */
static void keep(struct topic_config *settings, struct buf *policy)
{
    buf_put(policy, "", 1);
    topic_attribute_set(settings, "Policy", (const char *)policy->at);
}

static enum err add(void *arg, struct topic_config *settings)
{
    struct sqs_call *c = arg;
    struct sqs_permission p = permission_of(c);
    struct buf policy = BUF_EMPTY;
    const char *now = topic_attribute_get(settings, "Policy");
    bool fine = sqs_policy_add(now, &p, &c->place, &policy, &c->fault);
    if (fine)
        keep(settings, &policy);
    buf_fini(&policy);
    return fine ? ERR_OK : ERR_INVALID;
}

static enum err take_away(void *arg, struct topic_config *settings)
{
    struct sqs_call *c = arg;
    struct buf policy = BUF_EMPTY;
    const char *now = topic_attribute_get(settings, "Policy");
    bool fine = sqs_policy_remove(now, c->request.label, &policy, &c->fault);
    if (fine)
        keep(settings, &policy);
    buf_fini(&policy);
    return fine ? ERR_OK : ERR_INVALID;
}

static void change(struct sqs_call *c, enum err (*how)(void *arg, struct topic_config *settings))
{
    enum err e = queue_topic_change(c->topic, how, c);
    if (e != ERR_OK && c->fault.code == SQS_FAULT_NONE)
        (void)sqs_fault_of_err(&c->fault, e);
}

static void add_work(struct sqs_call *c)
{
    change(c, add);
}

void sqs_answer_AddPermission(struct sqs_call *c)
{
    struct sqs_permission p = permission_of(c);
    if (!sqs_permission_check(&p, &c->fault))
        sqs_reply_fault(c);
    else
        sqs_call_run(c, add_work, sqs_reply_fault_or_empty);
}

static void remove_work(struct sqs_call *c)
{
    change(c, take_away);
}

void sqs_answer_RemovePermission(struct sqs_call *c)
{
    sqs_call_run(c, remove_work, sqs_reply_fault_or_empty);
}
