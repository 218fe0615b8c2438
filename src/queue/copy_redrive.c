// SPDX-License-Identifier: Apache-2.0
/* A redrive of a topic whose partitions several brokers lead. The catalogue's entry (r/<tid>) is
 * the truth: it is changed by compare-and-swap alone, at whichever broker is asked, and all brokers
 * hear of it. Each leader moves what lies in its own partitions, and reports into the entry: where
 * each partition ended when the redrive came to it, how many have arrived, and that nothing is left
 * there. Who reports the last one ends the redrive in the same change, so its end is told once.
 *
 * In the entry the end of a partition is ENDS_OPEN until its leader has looked, then the number
 * below which messages are moved, and 0 once nothing is left. So the next leader goes on where the
 * last one was; what keeps each message from arriving twice is its move (move_trip.c). */
#include <string.h>

#include "base/mem.h"
#include "base/note.h"
#include "queue/copy_inside.h"

#define ENDS_OPEN ((uint64_t)INT64_MAX)

enum {
    STEP_MESSAGES_MAX = 500, /* planned in a step, of all partitions */
    REPORT_MS = 1000,        /* between reports that only count */
};

struct redrive_report {
    struct queue_job job;
    struct queue_topic *t;
    bool is_under_way; /* atomic: the job has it */
    enum err err;
    int64_t began_ms;
    uint8_t id[16];
    bool is_news; /* more than a count */
    uint64_t moved, to_move;
    enum redrive_failure failure;
    bool knows_end[TOPIC_PARTITIONS_MAX];
    uint64_t ends[TOPIC_PARTITIONS_MAX];
};

/* ---- the entry ---- */

/* What the catalogue says now, unless newer is known already. */
static void take_in(struct queue_topic *t, const struct redrives_config *list, int64_t rev)
{
    struct queue *q = t->q;
    bool active = list->n > 0 && redrive_is_active(&list->at[0]);
    lock_take(&q->topics_lk);
    bool is_news = rev > t->redrives_rev;
    if (is_news) {
        if (t->redrives == NULL)
            t->redrives = mem_new(sizeof *t->redrives);
        *t->redrives = *list;
        t->redrives_rev = rev;
    }
    lock_give(&q->topics_lk);
    if (is_news && active && list->at[0].ends_n == t->partitions_n)
        redrive_link(t);
}

void queue_copy_redrives(struct queue *q, const uint8_t topic[16], struct bytes value, int64_t rev)
{
    struct queue_topic *t;
    struct uuid id;
    memcpy(id.at, topic, sizeof id.at);
    if (topic_find_by_id(q, &id, &t) != ERR_OK)
        return;
    struct redrives_config *list = mem_new(sizeof *list);
    enum err e = redrives_config_decode(value, list);
    if (e == ERR_OK)
        take_in(t, list, rev);
    else
        note(NOTE_ERROR, "queue", "topic %s: its redrives cannot be read: %s", t->name,
             err_text(e));
    mem_free(list);
    queue_topic_give_back(t);
}

/* One try; ERR_CONFLICT: somebody else was quicker. */
static enum err change_once(struct queue_topic *t,
                            enum err (*change)(void *arg, struct redrives_config *list), void *arg,
                            struct redrives_config *list)
{
    char key[CATALOG_KEY_BYTES_MAX + 1];
    struct catalog_kv kv = {0};
    int64_t rev = 0;
    catalog_key_redrives(key, t->id.at);
    enum err e = catalog_get(t->q->catalog, key, &kv);
    list->n = 0;
    if (e == ERR_OK) {
        rev = kv.mod_rev;
        e = redrives_config_decode(kv.value, list);
    } else if (e == ERR_NOT_FOUND) {
        e = ERR_OK;
    }
    catalog_kv_fini(&kv);
    if (e == ERR_OK)
        e = change(arg, list);
    if (e != ERR_OK)
        return e;
    struct buf value = BUF_EMPTY;
    redrives_config_encode(list, &value);
    struct catalog_cmp same = {key, CATALOG_MOD, rev};
    struct catalog_op put = {.key = key, .value = buf_bytes(&value)};
    e = catalog_txn(t->q->catalog, &same, 1, &put, 1, &rev);
    buf_fini(&value);
    if (e == ERR_OK)
        take_in(t, list, rev);
    return e;
}

static enum err change_entry(struct queue_topic *t,
                             enum err (*change)(void *arg, struct redrives_config *list), void *arg)
{
    struct redrives_config *list = mem_new(sizeof *list);
    enum err e;
    do {
        e = change_once(t, change, arg, list);
    } while (e == ERR_CONFLICT);
    mem_free(list);
    return e;
}

/* ---- starting and cancelling ---- */

static enum err put_first(void *arg, struct redrives_config *list)
{
    if (list->n > 0 && redrive_is_active(&list->at[0]))
        return ERR_EXISTS;
    redrives_put_first(list, arg);
    return ERR_OK;
}

enum err copy_redrive_start(struct queue_topic *t, struct redrive_config *r)
{
    size_t active = 0;
    lock_take(&t->q->topics_lk);
    for (const struct queue_topic *at = t->q->redriving; at != NULL; at = at->redriving_next)
        active++;
    lock_give(&t->q->topics_lk);
    if (active >= QUEUE_REDRIVES_ACTIVE_MAX)
        return ERR_FULL;
    r->ends_n = t->partitions_n;
    for (uint32_t i = 0; i < t->partitions_n; i++)
        r->ends[i] = ENDS_OPEN;
    return change_entry(t, put_first, r);
}

struct cancelling {
    const uint8_t *id;
    uint64_t moved;
};

static enum err cancel(void *arg, struct redrives_config *list)
{
    struct cancelling *c = arg;
    struct redrive_config *r = &list->at[0];
    if (list->n == 0 || !redrive_is_active(r) || memcmp(r->id, c->id, sizeof r->id) != 0)
        return ERR_NOT_FOUND;
    r->state = REDRIVE_CANCELLING;
    c->moved = r->moved;
    return ERR_OK;
}

enum err copy_redrive_cancel(struct queue_topic *t, const uint8_t id[16], uint64_t *moved)
{
    struct cancelling c = {.id = id};
    enum err e = change_entry(t, cancel, &c);
    if (e == ERR_OK)
        *moved = c.moved;
    return e;
}

/* ---- reports ---- */

/* ERR_GONE: that redrive has ended. */
static enum err enter_report(void *arg, struct redrives_config *list)
{
    const struct redrive_report *report = arg;
    struct redrive_config *r = &list->at[0];
    if (list->n == 0 || !redrive_is_active(r) || memcmp(r->id, report->id, sizeof r->id) != 0)
        return ERR_GONE;
    r->moved += report->moved;
    r->to_move += report->to_move;
    bool is_left = false;
    for (uint32_t i = 0; i < r->ends_n; i++) {
        if (report->knows_end[i])
            r->ends[i] = report->ends[i];
        is_left = is_left || r->ends[i] != 0;
    }
    if (report->failure != REDRIVE_FINE) {
        r->state = REDRIVE_FAILED;
        r->failure = report->failure;
    } else if (!is_left) {
        r->state = r->state == REDRIVE_CANCELLING ? REDRIVE_CANCELLED : REDRIVE_COMPLETED;
    }
    if (!redrive_is_active(r))
        r->ends_n = 0;
    return ERR_OK;
}

static void run_report(struct queue_job *job)
{
    struct redrive_report *report = CONTAINER_OF(job, struct redrive_report, job);
    struct queue_topic *t = report->t;
    struct queue *q = t->q;
    report->err = change_entry(t, enter_report, report);
    __atomic_store_n(&report->is_under_way, false, __ATOMIC_RELEASE);
    redrive_call(q);
    queue_topic_give_back(t);
}

/* NULL: the last one is under way still. What could not be reported is counted again; where the
 * outcome was not known it may be counted twice, which only the count shows. */
static struct redrive_report *report_of(struct queue_topic *t)
{
    if (t->redrive_report == NULL)
        t->redrive_report = mem_new(sizeof *t->redrive_report);
    struct redrive_report *report = t->redrive_report;
    if (__atomic_load_n(&report->is_under_way, __ATOMIC_ACQUIRE))
        return NULL;
    if (report->err != ERR_OK && report->err != ERR_GONE &&
        memcmp(report->id, t->redrive_id, sizeof report->id) == 0)
        t->redriven += report->moved;
    int64_t began_ms = report->began_ms;
    *report = (struct redrive_report){.t = t, .began_ms = began_ms};
    memcpy(report->id, t->redrive_id, sizeof report->id);
    return report;
}

static void report_begin(struct queue_topic *t, struct redrive_report *report)
{
    int64_t now_ms = queue_now_ms(t->q);
    if (!report->is_news && (t->redriven == 0 || now_ms - report->began_ms < REPORT_MS))
        return;
    report->moved = t->redriven;
    t->redriven = 0;
    report->began_ms = now_ms;
    report->job = (struct queue_job){.run = run_report};
    report->is_under_way = true;
    topic_lend(t);
    enum err e = queue_run(t->q, &report->job);
    if (e != ERR_OK) {
        report->err = e;
        report->is_under_way = false;
        queue_topic_give_back(t);
    }
}

/* ---- a step ---- */

static void knows_end(struct redrive_report *report, uint32_t partition, uint64_t end)
{
    if (report == NULL)
        return; /* found again at the next step */
    report->knows_end[partition] = true;
    report->ends[partition] = end;
    report->is_news = true;
}

/* The redrive has come to this partition. */
static void look_at(struct queue_partition *p, struct redrive_report *report)
{
    struct partition_counters counters;
    if (report == NULL ||
        look_count(p, queue_topic_config(p->topic), GID_DEFAULT, &counters) != ERR_OK)
        return;
    lock_take(&p->lk);
    enum err e = partition_check_locked(p, 0);
    uint64_t end = partition_next_number(p->state);
    lock_give(&p->lk);
    if (e != ERR_OK)
        return;
    report->to_move += counters.visible;
    knows_end(report, p->index, end);
}

/* How many moves it has planned. */
static size_t step_at(struct queue_partition *p, const struct redrive_config *r, size_t max,
                      struct partition_grant *grant, struct redrive_report *report)
{
    bool runs = r->state == REDRIVE_RUNNING && p->topic->redrive_failure == REDRIVE_FINE;
    bool open = redrive_is_open(p), none = false;
    size_t n = 0;
    if (runs && r->ends[p->index] == ENDS_OPEN) {
        look_at(p, report);
        return 0;
    }
    if (runs && !open && max > 0)
        n = redrive_plan(p, r, max, grant, &none);
    if (n > 0 || open)
        move_drive(p);
    else if (none || !runs)
        knows_end(report, p->index, 0);
    return n;
}

static bool is_led_here(struct queue_partition *p)
{
    return !p->closed && __atomic_load_n(&p->ours, __ATOMIC_ACQUIRE);
}

/* Each leader takes its share of the rate. */
static void take_share(struct queue_topic *t, struct redrive_config *r)
{
    uint64_t led = 0;
    for (uint32_t i = 0; i < t->partitions_n; i++)
        led += is_led_here(&t->partitions[i]);
    if (r->per_second_max == 0)
        return;
    uint64_t share = r->per_second_max * led / t->partitions_n;
    r->per_second_max = share == 0 ? 1 : (uint32_t)share;
}

static void step_all(struct queue_topic *t, struct redrive_config *r, struct redrive_report *report)
{
    struct partition_grant grant;
    size_t n = 0, max = redrive_allowed(t, r);
    bool open = false;
    partition_grant_init(&grant);
    max = max < STEP_MESSAGES_MAX ? max : STEP_MESSAGES_MAX;
    for (uint32_t i = 0; i < t->partitions_n; i++) {
        struct queue_partition *p = &t->partitions[i];
        if (!is_led_here(p) || r->ends[i] == 0)
            continue;
        n += step_at(p, r, max - n, &grant, report);
        open = open || redrive_is_open(p);
    }
    partition_grant_fini(&grant);
    windows_bound(t->q);
    redrive_pay(t, r, n);
    if (n > 0)
        commit_ask(t->q);
    if (report != NULL && !open && t->redrive_failure != REDRIVE_FINE) {
        report->failure = t->redrive_failure;
        report->is_news = true;
    }
}

/* The redrive that is under way, as far as is known; false: there is none any more. */
static bool get_active(struct queue_topic *t, struct redrive_config *r)
{
    lock_take(&t->q->topics_lk);
    bool active = t->redrives->n > 0 && redrive_is_active(&t->redrives->at[0]);
    if (active)
        *r = t->redrives->at[0];
    else
        redrive_forget_locked(t);
    lock_give(&t->q->topics_lk);
    return active;
}

int64_t copy_redrive_step(struct queue_topic *t, bool *ended)
{
    struct redrive_config *r = mem_new(sizeof *r);
    *ended = !get_active(t, r);
    if (*ended || memcmp(t->redrive_id, r->id, sizeof r->id) != 0) {
        memcpy(t->redrive_id, r->id, sizeof r->id); /* zeros when it has ended */
        t->redriven = 0;
        t->redrive_failure = REDRIVE_FINE;
        t->redrive_paid_us = 0;
    }
    int64_t pause_ms = 0;
    if (!*ended) {
        struct redrive_report *report = report_of(t);
        take_share(t, r);
        step_all(t, r, report);
        pause_ms = redrive_pause_ms(r, false);
        if (report != NULL)
            report_begin(t, report);
    }
    mem_free(r);
    return queue_now_ms(t->q) + pause_ms;
}
