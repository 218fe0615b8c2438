// SPDX-License-Identifier: Apache-2.0
#include "fuzz/partition_walk.h"

#include "partition/look.h"

enum {
    STEPS_MAX = 24,
    NEEDS_MAX = 64, /* headers asked for in one plan; then the plan is given up */
    GIDS = 4,       /* groups that are tried: 0 to 3 */
};

struct walk {
    struct partition *p;
    struct partition_window *w;
    struct cursor *choices;
    struct partition_view view;
    uint32_t gid;
    struct partition_receipt receipt; /* the newest */
};

void walk_save(const struct partition *p)
{
    struct buf saved = BUF_EMPTY, again = BUF_EMPTY;
    struct partition *loaded;
    partition_save(p, &saved);
    CHECK(partition_load(buf_bytes(&saved), &loaded) == ERR_OK);
    partition_save(loaded, &again);
    CHECK(bytes_equal(buf_bytes(&saved), buf_bytes(&again)));
    CHECK(partition_hash(p) == partition_hash(loaded));
    partition_free(loaded);
    buf_fini(&saved);
    buf_fini(&again);
}

/* Through the bytes, as in life. */
static void fold(struct walk *o, const struct record *r)
{
    struct buf b = BUF_EMPTY;
    struct record decoded;
    record_encode(r, &b);
    CHECK(record_decode((uint8_t)r->type, buf_bytes(&b), &decoded) == ERR_OK);
    partition_apply(o->p, &decoded);
    buf_fini(&b);
}

/* The header that a message might have; the log is made up. */
static struct partition_header header_of(const struct walk *o, uint64_t number)
{
    return (struct partition_header){
        .number = number,
        .group_hash = number % 3,
        .due_ms = o->view.now_ms - 10 + (int64_t)(number % 12),
        .accepted_ms = o->view.now_ms - (int64_t)(number % 7) * 1000,
        .body_bytes = (uint32_t)(1 + number % 1000),
        .receive_count = (uint32_t)(number % 2),
        .delay_is_default = number % 4 != 3,
    };
}

/* As the planner's caller does it (window.h), but for few headers at a time. */
static void bring(struct walk *o, uint64_t need)
{
    CHECK(need < partition_next_number(o->p));
    for (uint64_t n = need; n < partition_next_number(o->p) && n - need < 16; n++) {
        if (partition_is_finished(o->p, o->gid, n))
            continue;
        struct partition_header h = header_of(o, n);
        if (n > need && n > partition_window_end(o->w))
            partition_window_skip(o->w, n);
        if (!partition_window_take(o->w, &h))
            return;
    }
}

static void send(struct walk *o)
{
    uint8_t how = cursor_u8(o->choices);
    struct partition_duplicate duplicate;
    struct record r = {.type = RECORD_MESSAGE};
    r.message = (struct record_message){
        .body = BYTES_OF("body"),
        .accepted_ms = o->view.now_ms,
        .due_ms = o->view.now_ms + (how % 3 == 1 ? how : 0),
        .delay_is_default = how % 2 == 0,
    };
    if (how & 16) {
        r.message.group_id = BYTES_OF("g");
        r.message.group_hash.at[0] = how;
    }
    if (how & 32) {
        r.message.dedup_id = BYTES_OF("d");
        r.message.dedup_hash.at[0] = how;
        r.message.dedup_until_ms = o->view.now_ms + 300000;
    }
    if (how & 64)
        r.message.repeat = (struct record_repeat){1 + how % 3, how % 2, how, how - how % 4};
    enum err e = partition_plan_send(o->p, &o->view, &r.message, &duplicate);
    CHECK(e == ERR_OK || e == ERR_DUPLICATE || e == ERR_FULL || e == ERR_GONE);
    if (e == ERR_DUPLICATE && duplicate.is_repeat)
        CHECK(duplicate.number < partition_next_number(o->p));
    if (e == ERR_OK && partition_next_number(o->p) < (uint64_t)INT64_MAX)
        fold(o, &r);
}

static void take_grant(struct walk *o, const struct partition_grant *g)
{
    struct partition_group_info info;
    for (size_t i = 0; i < g->moves_n; i++)
        fold(o, &g->moves[i]);
    if (g->picks_n == 0)
        return;
    for (size_t i = 0; i < g->picks_n; i++) {
        CHECK(g->picks[i].number < o->view.committed_number);
        CHECK(!partition_is_finished(o->p, o->gid, g->picks[i].number));
    }
    fold(o, &g->lease);
    CHECK(partition_group_find(o->p, o->gid, &info));
    o->receipt =
        (struct partition_receipt){o->gid, info.generation, g->picks[0].number, g->lease.lease.id};
}

static void receive(struct walk *o, bool redrive)
{
    uint8_t how = cursor_u8(o->choices);
    struct partition_grant grant;
    struct partition_receive request = {
        .gid = o->gid,
        .max = 1 + how % PARTITION_RECEIVE_MAX,
        .visibility_ms = how % 5 * 100,
        .holder = how % 2 == 0 ? BYTES_OF("me") : BYTES_NONE,
        .body_bytes_max = 1500,
        .look_ahead = how % 3 == 0,
    };
    partition_grant_init(&grant);
    enum err e = ERR_NEED;
    for (int i = 0; e == ERR_NEED && i < NEEDS_MAX; i++) {
        uint64_t need;
        e = redrive ? partition_plan_redrive(o->p, &o->view, o->w, o->gid, request.max,
                                             (struct uuid){{9}}, &grant, &need)
                    : partition_plan_receive(o->p, &o->view, o->w, &request, &grant, &need);
        if (e == ERR_NEED)
            bring(o, need);
    }
    CHECK(e == ERR_OK || e == ERR_NEED || e == ERR_NOT_FOUND || e == ERR_OVER_LIMIT);
    if (e == ERR_OK)
        take_grant(o, &grant);
    partition_grant_fini(&grant);
}

static void use_receipt(struct walk *o, size_t verb)
{
    uint8_t how = cursor_u8(o->choices);
    struct record r;
    struct record_runs runs;
    struct partition_receipt receipt = o->receipt;
    enum receipt_rule rule = how % 2 == 0 ? RECEIPT_ANY : RECEIPT_CURRENT;
    receipt.number += how / 64; /* also others than were granted */
    record_runs_init(&runs);
    enum err e;
    if (verb == 0)
        e = partition_plan_done(o->p, &o->view, &receipt, rule, &r, &runs);
    else if (verb == 1)
        e = partition_plan_extend(o->p, &o->view, &receipt, rule, how % 8 * 1000, &r);
    else
        e = partition_plan_give_back(o->p, &o->view, &receipt, &r);
    if (e == ERR_OK)
        fold(o, &r);
    CHECK(verb != 0 || e != ERR_OK || partition_is_finished(o->p, receipt.gid, receipt.number));
    record_runs_fini(&runs);
}

static void purge_or_trim(struct walk *o)
{
    uint8_t how = cursor_u8(o->choices);
    struct record r;
    if (how % 2 == 1) {
        uint64_t n = how / 2, next = partition_next_number(o->p);
        r = (struct record){.type = RECORD_TRIM, .trim = {.below = n < next ? n : next}};
        fold(o, &r);
    } else if (partition_plan_purge(o->p, o->gid, how % 4 == 0, &r) == ERR_OK) {
        fold(o, &r);
    }
}

static void close_move(struct walk *o)
{
    struct partition_move moves[4];
    struct record r;
    size_t n = partition_moves_open(o->p, 0, moves, 4);
    CHECK(n == 0 || moves[0].seq >= partition_moves_closed(o->p));
    if (n == 0)
        return;
    uint64_t seq = moves[fuzz_choice(o->choices, n)].seq;
    CHECK(partition_plan_moved(o->p, seq, cursor_u8(o->choices) % 2 == 0, &r) == ERR_OK);
    fold(o, &r);
    CHECK(partition_plan_moved(o->p, seq, false, &r) == ERR_GONE);
}

static void count(struct walk *o)
{
    uint64_t due_next, need;
    struct partition_counters c;
    enum err e = ERR_NEED;
    for (int i = 0; e == ERR_NEED && i < NEEDS_MAX; i++) {
        e = partition_window_due_next(o->w, o->p, &o->view, o->gid, &due_next, &need);
        if (e == ERR_NEED)
            bring(o, need);
    }
    if (e != ERR_OK)
        return;
    CHECK(partition_count(o->p, &o->view, o->gid, due_next, &c) == ERR_OK);
    CHECK(c.unfinished == c.visible + c.in_flight + c.delayed + c.moving);
    partition_deliverable(o->p, &o->view, o->w, o->gid, 10);
    CHECK(partition_next_event_ms(o->p, &o->view, o->w, o->gid) > o->view.now_ms);
}

static void look(struct walk *o)
{
    struct partition_looking looking = {.gid = o->gid, .states = cursor_u8(o->choices) & 15};
    struct partition_look looks[4], one;
    struct partition_lease_info leases[4];
    bool wanted[8] = {false};
    uint64_t next = partition_next_number(o->p), first = next < 8 ? 0 : next - 8;
    looking.downward = cursor_u8(o->choices) % 2 == 1;
    looking.place = looking.downward ? next : 0;
    for (int i = 0; !looking.end && i < NEEDS_MAX; i++) {
        size_t n = partition_look_on(o->p, &o->view, &looking, looks, 4);
        for (size_t k = 0; k < n; k++)
            CHECK(partition_look_one(o->p, &o->view, o->gid, looks[k].number, &one) == ERR_OK &&
                  one.state == looks[k].state);
    }
    size_t n = partition_leases(o->p, o->gid, o->view.now_ms, 0, leases, 4);
    for (size_t i = 0; i < n; i++)
        CHECK(leases[i].until_ms > o->view.now_ms);
    partition_wanted(o->p, first, next - first, wanted);
    uint64_t wanted_n = 0;
    for (size_t i = 0; i < 8; i++)
        wanted_n += wanted[i];
    CHECK(partition_wanted_count(o->p, first, next) == wanted_n);
    CHECK(partition_wanted_from(o->p) <= next);
}

static void step(struct walk *o)
{
    switch (fuzz_choice(o->choices, 12)) {
    case 0:
        send(o);
        break;
    case 1:
    case 2:
        receive(o, false);
        break;
    case 3:
        receive(o, true);
        break;
    case 4:
    case 5:
    case 6:
        use_receipt(o, fuzz_choice(o->choices, 3));
        break;
    case 7:
        purge_or_trim(o);
        break;
    case 8:
        close_move(o);
        break;
    case 9:
        count(o);
        break;
    case 10:
        look(o);
        break;
    default:
        o->view.now_ms += cursor_u8(o->choices) * 100;
    }
}

void walk_steps(struct partition *p, struct cursor *choices)
{
    uint8_t how = cursor_u8(choices);
    struct walk o = {
        .p = p,
        .w = partition_window_new(),
        .choices = choices,
        .gid = how / 2 % GIDS,
        .view = {.now_ms = 1000,
                 .now_wall_ms = 77,
                 .epoch = 3,
                 .fifo = how % 2 == 1,
                 .retention_ms = 100000,
                 .visibility_total_ms = 43200000,
                 .receives_max = how / 16 % 4,
                 .dead_letter_topic = {{42}},
                 .in_flight_max = 20},
    };
    o.receipt.gid = o.gid;
    for (int i = 0; choices->left > 0 && i < STEPS_MAX; i++) {
        o.view.committed_number = partition_next_number(p);
        step(&o);
    }
    partition_window_free(o.w);
}
