// SPDX-License-Identifier: Apache-2.0
/* Room on the disk: what is kept free so that deletes always have some, and how large what is made
 * ahead may be. Both are shares of the disk where it is small, or a small one would be all reserve
 * and journal. */
#include "base/note.h"
#include "queue/state.h"

enum {
    RESERVE_SHARE = 4,
    LOOK_SHARE = 16, /* of the reserve may be appended between two looks */
    AHEAD_SHARE = 32,
};
static const uint64_t reserve_bytes_max = 256u << 20;
static const uint64_t small_disk_bytes = 2u << 30;
static const uint64_t ahead_bytes_min = 1u << 20;

static uint64_t disk_bytes(const struct queue *q)
{
    uint64_t bytes;
    return q->disk->total_bytes(q->disk->self, &bytes) == ERR_OK ? bytes : UINT64_MAX;
}

uint64_t space_share(const struct queue *q, uint64_t wanted_bytes)
{
    uint64_t bytes = disk_bytes(q), share = bytes / AHEAD_SHARE;
    if (bytes >= small_disk_bytes)
        return wanted_bytes;
    if (share < ahead_bytes_min)
        share = ahead_bytes_min;
    return wanted_bytes < share ? wanted_bytes : share;
}

/* Sends are refused below the reserve, receives below half of it; deletes may use it all. */
void space_look(struct queue *q)
{
    uint64_t free_bytes, reserve_bytes = disk_bytes(q) / RESERVE_SHARE;
    lock_check_none_held();
    if (reserve_bytes > reserve_bytes_max)
        reserve_bytes = reserve_bytes_max;
    __atomic_store_n(&q->unlooked_bytes, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&q->space_look_bytes, reserve_bytes / LOOK_SHARE, __ATOMIC_RELAXED);
    if (q->disk->free_bytes(q->disk->self, &free_bytes) != ERR_OK)
        return;
    /* What is in the journal alone goes to the segments too, at the next start at the latest. */
    uint64_t owed_bytes = plog_unwritten_bytes(q->plog);
    free_bytes -= owed_bytes < free_bytes ? owed_bytes : free_bytes;
    bool low = free_bytes < reserve_bytes;
    if (low && !__atomic_load_n(&q->space_low, __ATOMIC_RELAXED))
        note(NOTE_WARNING, "queue", "the disk is nearly full: sends are refused");
    __atomic_store_n(&q->space_low, low, __ATOMIC_RELAXED);
    __atomic_store_n(&q->space_out, free_bytes < reserve_bytes / 2, __ATOMIC_RELAXED);
}

/* Together with a journal file made in a hurry and all that waits to be written, what comes between
 * two looks is far less than the half of the reserve that is left to deletes. Between two rounds of
 * the housekeeper a fast client could fill all of it. */
void space_look_if_due(struct queue *q)
{
    if (__atomic_load_n(&q->unlooked_bytes, __ATOMIC_RELAXED) >=
        __atomic_load_n(&q->space_look_bytes, __ATOMIC_RELAXED))
        space_look(q);
}
