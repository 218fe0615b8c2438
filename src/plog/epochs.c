// SPDX-License-Identifier: Apache-2.0
#include "plog/epochs.h"

#include "base/mem.h"
#include "base/note.h"
#include "plog/reader.h"

enum { READ_AHEAD_BYTES = 8192 };

/* What is known of one batch. */
struct look {
    uint64_t epoch;
    uint64_t base, end;
};

static void push(struct plog_log *l, uint64_t epoch, uint64_t start)
{
    if (l->epochs_n > 0 && l->epochs[l->epochs_n - 1].epoch >= epoch)
        return;
    if (l->epochs_n == l->epochs_room) {
        l->epochs_room = l->epochs_room == 0 ? 2 : 2 * l->epochs_room;
        l->epochs = mem_resize(l->epochs, l->epochs_room * sizeof l->epochs[0]);
    }
    l->epochs[l->epochs_n++] = (struct plog_epoch){epoch, start};
}

static enum err look_in_segment(struct plog_log *l, uint64_t offset, struct look *out)
{
    struct batch_reader r;
    struct bytes batch;
    struct batch_header h;
    enum err e = batch_reader_find(&r, l, offset, false, READ_AHEAD_BYTES);
    if (e != ERR_OK)
        return e;
    e = batch_reader_to(&r, offset, &batch, &h);
    uint64_t segment = r.view.name, position = r.position;
    batch_reader_close(&r);
    if (e == ERR_OK)
        *out = (struct look){h.epoch, h.base_offset, batch_end(&h)};
    else if (e != ERR_GONE)
        log_note_corrupt(l, segment, position, e);
    return e;
}

static enum err look_at(struct plog_log *l, uint64_t offset, struct look *out)
{
    struct plog_batch *b = cache_lend_offset(&l->plog->cache, &l->ring, offset);
    if (b == NULL)
        return look_in_segment(l, offset, out);
    *out = (struct look){b->h.epoch, b->h.base_offset, batch_end(&b->h)};
    cache_give_back(&l->plog->cache, b);
    return ERR_OK;
}

/* Pushes the epochs that begin behind `a`, up to and with that of `b`. */
static enum err look_between(struct plog_log *l, struct look a, struct look b)
{
    while (a.epoch != b.epoch) {
        if (a.end >= b.base) {
            push(l, b.epoch, b.base);
            return ERR_OK;
        }
        struct look middle;
        enum err e = look_at(l, a.end + (b.base - a.end) / 2, &middle);
        if (e == ERR_OK && (middle.epoch < a.epoch || middle.epoch > b.epoch))
            e = ERR_CORRUPT;
        /* As deep as an offset has bits, since each time half of what lies between is left. */
        if (e == ERR_OK)
            e = look_between(l, a, middle);
        if (e != ERR_OK)
            return e;
        a = middle;
    }
    return ERR_OK;
}

static enum err read_all(struct plog_log *l)
{
    struct look first, last;
    uint64_t start = plog_start_offset(l);
    l->epochs_n = 0;
    if (start == l->end)
        return ERR_OK;
    enum err e = look_at(l, start, &first);
    if (e == ERR_OK)
        e = look_at(l, l->end - 1, &last);
    if (e != ERR_OK)
        return e;
    push(l, first.epoch, first.base);
    return look_between(l, first, last);
}

static enum err learn(struct plog_log *l)
{
    enum err e = ERR_OK;
    uint64_t start;
    if (l->epochs_known)
        return ERR_OK;
    do {
        start = plog_start_offset(l);
        e = l->damage == NULL ? read_all(l) : ERR_CORRUPT;
    } while (e == ERR_GONE && start != plog_start_offset(l)); /* released meanwhile */
    l->epochs_known = e == ERR_OK;
    if (e != ERR_OK)
        l->epochs_n = 0;
    return e;
}

void epochs_note(struct plog_log *l, uint64_t epoch, uint64_t offset)
{
    if (l->epochs_known)
        push(l, epoch, offset);
}

void epochs_cut(struct plog_log *l, uint64_t end)
{
    while (l->epochs_n > 0 && l->epochs[l->epochs_n - 1].start >= end)
        l->epochs_n--;
}

enum err epochs_last(struct plog_log *l, uint64_t *epoch)
{
    enum err e = learn(l);
    if (e == ERR_OK)
        *epoch = l->epochs_n > 0 ? l->epochs[l->epochs_n - 1].epoch : plog_start_last_epoch(l);
    return e;
}

const struct plog_epoch *plog_epochs(const struct plog_log *l, size_t *n)
{
    struct plog_log *mine = (struct plog_log *)(uintptr_t)l;
    size_t gone = 0;
    *n = 0;
    if (learn(mine) != ERR_OK || mine->epochs_n == 0)
        return mine->epochs;
    /* A release has moved the start, without the owner's lock. */
    uint64_t start = plog_start_offset(l);
    if (start == l->end)
        return mine->epochs;
    while (gone + 1 < mine->epochs_n && mine->epochs[gone + 1].start <= start)
        gone++;
    mine->epochs_n -= gone;
    memmove(mine->epochs, mine->epochs + gone, mine->epochs_n * sizeof mine->epochs[0]);
    if (mine->epochs[0].start < start)
        mine->epochs[0].start = start;
    *n = mine->epochs_n;
    return mine->epochs;
}

uint64_t plog_start_last_epoch(const struct plog_log *l)
{
    struct plog_log *mine = (struct plog_log *)(uintptr_t)l;
    struct look first;
    lock_take(&mine->lk);
    uint64_t start = l->start_offset;
    const struct beginning *b = copy_beginning(&l->copy, l->incarnation, start);
    bool known = b != NULL || start == 0;
    uint64_t epoch = b != NULL ? b->last_epoch : 0;
    lock_give(&mine->lk);
    if (known || l->damage != NULL || start >= plog_durable(l))
        return epoch;
    return look_at(mine, start, &first) == ERR_OK ? first.epoch : 0;
}

enum err epochs_save_before(struct plog_log *l, uint64_t start, uint64_t epoch)
{
    struct copy c = l->copy;
    struct beginning b = {l->incarnation, start, epoch, copy_snapshot(&c, l->incarnation)};
    copy_put(&c, l, &b);
    return copy_write(l, &c);
}

enum err epochs_note_release(struct plog_log *l, uint64_t start)
{
    struct look last, first;
    enum err e = look_at(l, start - 1, &last);
    if (e == ERR_OK)
        e = look_at(l, start, &first);
    if (e == ERR_OK && last.epoch == first.epoch)
        return ERR_OK;
    e = epochs_save_before(l, start, e == ERR_OK ? last.epoch : 0);
    /* A release makes room; then the epoch is taken for that of the first batch. */
    return e == ERR_NO_SPACE ? ERR_OK : e;
}
