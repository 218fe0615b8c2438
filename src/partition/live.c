// SPDX-License-Identifier: Apache-2.0
/* How many messages a group still has to finish, and how many bytes: for limits and accounts.
 *
 * A message is live from its arrival until it is finished for the group or leaves for another topic
 * (a move that is called off brings it back). The count follows from the numbers alone. Bytes are
 * added when a message is folded in; then the state forgets its size, or memory would grow with the
 * backlog. So whoever appends a record that lets messages go puts a SIZES before it. Where that is
 * missing (a log of an earlier version, a message whose bytes are bad) the mean is taken and the
 * account is an estimate, until a SIZES with a total, or until nothing is live. */
#include "base/mem.h"
#include "partition/codec.h"
#include "partition/state.h"

uint64_t live_count(const struct partition *p, const struct group *g)
{
    return group_unfinished_count(g, g->floor, p->next_number) - g->moving_n;
}

static void settle(const struct partition *p, struct group *g)
{
    if (live_count(p, g) > 0)
        return;
    g->live_bytes = 0;
    g->live_exact = true;
}

void live_reset(const struct partition *p, struct group *g)
{
    g->live_bytes = 0;
    g->live_exact = false;
    settle(p, g);
}

static void add(struct group *g, uint64_t bytes)
{
    uint64_t room = CODEC_NUMBER_MAX - g->live_bytes;
    g->live_bytes += bytes < room ? bytes : room;
}

void live_arrived(struct partition *p, uint64_t bytes)
{
    for (size_t i = 0; i < p->groups_n; i++)
        add(p->groups[i], bytes);
}

/* ---- sizes ---- */

uint32_t partition_size(const struct partition *p, uint64_t number)
{
    return (uint32_t)map_find(&p->sizes, number);
}

static bool is_wanted(const struct partition *p, uint64_t number)
{
    for (size_t i = 0; i < p->groups_n; i++)
        if (!group_is_finished(p->groups[i], number))
            return number < p->next_number;
    return false;
}

bool partition_size_missing(const struct partition *p, uint64_t number)
{
    return map_find(&p->sizes, number) == 0 && is_wanted(p, number);
}

/* What was live in a stretch, as far as its sizes are known. */
struct known {
    uint64_t n, bytes;
};

static bool is_live(const struct group *g, uint64_t number)
{
    if (group_is_finished(g, number))
        return false;
    const struct entry *e = group_entry(g, number);
    return e == NULL || !e->moving;
}

static void know(struct known *k, const struct group *g, uint64_t number, uint64_t bytes)
{
    if (bytes == 0 || !is_live(g, number))
        return;
    k->n++;
    k->bytes += bytes;
}

/* By number when there are few numbers, else by size. */
static struct known known_in(const struct partition *p, const struct group *g, uint64_t first,
                             uint64_t end)
{
    struct known k = {0, 0};
    if (end - first <= p->sizes.n) {
        for (uint64_t n = first; n < end; n++)
            know(&k, g, n, map_find(&p->sizes, n));
        return k;
    }
    for (size_t i = 0; i < p->sizes.room; i++) {
        const struct map_slot *s = &p->sizes.at[i];
        if (s->value != 0 && s->key >= first && s->key < end)
            know(&k, g, s->key, s->value);
    }
    return k;
}

/* Sizes in [first, end) that no group asks for any more. */
static void forget_sizes(struct partition *p, uint64_t first, uint64_t end)
{
    if (end - first <= p->sizes.n) {
        for (uint64_t n = first; n < end; n++)
            if (!is_wanted(p, n))
                map_remove(&p->sizes, n);
        return;
    }
    uint64_t *gone = mem_new_array(p->sizes.n + 1, sizeof gone[0]);
    size_t gone_n = 0;
    for (size_t i = 0; i < p->sizes.room; i++) {
        const struct map_slot *s = &p->sizes.at[i];
        if (s->value != 0 && s->key >= first && s->key < end && !is_wanted(p, s->key))
            gone[gone_n++] = s->key;
    }
    for (size_t i = 0; i < gone_n; i++)
        map_remove(&p->sizes, gone[i]);
    mem_free(gone);
}

void live_forget(struct partition *p)
{
    forget_sizes(p, 0, p->next_number);
}

/* ---- what lets messages go ---- */

static uint64_t mean(const struct partition *p, const struct group *g)
{
    uint64_t n = live_count(p, g);
    return n == 0 ? 0 : g->live_bytes / n;
}

/* `n` were live; of k.n the bytes are known, of the others `mean_bytes` are taken. */
static void subtract(const struct partition *p, struct group *g, uint64_t n, struct known k,
                     uint64_t mean_bytes)
{
    uint64_t bytes = k.bytes + (n > k.n ? (n - k.n) * mean_bytes : 0);
    if (n > k.n)
        g->live_exact = false;
    g->live_bytes -= bytes < g->live_bytes ? bytes : g->live_bytes;
    settle(p, g);
}

void live_finish(struct partition *p, struct group *g, uint64_t first, uint64_t end)
{
    if (first < g->floor)
        first = g->floor;
    if (first >= end)
        return;
    uint64_t before = live_count(p, g), mean_bytes = mean(p, g);
    struct known k = known_in(p, g, first, end);
    group_finish(g, first, end);
    subtract(p, g, before - live_count(p, g), k, mean_bytes);
    forget_sizes(p, first, end);
}

void live_move(struct partition *p, struct group *g, struct entry *e, bool moving)
{
    if (e->moving == moving)
        return;
    uint64_t mean_bytes = mean(p, g), bytes = map_find(&p->sizes, e->number);
    group_entry_move(g, e, moving);
    if (moving) {
        subtract(p, g, 1, (struct known){bytes > 0, bytes}, mean_bytes);
        return;
    }
    add(g, bytes > 0 ? bytes : mean_bytes);
    if (bytes == 0)
        g->live_exact = false;
}

/* ---- records ---- */

void live_sizes(struct partition *p, const struct record_sizes *r)
{
    struct bytes left = r->numbers;
    struct cursor sizes = cursor_of(r->sizes);
    struct record_run run;
    uint64_t end = 0;
    while (record_runs_next(&left, &end, &run))
        for (uint64_t n = run.first; n < end; n++) {
            uint32_t bytes = codec_u32(&sizes);
            if (partition_size_missing(p, n) && bytes > 0)
                map_put(&p->sizes, n, bytes);
        }
    struct group *g = r->total ? group_find(p, r->gid) : NULL;
    if (g == NULL)
        return;
    g->live_bytes = r->live_bytes;
    g->live_exact = true;
    settle(p, g);
}

bool partition_live(const struct partition *p, uint32_t gid, struct partition_live *out)
{
    const struct group *g = group_find(p, gid);
    if (g == NULL)
        return false;
    *out = (struct partition_live){live_count(p, g), g->moving_n, g->live_bytes, g->live_exact};
    return true;
}

bool partition_is_live(const struct partition *p, uint32_t gid, uint64_t number)
{
    const struct group *g = group_find(p, gid);
    return g != NULL && number < p->next_number && is_live(g, number);
}

bool partition_plan_overflow(const struct partition *p, const struct partition_view *view,
                             uint32_t gid, uint64_t number, struct record *out)
{
    if (!partition_is_live(p, gid, number))
        return false;
    const struct entry *e = group_entry(group_find(p, gid), number);
    if (e != NULL && view->now_ms < e->until_ms)
        return false;
    memset(out, 0, sizeof *out);
    out->type = RECORD_MOVE;
    out->move = (struct record_move){
        .gid = gid,
        .number = number,
        .seq = p->moves.next_seq,
        .target = view->dead_letter_topic,
        .receive_count = e == NULL || e->receives == 0 ? 1 : e->receives,
    };
    return true;
}

void partition_sizes_init(struct partition_sizes *s)
{
    *s = (struct partition_sizes){.sizes = BUF_EMPTY};
    record_runs_init(&s->numbers);
}

void partition_sizes_fini(struct partition_sizes *s)
{
    record_runs_fini(&s->numbers);
    buf_fini(&s->sizes);
}

void partition_sizes_put(struct partition_sizes *s, uint64_t number, uint32_t bytes)
{
    CHECK(s->n < RECORD_SIZES_NUMBERS_MAX && bytes > 0);
    record_runs_put(&s->numbers, number);
    buf_put_varint(&s->sizes, bytes);
    s->n++;
}

struct record partition_sizes_record(struct partition_sizes *s)
{
    struct record r;
    memset(&r, 0, sizeof r);
    r.type = RECORD_SIZES;
    r.sizes.numbers = record_runs_bytes(&s->numbers);
    r.sizes.sizes = buf_bytes(&s->sizes);
    return r;
}
