// SPDX-License-Identifier: Apache-2.0
/* What an operator asks for: any broker takes it, since the compare-and-swap on the key's version
 * is all the right to change it that there is. */
#include "cluster/admin.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/mem.h"
#include "base/note.h"
#include "catalog/partition_key.h"
#include "cluster/inside.h"

enum { ASK_MS = 2000 };

__attribute__((format(printf, 2, 3))) static enum err refuse(char why[CLUSTER_WHY_ROOM],
                                                             const char *format, ...)
{
    va_list args;
    va_start(args, format);
    (void)vsnprintf(why, CLUSTER_WHY_ROOM, format, args);
    va_end(args);
    return ERR_CONFLICT;
}

/* Of a broker, as the view has it now. */
struct seen {
    bool is_live, is_draining, is_known;
    char url[PEER_URL_BYTES_MAX + 1];
};

static struct seen look_at(struct cluster *c, uint32_t broker)
{
    struct seen s = {.is_live = false};
    lock_take(&c->lk);
    const struct cluster_member *m = cluster_view_member(&c->view, broker);
    s.is_live = cluster_view_is_live(&c->view, broker);
    s.is_draining = cluster_view_is_draining(&c->view, broker);
    s.is_known = m != NULL && m->is_known;
    if (s.is_known)
        memcpy(s.url, m->key.url, sizeof s.url);
    lock_give(&c->lk);
    return s;
}

static enum err key_get(struct cluster *c, const struct queue_copy_id *of, struct replica_key *k)
{
    char name[CATALOG_KEY_BYTES_MAX + 1];
    struct catalog_kv kv = {.key = NULL};
    catalog_key_partition(name, of->topic, of->partition);
    enum err e = catalog_get(c->catalog, name, &kv);
    if (e == ERR_OK)
        e = catalog_partition_decode(kv.value, kv.mod_rev, k);
    catalog_kv_fini(&kv);
    return e;
}

static enum err key_swap(struct cluster *c, const struct queue_copy_id *of, struct replica_key *k,
                         char why[CLUSTER_WHY_ROOM])
{
    struct cluster_swap s = {.partition = of->partition};
    memcpy(s.topic, of->topic, sizeof s.topic);
    lock_take(&c->lk);
    k->op = rng_next(&c->rng) | 1;
    lock_give(&c->lk);
    s.value = *k;
    cluster_swaps_run(c->catalog, NULL, &s, 1);
    if (s.outcome == REPLICA_SWAP_LOST)
        return refuse(why, "the partition changed at the same time: look at it, and ask again");
    return s.outcome == REPLICA_SWAP_WON ? ERR_OK : ERR_BUSY;
}

static enum err member_check(const struct replica_key *k, uint32_t broker, const struct seen *s,
                             char why[CLUSTER_WHY_ROOM])
{
    if (replica_key_find(k, broker) == NULL)
        return refuse(why, "broker %" PRIu32 " has no copy of the partition", broker);
    if (!s->is_live || !s->is_known)
        return refuse(why, "broker %" PRIu32 " is not running", broker);
    return ERR_OK;
}

/* ---- moving the lead ---- */

static void put_first(struct replica_key *k, uint32_t broker)
{
    size_t i = 0;
    while (k->members[i].broker != broker)
        i++;
    struct replica_member first = k->members[i];
    memmove(&k->members[1], &k->members[0], i * sizeof k->members[0]);
    k->members[0] = first;
}

enum err cluster_move_leader(struct cluster *c, const struct queue_copy_id *of, uint32_t broker,
                             char why[CLUSTER_WHY_ROOM])
{
    struct replica_key k;
    enum err e = key_get(c, of, &k);
    if (e != ERR_OK)
        return e;
    struct seen s = look_at(c, broker);
    e = member_check(&k, broker, &s, why);
    if (e != ERR_OK)
        return e;
    if (!replica_key_find(&k, broker)->in_isr)
        return refuse(why, "broker %" PRIu32 "'s copy is not in sync", broker);
    if (s.is_draining)
        return refuse(why, "broker %" PRIu32 " is leaving or draining", broker);
    if (k.state != REPLICA_KEY_OK)
        return refuse(why, "the partition has lost messages: see partition recover");
    if (k.leader == broker && k.members[0].broker == broker)
        return ERR_OK;
    k.wish_epoch = k.leader == broker ? 0 : k.epoch;
    put_first(&k, broker);
    return key_swap(c, of, &k, why);
}

/* ---- recovering with loss ---- */

struct copy_said {
    bool has_answered;
    struct replica_status status;
};

/* A job may still run when the cluster stops, which waits for those that have begun to ask. False:
 * it is too late to begin. */
static bool asking_begin(struct cluster *c)
{
    lock_take(&c->lk);
    bool may = !c->is_stopping;
    c->asking_n += may;
    lock_give(&c->lk);
    return may;
}

static void asking_end(struct cluster *c)
{
    lock_take(&c->lk);
    c->asking_n--;
    lock_signal_all(&c->wake);
    lock_give(&c->lk);
}

static void ask(struct cluster *c, const struct queue_copy_id *of, uint32_t broker,
                const struct seen *s, struct copy_said *out)
{
    struct buf body = BUF_EMPTY, answer = BUF_EMPTY;
    struct wire_partition partition = {.partition = of->partition};
    struct wire_state_part *parts = NULL;
    size_t n = 0;
    int status = 0;
    if (!asking_begin(c))
        return;
    memcpy(partition.topic, of->topic, sizeof partition.topic);
    wire_state_ask_encode(&partition, 1, &body);
    enum err e = peer_ask(atomic_load(&c->peer), broker, s->url, "/_r/v1/state", buf_bytes(&body),
                          ASK_MS, &status, &answer);
    asking_end(c);
    if (e == ERR_OK && status == 200 &&
        wire_state_decode(buf_bytes(&answer), &parts, &n) == ERR_OK && n == 1 && parts[0].is_there)
        *out = (struct copy_said){true, parts[0].status};
    mem_free(parts);
    buf_fini(&body);
    buf_fini(&answer);
}

static void said_note(const char *key, uint32_t broker, const struct copy_said *said,
                      uint64_t chosen_end)
{
    const struct replica_status *s = &said->status;
    if (!said->has_answered)
        note(NOTE_ERROR, "cluster",
             "%s: broker %" PRIu32 " did not answer: what it alone holds is given up", key, broker);
    else if (s->durable_end > chosen_end)
        note(NOTE_ERROR, "cluster",
             "%s: offsets %" PRIu64 " to %" PRIu64 " of broker %" PRIu32
             " are given up (committed, as it knows: below %" PRIu64 ")",
             key, chosen_end, s->durable_end - 1, broker, s->high_water);
    else
        note(NOTE_WARNING, "cluster",
             "%s: broker %" PRIu32 " has offsets below %" PRIu64 ", and begins anew", key, broker,
             s->durable_end);
}

static enum err said_check(const struct replica_key *k, uint32_t broker,
                           const struct copy_said *said, char why[CLUSTER_WHY_ROOM])
{
    for (size_t i = 0; i < k->members_n; i++) {
        const struct replica_member *m = &k->members[i];
        const struct replica_status *s = &said[i].status;
        if (said[i].has_answered && s->last_epoch >= CATALOG_EPOCH_MAX)
            return refuse(why, "broker %" PRIu32 " names an epoch that there cannot be", m->broker);
        if (m->broker == broker && !said[i].has_answered)
            return refuse(why, "broker %" PRIu32 " did not say how its copy is", broker);
        if (m->broker == broker && s->health == REPLICA_HEALTH_QUARANTINED)
            return refuse(why,
                          "broker %" PRIu32 " has closed its copy until a restart: restart it, and "
                          "ask again",
                          broker);
        if (k->state == REPLICA_KEY_OK && m->in_isr && said[i].has_answered &&
            m->incarnation == s->incarnation && s->health == REPLICA_HEALTH_OK)
            return refuse(why,
                          "nothing is lost: broker %" PRIu32 " is in sync and well, and leads or "
                          "will be elected",
                          m->broker);
    }
    return ERR_OK;
}

/* All others begin anew as copies of the chosen one: what they hold beyond it must not come back
 * under another's offsets. */
static void key_recover(struct replica_key *k, uint32_t broker, const struct copy_said *said)
{
    uint64_t epoch = k->epoch;
    for (size_t i = 0; i < k->members_n; i++) {
        struct replica_member *m = &k->members[i];
        const struct replica_status *s = &said[i].status;
        bool is_chosen = m->broker == broker;
        if (said[i].has_answered && s->last_epoch > epoch)
            epoch = s->last_epoch;
        m->in_isr = is_chosen;
        m->incarnation = is_chosen ? s->incarnation : 0;
    }
    k->epoch = epoch + 1;
    k->leader = broker;
    k->state = REPLICA_KEY_OK;
    k->unclean_epoch = k->epoch;
}

enum err cluster_recover(struct cluster *c, const struct queue_copy_id *of, uint32_t broker,
                         char why[CLUSTER_WHY_ROOM])
{
    struct copy_said said[REPLICA_MEMBERS_MAX] = {{.has_answered = false}};
    char name[CATALOG_KEY_BYTES_MAX + 1];
    struct replica_key k;
    uint64_t end = 0;
    catalog_key_partition(name, of->topic, of->partition);
    enum err e = key_get(c, of, &k);
    if (e != ERR_OK)
        return e;
    struct seen chosen = look_at(c, broker);
    e = member_check(&k, broker, &chosen, why);
    if (e != ERR_OK)
        return e;
    for (size_t i = 0; i < k.members_n; i++) {
        struct seen s = look_at(c, k.members[i].broker);
        if (s.is_live && s.is_known)
            ask(c, of, k.members[i].broker, &s, &said[i]);
        if (k.members[i].broker == broker)
            end = said[i].status.durable_end;
    }
    e = said_check(&k, broker, said, why);
    if (e != ERR_OK)
        return e;
    key_recover(&k, broker, said);
    e = key_swap(c, of, &k, why);
    if (e != ERR_OK)
        return e;
    note(NOTE_ERROR, "cluster",
         "%s: an operator lets broker %" PRIu32 " lead in epoch %" PRIu64
         " with what it has, offsets below %" PRIu64 ", and accepts the loss",
         name, broker, k.epoch, end);
    for (size_t i = 0; i < k.members_n; i++)
        if (k.members[i].broker != broker)
            said_note(name, k.members[i].broker, &said[i], end);
    return ERR_OK;
}
