// SPDX-License-Identifier: Apache-2.0
/* What is known of a partition's oldest messages: how many bytes each has and when it was accepted.
 * For topics that let their oldest messages go when they are full. Sends must be able to let go
 * what is not committed yet, and so cannot be read: messages are noted as they are appended, as far
 * as they adjoin, and the rest is read from the log. A cache: it may be given up at any time. */
#include "base/check.h"
#include "base/mem.h"
#include "queue/state.h"

enum { HEADS_ROOM_MIN = 64, HEADS_MAX = 4096, READ_MAX = 1000, READ_AHEAD_BYTES = 256 << 10 };

void heads_fini(struct heads *h)
{
    mem_free(h->ring);
    *h = (struct heads){0};
}

static struct head *place(const struct heads *h, size_t i)
{
    return &h->ring[(h->at + i) & (h->room - 1)];
}

static void grow(struct heads *h)
{
    struct heads more = {.first = h->first, .n = h->n};
    more.room = h->room == 0 ? HEADS_ROOM_MIN : h->room * 2;
    more.ring = mem_new_array(more.room, sizeof more.ring[0]);
    for (size_t i = 0; i < h->n; i++)
        more.ring[i] = *place(h, i);
    mem_free(h->ring);
    *h = more;
}

/* False: it is full. */
static bool push(struct heads *h, const struct head *head)
{
    if (h->n == HEADS_MAX)
        return false;
    if (h->n == h->room)
        grow(h);
    *place(h, h->n++) = *head;
    return true;
}

static uint64_t floor_locked(const struct queue_partition *p)
{
    struct partition_group_info group;
    return partition_group_find(p->state, GID_DEFAULT, &group) ? group.floor : 0;
}

/* What is finished at the head is forgotten. */
static void catch_up(struct queue_partition *p)
{
    struct heads *h = &p->heads;
    uint64_t floor = floor_locked(p);
    if (h->n > 0 && floor >= h->first + h->n)
        h->n = 0;
    if (h->n == 0) {
        h->first = floor;
        h->at = 0;
    } else if (floor > h->first) {
        size_t gone = (size_t)(floor - h->first);
        h->at = (h->at + gone) & (h->room - 1);
        h->n -= gone;
        h->first = floor;
    }
}

void heads_note_locked(struct queue_partition *p, uint64_t number, const struct record_message *m)
{
    lock_check_held(&p->lk);
    catch_up(p);
    if (number != p->heads.first + p->heads.n)
        return;
    struct head head = {m->accepted_ms, record_message_bytes(m)};
    (void)push(&p->heads, &head);
}

const struct head *heads_find_locked(struct queue_partition *p, uint64_t number)
{
    lock_check_held(&p->lk);
    catch_up(p);
    const struct heads *h = &p->heads;
    return number >= h->first && number - h->first < h->n ? place(h, number - h->first) : NULL;
}

/* From `number` on. What is gone or cannot be read has no bytes, and is the oldest of all. */
static size_t read_some(struct queue_partition *p, uint64_t number, struct head *out)
{
    struct reader reader;
    size_t n = 0;
    reader_init(&reader);
    for (; n < READ_MAX && number < plog_committed_number(p->log); n++, number++) {
        struct record_message m;
        enum err e = reader_get(&reader, p->log, number, READ_AHEAD_BYTES, &m);
        out[n] = (struct head){INT64_MIN, 0};
        if (e == ERR_OK)
            out[n] = (struct head){m.accepted_ms, record_message_bytes(&m)};
    }
    reader_fini(&reader);
    return n;
}

bool heads_read(struct queue_partition *p)
{
    struct head *read = mem_new_array(READ_MAX, sizeof read[0]);
    lock_check_none_held();
    lock_take(&p->lk);
    catch_up(p);
    uint64_t from = p->heads.first + p->heads.n;
    lock_give(&p->lk);
    size_t n = read_some(p, from, read), taken = 0;
    lock_take(&p->lk);
    catch_up(p);
    for (size_t i = 0; i < n; i++)
        if (from + i == p->heads.first + p->heads.n && push(&p->heads, &read[i]))
            taken++;
    lock_give(&p->lk);
    mem_free(read);
    return taken > 0;
}

void heads_begin(struct queue_partition *p)
{
    lock_take(&p->lk);
    catch_up(p);
    bool unknown = p->heads.n == 0 && floor_locked(p) < partition_next_number(p->state);
    lock_give(&p->lk);
    if (unknown)
        (void)heads_read(p);
}
