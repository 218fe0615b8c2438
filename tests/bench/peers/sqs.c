// SPDX-License-Identifier: Apache-2.0
/* SQS's JSON protocol over HTTP/1.1 with kept connections: SendMessage, ReceiveMessage and
 * DeleteMessage, or the batch forms of the first and the last. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "load.h"

enum phase { ASKS_URL, SENDS, RECEIVES, DELETES };

struct sqs {
    enum phase phase;
    char url[256];
    struct buf json;
};

static void request(struct conn *c, const char *action)
{
    struct sqs *own = c->own;
    buf_put_format(&c->out,
                   "POST / HTTP/1.1\r\nHost: 127.0.0.1:%u\r\n"
                   "Content-Type: application/x-amz-json-1.0\r\nX-Amz-Target: AmazonSQS.%s\r\n"
                   "Authorization: AWS4-HMAC-SHA256 Credential=test/20240101/us-east-1/sqs/"
                   "aws4_request, SignedHeaders=host, Signature=0\r\nContent-Length: %zu\r\n\r\n",
                   c->load->port, action, own->json.n);
    buf_put_bytes(&c->out, buf_bytes(&own->json));
}

static void hello(struct conn *c)
{
    struct sqs *own = c->own;
    buf_put_format(&own->json, "{\"QueueName\":\"%s\"}", c->load->queue);
    request(c, c->load->work == WORK_SETUP ? "CreateQueue" : "GetQueueUrl");
}

/* Begins a request about the queue. */
static void about(struct conn *c, enum phase phase)
{
    struct sqs *own = c->own;
    own->phase = phase;
    buf_clear(&own->json);
    buf_put_format(&own->json, "{\"QueueUrl\":\"%s\",", own->url);
}

static void put_message(struct conn *c)
{
    struct sqs *own = c->own;
    buf_put_text(&own->json, "\"MessageBody\":\"");
    load_put_body(c, &own->json);
    buf_put_text(&own->json, "\"}");
}

static void send(struct conn *c, unsigned n)
{
    struct sqs *own = c->own;
    about(c, SENDS);
    if (n == 1) {
        put_message(c);
        request(c, "SendMessage");
        return;
    }
    for (unsigned i = 0; i < n; i++) {
        buf_put_format(&own->json, "%s{\"Id\":\"%u\",", i == 0 ? "\"Entries\":[" : ",", i);
        put_message(c);
    }
    buf_put_text(&own->json, "]}");
    request(c, "SendMessageBatch");
}

static void receive(struct conn *c, unsigned n)
{
    struct sqs *own = c->own;
    about(c, RECEIVES);
    buf_put_format(&own->json, "\"MaxNumberOfMessages\":%u,\"WaitTimeSeconds\":1}", n);
    request(c, "ReceiveMessage");
}

/* The text of the next member of this name: what stands in its quotes, which is assumed to hold no
 * escaped ones. NULL: there is none. */
static const char *member(const char *json, const char *name, int *bytes)
{
    char key[64];
    snprintf(key, sizeof key, "\"%s\":", name);
    const char *at = strstr(json, key);
    if (at == NULL)
        return NULL;
    at += strlen(key);
    at += strspn(at, " ");
    if (*at != '"')
        return NULL;
    at++;
    *bytes = (int)strcspn(at, "\"");
    return at;
}

static void take_url(struct conn *c, const char *json)
{
    struct sqs *own = c->own;
    int bytes;
    const char *url = member(json, "QueueUrl", &bytes);
    if (url == NULL || (size_t)bytes >= sizeof own->url)
        load_die("no queue's URL: %s", json);
    memcpy(own->url, url, (size_t)bytes);
    load_ready(c);
}

static void take_messages(struct conn *c, const char *json)
{
    struct sqs *own = c->own;
    int bytes;
    for (const char *at = json; (at = member(at, "Body", &bytes)) != NULL; at += bytes)
        load_received(c, at, (size_t)bytes);
    if (c->received == 0) {
        load_empty(c, 0);
        return;
    }
    about(c, DELETES);
    const char *at = member(json, "ReceiptHandle", &bytes);
    if (at != NULL && c->load->batch == 1) {
        buf_put_format(&own->json, "\"ReceiptHandle\":\"%.*s\"}", bytes, at);
        request(c, "DeleteMessage");
        return;
    }
    for (unsigned i = 0; at != NULL; i++, at = member(at, "ReceiptHandle", &bytes))
        buf_put_format(&own->json, "%s{\"Id\":\"%u\",\"ReceiptHandle\":\"%.*s\"}",
                       i == 0 ? "\"Entries\":[" : ",", i, bytes, at);
    buf_put_text(&own->json, "]}");
    request(c, "DeleteMessageBatch");
}

static void answered(struct conn *c, const char *json)
{
    struct sqs *own = c->own;
    if (strstr(json, "\"Failed\":[{") != NULL)
        load_die("an entry failed: %s", json);
    switch (own->phase) {
    case ASKS_URL:
        take_url(c, json);
        break;
    case SENDS:
        load_confirmed(c, c->load->batch);
        break;
    case RECEIVES:
        take_messages(c, json);
        break;
    case DELETES:
        load_done(c);
    }
}

static size_t take(struct conn *c, const char *at, size_t n)
{
    static struct buf json; /* the answer's body, with a zero behind it */
    const char *end = memmem(at, n, "\r\n\r\n", 4);
    if (end == NULL)
        return 0;
    size_t head = (size_t)(end - at) + 4;
    const char *length = strcasestr(at, "\r\ncontent-length:");
    if (length == NULL || length > end)
        load_die("an answer without a length: %.*s", (int)head, at);
    size_t bytes = strtoul(length + strlen("\r\ncontent-length:"), NULL, 10);
    if (n < head + bytes)
        return 0;
    if (strncmp(at, "HTTP/1.1 200 ", 13) != 0)
        load_die("%.*s", (int)(head + bytes), at);
    buf_clear(&json);
    buf_put(&json, at + head, bytes);
    buf_put_u8(&json, 0);
    answered(c, json.at);
    return head + bytes;
}

const struct protocol protocol_sqs = {"sqs", sizeof(struct sqs), hello, take, send, receive};
