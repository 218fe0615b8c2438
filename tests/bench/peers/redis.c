// SPDX-License-Identifier: Apache-2.0
/* Redis Streams over RESP2: XADD; XREADGROUP, then XACK and XDEL in one write. A batch is sent as
 * many XADDs in one write, and received by COUNT. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "load.h"

enum phase { SENDS, READS, ACKS, DELETES };

struct redis {
    enum phase phase;
    struct buf ids; /* of the messages received, as bulk strings */
};

static void put_word(struct buf *b, const char *word)
{
    buf_put_format(b, "$%zu\r\n%s\r\n", strlen(word), word);
}

static void put_number(struct buf *b, unsigned v)
{
    char text[16];
    snprintf(text, sizeof text, "%u", v);
    put_word(b, text);
}

/* A command of these words (the last one NULL) and `more` to come. */
static void put_command(struct buf *b, unsigned more, const char *const *words)
{
    unsigned n = 0;
    while (words[n] != NULL)
        n++;
    buf_put_format(b, "*%u\r\n", n + more);
    for (unsigned i = 0; i < n; i++)
        put_word(b, words[i]);
}

static void hello(struct conn *c)
{
    const char *make[] = {"XGROUP", "CREATE", c->load->queue, "g", "0", "MKSTREAM", NULL};
    put_command(&c->out, 0, make);
}

static void send(struct conn *c, unsigned n)
{
    const char *add[] = {"XADD", c->load->queue, "*", "b", NULL};
    for (unsigned i = 0; i < n; i++) {
        put_command(&c->out, 1, add);
        buf_put_format(&c->out, "$%d\r\n", BODY_BYTES);
        load_put_body(c, &c->out);
        buf_put_text(&c->out, "\r\n");
    }
}

static void receive(struct conn *c, unsigned n)
{
    struct redis *own = c->own;
    const char *begin[] = {"XREADGROUP", "GROUP", "g", NULL};
    const char *end[] = {"BLOCK", "1000", "STREAMS", c->load->queue, ">", NULL};
    own->phase = READS;
    put_command(&c->out, 8, begin);
    put_number(&c->out, c->id);
    put_word(&c->out, "COUNT");
    put_number(&c->out, n);
    for (unsigned i = 0; end[i] != NULL; i++)
        put_word(&c->out, end[i]);
}

static void finish(struct conn *c)
{
    struct redis *own = c->own;
    const char *ack[] = {"XACK", c->load->queue, "g", NULL};
    const char *del[] = {"XDEL", c->load->queue, NULL};
    own->phase = ACKS;
    put_command(&c->out, c->received, ack);
    buf_put_bytes(&c->out, buf_bytes(&own->ids));
    put_command(&c->out, c->received, del);
    buf_put_bytes(&c->out, buf_bytes(&own->ids));
}

/* Of XREADGROUP's answer, [[stream, [[id, [field, value]], ...]]]. */
enum { DEPTH_ID = 4, DEPTH_VALUE = 5 };

/* A bulk string at a place of the answer: ids and bodies are what is wanted of it. */
static void found(struct conn *c, const char *at, size_t all, unsigned depth, long index)
{
    struct redis *own = c->own;
    if (depth == DEPTH_ID && index == 0) {
        buf_put(&own->ids, at, all);
    } else if (depth == DEPTH_VALUE && index == 1) {
        const char *body = strchr(at, '\n') + 1;
        load_received(c, body, all - (size_t)(body - at) - 2);
    }
}

/* How long the value is, 0 when it is not all there. With `reads` it is all there, and what it
 * holds is taken. */
static size_t value(struct conn *c, const char *at, size_t n, unsigned depth, long index,
                    bool reads)
{
    const char *end = memchr(at, '\n', n);
    if (end == NULL)
        return 0;
    size_t all = (size_t)(end - at) + 1;
    long v = strtol(at + 1, NULL, 10);
    if (*at == '+' || *at == '-' || *at == ':' || v < 0)
        return all;
    if (*at == '$') {
        all += (size_t)v + 2;
        if (n < all)
            return 0;
        if (reads)
            found(c, at, all, depth, index);
        return all;
    }
    if (*at != '*' || depth > DEPTH_VALUE)
        load_die("answer %.40s", at);
    for (long i = 0; i < v; i++) {
        size_t one = value(c, at + all, n - all, depth + 1, i, reads);
        if (one == 0)
            return 0;
        all += one;
    }
    return all;
}

static void answered(struct conn *c, const char *at, size_t n)
{
    struct redis *own = c->own;
    if (*at == '-')
        load_die("%.*s", (int)n, at);
    switch (own->phase) {
    case SENDS:
        load_confirmed(c, 1);
        break;
    case READS:
        buf_clear(&own->ids);
        value(c, at, n, 0, 0, true);
        if (c->received == 0)
            load_empty(c, 0);
        else
            finish(c);
        break;
    case ACKS:
        own->phase = DELETES;
        break;
    case DELETES:
        load_done(c);
    }
}

static size_t take(struct conn *c, const char *at, size_t n)
{
    size_t all = value(c, at, n, 0, 0, false);
    if (all == 0)
        return 0;
    if (c->ready)
        answered(c, at, all);
    else
        load_ready(c); /* also when the group is there already */
    return all;
}

const struct protocol protocol_redis = {"redis", sizeof(struct redis), hello, take, send, receive};
