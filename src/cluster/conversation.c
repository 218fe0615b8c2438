// SPDX-License-Identifier: Apache-2.0
#include "cluster/conversation.h"

#include "base/hash.h"
#include "base/mem.h"

enum {
    /* Calls under way. Beyond the first of them each waits half as long as the one before: so there
     * is soon one to spare for what moves, and what came back is asked for together. */
    CALLS_MAX = 16,
    LONG_CALLS_MAX = 8,
    WAIT_MS_MIN = 4,
    CATCHUP_CALLS_MAX = 2,
    CATCHUP_WAIT_MS_MAX = 100, /* what moves there has to wait for one of the two */
    /* An answer is for all parts of its call. So many that do not move are not asked for anew
     * because of one that does. */
    CALL_PARTS = 256,
    CALLS_OF_ALL = 4, /* with more parts, they make so many calls */
    BYTES_MAX = 4 << 20,
    CATCHUP_BYTES_MAX = 1 << 20, /* so that the throttle lets it go in small steps */
    BYTES_MIN = 64 << 10,
    BACKOFF_MS_MIN = 50,
    BACKOFF_MS_MAX = 1000,
    BURST_MS = 100, /* of the throttle */
};

/* A partition's newest request. */
struct conversation_want {
    struct queue_copy_id id; /* the key */
    struct replica_fetch request;
    struct conversation *conversation;
    TAILQ_ENTRY(conversation_want) link;
    UT_hash_handle hh;
};

_Static_assert(sizeof(struct queue_copy_id) == 20, "hashed as bytes: it has no padding");

void conversations_init(struct conversations *c)
{
    LIST_INIT(&c->all);
    c->by_id = NULL;
}

static void want_remove(struct conversations *c, struct conversation_want *w)
{
    HASH_DEL(c->by_id, w);
    TAILQ_REMOVE(&w->conversation->wants, w, link);
    w->conversation->wants_n--;
    mem_free(w);
}

void conversations_fini(struct conversations *c)
{
    struct conversation *k;
    while ((k = LIST_FIRST(&c->all)) != NULL) {
        while (!TAILQ_EMPTY(&k->wants))
            want_remove(c, TAILQ_FIRST(&k->wants));
        LIST_REMOVE(k, link);
        mem_free(k);
    }
}

static uint32_t bytes_most(const struct conversation *k)
{
    return k->is_catchup ? CATCHUP_BYTES_MAX : BYTES_MAX;
}

static struct conversation *conversation_of(struct conversations *c, uint32_t leader,
                                            bool is_catchup)
{
    struct conversation *k;
    LIST_FOREACH(k, &c->all, link)
    if (k->leader == leader && k->is_catchup == is_catchup)
        return k;
    k = mem_new(sizeof *k);
    k->leader = leader;
    k->is_catchup = is_catchup;
    k->bytes_max = bytes_most(k);
    TAILQ_INIT(&k->wants);
    LIST_INSERT_HEAD(&c->all, k, link);
    return k;
}

void conversations_want(struct conversations *c, const struct queue_copy_id *of, uint32_t leader,
                        bool is_catchup, const struct replica_fetch *request)
{
    struct conversation *k = conversation_of(c, leader, is_catchup);
    struct conversation_want *w;
    HASH_FIND(hh, c->by_id, of, sizeof *of, w);
    if (w != NULL && w->conversation != k) {
        want_remove(c, w);
        w = NULL;
    }
    if (w == NULL) {
        w = mem_new(sizeof *w);
        w->id = *of;
        w->conversation = k;
        HASH_ADD(hh, c->by_id, id, sizeof w->id, w);
        TAILQ_INSERT_TAIL(&k->wants, w, link);
        k->wants_n++;
    }
    w->request = *request;
}

/* ---- the throttle ---- */

void conversation_bucket_fill(struct conversation_bucket *b, int64_t now_ms)
{
    int64_t burst = (int64_t)(b->bytes_per_s * BURST_MS / 1000);
    int64_t passed_ms = now_ms - b->filled_ms;
    if (passed_ms <= 0)
        return;
    passed_ms = passed_ms > 60000 ? 60000 : passed_ms; /* so that the product is no problem */
    b->bytes += (int64_t)b->bytes_per_s * passed_ms / 1000;
    b->bytes = b->bytes > burst ? burst : b->bytes;
    b->filled_ms = now_ms;
}

int64_t conversation_bucket_due_ms(const struct conversation_bucket *b)
{
    if (b->bytes > 0)
        return b->filled_ms;
    return b->filled_ms + 1 + (-b->bytes + 1) * 1000 / (int64_t)b->bytes_per_s;
}

/* ---- calls ---- */

bool conversation_is_due(const struct conversation *k, const struct conversation_bucket *b,
                         int64_t now_ms, int64_t *due_ms)
{
    if (k->wants_n == 0 || k->calls_n >= (k->is_catchup ? CATCHUP_CALLS_MAX : CALLS_MAX))
        return false; /* a note or the end of a call changes that */
    int64_t at_ms = k->not_before_ms;
    if (k->is_catchup && conversation_bucket_due_ms(b) > at_ms)
        at_ms = conversation_bucket_due_ms(b);
    if (at_ms > now_ms)
        *due_ms = at_ms < *due_ms ? at_ms : *due_ms;
    return at_ms <= now_ms;
}

static size_t parts_wanted(const struct conversation *k)
{
    size_t n = (k->wants_n + k->parts_n) / CALLS_OF_ALL;
    n = n < CALL_PARTS ? CALL_PARTS : n;
    n = n > WIRE_PARTS_MAX ? WIRE_PARTS_MAX : n;
    return n > k->wants_n ? k->wants_n : n;
}

static uint32_t wait_wanted(const struct conversation *k, uint32_t wait_ms)
{
    if (k->is_catchup)
        return wait_ms < CATCHUP_WAIT_MS_MAX ? wait_ms : CATCHUP_WAIT_MS_MAX;
    if (k->calls_n >= LONG_CALLS_MAX)
        wait_ms >>= k->calls_n - LONG_CALLS_MAX + 1;
    return wait_ms < WAIT_MS_MIN ? WAIT_MS_MIN : wait_ms;
}

void conversation_call(struct conversations *c, struct conversation *k,
                       struct conversation_bucket *b, uint32_t wait_ms, struct wire_fetch *out)
{
    *out = (struct wire_fetch){
        .wait_ms = wait_wanted(k, wait_ms), .bytes_max = k->bytes_max, .parts_n = parts_wanted(k)};
    out->parts = mem_new_array(out->parts_n, sizeof *out->parts);
    for (size_t i = 0; i < out->parts_n; i++) {
        struct conversation_want *w = TAILQ_FIRST(&k->wants);
        memcpy(out->parts[i].of.topic, w->id.topic, sizeof w->id.topic);
        out->parts[i].of.partition = w->id.partition;
        out->parts[i].request = w->request;
        want_remove(c, w);
    }
    k->calls_n++;
    k->parts_n += out->parts_n;
    /* All that may come is taken out now, and what did not come is given back. */
    if (k->is_catchup)
        b->bytes -= out->bytes_max;
}

static void call_over(struct conversation *k, struct conversation_bucket *b, size_t parts_n,
                      uint32_t bytes_max, size_t bytes)
{
    CHECK(k->calls_n > 0 && k->parts_n >= parts_n);
    k->calls_n--;
    k->parts_n -= parts_n;
    if (k->is_catchup)
        b->bytes += (int64_t)bytes_max - (int64_t)bytes;
}

void conversation_answered(struct conversation *k, struct conversation_bucket *b, size_t parts_n,
                           uint32_t bytes_max, size_t bytes)
{
    call_over(k, b, parts_n, bytes_max, bytes);
    k->backoff_ms = 0;
    k->not_before_ms = 0;
    if (bytes > 0 && bytes_max == k->bytes_max)
        k->bytes_max = bytes_max > bytes_most(k) / 2 ? bytes_most(k) : bytes_max * 2;
}

bool conversation_repeats(const struct conversation *k)
{
    return k->backoff_ms < BACKOFF_MS_MAX;
}

void conversation_want_again(struct conversations *c, const struct conversation *k,
                             const struct wire_fetch_part *part)
{
    struct queue_copy_id id = {.partition = part->of.partition};
    struct conversation_want *w;
    memcpy(id.topic, part->of.topic, sizeof id.topic);
    HASH_FIND(hh, c->by_id, &id, sizeof id, w);
    if (w == NULL)
        conversations_want(c, &id, k->leader, k->is_catchup, &part->request);
}

void conversation_lost(struct conversation *k, struct conversation_bucket *b, size_t parts_n,
                       uint32_t bytes_max, bool is_slow, int64_t now_ms)
{
    call_over(k, b, parts_n, bytes_max, 0);
    /* On a slow link the whole of an answer may never come in time: less does. */
    if (is_slow && bytes_max == k->bytes_max)
        k->bytes_max = bytes_max / 2 < BYTES_MIN ? BYTES_MIN : bytes_max / 2;
    if (now_ms < k->not_before_ms)
        return; /* lost together with another one: that counts once */
    k->backoff_ms = k->backoff_ms == 0 ? BACKOFF_MS_MIN : k->backoff_ms * 2;
    k->backoff_ms = k->backoff_ms > BACKOFF_MS_MAX ? BACKOFF_MS_MAX : k->backoff_ms;
    k->not_before_ms = now_ms + k->backoff_ms;
}
