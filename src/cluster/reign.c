// SPDX-License-Identifier: Apache-2.0
/* The controller's part of the thread: winning the office, asking brokers, changing keys. */
#include "base/mem.h"
#include "base/note.h"
#include "catalog/partition_key.h"
#include "cluster/inside.h"

enum { CLAIM_MS = 500, STEP_MS = 100, ANSWER_MS = 500 };

/* ---- the office ---- */

/* Whoever makes the key has it as long as the key is there. */
static void claim(struct cluster *c)
{
    struct cluster_ctl_key key = {.broker = c->broker, .session = c->self.number};
    struct buf json = BUF_EMPTY;
    int64_t rev = 0;
    memcpy(key.url, c->self.url, sizeof key.url);
    cluster_ctl_key_encode(&key, &json);
    struct catalog_cmp absent = {"ctl", CATALOG_MOD, 0};
    struct catalog_op put = {.key = "ctl", .value = buf_bytes(&json)};
    enum err e = catalog_txn_leased(c->catalog, c->self.session, &absent, 1, &put, 1, &rev);
    lock_take(&c->lk);
    if (e == ERR_OK)
        cluster_view_put(&c->view, "ctl", buf_bytes(&json), rev, rev);
    else /* somebody was faster, or it is not known: the list tells */
        c->wants_list = true;
    lock_give(&c->lk);
    buf_fini(&json);
}

static bool is_ours(const struct cluster *c)
{
    const struct cluster_view *v = &c->view;
    return c->self.session != NULL && v->is_ctl_known && v->ctl.broker == c->broker &&
           v->ctl.session == c->self.number;
}

static void reign_end(struct cluster *c)
{
    if (c->reigns)
        note(NOTE_INFO, "cluster", "this broker is the controller no more");
    c->reigns = false;
}

/* A controller acts only on a list that is younger than its term. */
static void reign_begin(struct cluster *c, int64_t now_ms)
{
    if (c->view.list_rev < c->view.ctl_create_rev && cluster_list(c) != ERR_OK)
        return;
    if (!is_ours(c))
        return;
    c->reigns = true;
    c->ctl_create_rev = c->view.ctl_create_rev;
    cluster_control_begin(c->control, ++c->reign, now_ms);
    note(NOTE_INFO, "cluster", "this broker is the controller");
}

/* ---- questions ---- */

struct question {
    struct cluster *c;
    uint64_t serial;
    uint32_t broker;
};

/* On the peer's thread. */
static void question_done(void *self, enum err e, int status, struct bytes body)
{
    struct question *q = self;
    struct cluster_work *w = mem_new(sizeof *w);
    w->kind = CLUSTER_WORK_ANSWER;
    w->serial = q->serial;
    w->broker = q->broker;
    w->err = e == ERR_OK && status != 200 ? ERR_BUSY : e;
    if (w->err == ERR_OK)
        w->err = wire_state_decode(body, &w->parts, &w->parts_n);
    cluster_work_add(q->c, w);
    mem_free(q);
}

static void ask(struct cluster *c, const struct cluster_action *a)
{
    const struct cluster_member *m = cluster_view_member(&c->view, a->broker);
    struct buf body = BUF_EMPTY;
    if (m == NULL || !m->is_known)
        return; /* its answer is not heard of in time */
    struct question *q = mem_new(sizeof *q);
    *q = (struct question){c, a->serial, a->broker};
    wire_state_ask_encode(a->of, a->of_n, &body);
    (void)peer_post(atomic_load(&c->peer), a->broker, m->key.url, "/_r/v1/state", buf_bytes(&body),
                    ANSWER_MS, (struct peer_call_done){question_done, q});
    buf_fini(&body);
}

void cluster_reign_answer(struct cluster *c, struct cluster_work *w, int64_t now_ms)
{
    if (c->reigns && w->err == ERR_OK)
        cluster_control_answer(c->control, &c->view, w->serial, w->broker, w->parts, w->parts_n,
                               now_ms);
    else if (c->reigns)
        cluster_control_silence(c->control, &c->view, w->serial, w->broker, w->err == ERR_REFUSED);
    if (w->err == ERR_REFUSED)
        cluster_knock_lost(c, w->broker, now_ms);
    c->step_ms = now_ms; /* perhaps it was the last one that was waited for */
}

/* ---- changes ---- */

static void swap_note(const struct cluster_swap *s)
{
    char key[CATALOG_KEY_BYTES_MAX + 1];
    catalog_key_partition(key, s->topic, s->partition);
    if (s->value.state == REPLICA_KEY_INCONSISTENT)
        note(NOTE_ERROR, "cluster",
             "%s: every copy that answers lacks committed messages; nobody leads until an "
             "operator decides",
             key);
    else
        note(NOTE_INFO, "cluster", "%s: broker %lu leads in epoch %llu", key,
             (unsigned long)s->value.leader, (unsigned long long)s->value.epoch);
}

static void swaps_take_in(struct cluster *c, const struct cluster_swap *swaps, size_t n)
{
    struct buf json = BUF_EMPTY;
    char key[CATALOG_KEY_BYTES_MAX + 1];
    lock_take(&c->lk);
    for (size_t i = 0; i < n; i++) {
        if (swaps[i].outcome != REPLICA_SWAP_WON) {
            c->wants_list = true; /* something is not as we think */
            continue;
        }
        buf_clear(&json);
        catalog_key_partition(key, swaps[i].topic, swaps[i].partition);
        catalog_partition_encode(&swaps[i].value, &json);
        cluster_view_put(&c->view, key, buf_bytes(&json), swaps[i].version, swaps[i].version);
    }
    lock_give(&c->lk);
    buf_fini(&json);
    for (size_t i = 0; i < n; i++)
        if (swaps[i].outcome == REPLICA_SWAP_WON)
            swap_note(&swaps[i]);
}

static void actions_run(struct cluster *c, const struct cluster_actions *actions)
{
    struct cluster_swap *swaps = NULL; /* most steps change nothing */
    struct catalog_cmp term = {"ctl", CATALOG_CREATED, c->ctl_create_rev};
    size_t n = 0;
    for (size_t i = 0; i < actions->n; i++) {
        const struct cluster_action *a = &actions->at[i];
        if (a->kind == CLUSTER_ACTION_ASK) {
            ask(c, a);
        } else {
            if (swaps == NULL)
                swaps = mem_new_array(CLUSTER_SWAPS_MAX, sizeof swaps[0]);
            memcpy(swaps[n].topic, a->swapped.topic, sizeof swaps[n].topic);
            swaps[n].partition = a->swapped.partition;
            swaps[n++].value = a->value;
        }
        if (n == CLUSTER_SWAPS_MAX || (i + 1 == actions->n && n > 0)) {
            cluster_swaps_run(c->catalog, &term, swaps, n);
            swaps_take_in(c, swaps, n);
            n = 0;
        }
    }
    mem_free(swaps);
}

void cluster_reign(struct cluster *c, int64_t now_ms)
{
    struct cluster_actions actions = {.at = NULL};
    if (c->reigns && (!is_ours(c) || c->view.ctl_create_rev != c->ctl_create_rev))
        reign_end(c);
    /* Who is leaving takes no new office, but keeps one that it has until it has gone. */
    if (!c->reigns && c->self.session != NULL && c->leave_ms == 0) {
        if (c->view.ctl_rev == 0 && now_ms >= c->claim_ms) {
            c->claim_ms = now_ms + CLAIM_MS;
            claim(c);
        }
        if (is_ours(c))
            reign_begin(c, now_ms);
    }
    if (!c->reigns || now_ms < c->step_ms)
        return;
    c->step_ms = now_ms + STEP_MS;
    cluster_control_step(c->control, &c->view, now_ms, &c->control_rng, &actions);
    actions_run(c, &actions);
    cluster_actions_fini(&actions);
}
