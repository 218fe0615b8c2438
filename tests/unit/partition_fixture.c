// SPDX-License-Identifier: Apache-2.0
#include "partition_fixture.h"

void world_init(struct world *o, bool fifo)
{
    memset(o, 0, sizeof *o);
    o->p = partition_new();
    o->w = partition_window_new();
    partition_grant_init(&o->grant);
    o->generation = 1;
    o->view = (struct partition_view){
        .now_ms = WORLD_START_MS,
        .now_wall_ms = 77,
        .epoch = 1,
        .fifo = fifo,
        .retention_ms = 100000000,
        .visibility_total_ms = 43200000,
        .in_flight_max = 120000,
        .dead_letter_topic = {{42}},
    };
    world_apply(
        o, &(struct record){.type = RECORD_GROUP, .group = {.gid = WORLD_GID, .generation = 1}});
}

void world_fini(struct world *o)
{
    partition_free(o->p);
    partition_window_free(o->w);
    partition_grant_fini(&o->grant);
}

/* Through the bytes, as in life. */
void world_apply(struct world *o, const struct record *r)
{
    struct buf b = BUF_EMPTY;
    struct record decoded;
    record_encode(r, &b);
    ck_assert_int_eq(record_decode((uint8_t)r->type, buf_bytes(&b), &decoded), ERR_OK);
    partition_apply(o->p, &decoded);
    buf_fini(&b);
}

struct record_message world_message(const struct world *o)
{
    return (struct record_message){
        .body = BYTES_OF("0123456789"),
        .accepted_ms = o->view.now_ms,
        .due_ms = o->view.now_ms,
        .delay_is_default = true,
    };
}

uint64_t world_send_message(struct world *o, const struct record_message *m)
{
    uint64_t number = partition_next_number(o->p);
    ck_assert_uint_lt(number, WORLD_MESSAGES);
    o->headers[number] = partition_header_of(number, m);
    world_apply(o, &(struct record){.type = RECORD_MESSAGE, .message = *m});
    o->view.committed_number = number + 1;
    return number;
}

uint64_t world_send(struct world *o)
{
    struct record_message m = world_message(o);
    return world_send_message(o, &m);
}

uint64_t world_send_group(struct world *o, char group)
{
    struct record_message m = world_message(o);
    m.group_id = (struct bytes){&group, 1};
    m.group_hash.at[0] = (uint8_t)group;
    return world_send_message(o, &m);
}

uint64_t world_send_default_delay(struct world *o, int64_t delay_ms)
{
    struct record_message m = world_message(o);
    m.due_ms += delay_ms;
    return world_send_message(o, &m);
}

uint64_t world_send_own_delay(struct world *o, int64_t delay_ms)
{
    struct record_message m = world_message(o);
    m.due_ms += delay_ms;
    m.delay_is_default = false;
    return world_send_message(o, &m);
}

static void bring(struct world *o, uint64_t need)
{
    o->needs++;
    ck_assert_uint_lt(o->needs, 100000);
    ck_assert_uint_lt(need, partition_next_number(o->p));
    for (uint64_t n = need; n < partition_next_number(o->p); n++)
        if (!partition_is_finished(o->p, WORLD_GID, n)) {
            if (n > need && n > partition_window_end(o->w))
                partition_window_skip(o->w, n);
            if (!partition_window_take(o->w, &o->headers[n]))
                return;
        }
}

size_t world_receive(struct world *o, size_t max, int64_t visibility_ms)
{
    struct partition_receive request = {WORLD_GID,      max,     visibility_ms,
                                        BYTES_OF("me"), 1048576, true};
    uint64_t need;
    enum err e;
    while ((e = partition_plan_receive(o->p, &o->view, o->w, &request, &o->grant, &need)) ==
           ERR_NEED)
        bring(o, need);
    ck_assert_int_eq(e, ERR_OK);
    for (size_t i = 0; i < o->grant.moves_n; i++)
        world_apply(o, &o->grant.moves[i]);
    if (o->grant.picks_n > 0)
        world_apply(o, &o->grant.lease);
    return o->grant.picks_n;
}

uint64_t world_pick(const struct world *o, size_t i)
{
    ck_assert_uint_lt(i, o->grant.picks_n);
    return o->grant.picks[i].number;
}

struct partition_receipt world_receipt(const struct world *o, size_t i)
{
    return (struct partition_receipt){WORLD_GID, o->generation, world_pick(o, i),
                                      o->grant.lease.lease.id};
}

enum err world_delete(struct world *o, struct partition_receipt receipt, enum receipt_rule rule)
{
    struct record done;
    struct record_runs runs;
    record_runs_init(&runs);
    enum err e = partition_plan_done(o->p, &o->view, &receipt, rule, &done, &runs);
    if (e == ERR_OK)
        world_apply(o, &done);
    record_runs_fini(&runs);
    return e;
}

enum err world_extend(struct world *o, struct partition_receipt receipt, enum receipt_rule rule,
                      int64_t visibility_ms)
{
    struct record extend;
    enum err e = partition_plan_extend(o->p, &o->view, &receipt, rule, visibility_ms, &extend);
    if (e == ERR_OK)
        world_apply(o, &extend);
    return e;
}

void world_move_closed(struct world *o, uint64_t seq, bool called_off)
{
    struct record moved;
    ck_assert_int_eq(partition_plan_moved(o->p, seq, called_off, &moved), ERR_OK);
    world_apply(o, &moved);
}

void world_pass(struct world *o, int64_t ms)
{
    o->view.now_ms += ms;
}

struct partition_counters world_count(struct world *o)
{
    uint64_t due_next, need;
    enum err e;
    while ((e = partition_window_due_next(o->w, o->p, &o->view, WORLD_GID, &due_next, &need)) ==
           ERR_NEED)
        bring(o, need);
    ck_assert_int_eq(e, ERR_OK);
    struct partition_counters c;
    ck_assert_int_eq(partition_count(o->p, &o->view, WORLD_GID, due_next, &c), ERR_OK);
    ck_assert_uint_eq(c.unfinished, c.visible + c.in_flight + c.delayed + c.moving);
    return c;
}
