// SPDX-License-Identifier: Apache-2.0
/* A queue in PostgreSQL as pgmq has it: a table, whose rows are received by an UPDATE of what FOR
 * UPDATE SKIP LOCKED gives, and deleted. Protocol version 3, prepared statements; a send is one
 * commit, a receive and its delete are two. */
#include <stdio.h>
#include <string.h>

#include "load.h"

enum phase { GREETS, PREPARES, WORKS, RECEIVES, DELETES };

struct postgresql {
    enum phase phase;
    struct buf ids; /* of what was received, with commas */
};

/* How long a consumer rests that found nothing; pgmq's default is 100 ms. */
enum { REST_MS = 5 };

static size_t message_begin(struct conn *c, char type)
{
    buf_put_u8(&c->out, (uint8_t)type);
    put_be32(&c->out, 0);
    return c->out.n - 4;
}

static void message_end(struct conn *c, size_t at)
{
    store_be32(c->out.at + at, (uint32_t)(c->out.n - at));
}

static void put_text_and_zero(struct buf *b, const char *text)
{
    buf_put(b, text, strlen(text) + 1);
}

static void hello(struct conn *c)
{
    static const char startup[] = "user\0bench\0database\0postgres\0"; /* one zero more ends it */
    put_be32(&c->out, 8 + sizeof startup);
    put_be32(&c->out, 196608); /* 3.0 */
    buf_put(&c->out, startup, sizeof startup);
}

/* Prepares a statement under this name; its text is to follow. */
static size_t parse_begin(struct conn *c, const char *name)
{
    size_t at = message_begin(c, 'P');
    put_text_and_zero(&c->out, name);
    return at;
}

static void parse_end(struct conn *c, size_t at)
{
    buf_put_u8(&c->out, 0);
    put_be16(&c->out, 0); /* the types of parameters are for the server to find */
    message_end(c, at);
}

static void sync(struct conn *c)
{
    message_end(c, message_begin(c, 'S'));
}

static void make(struct conn *c)
{
    size_t at = message_begin(c, 'Q');
    buf_put_format(&c->out,
                   "CREATE TABLE %s (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,"
                   " read_ct int NOT NULL DEFAULT 0,"
                   " enqueued_at timestamptz NOT NULL DEFAULT now(),"
                   " vt timestamptz NOT NULL DEFAULT now(), body text NOT NULL);"
                   "CREATE INDEX ON %s (vt)",
                   c->load->queue, c->load->queue);
    buf_put_u8(&c->out, 0);
    message_end(c, at);
}

static void prepare(struct conn *c)
{
    const char *table = c->load->queue;
    size_t at = parse_begin(c, "send");
    buf_put_format(&c->out, "INSERT INTO %s (body) VALUES ($1) RETURNING id", table);
    parse_end(c, at);
    at = parse_begin(c, "sends");
    buf_put_format(&c->out, "INSERT INTO %s (body) SELECT unnest($1::text[]) RETURNING id", table);
    parse_end(c, at);
    at = parse_begin(c, "receive");
    buf_put_format(&c->out,
                   "UPDATE %s SET vt = clock_timestamp() + interval '30 s', read_ct = read_ct + 1 "
                   "WHERE id IN (SELECT id FROM %s WHERE vt <= clock_timestamp() ORDER BY id "
                   "FOR UPDATE SKIP LOCKED LIMIT $1::int) RETURNING id, body",
                   table, table);
    parse_end(c, at);
    at = parse_begin(c, "delete");
    buf_put_format(&c->out, "DELETE FROM %s WHERE id = ANY ($1::bigint[])", table);
    parse_end(c, at);
    sync(c);
}

/* Binds one text parameter of so many bytes; they are to follow, then execute. */
static size_t bind_begin(struct conn *c, const char *statement, size_t bytes)
{
    size_t at = message_begin(c, 'B');
    put_text_and_zero(&c->out, "");
    put_text_and_zero(&c->out, statement);
    put_be16(&c->out, 0);
    put_be16(&c->out, 1);
    put_be32(&c->out, (uint32_t)bytes);
    return at;
}

static void execute(struct conn *c, size_t bound)
{
    put_be16(&c->out, 0);
    message_end(c, bound);
    size_t at = message_begin(c, 'E');
    put_text_and_zero(&c->out, "");
    put_be32(&c->out, 0);
    message_end(c, at);
    sync(c);
}

static void send(struct conn *c, unsigned n)
{
    size_t bound;
    if (n == 1) {
        bound = bind_begin(c, "send", BODY_BYTES);
        load_put_body(c, &c->out);
    } else {
        bound = bind_begin(c, "sends", 1 + n * (BODY_BYTES + 1)); /* {body,...,body} */
        for (unsigned i = 0; i < n; i++) {
            buf_put_u8(&c->out, i == 0 ? '{' : ',');
            load_put_body(c, &c->out);
        }
        buf_put_u8(&c->out, '}');
    }
    execute(c, bound);
}

static void receive(struct conn *c, unsigned n)
{
    struct postgresql *own = c->own;
    char text[16];
    snprintf(text, sizeof text, "%u", n);
    own->phase = RECEIVES;
    buf_clear(&own->ids);
    size_t bound = bind_begin(c, "receive", strlen(text));
    buf_put_text(&c->out, text);
    execute(c, bound);
}

static void delete (struct conn *c)
{
    struct postgresql *own = c->own;
    own->phase = DELETES;
    size_t bound = bind_begin(c, "delete", own->ids.n + 2);
    buf_put_u8(&c->out, '{');
    buf_put_bytes(&c->out, buf_bytes(&own->ids));
    buf_put_u8(&c->out, '}');
    execute(c, bound);
}

/* A row of id and body: count, then each column's length and bytes. */
static void take_row(struct conn *c, const char *at)
{
    struct postgresql *own = c->own;
    uint32_t id_bytes = be32(at + 2);
    const char *id = at + 6, *body = id + id_bytes + 4;
    if (own->ids.n > 0)
        buf_put_u8(&own->ids, ',');
    buf_put(&own->ids, id, id_bytes);
    load_received(c, body, be32(body - 4));
}

/* The server is ready for the next query: all of the last one is answered. */
static void query_over(struct conn *c)
{
    struct postgresql *own = c->own;
    switch (own->phase) {
    case GREETS:
        own->phase = PREPARES;
        if (c->load->work == WORK_SETUP)
            make(c);
        else
            prepare(c);
        break;
    case PREPARES:
        own->phase = WORKS;
        load_ready(c);
        break;
    case WORKS:
        load_confirmed(c, c->load->batch);
        break;
    case RECEIVES:
        if (c->received == 0)
            load_empty(c, REST_MS);
        else
            delete (c);
        break;
    case DELETES:
        load_done(c);
    }
}

static size_t take(struct conn *c, const char *at, size_t n)
{
    struct postgresql *own = c->own;
    if (n < 5)
        return 0;
    size_t all = 1 + (size_t)be32(at + 1);
    if (n < all)
        return 0;
    if (*at == 'E') { /* fields of a letter and a text */
        for (const char *field = at + 5; *field != 0; field += strlen(field) + 1)
            if (*field == 'M')
                load_die("%s", field + 1);
        load_die("an error without a text");
    }
    if (*at == 'D' && own->phase == RECEIVES)
        take_row(c, at + 5);
    else if (*at == 'Z')
        query_over(c);
    return all;
}

const struct protocol protocol_postgresql = {
    "postgresql", sizeof(struct postgresql), hello, take, send, receive};
