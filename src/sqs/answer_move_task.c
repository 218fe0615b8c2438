// SPDX-License-Identifier: Apache-2.0
/* StartMessageMoveTask, CancelMessageMoveTask, ListMessageMoveTasks. A task's handle is what AWS's
 * is: the base64 of {"taskId":"<uuid>","sourceArn":"<arn>"}. */
#include <string.h>

#include "base/check.h"
#include "base/codec.h"
#include "base/json.h"
#include "sqs/call.h"
#include "sqs/name.h"

enum { UUID_CHARS = 36, HANDLE_MAX = 1024 };

static bool refuse(struct sqs_call *c, const char *text)
{
    return sqs_fault_set(&c->fault, SQS_FAULT_INVALID_PARAMETER_VALUE, "%s", text);
}

static bool read_arn(struct sqs_call *c, struct bytes arn, const char *parameter,
                     struct sqs_arn *out)
{
    if (sqs_arn_parse(arn, out))
        return true;
    return sqs_fault_set(&c->fault, SQS_FAULT_INVALID_PARAMETER_VALUE,
                         "You must use this format to specify the %s: "
                         "arn:<partition>:<service>:<region>:<account-id>:<resource-id>",
                         parameter);
}

static bool find(struct sqs_call *c, const struct sqs_arn *arn, const char *parameter,
                 struct queue_topic **out)
{
    enum err e = queue_topic_find(c->front->queue, arn->name, out);
    if (e == ERR_OK)
        return true;
    if (e != ERR_NOT_FOUND)
        return sqs_fault_of_err(&c->fault, e);
    return sqs_fault_set(&c->fault, SQS_FAULT_RESOURCE_NOT_FOUND,
                         "The resource that you specified for the %s parameter doesn't exist.",
                         parameter);
}

static void put_handle(struct sqs_call *c, struct sqs_out *out, const uint8_t id[16])
{
    struct buf handle = BUF_EMPTY;
    char uuid[CODEC_UUID_ROOM];
    codec_uuid_text(id, uuid);
    buf_put_format(&handle, "{\"taskId\":\"%s\",\"sourceArn\":\"", uuid);
    sqs_arn_put(&handle, &c->place, bytes_of_text(queue_topic_config(c->topic)->name));
    buf_put_text(&handle, "\"}");
    sqs_out_blob(out, "TaskHandle", buf_bytes(&handle));
    buf_fini(&handle);
}

/* ---- StartMessageMoveTask ---- */

struct start {
    struct sqs_arn source, destination; /* the latter zeros when it is not given */
    uint8_t id[16];
};

struct looking_for {
    const char *dead_letter;
    bool found;
};

static bool look_at(void *arg, struct queue_topic *t)
{
    struct looking_for *l = arg;
    const struct topic_config *config = queue_topic_config(t);
    l->found = config->receives_max > 0 && strcmp(config->dead_letter, l->dead_letter) == 0;
    return !l->found;
}

/* On the catalogue thread, which alone starts and cancels. */
static void start(struct sqs_call *c, struct queue_topic *destination)
{
    struct start *s = c->state;
    const struct topic_config *source = queue_topic_config(c->topic);
    if (destination != NULL && queue_topic_config(destination)->fifo != source->fifo) {
        refuse(c, "The source queue and destination queue must be of the same queue type.");
        return;
    }
    struct looking_for l = {source->name, false};
    queue_topics_each(c->front->queue, BYTES_NONE, BYTES_NONE, look_at, &l);
    if (!l.found) {
        refuse(c, "Source queue must be configured as a Dead Letter Queue.");
        return;
    }
    const struct sqs_integer *rate = &c->request.per_second;
    enum err e =
        queue_redrive_start(c->topic, destination, rate->given ? (uint32_t)rate->value : 0, s->id);
    if (e == ERR_EXISTS)
        refuse(c, "There is already a task running. Only one active task is allowed for a source "
                  "queue arn at a given time.");
    else if (e == ERR_FULL)
        sqs_fault_set(&c->fault, SQS_FAULT_OVER_LIMIT,
                      "There can be at most %d active message move tasks.",
                      QUEUE_REDRIVES_ACTIVE_MAX);
    else if (e != ERR_OK)
        (void)sqs_fault_of_err(&c->fault, e);
}

static void start_work(struct sqs_call *c)
{
    const struct start *s = c->state;
    struct queue_topic *destination = NULL;
    if (!find(c, &s->source, "SourceArn", &c->topic))
        return;
    if (s->destination.name.n > 0 && !find(c, &s->destination, "DestinationArn", &destination))
        return;
    start(c, destination);
    if (destination != NULL)
        queue_topic_give_back(destination);
}

static void started(struct sqs_call *c)
{
    const struct start *s = c->state;
    if (c->fault.code != SQS_FAULT_NONE) {
        sqs_reply_fault(c);
        return;
    }
    struct buf body = BUF_EMPTY;
    struct sqs_out out = sqs_reply_begin(c, &body);
    put_handle(c, &out, s->id);
    sqs_reply_send(c, &out);
}

static bool check_start(struct sqs_call *c, struct start *s)
{
    struct bytes destination = c->request.destination_arn;
    if (!read_arn(c, c->request.source_arn, "SourceArn", &s->source))
        return false;
    if (destination.at != NULL && !read_arn(c, destination, "DestinationArn", &s->destination))
        return false;
    if (bytes_equal(s->source.name, s->destination.name))
        return refuse(c, "Source queue arn and destination queue arn cannot be the same.");
    return sqs_check_ranges(c->action, &c->request, &c->fault);
}

void sqs_answer_StartMessageMoveTask(struct sqs_call *c)
{
    struct start *s = arena_zeros(c->arena, sizeof *s);
    c->state = s;
    if (!check_start(c, s))
        sqs_reply_fault(c);
    else
        sqs_call_run(c, start_work, started);
}

/* ---- CancelMessageMoveTask ---- */

struct cancel {
    struct sqs_arn source;
    uint8_t id[16];
    uint64_t moved;
};

static bool read_uuid(struct bytes text, uint8_t id[16])
{
    const char *at = text.at;
    char hex[32];
    size_t n = 0;
    if (text.n != UUID_CHARS)
        return false;
    for (size_t i = 0; i < text.n; i++) {
        bool hyphen = i == 8 || i == 13 || i == 18 || i == 23;
        if (hyphen != (at[i] == '-'))
            return false;
        if (!hyphen)
            hex[n++] = at[i];
    }
    return codec_hex_decode((struct bytes){hex, sizeof hex}, id, 16) == ERR_OK;
}

static bool read_handle(struct sqs_call *c, struct cancel *out)
{
    struct bytes handle = c->request.task_handle, text, key, id = BYTES_NONE, arn = BYTES_NONE;
    struct json p;
    bool fine = handle.n <= HANDLE_MAX && codec_base64_decode(handle, c->arena, &text) == ERR_OK;
    if (fine) {
        json_init(&p, text, c->arena);
        json_enter_object(&p);
        while (json_next_member(&p, &key)) {
            if (bytes_equal(key, BYTES_OF("taskId")))
                json_read_string(&p, &id);
            else if (bytes_equal(key, BYTES_OF("sourceArn")))
                json_read_string(&p, &arn);
            else
                json_skip(&p);
        }
        fine = json_finish(&p) == ERR_OK;
    }
    fine = fine && read_uuid(id, out->id) && sqs_arn_parse(arn, &out->source);
    return fine || refuse(c, "Value for parameter TaskHandle is invalid.");
}

static void cancel_work(struct sqs_call *c)
{
    struct cancel *s = c->state;
    if (!find(c, &s->source, "SourceArn", &c->topic))
        return;
    enum err e = queue_redrive_cancel(c->topic, s->id, &s->moved);
    if (e == ERR_NOT_FOUND)
        sqs_fault_set(&c->fault, SQS_FAULT_RESOURCE_NOT_FOUND, "Task does not exist.");
    else if (e != ERR_OK)
        (void)sqs_fault_of_err(&c->fault, e);
}

static void cancelled(struct sqs_call *c)
{
    const struct cancel *s = c->state;
    if (c->fault.code != SQS_FAULT_NONE) {
        sqs_reply_fault(c);
        return;
    }
    struct buf body = BUF_EMPTY;
    struct sqs_out out = sqs_reply_begin(c, &body);
    sqs_out_number(&out, "ApproximateNumberOfMessagesMoved", (int64_t)s->moved);
    sqs_reply_send(c, &out);
}

void sqs_answer_CancelMessageMoveTask(struct sqs_call *c)
{
    struct cancel *s = arena_zeros(c->arena, sizeof *s);
    c->state = s;
    if (!read_handle(c, s))
        sqs_reply_fault(c);
    else
        sqs_call_run(c, cancel_work, cancelled);
}

/* ---- ListMessageMoveTasks ---- */

static void put_arn(struct sqs_call *c, struct sqs_out *out, const char *name, const char *queue)
{
    struct buf arn = BUF_EMPTY;
    sqs_arn_put(&arn, &c->place, bytes_of_text(queue));
    sqs_out_text(out, name, buf_bytes(&arn));
    buf_fini(&arn);
}

/* The handle is of use, and shown, only while the task runs. */
static void put_task(struct sqs_call *c, struct sqs_out *out, const struct queue_redrive *r)
{
    static const char *const states[] = {
        [QUEUE_REDRIVE_RUNNING] = "RUNNING",     [QUEUE_REDRIVE_CANCELLING] = "CANCELLING",
        [QUEUE_REDRIVE_CANCELLED] = "CANCELLED", [QUEUE_REDRIVE_COMPLETED] = "COMPLETED",
        [QUEUE_REDRIVE_FAILED] = "FAILED",
    };
    sqs_out_item_begin(out);
    sqs_out_number(out, "ApproximateNumberOfMessagesMoved", (int64_t)r->moved);
    sqs_out_number(out, "ApproximateNumberOfMessagesToMove", (int64_t)r->to_move);
    if (r->target[0] != 0)
        put_arn(c, out, "DestinationArn", r->target);
    if (r->state == QUEUE_REDRIVE_FAILED)
        sqs_out_text(out, "FailureReason",
                     r->no_source ? BYTES_OF("CouldNotDetermineMessageSource")
                                  : BYTES_OF("AWS.SimpleQueueService.NonExistentQueue"));
    if (r->per_second_max > 0)
        sqs_out_number(out, "MaxNumberOfMessagesPerSecond", r->per_second_max);
    put_arn(c, out, "SourceArn", queue_topic_config(c->topic)->name);
    sqs_out_number(out, "StartedTimestamp", r->started_wall_ms);
    sqs_out_text(out, "Status", bytes_of_text(states[r->state]));
    if (r->state == QUEUE_REDRIVE_RUNNING)
        put_handle(c, out, r->id);
    sqs_out_item_end(out);
}

void sqs_answer_ListMessageMoveTasks(struct sqs_call *c)
{
    struct queue_redrive tasks[QUEUE_REDRIVES_MAX];
    struct sqs_arn source;
    if (!read_arn(c, c->request.source_arn, "SourceArn", &source) ||
        !sqs_check_ranges(c->action, &c->request, &c->fault) ||
        !find(c, &source, "SourceArn", &c->topic)) {
        sqs_reply_fault(c);
        return;
    }
    size_t max = c->request.max_results.given ? (size_t)c->request.max_results.value : 1;
    size_t n = queue_redrives(c->topic, tasks, max);
    struct buf body = BUF_EMPTY;
    struct sqs_out out = sqs_reply_begin(c, &body);
    sqs_out_list_begin(&out, "Results", "ListMessageMoveTasksResultEntry");
    for (size_t i = 0; i < n; i++)
        put_task(c, &out, &tasks[i]);
    sqs_out_list_end(&out);
    sqs_reply_send(c, &out);
}
