// SPDX-License-Identifier: Apache-2.0
/* Reading a partition as a log: its messages in the order of their offsets, without any lease. What
 * is stored and not wanted any more (finished by all groups, expired) is as if it were gone. */
#include "base/check.h"
#include "queue/state.h"

enum {
    READ_AHEAD_BYTES = 256 << 10,
    /* What one call reads at most, shown or not. */
    SCAN_BYTES_MAX = 8 << 20,
    SCAN_RECORDS_MAX = 100000,
    ASKED_AT_A_TIME = 64, /* numbers, under the partition's lock */
};

/* One call. */
struct scanning {
    struct queue_partition *p;
    const struct queue_records *request;
    struct arena *arena;
    struct queue_record *out;
    size_t n;
    size_t bytes; /* of what is in `out` */
    size_t scanned, scanned_bytes;
    uint64_t next;
    bool stopped;       /* what comes next is for another call */
    int64_t expired_ms; /* accepted by then: expired */
    uint64_t asked_first;
    size_t asked_n; /* what the state said of so many numbers from asked_first on */
    bool wanted[ASKED_AT_A_TIME];
};

static bool is_wanted(struct scanning *s, uint64_t number)
{
    struct queue_partition *p = s->p;
    if (number - s->asked_first >= s->asked_n) {
        memset(s->wanted, 0, sizeof s->wanted);
        lock_take(&p->lk);
        uint64_t left = partition_next_number(p->state) - number;
        s->asked_first = number;
        s->asked_n = left < ASKED_AT_A_TIME ? (size_t)left : ASKED_AT_A_TIME;
        partition_wanted(p->state, number, s->asked_n, s->wanted);
        lock_give(&p->lk);
    }
    return s->wanted[number - s->asked_first];
}

/* False: it would be too much, and is the first of the next call. */
static bool take(struct scanning *s, const struct plog_entry *entry, const struct record_message *m)
{
    size_t bytes = m->key.n + m->body.n + m->attributes.n;
    if (m->accepted_ms <= s->expired_ms)
        return true;
    if (s->n > 0 && s->bytes + bytes > s->request->bytes_max)
        return false;
    s->bytes += bytes;
    struct queue_record *r = &s->out[s->n++];
    message_copy_out(m, s->arena, &r->message);
    r->offset = entry->offset;
    r->message.partition = s->p->index;
    r->message.number = entry->number;
    return true;
}

static enum err take_entry(struct scanning *s, const struct plog_entry *entry)
{
    bool taken = true;
    if (entry->type == RECORD_MESSAGE && is_wanted(s, entry->number)) {
        struct record record;
        enum err e = record_decode(entry->type, entry->payload, &record);
        if (e != ERR_OK)
            return e;
        taken = take(s, entry, &record.message);
    }
    s->scanned++;
    s->scanned_bytes += entry->payload.n;
    s->next = entry->offset + taken;
    s->stopped = !taken || s->n == s->request->max || s->scanned == SCAN_RECORDS_MAX ||
                 s->scanned_bytes >= SCAN_BYTES_MAX;
    return ERR_OK;
}

/* At the first record stored at or behind s->next. Between the look at the log's start and the
 * opening more may be released. */
static enum err open_at(struct scanning *s, struct plog_cursor *cursor)
{
    enum err e;
    for (;;) {
        uint64_t start = plog_start_offset(s->p->log);
        if (s->next < start)
            s->next = start;
        e = plog_cursor_at_offset(s->p->log, s->next, READ_AHEAD_BYTES, cursor);
        if (e != ERR_GONE || plog_start_offset(s->p->log) <= s->next)
            return e == ERR_GONE ? ERR_CORRUPT : e;
    }
}

static enum err scan(struct scanning *s)
{
    struct plog_cursor cursor;
    enum err e = open_at(s, &cursor);
    if (e != ERR_OK)
        return e == ERR_NOT_FOUND ? ERR_OK : e;
    while (e == ERR_OK && !s->stopped) {
        struct plog_entry entry;
        e = plog_cursor_next(&cursor, &entry);
        if (e == ERR_OK)
            e = take_entry(s, &entry);
    }
    plog_cursor_close(&cursor);
    /* At the end; or released while it was read: the next call goes on at the new start. */
    return e == ERR_NOT_FOUND || e == ERR_GONE ? ERR_OK : e;
}

enum err queue_records(struct queue_topic *t, const struct queue_records *request,
                       struct arena *arena, struct queue_record *out, size_t *n, uint64_t *next,
                       uint64_t *end)
{
    CHECK(request->max >= 1 && request->max <= QUEUE_RECORDS_MAX);
    enum err e = topic_check(t);
    if (e == ERR_OK && request->partition >= t->partitions_n)
        e = ERR_NOT_FOUND;
    if (e == ERR_OK && t->partitions[request->partition].closed)
        e = ERR_CLOSED;
    if (e != ERR_OK)
        return e;
    struct scanning s = {
        .p = &t->partitions[request->partition],
        .request = request,
        .arena = arena,
        .out = out,
        .next = request->from,
        .expired_ms = t->compact ? INT64_MIN
                                 : partition_now_ms(&t->partitions[request->partition]) -
                                       queue_topic_config(t)->retention_ms,
    };
    e = scan(&s);
    if (e != ERR_OK)
        return e;
    *n = s.n;
    *next = s.next;
    *end = plog_committed(s.p->log);
    return ERR_OK;
}
