// SPDX-License-Identifier: Apache-2.0
/* Answers in the form of AWS JSON 1.0. */
#include "base/check.h"
#include "sqs/call.h"

#define JSON_TYPE "application/x-amz-json-1.0"

void sqs_reply_json(struct sqs_call *c, struct buf *body)
{
    const struct http_answer_header headers[] = {
        {"x-amzn-RequestId", http_request_id(c->http)},
        {"Content-Type", JSON_TYPE},
    };
    http_reply(c->http, 200, headers, 2, body);
}

void sqs_reply_empty(struct sqs_call *c)
{
    struct buf none = BUF_EMPTY;
    sqs_reply_json(c, &none);
}

static void reply_fault(struct http_request *r, int status, const struct sqs_fault_row *row,
                        struct bytes text)
{
    const struct http_answer_header headers[] = {
        {"x-amzn-RequestId", http_request_id(r)},
        {"Content-Type", JSON_TYPE},
        {"x-amzn-query-error", row->query_error},
        {"Retry-After", "1"},
    };
    struct buf body = BUF_EMPTY;
    struct json_writer w = json_writer_to(&body);
    json_begin_object(&w);
    json_put_key(&w, "__type");
    json_put_text(&w, row->type);
    json_put_key(&w, "message");
    json_put_string(&w, text);
    json_end_object(&w);
    json_writer_done(&w);
    http_reply(r, status, headers, status == 503 ? 4 : 3, &body);
    buf_fini(&body);
}

void sqs_reply_fault(struct sqs_call *c)
{
    const struct sqs_fault_row *row = sqs_fault_row(c->fault.code);
    reply_fault(c->http, row->status, row, c->fault.text);
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
    reply_fault(r, status, sqs_fault_row(code), bytes_of_text(text));
}

/* Whatever a client calls us is what it can reach, as long as it is a host and a port. */
static bool host_valid(struct bytes host)
{
    const char *at = host.at;
    for (size_t i = 0; i < host.n; i++) {
        bool letter = (at[i] >= 'a' && at[i] <= 'z') || (at[i] >= 'A' && at[i] <= 'Z') ||
                      (at[i] >= '0' && at[i] <= '9');
        if (!letter && (at[i] == 0 || strchr(".:-_[]", at[i]) == NULL))
            return false;
    }
    return host.n > 0 && host.n <= 255;
}

void sqs_put_queue_url(struct sqs_call *c, struct json_writer *w, struct bytes name)
{
    struct buf url = BUF_EMPTY;
    if (c->front->public_url != NULL) {
        struct bytes base = bytes_of_text(c->front->public_url);
        while (base.n > 0 && ((const char *)base.at)[base.n - 1] == '/')
            base.n--;
        buf_put_bytes(&url, base);
    } else {
        struct bytes host = http_header(c->http, "Host");
        buf_put_text(&url, "http://");
        buf_put_bytes(&url, host_valid(host) ? host : BYTES_OF("localhost"));
    }
    buf_put_text(&url, "/");
    buf_put_bytes(&url, c->place.account);
    buf_put_text(&url, "/");
    buf_put_bytes(&url, name);
    json_put_string(w, buf_bytes(&url));
    buf_fini(&url);
}

void sqs_put_failed(struct json_writer *w, const struct sqs_failed *failed, size_t n)
{
    bool any = false;
    for (size_t i = 0; i < n; i++) {
        if (failed[i].code == SQS_FAULT_NONE)
            continue;
        if (!any) {
            json_put_key(w, "Failed");
            json_begin_array(w);
            any = true;
        }
        const struct sqs_fault_row *row = sqs_fault_row(failed[i].code);
        json_begin_object(w);
        json_put_key(w, "Code");
        json_put_text(w, row->code);
        json_put_key(w, "Id");
        json_put_string(w, failed[i].id);
        json_put_key(w, "Message");
        json_put_string(w, failed[i].text);
        json_put_key(w, "SenderFault");
        json_put_bool(w, row->status < 500);
        json_end_object(w);
    }
    if (any)
        json_end_array(w);
}
