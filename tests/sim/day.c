// SPDX-License-Identifier: Apache-2.0
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/check.h"
#include "base/mem.h"
#include "sim/day.h"

enum {
    SECOND_MS = 1000,
    MINUTE_MS = 60 * SECOND_MS,
    HOUR_MS = 60 * MINUTE_MS,
    RETRY_MS = 20 * SECOND_MS,
    DRAIN_TICK_MS = 10 * SECOND_MS,
    DRAIN_HOURS_MAX = 14,
    HOLD_MARGIN_MINUTES = 5,
    REST_MS = 2 * MINUTE_MS, /* after which the cleaner is done */
    CONSUME_EACH = 4,        /* ticks */
    RECEIVES_MAX = 40,       /* of a consumer, a tick */
    RESTART_HOURS = 2,
    RESEND_ONE_IN = 30,
    PAUSE_ONE_IN = 8,
};

static const char *const kind_names[DAY_KINDS] = {
    "fifo",   "fifo-poison", "fifo-dead", "poison", "dead",
    "delays", "held",        "expiring",  "purged", "plain",
};

/* ---- lives ---- */

/* Dead letters come by themselves. */
static bool is_sent_to(enum day_kind kind)
{
    return kind != DAY_DEAD && kind != DAY_FIFO_DEAD;
}

static void told(struct queue_wait *w)
{
    CONTAINER_OF(w, struct day, wait)->told = true;
}

static void wait_begin(struct day *d)
{
    memset(&d->wait, 0, sizeof d->wait);
    d->wait.ready = told;
    d->told = false;
}

/* All that was done is durable, and those who wait for it are told. */
static void commit(struct day *d)
{
    bool waits = queue_wait_start(&d->wait);
    queue_commit_all(d->q);
    if (waits != d->told || d->wait.err != ERR_OK)
        day_die(d, "a commit was not told: %s", err_text(d->wait.err));
    mem_free(d->wait.more);
    wait_begin(d);
}

static void make_topic(struct day *d, uint32_t topic)
{
    struct day_topic *t = &d->topics[topic];
    struct topic_config c;
    topic_config_init(&c);
    snprintf(c.name, sizeof c.name, "%s", t->name);
    c.fifo = day_is_fifo(t->kind);
    c.partitions = t->kind == DAY_PLAIN ? 2 : 1;
    if (t->kind == DAY_EXPIRING)
        c.retention_ms = DAY_RETENTION_MS;
    else if (!is_sent_to(t->kind))
        c.retention_ms = TOPIC_RETENTION_MS_MAX;
    if (t->kind == DAY_POISON || t->kind == DAY_FIFO_POISON) {
        c.receives_max = DAY_RECEIVES_MAX;
        snprintf(c.dead_letter, sizeof c.dead_letter, "%s", d->topics[topic + 1].name);
    }
    enum err e = queue_topic_create(d->q, &c, &t->t);
    if (e != ERR_OK)
        day_die(d, "%s was not made: %s", t->name, err_text(e));
    topic_config_fini(&c);
}

static void start(struct day *d, bool first)
{
    d->queue.rng.state = rng_next(&d->rng);
    enum err e = queue_open(&d->queue, &d->q);
    if (e != ERR_OK)
        day_die(d, "the start failed: %s", err_text(e));
    /* The targets of dead letters follow those that name them. */
    for (uint32_t i = d->options.topics; i-- > 0;) {
        struct day_topic *t = &d->topics[i];
        if (first)
            make_topic(d, i);
        else if (queue_topic_find(d->q, bytes_of_text(t->name), &t->t) != ERR_OK)
            day_die(d, "%s is not there after a start", t->name);
    }
    wait_begin(d);
}

static void let_go(struct day *d)
{
    for (uint32_t i = 0; i < d->options.topics; i++)
        queue_topic_give_back(d->topics[i].t);
}

static void pass(struct day *d, int64_t ms)
{
    fake_clock_pass(&d->clock, ms);
}

/* The housekeeper works until then as it does in a broker: when it wants to, and what it appends
 * is committed soon. */
static void keep_house(struct day *d, int64_t ms)
{
    int64_t end_ms = d->clock.boot_ms + ms;
    for (;;) {
        int64_t next_ms = queue_housekeep(d->q) - queue_now_ms(d->q);
        queue_commit_all(d->q);
        int64_t left_ms = end_ms - d->clock.boot_ms;
        if (next_ms >= left_ms) {
            pass(d, left_ms);
            return;
        }
        pass(d, next_ms < 1 ? 1 : next_ms);
    }
}

/* ---- sending ---- */

static void send_batch(struct day *d, uint32_t topic, uint32_t first, uint32_t n, bool again)
{
    struct queue_message messages[QUEUE_BATCH_MAX];
    struct queue_sent sent[QUEUE_BATCH_MAX];
    enum err errs[QUEUE_BATCH_MAX];
    struct bytes bodies[QUEUE_BATCH_MAX];
    char groups[QUEUE_BATCH_MAX][8], ids[QUEUE_BATCH_MAX][16];
    struct day_topic *t = &d->topics[topic];
    memset(messages, 0, sizeof messages);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t serial = first + i;
        d->letters[serial].topic = (uint16_t)topic;
        bodies[i] = arena_copy(&d->arena, day_body(d, serial));
        messages[i].body = bodies[i];
        messages[i].delay_ms = (int64_t)day_fate(d, serial).delay_ms;
        if (!day_is_fifo(t->kind))
            continue;
        snprintf(groups[i], sizeof groups[i], "g%" PRIu32, day_group(serial));
        snprintf(ids[i], sizeof ids[i], "%" PRIu32, serial);
        messages[i].group_id = bytes_of_text(groups[i]);
        messages[i].dedup_id = bytes_of_text(ids[i]);
    }
    queue_send(t->t, messages, n, sent, errs, &d->wait);
    for (uint32_t i = 0; i < n; i++) {
        if (errs[i] != ERR_OK || sent[i].duplicate != again)
            day_die(d, "%s: sending %" PRIu32 ": %s%s", t->name, first + i, err_text(errs[i]),
                    sent[i].duplicate ? ", a duplicate" : "");
        d->duplicates += again;
        if (!again && !d->undone)
            letter_send(d, first + i, topic, (uint32_t)messages[i].delay_ms);
    }
    d->never += again || !d->undone ? 0 : n;
}

static void note_batch(struct day *d, struct day_topic *t, uint32_t first, uint32_t n)
{
    if (t->batches_n == t->batches_room) {
        t->batches_room = t->batches_room == 0 ? 64 : 2 * t->batches_room;
        t->batches = mem_resize(t->batches, t->batches_room * sizeof t->batches[0]);
    }
    t->batches[t->batches_n++] = (struct day_batch){day_now_ms(d), first, n};
}

/* To topics chosen at random, to some more often than to others, until so many were sent. */
static void send_until(struct day *d, uint32_t target)
{
    while (d->sent < target) {
        uint32_t topic = (uint32_t)rng_below(&d->rng, d->options.topics);
        uint32_t other = (uint32_t)rng_below(&d->rng, d->options.topics);
        if (rng_below(&d->rng, 3) == 0 && other < topic)
            topic = other;
        struct day_topic *t = &d->topics[topic];
        if (!is_sent_to(t->kind))
            continue;
        uint32_t left = target - d->sent, first = d->sent;
        uint32_t n = left < QUEUE_BATCH_MAX ? left : QUEUE_BATCH_MAX;
        d->sent += n;
        send_batch(d, topic, first, n, false);
        if (day_is_fifo(t->kind) && rng_below(&d->rng, RESEND_ONE_IN) == 0)
            send_batch(d, topic, first, n, true);
        if (t->kind == DAY_EXPIRING && !d->undone)
            note_batch(d, t, first, n);
        arena_fini(&d->arena);
        arena_init(&d->arena, d->arena_room, sizeof d->arena_room);
    }
}

/* ---- consuming ---- */

static void delete_now(struct day *d, uint32_t topic, uint32_t serial, const char *receipt)
{
    enum err e = queue_delete(d->topics[topic].t, bytes_of_text(receipt), false, &d->wait);
    if (e != ERR_OK)
        day_die(d, "%s: deleting %" PRIu32 ": %s", d->topics[topic].name, serial, err_text(e));
    letter_delete(d, serial);
}

/* Leased for hours: it is deleted some minutes before the lease would end, also when clients rest
 * meanwhile. */
static void hold(struct day *d, uint32_t topic, uint32_t serial, uint32_t ms, const char *receipt)
{
    enum err e = queue_extend(d->topics[topic].t, bytes_of_text(receipt), ms, false, &d->wait);
    if (e != ERR_OK)
        day_die(d, "%s: holding %" PRIu32 ": %s", d->topics[topic].name, serial, err_text(e));
    if (d->undone)
        return;
    uint32_t until_ms = day_now_ms(d) + ms, minute = until_ms / MINUTE_MS - HOLD_MARGIN_MINUTES;
    struct day_held *h = mem_new(sizeof *h);
    h->serial = serial;
    memcpy(h->receipt, receipt, strlen(receipt) + 1);
    CHECK(minute < DAY_MINUTES);
    h->next = d->held[minute];
    d->held[minute] = h;
    d->letters[serial].until_ms = until_ms;
    d->held_n++;
}

static void use(struct day *d, uint32_t topic, uint32_t serial, const char *receipt)
{
    const struct letter *l = &d->letters[serial];
    struct fate f = day_fate(d, serial);
    bool last = l->redriven || topic != l->topic;
    if (!last && (f.poison || l->count <= f.retries))
        return;
    if (!last && f.hold_ms > 0 && !d->draining)
        hold(d, topic, serial, f.hold_ms, receipt);
    else
        delete_now(d, topic, serial, receipt);
}

/* How many came. */
static size_t receive(struct day *d, uint32_t topic)
{
    struct queue_received got[QUEUE_BATCH_MAX];
    uint32_t serials[QUEUE_BATCH_MAX];
    struct queue_receive request = {
        .max = QUEUE_BATCH_MAX, .visibility_ms = RETRY_MS, .holder = BYTES_OF("day")};
    size_t n = 0;
    enum err e = queue_receive(d->topics[topic].t, &request, &d->arena, got, &n, &d->wait);
    if (e != ERR_OK)
        day_die(d, "%s: receiving: %s", d->topics[topic].name, err_text(e));
    for (size_t i = 0; i < n; i++)
        serials[i] = letter_take(d, topic, &got[i], RETRY_MS);
    for (size_t i = 0; i < n; i++)
        use(d, topic, serials[i], got[i].receipt);
    arena_fini(&d->arena);
    arena_init(&d->arena, d->arena_room, sizeof d->arena_room);
    return n;
}

/* Consumers of dead letters that are redriven, and of what expires, never come; others sometimes
 * pause for an hour, so that a backlog grows. */
static bool pauses(const struct day *d, uint32_t topic)
{
    enum day_kind kind = d->topics[topic].kind;
    if (kind == DAY_DEAD || kind == DAY_EXPIRING)
        return true;
    if (d->draining)
        return false;
    uint32_t hour = day_now_ms(d) / HOUR_MS;
    if (kind == DAY_PURGED)
        return hour % 2 == 0;
    struct rng r = {.state = d->options.seed * 1000 + (uint64_t)hour * d->options.topics + topic};
    rng_next(&r);
    return rng_below(&r, PAUSE_ONE_IN) == 0;
}

static void consume(struct day *d, uint32_t tick)
{
    for (uint32_t i = 0; i < d->options.topics; i++)
        if ((tick + i) % CONSUME_EACH == 0 && !pauses(d, i))
            for (int k = 0; k < RECEIVES_MAX && receive(d, i) > 0; k++)
                continue;
}

static void delete_held(struct day *d, uint32_t minute)
{
    for (uint32_t m = 0; m <= minute && m < DAY_MINUTES; m++)
        while (d->held[m] != NULL) {
            struct day_held *h = d->held[m];
            d->held[m] = h->next;
            delete_now(d, d->letters[h->serial].topic, h->serial, h->receipt);
            mem_free(h);
        }
}

/* ---- what happens now and then ---- */

static void redrive(struct day *d)
{
    for (uint32_t i = 0; i < d->options.topics; i++) {
        uint8_t id[16];
        if (d->topics[i].kind != DAY_DEAD)
            continue;
        enum err e = queue_redrive_start(d->topics[i].t, NULL, 0, id);
        if (e == ERR_OK)
            d->topics[i - 1].redriven_ms = day_now_ms(d);
        else if (e != ERR_EXISTS)
            day_die(d, "%s: redriving: %s", d->topics[i].name, err_text(e));
    }
}

static void purge(struct day *d)
{
    for (uint32_t i = 0; i < d->options.topics; i++)
        if (d->topics[i].kind == DAY_PURGED) {
            if (queue_purge(d->topics[i].t, &d->wait) != ERR_OK)
                day_die(d, "%s: it was not purged", d->topics[i].name);
            topic_purged(d, &d->topics[i]);
        }
    commit(d);
}

/* Some work is under way when the process is killed, and none of it happened. */
static void lose_some(struct day *d)
{
    d->undone = true;
    send_until(d, d->sent + 10 * QUEUE_BATCH_MAX);
    for (uint32_t i = 0; i < d->options.topics; i++)
        if (!pauses(d, i))
            receive(d, i);
    mem_free(d->wait.more);
    d->undone = false;
}

static void restart(struct day *d, bool killed)
{
    if (killed)
        lose_some(d);
    let_go(d);
    if (killed)
        queue_abandon(d->q);
    else
        queue_close(d->q);
    pass(d, SECOND_MS);
    start(d, false);
    d->restarts++;
}

static void on_the_hour(struct day *d, uint32_t hour)
{
    char when[24];
    keep_house(d, SECOND_MS);
    snprintf(when, sizeof when, "hour %" PRIu32, hour);
    day_check(d, when, false);
    if (hour % RESTART_HOURS == 0)
        restart(d, hour % (2 * RESTART_HOURS) != 0);
    if (hour % 3 == 0)
        purge(d);
}

/* ---- the day ---- */

static void tick(struct day *d, uint32_t n, int64_t tick_ms)
{
    uint32_t before_ms = day_now_ms(d);
    consume(d, n);
    delete_held(d, before_ms / MINUTE_MS);
    commit(d);
    keep_house(d, tick_ms);
    uint32_t now_ms = day_now_ms(d);
    if (now_ms / (HOUR_MS / 2) % 2 == 1 && before_ms / (HOUR_MS / 2) % 2 == 0)
        redrive(d);
}

static void live(struct day *d)
{
    const struct day_options *o = &d->options;
    uint32_t hour = 0, n = 0;
    while (hour < o->hours + 1) {
        uint64_t now_ms = day_now_ms(d), all_ms = (uint64_t)o->hours * HOUR_MS;
        /* A kill may have used up some serials ahead. */
        send_until(d, now_ms >= all_ms ? o->messages : (uint32_t)(o->messages * now_ms / all_ms));
        tick(d, n++, o->tick_ms);
        if (day_now_ms(d) / HOUR_MS > hour) {
            hour = day_now_ms(d) / HOUR_MS;
            on_the_hour(d, hour);
        }
    }
    keep_house(d, REST_MS);
    day_check(d, "the end", true);
}

/* Nothing new comes, and consumers never pause, until nothing is left. */
static void drain(struct day *d)
{
    d->draining = true;
    uint32_t end_ms = day_now_ms(d) + DRAIN_HOURS_MAX * HOUR_MS;
    for (uint32_t n = 0; day_alive(d) > 0; n++) {
        if (day_now_ms(d) > end_ms)
            day_die(d, "%" PRIu64 " messages are left for ever", day_alive(d));
        tick(d, n, DRAIN_TICK_MS);
        for (uint32_t i = 0; i < d->options.topics; i++)
            topic_expire(d, &d->topics[i]);
    }
    restart(d, true);
    keep_house(d, REST_MS);
    day_check(d, "after all", true);
}

static void init(struct day *d, const struct day_options *o)
{
    const char *place = getenv("DAY_FOLDER");
    memset(d, 0, sizeof *d);
    d->options = *o;
    d->rng.state = o->seed;
    fake_clock_init(&d->clock);
    d->begin_ms = d->clock.boot_ms;
    if (place == NULL)
        folder_make(d->folder);
    else
        snprintf(d->folder, sizeof d->folder, "%s/leaselog-day-%d", place, (int)getpid());
    snprintf(d->catalog_path, sizeof d->catalog_path, "%s/catalog.sqlite", d->folder);
    CHECK(disk_posix_open(d->folder, true, &d->disk) == ERR_OK);
    d->queue = (struct queue_options){
        .disk = &d->disk,
        .catalog_path = d->catalog_path,
        .clock = &d->clock.clock,
        .fresh_secret = "a secret of thirty-two bytes....",
        .segment_bytes = o->segment_bytes,
        .journal_bytes = 4 * o->segment_bytes,
        .snapshot_log_bytes = o->segment_bytes / 4,
        .cache_bytes = 8 * o->segment_bytes,
    };
    arena_init(&d->arena, d->arena_room, sizeof d->arena_room);
    uint32_t spare = (o->hours + DRAIN_HOURS_MAX) * 10 * QUEUE_BATCH_MAX;
    d->letters = mem_new_array(o->messages + spare, sizeof d->letters[0]);
    d->topics = mem_new_array(o->topics, sizeof d->topics[0]);
    for (uint32_t i = 0; i < o->topics; i++) {
        struct day_topic *t = &d->topics[i];
        t->kind = (enum day_kind)(i % DAY_KINDS);
        snprintf(t->name, sizeof t->name, "%s-%" PRIu32 "%s", kind_names[t->kind], i / DAY_KINDS,
                 day_is_fifo(t->kind) ? ".fifo" : "");
        memset(t->groups, 0xff, sizeof t->groups);
    }
}

static void fini(struct day *d)
{
    let_go(d);
    queue_close(d->q);
    for (uint32_t i = 0; i < d->options.topics; i++)
        mem_free(d->topics[i].batches);
    mem_free(d->topics);
    mem_free(d->letters);
    arena_fini(&d->arena);
    disk_posix_close(&d->disk);
    folder_remove(d->folder);
}

void day_run(const struct day_options *o, struct day_result *out)
{
    struct day *d = mem_new(sizeof *d);
    init(d, o);
    start(d, true);
    live(d);
    uint64_t end_bytes = day_files(d).logs;
    drain(d);
    if (d->sent - d->never != d->deleted + d->purged + d->expired)
        day_die(d, "%" PRIu32 " sent, %" PRIu64 " deleted, %" PRIu64 " purged, %" PRIu64 " expired",
                d->sent - d->never, d->deleted, d->purged, d->expired);
    *out = (struct day_result){
        .sent = d->sent - d->never,
        .deleted = d->deleted,
        .purged = d->purged,
        .expired = d->expired,
        .dead = d->dead,
        .redriven = d->redriven,
        .restarts = d->restarts,
        .log_bytes_peak = d->bytes_peak,
        .log_bytes_end = end_bytes,
    };
    fini(d);
    mem_free(d);
}
