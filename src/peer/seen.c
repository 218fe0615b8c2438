// SPDX-License-Identifier: Apache-2.0
#include "peer/seen.h"

#include "base/hash.h"
#include "base/mem.h"

enum { WORDS = SEEN_WINDOW / 64 };

struct seen_process {
    uint64_t process; /* the key */
    uint64_t highest; /* count */
    int64_t last_ms;
    uint64_t *bits; /* WORDS, owned; NULL: lost. Of the counts in (highest - SEEN_WINDOW, highest],
                       by count % window */
    UT_hash_handle hh;
};

static void window_drop(struct seen *s, struct seen_process *p)
{
    s->windows_n -= p->bits != NULL;
    mem_free(p->bits);
    p->bits = NULL;
}

static void forget(struct seen *s, struct seen_process *p)
{
    window_drop(s, p);
    HASH_DEL(s->processes, p);
    mem_free(p);
}

void seen_fini(struct seen *s)
{
    struct seen_process *p, *next;
    HASH_ITER(hh, s->processes, p, next)
    {
        forget(s, p);
    }
}

static void forget_old(struct seen *s, int64_t before_ms)
{
    struct seen_process *p, *next;
    HASH_ITER(hh, s->processes, p, next)
    {
        if (p->last_ms < before_ms)
            forget(s, p);
    }
}

/* Takes the window of the process that has been silent for longest, if that is long enough. */
static void window_make_room(struct seen *s, int64_t now_ms)
{
    struct seen_process *p, *next, *oldest = NULL;
    HASH_ITER(hh, s->processes, p, next)
    {
        if (p->bits != NULL && (oldest == NULL || p->last_ms < oldest->last_ms))
            oldest = p;
    }
    if (oldest != NULL && now_ms - oldest->last_ms > SEEN_SILENT_MS)
        window_drop(s, oldest);
}

static struct seen_process *process_of(struct seen *s, uint64_t process, int64_t now_ms,
                                       int64_t keep_ms)
{
    struct seen_process *p;
    HASH_FIND(hh, s->processes, &process, sizeof process, p);
    if (p != NULL)
        return p;
    forget_old(s, now_ms - keep_ms);
    if (s->windows_n >= SEEN_WINDOWS_MAX)
        window_make_room(s, now_ms);
    if (s->windows_n >= SEEN_WINDOWS_MAX || HASH_COUNT(s->processes) >= SEEN_PROCESSES_MAX)
        return NULL;
    p = mem_new(sizeof *p);
    p->process = process;
    p->bits = mem_new_array(WORDS, sizeof p->bits[0]);
    s->windows_n++;
    HASH_ADD(hh, s->processes, process, sizeof p->process, p);
    return p;
}

static uint64_t *word_of(struct seen_process *p, uint64_t count)
{
    return &p->bits[count % SEEN_WINDOW / 64];
}

/* Moves the window's end up to `count`; the places that it comes to are those of counts that have
 * left it. */
static void move_up(struct seen_process *p, uint64_t count)
{
    if (count - p->highest >= SEEN_WINDOW)
        memset(p->bits, 0, WORDS * sizeof p->bits[0]);
    else
        for (uint64_t c = p->highest + 1; c <= count; c++)
            *word_of(p, c) &= ~((uint64_t)1 << c % 64);
    p->highest = count;
}

enum seen_verdict seen_take(struct seen *s, struct sign_nonce nonce, int64_t now_ms,
                            int64_t keep_ms)
{
    struct seen_process *p = process_of(s, nonce.process, now_ms, keep_ms);
    if (p == NULL)
        return SEEN_FULL;
    if (p->bits == NULL)
        return SEEN_AGAIN;
    if (nonce.count > p->highest)
        move_up(p, nonce.count);
    else if (p->highest - nonce.count >= SEEN_WINDOW)
        return SEEN_AGAIN;
    uint64_t bit = (uint64_t)1 << nonce.count % 64;
    if ((*word_of(p, nonce.count) & bit) != 0)
        return SEEN_AGAIN;
    *word_of(p, nonce.count) |= bit;
    p->last_ms = now_ms;
    return SEEN_NEW;
}
