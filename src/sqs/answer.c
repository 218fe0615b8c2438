// SPDX-License-Identifier: Apache-2.0
/* The last step of a call: results and faults in the form of its protocol. */
#include "base/check.h"
#include "sqs/call.h"
#include "sqs/protocol.h"

static const char *const content_types[] = {
    [SQS_PROTOCOL_JSON] = "application/x-amz-json-1.0",
    [SQS_PROTOCOL_QUERY] = "text/xml",
    [SQS_PROTOCOL_QUERY_AS_JSON] = "application/json",
};

static void reply_ok(struct sqs_call *c, struct buf *body)
{
    const struct http_answer_header headers[] = {
        {"x-amzn-RequestId", http_request_id(c->http)},
        {"Content-Type", content_types[c->protocol]},
    };
    http_reply(c->http, 200, headers, 2, body);
}

struct sqs_out sqs_reply_begin(const struct sqs_call *c, struct buf *body)
{
    return sqs_out_begin(body, c->protocol, c->action->name.at);
}

void sqs_reply_send(struct sqs_call *c, struct sqs_out *out)
{
    sqs_out_end(out, http_request_id(c->http));
    reply_ok(c, out->to);
}

void sqs_reply_empty(struct sqs_call *c)
{
    struct buf body = BUF_EMPTY;
    sqs_out_void(&body, c->protocol, c->action->name.at, http_request_id(c->http));
    reply_ok(c, &body);
}

static void put_fault_json(struct buf *body, const struct sqs_fault_row *row, struct bytes text)
{
    struct json_writer w = json_writer_to(body);
    json_begin_object(&w);
    json_put_key(&w, "__type");
    json_put_text(&w, row->type);
    json_put_key(&w, "message");
    json_put_string(&w, text);
    json_end_object(&w);
    json_writer_done(&w);
}

static void reply_fault(struct http_request *r, enum sqs_protocol protocol, int status,
                        const struct sqs_fault_row *row, struct bytes text)
{
    struct buf body = BUF_EMPTY;
    struct http_answer_header headers[4] = {
        {"x-amzn-RequestId", http_request_id(r)},
        {"Content-Type", content_types[protocol]},
    };
    size_t n = 2;
    if (protocol == SQS_PROTOCOL_JSON) {
        headers[n++] = (struct http_answer_header){"x-amzn-query-error", row->query_error};
        put_fault_json(&body, row, text);
    } else {
        sqs_out_fault(&body, protocol, status < 500, row->code, text, http_request_id(r));
    }
    if (status == 503)
        headers[n++] = (struct http_answer_header){"Retry-After", "1"};
    http_reply(r, status, headers, n, &body);
    buf_fini(&body);
}

void sqs_reply_fault(struct sqs_call *c)
{
    const struct sqs_fault_row *row = sqs_fault_row(c->fault.code);
    struct bytes text = c->fault.text;
    /* AWS has a text for each protocol here, and programs have been seen to compare it. */
    if (c->protocol != SQS_PROTOCOL_JSON && c->fault.code == SQS_FAULT_QUEUE_DOES_NOT_EXIST)
        text = BYTES_OF("The specified queue does not exist for this wsdl version.");
    reply_fault(c->http, c->protocol, c->status != 0 ? c->status : row->status, row, text);
}

void sqs_reply_fault_or_empty(struct sqs_call *c)
{
    if (c->fault.code != SQS_FAULT_NONE)
        sqs_reply_fault(c);
    else
        sqs_reply_empty(c);
}

void sqs_reply_err(struct sqs_call *c, enum err e)
{
    (void)sqs_fault_of_err(&c->fault, e);
    sqs_reply_fault(c);
}

void sqs_refuse(void *self, struct http_request *r, int status, const char *text)
{
    (void)self;
    enum sqs_fault_code code = SQS_FAULT_SERIALIZATION;
    if (status == 503 || status == 429)
        code = SQS_FAULT_SERVICE_UNAVAILABLE;
    else if (status >= 500)
        code = SQS_FAULT_INTERNAL_FAILURE;
    else if (status == 404 || status == 405)
        code = SQS_FAULT_UNKNOWN_OPERATION;
    reply_fault(r, sqs_protocol_of(r), status, sqs_fault_row(code), bytes_of_text(text));
}

void sqs_put_failed(struct sqs_out *out, const struct sqs_failed *failed, size_t n)
{
    sqs_out_list_begin(out, "Failed", "BatchResultErrorEntry");
    for (size_t i = 0; i < n; i++) {
        if (failed[i].code == SQS_FAULT_NONE)
            continue;
        const struct sqs_fault_row *row = sqs_fault_row(failed[i].code);
        sqs_out_item_begin(out);
        sqs_out_text(out, "Id", failed[i].id);
        sqs_out_text(out, "Code", bytes_of_text(row->code));
        sqs_out_text(out, "Message", failed[i].text);
        sqs_out_bool(out, "SenderFault", row->status < 500);
        sqs_out_item_end(out);
    }
    sqs_out_list_end(out);
}
