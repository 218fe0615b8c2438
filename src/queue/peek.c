// SPDX-License-Identifier: Apache-2.0
/* Looking at messages without leasing them. The state of a few at a time is taken under the
 * partition's lock, then they are read without it, so a look holds nobody up; what is finished in
 * between is shown as it was. */
#include <string.h>

#include "base/check.h"
#include "queue/state.h"

enum {
    LOOKS_AT_A_TIME = 64,
    READ_BYTES_MAX = 16 << 20, /* of bodies that one peek reads, shown or not */
    READ_AHEAD_UPWARD = 64 << 10,
    READ_AHEAD_SINGLE = 4096,
    WALKED_FOR_ONE = 64, /* numbers walked over cost as much as one message looked at */
};

_Static_assert((int)QUEUE_READY == (int)PARTITION_READY, "states");
_Static_assert((int)QUEUE_LEASED == (int)PARTITION_LEASED, "states");
_Static_assert((int)QUEUE_DELAYED == (int)PARTITION_DELAYED, "states");
_Static_assert((int)QUEUE_MOVING == (int)PARTITION_MOVING, "states");
_Static_assert((int)QUEUE_FINISHED == (int)PARTITION_FINISHED, "states");
_Static_assert((int)QUEUE_HOLDER_BYTES_MAX == (int)RECORD_HOLDER_BYTES_MAX, "holders");

/* One peek. */
struct peeking {
    const struct queue_peek *request;
    const struct topic_config *config;
    uint32_t gid;
    struct arena *arena;
    struct reader reader; /* of the partition at hand */
    struct queue_seen *out;
    size_t n;
    size_t bytes;      /* of what is in `out` */
    size_t scanned;    /* messages looked at */
    size_t read_bytes; /* of their bodies */
    bool stopped;      /* what comes next is for another peek */
};

static void show(const struct partition_look *look, const struct partition_view *view,
                 const struct record_message *m, const struct queue_partition *p,
                 struct arena *arena, struct queue_seen *out)
{
    memset(out, 0, sizeof *out);
    message_copy_out(m, arena, &out->message);
    out->message.partition = p->index;
    out->message.number = look->number;
    out->message.first_received_wall_ms = look->first_received_wall_ms;
    out->message.receive_count = m->receive_count > UINT32_MAX - look->receive_count
                                     ? UINT32_MAX
                                     : m->receive_count + look->receive_count;
    out->state = (enum queue_message_state)look->state;
    if (out->state == QUEUE_LEASED || out->state == QUEUE_DELAYED)
        out->left_ms = look->until_ms - view->now_ms;
    memcpy(out->holder, look->holder, look->holder_bytes);
}

static bool is_asked_for(const struct peeking *k, const struct partition_look *look,
                         const struct record_message *m)
{
    struct bytes match = k->request->match;
    if (!(look->state & k->request->states))
        return false;
    return match.n == 0 || memmem(m->body.at, m->body.n, match.at, match.n) != NULL;
}

/* One message that was read. False: it would be too much, and is the first of the next peek. */
static bool take(struct peeking *k, const struct queue_partition *p, struct partition_look *look,
                 const struct partition_view *view, const struct record_message *m)
{
    k->read_bytes += m->body.n;
    if (!partition_look_settle(look, view, m) || !is_asked_for(k, look, m))
        return true;
    size_t bytes = m->body.n + m->attributes.n;
    if (k->n > 0 && k->bytes + bytes > k->request->bytes_max)
        return false;
    k->bytes += bytes;
    show(look, view, m, p, k->arena, &k->out[k->n++]);
    return true;
}

static bool is_full(const struct peeking *k)
{
    return k->n == k->request->max || k->scanned >= k->request->scan_max ||
           k->read_bytes >= READ_BYTES_MAX;
}

/* Reads what was looked at, and brings the look back to where it has to go on when not all of it is
 * taken. A message whose bytes are bad is passed over: it has its line in the operator's log. */
static enum err take_looks(struct peeking *k, const struct queue_partition *p,
                           struct partition_looking *l, const struct partition_view *view,
                           struct partition_look *looks, size_t n)
{
    for (size_t i = 0; i < n && !k->stopped; i++) {
        struct record_message m;
        enum err e = reader_get(&k->reader, p->log, looks[i].number,
                                l->downward ? READ_AHEAD_SINGLE : READ_AHEAD_UPWARD, &m);
        if (e == ERR_IO || e == ERR_FAILED)
            return e;
        bool taken = e != ERR_OK || take(k, p, &looks[i], view, &m);
        k->scanned += taken;
        k->stopped = !taken || is_full(k);
        if (k->stopped && (i + 1 < n || !taken)) {
            l->place = looks[i].number + (taken != l->downward);
            l->end = false;
        }
    }
    return ERR_OK;
}

/* Goes on in one partition until nothing is left there or the peek is full. */
static enum err peek_partition(struct peeking *k, struct queue_partition *p,
                               struct partition_looking *l)
{
    struct partition_look looks[LOOKS_AT_A_TIME];
    enum err e = ERR_OK;
    reader_init(&k->reader);
    while (e == ERR_OK && !l->end && !k->stopped) {
        lock_take(&p->lk);
        struct partition_view view = partition_view_locked(p, k->config);
        size_t n = partition_look_on(p->state, &view, l, looks, LOOKS_AT_A_TIME);
        lock_give(&p->lk);
        e = take_looks(k, p, l, &view, looks, n);
        if (n == 0) { /* walking over what cannot match is not free either */
            k->scanned += PARTITION_LOOK_WALK_MAX / WALKED_FOR_ONE;
            k->stopped = is_full(k);
        }
    }
    reader_fini(&k->reader);
    return e;
}

static enum err peek_on(struct peeking *k, struct queue_topic *t, struct queue_place *next,
                        bool *more)
{
    const struct queue_peek *request = k->request;
    uint32_t end = request->one_partition ? request->from.partition + 1 : t->partitions_n;
    struct queue_place place = request->from;
    while (place.partition < end && !k->stopped) {
        struct queue_partition *p = &t->partitions[place.partition];
        struct partition_looking l = {
            .gid = k->gid,
            .states = request->states & QUEUE_UNFINISHED,
            .downward = request->newest,
            .place = place.number,
            .end = p->closed,
        };
        enum err e = peek_partition(k, p, &l);
        if (e != ERR_OK)
            return e;
        if (l.end)
            place = (struct queue_place){place.partition + 1, request->newest ? UINT64_MAX : 0};
        else
            place.number = l.place;
    }
    *more = place.partition < end;
    *next = place;
    return ERR_OK;
}

enum err queue_peek(struct queue_topic *t, const struct queue_peek *request, struct arena *arena,
                    struct queue_seen *out, size_t *n, struct queue_place *next, bool *more)
{
    const struct queue_waiters *ws = topic_waiters(t, request->group);
    CHECK(request->max >= 1 && request->max <= QUEUE_PEEK_MAX);
    CHECK(request->scan_max >= 1 && request->scan_max <= QUEUE_PEEK_SCAN_MAX);
    enum err e = topic_check(t);
    if (e == ERR_OK && ws == NULL)
        e = topic_no_group(t);
    if (e == ERR_OK && request->from.partition >= t->partitions_n)
        e = ERR_NOT_FOUND;
    if (e != ERR_OK)
        return e;
    struct peeking k = {
        .request = request,
        .config = queue_topic_config(t),
        .gid = ws->gid,
        .arena = arena,
        .out = out,
    };
    e = peek_on(&k, t, next, more);
    if (e == ERR_OK)
        *n = k.n;
    return e;
}

static enum err look_one(struct queue_partition *p, uint32_t gid, uint64_t number,
                         struct partition_view *view, struct partition_look *look)
{
    if (p->closed)
        return ERR_CLOSED;
    lock_take(&p->lk);
    *view = partition_view_locked(p, queue_topic_config(p->topic));
    enum err e = partition_look_one(p->state, view, gid, number, look);
    lock_give(&p->lk);
    return e;
}

enum err queue_message_look(struct queue_topic *t, struct bytes group, uint32_t partition,
                            uint64_t number, struct arena *arena, struct queue_seen *out)
{
    const struct queue_waiters *ws = topic_waiters(t, group);
    struct partition_view view;
    struct partition_look look;
    enum err e = topic_check(t);
    if (e == ERR_OK && ws == NULL)
        e = topic_no_group(t);
    if (e == ERR_OK && partition >= t->partitions_n)
        e = ERR_NOT_FOUND;
    if (e != ERR_OK)
        return e;
    struct queue_partition *p = &t->partitions[partition];
    e = look_one(p, ws->gid, number, &view, &look);
    if (e != ERR_OK)
        return e;
    struct reader reader;
    struct record_message m;
    reader_init(&reader);
    e = reader_get(&reader, p->log, number, READ_AHEAD_SINGLE, &m);
    if (e == ERR_OK && partition_look_settle(&look, &view, &m))
        show(&look, &view, &m, p, arena, out);
    else if (e == ERR_OK || e == ERR_GONE)
        e = ERR_NOT_FOUND;
    reader_fini(&reader);
    return e;
}
