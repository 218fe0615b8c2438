// SPDX-License-Identifier: Apache-2.0
/* AMQP 0-9-1 as RabbitMQ speaks it: persistent messages into a quorum queue with publisher
 * confirms; consumers with a prefetch of one batch, which acknowledge each batch. */
#include <inttypes.h>
#include <string.h>

#include "load.h"

enum { FRAME_METHOD = 1, FRAME_HEADER = 2, FRAME_BODY = 3, FRAME_END = 0xCE, FRAME_HEAD_BYTES = 7 };

/* Methods: class * 1000 + method. */
enum {
    CONNECTION_START = 10010,
    CONNECTION_START_OK = 10011,
    CONNECTION_TUNE = 10030,
    CONNECTION_TUNE_OK = 10031,
    CONNECTION_OPEN = 10040,
    CONNECTION_OPEN_OK = 10041,
    CONNECTION_CLOSE = 10050,
    CHANNEL_OPEN = 20010,
    CHANNEL_OPEN_OK = 20011,
    CHANNEL_CLOSE = 20040,
    QUEUE_DECLARE = 50010,
    QUEUE_DECLARE_OK = 50011,
    BASIC_QOS = 60010,
    BASIC_QOS_OK = 60011,
    BASIC_CONSUME = 60020,
    BASIC_CONSUME_OK = 60021,
    BASIC_PUBLISH = 60040,
    BASIC_DELIVER = 60060,
    BASIC_ACK = 60080,
    BASIC_NACK = 60120,
    CONFIRM_SELECT = 85010,
    CONFIRM_SELECT_OK = 85011
};

struct amqp {
    uint64_t published; /* tag of the last message */
    uint64_t settled;   /* tag of the last message before this request */
    uint64_t confirmed; /* of this request; bit tag % 64 */
    bool consuming;
    uint64_t delivered; /* tag */
    uint64_t body_left; /* bytes */
};

static void put_short(struct buf *b, const char *text)
{
    buf_put_u8(b, (uint8_t)strlen(text));
    buf_put_text(b, text);
}

static size_t frame_begin(struct conn *c, uint8_t type, uint16_t channel)
{
    size_t at = c->out.n;
    buf_put_u8(&c->out, type);
    put_be16(&c->out, channel);
    put_be32(&c->out, 0);
    return at;
}

static void frame_end(struct conn *c, size_t at)
{
    store_be32(c->out.at + at + 3, (uint32_t)(c->out.n - at - FRAME_HEAD_BYTES));
    buf_put_u8(&c->out, FRAME_END);
}

static size_t method_begin(struct conn *c, uint16_t channel, unsigned m)
{
    size_t at = frame_begin(c, FRAME_METHOD, channel);
    put_be16(&c->out, (uint16_t)(m / 1000));
    put_be16(&c->out, (uint16_t)(m % 1000));
    return at;
}

static void hello(struct conn *c)
{
    buf_put(&c->out, "AMQP\0\0\x9\x1", 8);
}

static void send(struct conn *c, unsigned n)
{
    struct amqp *own = c->own;
    own->settled = own->published;
    own->confirmed = 0;
    own->published += n;
    for (unsigned i = 0; i < n; i++) {
        size_t at = method_begin(c, 1, BASIC_PUBLISH);
        put_be16(&c->out, 0);
        put_short(&c->out, "");
        put_short(&c->out, c->load->queue);
        buf_put_u8(&c->out, 0);
        frame_end(c, at);
        at = frame_begin(c, FRAME_HEADER, 1);
        put_be16(&c->out, 60);
        put_be16(&c->out, 0);
        put_be64(&c->out, BODY_BYTES);
        put_be16(&c->out, 0x1000); /* only delivery-mode follows */
        buf_put_u8(&c->out, 2);    /* persistent */
        frame_end(c, at);
        at = frame_begin(c, FRAME_BODY, 1);
        load_put_body(c, &c->out);
        frame_end(c, at);
    }
}

/* Consuming is begun once; the server sends on as what it sent is acknowledged. */
static void receive(struct conn *c, unsigned n)
{
    struct amqp *own = c->own;
    if (own->consuming)
        return;
    own->consuming = true;
    size_t at = method_begin(c, 1, BASIC_QOS);
    put_be32(&c->out, 0);
    put_be16(&c->out, (uint16_t)n);
    buf_put_u8(&c->out, 0);
    frame_end(c, at);
    at = method_begin(c, 1, BASIC_CONSUME);
    put_be16(&c->out, 0);
    put_short(&c->out, c->load->queue);
    put_short(&c->out, "");
    buf_put_u8(&c->out, 0);
    put_be32(&c->out, 0);
    frame_end(c, at);
}

static void start_ok(struct conn *c)
{
    size_t at = method_begin(c, 0, CONNECTION_START_OK);
    put_be32(&c->out, 0);
    put_short(&c->out, "PLAIN");
    put_be32(&c->out, 12);
    buf_put(&c->out, "\0guest\0guest", 12);
    put_short(&c->out, "en_US");
    frame_end(c, at);
}

static void tune_ok_and_open(struct conn *c, const char *proposed)
{
    size_t at = method_begin(c, 0, CONNECTION_TUNE_OK);
    buf_put(&c->out, proposed, 6); /* channels and bytes of a frame, as the server has them */
    put_be16(&c->out, 0);          /* no heartbeats */
    frame_end(c, at);
    at = method_begin(c, 0, CONNECTION_OPEN);
    put_short(&c->out, "/");
    put_short(&c->out, "");
    buf_put_u8(&c->out, 0);
    frame_end(c, at);
}

static void declare(struct conn *c)
{
    static const char key[] = "x-queue-type", type[] = "quorum";
    size_t at = method_begin(c, 1, QUEUE_DECLARE);
    put_be16(&c->out, 0);
    put_short(&c->out, c->load->queue);
    buf_put_u8(&c->out, 2); /* durable */
    put_be32(&c->out, (uint32_t)(strlen(key) + 1 + 1 + 4 + strlen(type)));
    put_short(&c->out, key);
    buf_put_u8(&c->out, 'S');
    put_be32(&c->out, (uint32_t)strlen(type));
    buf_put_text(&c->out, type);
    frame_end(c, at);
}

static void confirmed(struct conn *c, uint64_t tag, bool all_before)
{
    struct amqp *own = c->own;
    unsigned n = 0;
    if (tag <= own->settled || tag > own->published)
        load_die("confirmation of %" PRIu64 ", which is not under way", tag);
    for (uint64_t t = all_before ? own->settled + 1 : tag; t <= tag; t++) {
        uint64_t bit = UINT64_C(1) << t % 64;
        n += (own->confirmed & bit) == 0;
        own->confirmed |= bit;
    }
    load_confirmed(c, n);
}

static void acknowledge(struct conn *c)
{
    struct amqp *own = c->own;
    size_t at = method_begin(c, 1, BASIC_ACK);
    put_be64(&c->out, own->delivered);
    buf_put_u8(&c->out, 1); /* and all before it */
    frame_end(c, at);
    load_done(c);
}

static void take_method(struct conn *c, const char *at)
{
    struct amqp *own = c->own;
    const char *rest = at + 4;
    size_t opened;
    switch (be16(at) * 1000 + be16(at + 2)) {
    case CONNECTION_START:
        start_ok(c);
        break;
    case CONNECTION_TUNE:
        tune_ok_and_open(c, rest);
        break;
    case CONNECTION_OPEN_OK:
        opened = method_begin(c, 1, CHANNEL_OPEN);
        put_short(&c->out, "");
        frame_end(c, opened);
        break;
    case CHANNEL_OPEN_OK:
        declare(c);
        break;
    case QUEUE_DECLARE_OK:
        opened = method_begin(c, 1, CONFIRM_SELECT);
        buf_put_u8(&c->out, 0);
        frame_end(c, opened);
        break;
    case CONFIRM_SELECT_OK:
        load_ready(c);
        break;
    case BASIC_QOS_OK:
    case BASIC_CONSUME_OK:
        break;
    case BASIC_ACK:
        confirmed(c, be64(rest), (rest[8] & 1) != 0);
        break;
    case BASIC_DELIVER: /* the consumer's name, then the tag */
        own->delivered = be64(rest + 1 + (unsigned char)rest[0]);
        break;
    default:
        load_die("method %u.%u: %.*s", be16(at), be16(at + 2), (int)(unsigned char)rest[2],
                 rest + 3);
    }
}

static size_t take(struct conn *c, const char *at, size_t n)
{
    struct amqp *own = c->own;
    if (n < FRAME_HEAD_BYTES + 1)
        return 0;
    uint32_t bytes = be32(at + 3);
    const char *frame = at + FRAME_HEAD_BYTES;
    if (n < bytes + FRAME_HEAD_BYTES + 1)
        return 0;
    if (at[0] == FRAME_METHOD) {
        take_method(c, frame);
    } else if (at[0] == FRAME_HEADER) {
        own->body_left = be64(frame + 4);
    } else if (at[0] == FRAME_BODY) {
        load_received(c, frame, bytes);
        if (c->received >= c->load->batch)
            acknowledge(c);
    }
    return bytes + FRAME_HEAD_BYTES + 1;
}

const struct protocol protocol_amqp = {"amqp", sizeof(struct amqp), hello, take, send, receive};
