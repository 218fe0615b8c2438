// SPDX-License-Identifier: Apache-2.0
/* Looking at messages without leasing them. The disk may have to be read, so it happens on the
 * catalogue thread.
 *
 * A cursor is "P-N" (oldest first) or "P-N-newest", where the next look begins. */
#include <inttypes.h>
#include <stdio.h>

#include "base/check.h"
#include "rest/message.h"
#include "rest/put.h"

enum { BODIES_BYTES_MAX = 1 << 20, SCAN_MAX = 20000, CURSOR_ROOM = 64 };

struct peek {
    struct queue_peek request;
    int64_t now_ms; /* wall time of the look */
    struct queue_seen *seen;
    size_t n;
    struct queue_place next;
    bool more;
};

/* ---- what is asked for ---- */

/* "P-N"; N may be as large as UINT64_MAX, so that newest first can begin at the end. */
static bool place_read(struct bytes text, int64_t *partition, uint64_t *number)
{
    const char *at = text.at, *dash = text.n == 0 ? NULL : memchr(at, '-', text.n);
    size_t n = dash == NULL ? 0 : (size_t)(dash - at), digits = text.n - n - 1;
    uint64_t value = 0;
    if (dash == NULL || !rest_number_read((struct bytes){at, n}, partition) || digits == 0 ||
        digits > 20 || *partition >= TOPIC_PARTITIONS_MAX)
        return false;
    for (size_t i = n + 1; i < text.n; i++) {
        if (at[i] < '0' || at[i] > '9' || __builtin_mul_overflow(value, 10u, &value) ||
            __builtin_add_overflow(value, (unsigned)(at[i] - '0'), &value))
            return false;
    }
    *number = value;
    return true;
}

static bool cursor_read(struct rest_call *c, struct queue_peek *p)
{
    struct bytes text = rest_query_get(&c->query, "cursor")->text, tail = BYTES_OF("-newest");
    int64_t partition;
    uint64_t number;
    bool newest =
        text.n > tail.n && memcmp((const char *)text.at + text.n - tail.n, tail.at, tail.n) == 0;
    if (text.n == 0)
        return true;
    if (newest)
        text.n -= tail.n;
    if (newest != p->newest || !place_read(text, &partition, &number) ||
        (p->one_partition && (uint32_t)partition != p->from.partition))
        return rest_fault_at(&c->fault, REST_PROBLEM_INVALID_PARAMETER, "parameter", "cursor",
                             "cursor must be the next_cursor of an answer to the same question");
    p->from = (struct queue_place){(uint32_t)partition, number};
    return true;
}

static bool from_read(struct rest_call *c, struct queue_peek *p)
{
    struct bytes from = rest_query_get(&c->query, "from")->text, prefix = BYTES_OF("number:");
    int64_t number = 0;
    p->newest = bytes_equal(from, BYTES_OF("newest"));
    if (p->newest)
        p->from.number = UINT64_MAX;
    if (p->newest || bytes_equal(from, BYTES_OF("oldest")))
        return true;
    if (!bytes_start_with(from, prefix) ||
        !rest_number_read((struct bytes){(const char *)from.at + prefix.n, from.n - prefix.n},
                          &number))
        return rest_fault_at(&c->fault, REST_PROBLEM_INVALID_PARAMETER, "parameter", "from",
                             "from must be oldest, newest, or number:N");
    p->from.number = (uint64_t)number;
    return true;
}

static unsigned states_read(struct bytes state)
{
    static const struct {
        const char *name;
        unsigned state;
    } known[] = {
        {"ready", QUEUE_READY},
        {"leased", QUEUE_LEASED},
        {"delayed", QUEUE_DELAYED},
        {"moving", QUEUE_MOVING},
    };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (bytes_equal(state, bytes_of_text(known[i].name)))
            return known[i].state;
    return QUEUE_UNFINISHED;
}

static bool request_read(struct rest_call *c, struct queue_peek *p)
{
    const struct rest_value *partition = rest_query_get(&c->query, "partition");
    *p = (struct queue_peek){
        .group = rest_query_get(&c->query, "group")->text,
        .states = states_read(rest_query_get(&c->query, "state")->text),
        .match = rest_query_get(&c->query, "match")->text,
        .max = (size_t)rest_query_get(&c->query, "limit")->number,
        .bytes_max = BODIES_BYTES_MAX,
        .scan_max = SCAN_MAX,
    };
    if (!rest_group_known(c, p->group))
        return false;
    if (partition->given) {
        if (partition->number >= queue_partitions(c->topic))
            return rest_fault_set(&c->fault, REST_PROBLEM_PARTITION_NOT_FOUND,
                                  "the topic has partitions 0 to %u",
                                  queue_partitions(c->topic) - 1);
        p->one_partition = true;
        p->from.partition = (uint32_t)partition->number;
    }
    return from_read(c, p) && cursor_read(c, p);
}

/* ---- the answer ---- */

static const char *state_name(enum queue_message_state s)
{
    switch (s) {
    case QUEUE_READY:
        return "ready";
    case QUEUE_LEASED:
        return "leased";
    case QUEUE_DELAYED:
        return "delayed";
    case QUEUE_MOVING:
        return "moving";
    case QUEUE_FINISHED:
        return "finished";
    case QUEUE_UNFINISHED:
        break;
    }
    CHECK(false);
    return NULL;
}

static void put_seen(struct json_writer *w, const struct queue_seen *s, int64_t now_ms)
{
    json_begin_object(w);
    rest_message_put(w, &s->message);
    json_put_key(w, "state");
    json_put_text(w, state_name(s->state));
    if (s->state == QUEUE_DELAYED)
        rest_put_time(w, "due_at", now_ms + s->left_ms);
    if (s->state == QUEUE_LEASED)
        rest_put_time(w, "lease_until", now_ms + s->left_ms);
    if (s->holder[0] != 0) {
        json_put_key(w, "holder");
        json_put_text(w, s->holder);
    }
    json_end_object(w);
}

static void peek_work(struct rest_call *c)
{
    struct peek *p = c->state;
    enum err e = queue_peek(c->topic, &p->request, c->arena, p->seen, &p->n, &p->next, &p->more);
    p->now_ms = clock_wall_ms(c->front->clock);
    if (e != ERR_OK)
        rest_fault_of_err(&c->fault, e);
}

static void peeked(struct rest_call *c)
{
    const struct peek *p = c->state;
    char next[CURSOR_ROOM] = "";
    struct buf body = BUF_EMPTY;
    struct json_writer w = json_writer_to(&body);
    if (c->fault.problem != REST_PROBLEM_NONE) {
        rest_reply_fault(c);
        return;
    }
    json_begin_object(&w);
    json_put_key(&w, "messages");
    json_begin_array(&w);
    for (size_t i = 0; i < p->n; i++)
        put_seen(&w, &p->seen[i], p->now_ms);
    json_end_array(&w);
    if (p->more)
        snprintf(next, sizeof next, "%u-%" PRIu64 "%s", p->next.partition, p->next.number,
                 p->request.newest ? "-newest" : "");
    rest_reply_page(c, &w, next);
}

void rest_do_peek_messages(struct rest_call *c)
{
    struct peek *p = arena_zeros(c->arena, sizeof *p);
    c->state = p;
    if (!request_read(c, &p->request)) {
        rest_reply_fault(c);
        return;
    }
    p->seen = arena_get(c->arena, p->request.max * sizeof *p->seen);
    rest_call_run(c, peek_work, peeked);
}

/* ---- one message ---- */

static void refuse_message(struct rest_call *c)
{
    rest_fault_set(&c->fault, REST_PROBLEM_MESSAGE_NOT_FOUND,
                   "there is no message %s, or not any more", (const char *)c->match.last.at);
}

static void look_work(struct rest_call *c)
{
    struct peek *p = c->state;
    enum err e =
        queue_message_look(c->topic, rest_query_get(&c->query, "group")->text,
                           p->request.from.partition, p->request.from.number, c->arena, p->seen);
    p->now_ms = clock_wall_ms(c->front->clock);
    if (e == ERR_NOT_FOUND)
        refuse_message(c);
    else if (e != ERR_OK)
        rest_fault_of_err(&c->fault, e);
}

static void looked(struct rest_call *c)
{
    const struct peek *p = c->state;
    struct buf body = BUF_EMPTY;
    struct json_writer w = json_writer_to(&body);
    if (c->fault.problem != REST_PROBLEM_NONE) {
        rest_reply_fault(c);
        return;
    }
    put_seen(&w, p->seen, p->now_ms);
    rest_reply_json(c, &w);
}

void rest_do_get_message(struct rest_call *c)
{
    struct peek *p = arena_zeros(c->arena, sizeof *p);
    int64_t partition;
    c->state = p;
    p->seen = arena_zeros(c->arena, sizeof *p->seen);
    if (!rest_group_known(c, rest_query_get(&c->query, "group")->text)) {
        rest_reply_fault(c);
        return;
    }
    if (!place_read(c->match.last, &partition, &p->request.from.number)) {
        refuse_message(c);
        rest_reply_fault(c);
        return;
    }
    p->request.from.partition = (uint32_t)partition;
    rest_call_run(c, look_work, looked);
}
