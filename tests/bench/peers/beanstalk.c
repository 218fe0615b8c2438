// SPDX-License-Identifier: Apache-2.0
/* beanstalkd's protocol (doc/protocol.txt of beanstalkd): put; reserve and delete. A batch is as
 * many commands in one write. */
#include <stdio.h>
#include <string.h>

#include "load.h"

struct beanstalk {
    unsigned unanswered; /* reserves, then deletes */
    struct buf deletes;
};

static void hello(struct conn *c)
{
    buf_put_format(&c->out, "%s %s\r\n", c->consumes ? "watch" : "use", c->load->queue);
}

static void send(struct conn *c, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        buf_put_format(&c->out, "put 1024 0 60 %d\r\n", BODY_BYTES);
        load_put_body(c, &c->out);
        buf_put_text(&c->out, "\r\n");
    }
}

static void receive(struct conn *c, unsigned n)
{
    struct beanstalk *own = c->own;
    own->unanswered = n;
    buf_clear(&own->deletes);
    for (unsigned i = 0; i < n; i++)
        buf_put_format(&c->out, "reserve-with-timeout %d\r\n", i == 0 ? 1 : 0);
}

/* All that was asked for is answered: deletes it. */
static void reserved(struct conn *c)
{
    struct beanstalk *own = c->own;
    if (c->received == 0) {
        load_empty(c, 0);
        return;
    }
    own->unanswered = c->received;
    buf_put_bytes(&c->out, buf_bytes(&own->deletes));
}

static bool begins(const char *at, const char *with)
{
    return strncmp(at, with, strlen(with)) == 0;
}

static size_t take_job(struct conn *c, const char *at, size_t n, size_t line)
{
    struct beanstalk *own = c->own;
    unsigned long long id;
    unsigned bytes;
    if (sscanf(at, "RESERVED %llu %u", &id, &bytes) != 2 || bytes != BODY_BYTES)
        load_die("%.*s", (int)line, at);
    if (n < line + bytes + 2)
        return 0;
    load_received(c, at + line, bytes);
    buf_put_format(&own->deletes, "delete %llu\r\n", id);
    if (--own->unanswered == 0)
        reserved(c);
    return line + bytes + 2;
}

static size_t take(struct conn *c, const char *at, size_t n)
{
    struct beanstalk *own = c->own;
    const char *end = memchr(at, '\n', n);
    if (end == NULL)
        return 0;
    size_t line = (size_t)(end - at) + 1;
    if (begins(at, "RESERVED"))
        return take_job(c, at, n, line);
    if (!c->ready) {
        load_ready(c);
    } else if (begins(at, "INSERTED")) {
        load_confirmed(c, 1);
    } else if (begins(at, "TIMED_OUT") || begins(at, "DEADLINE_SOON")) {
        if (--own->unanswered == 0)
            reserved(c);
    } else if (begins(at, "DELETED")) {
        if (--own->unanswered == 0)
            load_done(c);
    } else {
        load_die("%.*s", (int)line, at);
    }
    return line;
}

const struct protocol protocol_beanstalk = {
    "beanstalk", sizeof(struct beanstalk), hello, take, send, receive};
