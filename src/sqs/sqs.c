// SPDX-License-Identifier: Apache-2.0
/* The way in: which protocol, which action, which queue. */
#include "sqs/sqs.h"

#include "base/check.h"
#include "sqs/call.h"
#include "sqs/decode.h"
#include "sqs/name.h"
#include "sqs/protocol.h"

static sqs_step *const handlers[SQS_ACTIONS_N] = {
#define ACTION(name, queue) [SQS_##name] = sqs_answer_##name,
#include "actions.def"
};

static struct sqs_call *call_new(struct sqs *front, struct http_request *r)
{
    struct sqs_call *c = arena_zeros(http_arena(r), sizeof *c);
    sqs_call_init(c, r);
    c->front = front;
    c->call.links = front->links;
    c->fault.arena = c->arena;
    c->place.account = bytes_of_text(front->account != NULL ? front->account : "000000000000");
    c->place.region = sqs_region_of_authorization(http_header(r, "Authorization"));
    if (c->place.region.n == 0)
        c->place.region = bytes_of_text(front->region != NULL ? front->region : "us-east-1");
    return c;
}

/* ---- AWS JSON ---- */

static bool read_json(struct sqs_call *c)
{
    struct bytes target = http_header(c->http, "X-Amz-Target"), prefix = BYTES_OF("AmazonSQS.");
    if (!bytes_start_with(target, prefix))
        return sqs_fault_set(&c->fault, SQS_FAULT_UNKNOWN_OPERATION,
                             "The header X-Amz-Target must name an action, such as "
                             "AmazonSQS.SendMessage.");
    target = (struct bytes){(const char *)target.at + prefix.n, target.n - prefix.n};
    return sqs_action_find(target, &c->action, &c->fault) &&
           sqs_decode_json(c->action, http_body(c->http), c->arena, &c->request, &c->fault);
}

/* ---- Query ---- */

/* On a queue's path that queue is meant, unless QueueUrl names another. The actions that no queue
 * takes are refused there as AWS does, but for GetQueueUrl. */
static bool take_path(struct sqs_call *c)
{
    struct bytes name = sqs_name_of_path(http_path(c->http));
    if (name.n == 0)
        return true;
    if (c->action->id == SQS_CreateQueue || c->action->id == SQS_ListQueues)
        return sqs_fault_set(&c->fault, SQS_FAULT_UNKNOWN_OPERATION,
                             "The action %.*s is not valid for this endpoint.",
                             SQS_SHOW(c->action->name));
    if (c->request.queue_url.at == NULL)
        c->request.queue_url = http_path(c->http);
    return true;
}

/* A person with a browser, or a program with a typing mistake. On a queue's URL AWS answers 404. */
static bool refuse_actionless(struct sqs_call *c)
{
    struct bytes path = http_path(c->http);
    if (http_method_of(c->http) == HTTP_POST || bytes_equal(path, BYTES_OF("/")))
        return sqs_fault_set(&c->fault, SQS_FAULT_MISSING_ACTION,
                             "The request must contain the parameter Action, such as "
                             "?Action=ListQueues. GET /v1 tells what this server is.");
    return sqs_fault_set(&c->fault, SQS_FAULT_NO_PAGE,
                         "There is no page here. SQS requests name an Action; GET /v1 tells what "
                         "this server is.");
}

/* The body's parameters and the query string's are one list; the body's come first. */
static bool read_query(struct sqs_call *c)
{
    struct sqs_form form = {0};
    if (http_method_of(c->http) == HTTP_HEAD) {
        /* Its answer has no body, so a receive would lose messages in it. */
        c->status = 405;
        return sqs_fault_set(&c->fault, SQS_FAULT_UNKNOWN_OPERATION, "HEAD does nothing here.");
    }
    if (http_method_of(c->http) == HTTP_POST &&
        !sqs_form_add(&form, http_body(c->http), c->arena, &c->fault))
        return false;
    if (!sqs_form_add(&form, http_query(c->http), c->arena, &c->fault))
        return false;
    struct bytes action = sqs_form_get(&form, "Action");
    if (action.n == 0)
        return refuse_actionless(c);
    return sqs_action_find(action, &c->action, &c->fault) &&
           sqs_decode_query(c->action, &form, c->arena, &c->request, &c->fault) && take_path(c);
}

/* ---- both ---- */

bool sqs_account_is_ours(const struct sqs_call *c, struct bytes account)
{
    return !c->front->strict_accounts || account.n == 0 || bytes_equal(account, c->place.account);
}

static bool find_queue(struct sqs_call *c)
{
    if (!c->action->needs_queue)
        return true;
    struct bytes name = sqs_name_of_url(c->request.queue_url);
    enum err e = ERR_NOT_FOUND;
    if (sqs_name_valid(name, sqs_name_is_fifo(name)) &&
        sqs_account_is_ours(c, sqs_account_of_url(c->request.queue_url)))
        e = queue_topic_find(c->front->queue, name, &c->topic);
    if (e != ERR_OK)
        return sqs_fault_of_err(&c->fault, e);
    c->config = queue_topic_config(c->topic);
    return true;
}

static struct bytes header_of(const void *http, const char *name)
{
    return http_header(http, name);
}

static bool check_signature(struct sqs_call *c)
{
    static const char *const methods[] = {[HTTP_GET] = "GET", [HTTP_HEAD] = "HEAD"};
    enum http_method method = http_method_of(c->http);
    if (c->front->keys.n == 0)
        return true;
    const struct sqs_signed_request r = {
        .method = method == HTTP_POST ? "POST" : methods[method],
        .path = http_path(c->http),
        .query = http_query(c->http),
        .body = http_body(c->http),
        .header = header_of,
        .self = c->http,
    };
    return sqs_signature_check(&c->front->keys, &r, clock_wall_ms(c->front->clock), &c->fault);
}

static void handle(void *self, struct http_request *r)
{
    struct sqs_call *c = call_new(self, r);
    c->protocol = sqs_protocol_of(r);
    /* The order of these checks is AWS's: which of several faults a client sees depends on it. */
    if (check_signature(c) && (c->protocol == SQS_PROTOCOL_JSON ? read_json(c) : read_query(c)) &&
        sqs_check_required(c->action, &c->request, &c->fault) && find_queue(c))
        handlers[c->action->id](c);
    else
        sqs_reply_fault(c);
}

size_t sqs_routes(struct sqs *s, struct http_route *out)
{
    out[0] = (struct http_route){HTTP_POST, "*", handle, s};
    out[1] = (struct http_route){HTTP_GET, "*", handle, s};
    return SQS_ROUTES_MAX;
}

void sqs_fini(struct sqs *s)
{
    sqs_cooldown_fini(&s->deleted);
    sqs_cooldown_fini(&s->purged);
    sqs_access_keys_fini(&s->keys);
}
