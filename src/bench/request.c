// SPDX-License-Identifier: Apache-2.0
#include "bench/request.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/json_write.h"

enum { DEDUP_DIGITS = 20, GROUP_DIGITS = 6, LENGTH_DIGITS = 10 };

/* The head, whose Content-Length is set once the body is there. Gives where. */
static size_t head_put(struct buf *out, const struct bench_target *to, const char *action)
{
    buf_put_format(out,
                   "POST / HTTP/1.1\r\nHost: %s\r\nX-Amz-Target: AmazonSQS.%s\r\n"
                   "Content-Type: application/x-amz-json-1.0\r\nContent-Length: ",
                   to->host, action);
    size_t length_at = out->n;
    buf_put_format(out, "%0*d\r\n\r\n", LENGTH_DIGITS, 0);
    return length_at;
}

static void digits_store(char *at, size_t digits, uint64_t value)
{
    while (digits-- > 0) {
        at[digits] = (char)('0' + value % 10);
        value /= 10;
    }
}

static void length_set(struct buf *out, size_t length_at)
{
    digits_store(out->at + length_at, LENGTH_DIGITS, out->n - length_at - LENGTH_DIGITS - 4);
}

static void queue_put(struct buf *out, const struct bench_target *to)
{
    buf_put_text(out, "{\"QueueUrl\":\"");
    json_escape(out, bytes_of_text(to->queue_url));
    buf_put_text(out, "\"");
}

/* The members of one message. */
static void message_put(struct bench_send_text *s, unsigned i, uint64_t run)
{
    struct buf *out = &s->text;
    buf_put_text(out, "\"MessageBody\":\"");
    s->stamp_at[i] = out->n;
    buf_reserve(out, s->what.body_bytes);
    memset(out->at + out->n, 'x', s->what.body_bytes);
    out->n += s->what.body_bytes;
    buf_put_text(out, "\"");
    if (s->what.groups == 0)
        return;
    buf_put_format(out, ",\"MessageDeduplicationId\":\"%016" PRIx64 "-", run);
    s->dedup_at[i] = out->n;
    buf_put_format(out, "%0*d\",\"MessageGroupId\":\"g", DEDUP_DIGITS, 0);
    s->group_at[i] = out->n;
    buf_put_format(out, "%0*d\"", GROUP_DIGITS, 0);
}

void bench_send_text_init(struct bench_send_text *s, const struct bench_target *to,
                          struct bench_sends what, uint64_t run)
{
    CHECK(what.batch >= 1 && what.batch <= BENCH_BATCH_MAX && what.groups <= BENCH_GROUPS_MAX);
    CHECK(!what.stamped || what.body_bytes >= BENCH_STAMP_DIGITS);
    *s = (struct bench_send_text){.what = what};
    size_t length_at = head_put(&s->text, to, what.batch == 1 ? "SendMessage" : "SendMessageBatch");
    queue_put(&s->text, to);
    if (what.batch == 1) {
        buf_put_text(&s->text, ",");
        message_put(s, 0, run);
        buf_put_text(&s->text, "}");
    } else {
        buf_put_text(&s->text, ",\"Entries\":[");
        for (unsigned i = 0; i < what.batch; i++) {
            buf_put_format(&s->text, "%s{\"Id\":\"%u\",", i > 0 ? "," : "", i);
            message_put(s, i, run);
            buf_put_text(&s->text, "}");
        }
        buf_put_text(&s->text, "]}");
    }
    length_set(&s->text, length_at);
}

void bench_send_text_fini(struct bench_send_text *s)
{
    buf_fini(&s->text);
}

struct bytes bench_send_text_next(struct bench_send_text *s, uint64_t stamp_ns)
{
    for (unsigned i = 0; i < s->what.batch; i++, s->sent++) {
        if (s->what.stamped)
            digits_store(s->text.at + s->stamp_at[i], BENCH_STAMP_DIGITS, stamp_ns);
        if (s->what.groups == 0)
            continue;
        digits_store(s->text.at + s->dedup_at[i], DEDUP_DIGITS, s->sent);
        digits_store(s->text.at + s->group_at[i], GROUP_DIGITS, s->sent % s->what.groups);
    }
    return buf_bytes(&s->text);
}

void bench_request_receive(struct buf *out, const struct bench_target *to, unsigned most,
                           unsigned wait_s)
{
    buf_clear(out);
    size_t length_at = head_put(out, to, "ReceiveMessage");
    queue_put(out, to);
    buf_put_format(out, ",\"MaxNumberOfMessages\":%u,\"WaitTimeSeconds\":%u}", most, wait_s);
    length_set(out, length_at);
}

void bench_request_delete(struct buf *out, const struct bench_target *to,
                          const struct bytes *receipts, size_t n)
{
    CHECK(n >= 1 && n <= BENCH_BATCH_MAX);
    buf_clear(out);
    size_t length_at = head_put(out, to, n == 1 ? "DeleteMessage" : "DeleteMessageBatch");
    queue_put(out, to);
    if (n == 1) {
        buf_put_text(out, ",\"ReceiptHandle\":\"");
        json_escape(out, receipts[0]);
        buf_put_text(out, "\"}");
    } else {
        buf_put_text(out, ",\"Entries\":[");
        for (size_t i = 0; i < n; i++) {
            buf_put_format(out, "%s{\"Id\":\"%zu\",\"ReceiptHandle\":\"", i > 0 ? "," : "", i);
            json_escape(out, receipts[i]);
            buf_put_text(out, "\"}");
        }
        buf_put_text(out, "]}");
    }
    length_set(out, length_at);
}
