// SPDX-License-Identifier: Apache-2.0
/* Keys of sends (struct queue_repeat): for each partition to which sends are on their way, which of
 * them are open. Each key tells the lowest that is, so the partition's leader need not remember
 * what is below; and no more than QUEUE_REPEAT_WINDOW lie between the lowest and the next, so it
 * remembers no more than that.
 *
 * A partition is forgotten here once none is open. Its next sequence is then above all that were
 * given to any partition before, so a key never comes again in this life. */
#include "base/check.h"
#include "base/hash.h"
#include "base/mem.h"
#include "route/inside.h"

enum { WORDS = QUEUE_REPEAT_WINDOW / 64 };

struct window_name { /* compared as bytes: no padding */
    uint8_t topic[16];
    uint32_t partition;
};

/* All guarded by route.lk. */
struct route_window {
    struct window_name name;
    uint64_t lowest; /* that is open */
    uint64_t next;
    uint64_t open[WORDS]; /* a bit for each sequence in [lowest, next), at its rest */
    UT_hash_handle hh;
};

static uint64_t *word_of(struct route_window *w, uint64_t sequence)
{
    return &w->open[sequence % QUEUE_REPEAT_WINDOW / 64];
}

static uint64_t bit_of(uint64_t sequence)
{
    return UINT64_C(1) << sequence % 64;
}

static struct route_window *window_find_locked(struct route *r, const uint8_t topic[16],
                                               uint32_t partition)
{
    struct window_name name = {.partition = partition};
    struct route_window *w = NULL;
    lock_check_held(&r->lk);
    memcpy(name.topic, topic, sizeof name.topic);
    HASH_FIND(hh, r->windows, &name, sizeof name, w);
    return w;
}

static struct route_window *window_make_locked(struct route *r, const uint8_t topic[16],
                                               uint32_t partition)
{
    struct route_window *w = mem_new(sizeof *w);
    memcpy(w->name.topic, topic, sizeof w->name.topic);
    w->name.partition = partition;
    w->lowest = w->next = r->sequence;
    HASH_ADD(hh, r->windows, name, sizeof w->name, w);
    return w;
}

static void window_drop_locked(struct route *r, struct route_window *w)
{
    HASH_DELETE(hh, r->windows, w);
    mem_free(w);
}

bool route_repeat_open(void *self, const uint8_t topic[16], uint32_t partition,
                       struct queue_repeat *out)
{
    struct route *r = self;
    lock_take(&r->lk);
    struct route_window *w = window_find_locked(r, topic, partition);
    bool has_room = __atomic_load_n(&r->begun, __ATOMIC_ACQUIRE) &&
                    (w == NULL || w->next - w->lowest < QUEUE_REPEAT_WINDOW);
    if (has_room) {
        if (w == NULL)
            w = window_make_locked(r, topic, partition);
        *word_of(w, w->next) |= bit_of(w->next);
        *out = (struct queue_repeat){r->options.broker, r->life, w->next, w->lowest};
        w->next++;
        if (w->next > r->sequence)
            r->sequence = w->next;
    }
    lock_give(&r->lk);
    return has_room;
}

void route_repeat_close(void *self, const uint8_t topic[16], uint32_t partition,
                        const struct queue_repeat *key)
{
    struct route *r = self;
    uint64_t sequence = key->sequence;
    lock_take(&r->lk);
    struct route_window *w = window_find_locked(r, topic, partition);
    CHECK(w != NULL && sequence >= w->lowest && sequence < w->next);
    CHECK(*word_of(w, sequence) & bit_of(sequence));
    *word_of(w, sequence) &= ~bit_of(sequence);
    while (w->lowest < w->next && !(*word_of(w, w->lowest) & bit_of(w->lowest)))
        w->lowest++;
    if (w->lowest == w->next)
        window_drop_locked(r, w);
    lock_give(&r->lk);
}

void route_repeat_forget(struct route *r)
{
    struct route_window *w, *next;
    lock_take(&r->lk);
    HASH_ITER(hh, r->windows, w, next)
    window_drop_locked(r, w);
    lock_give(&r->lk);
}
