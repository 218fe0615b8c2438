// SPDX-License-Identifier: Apache-2.0
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "sim/day.h"

enum {
    BODY_BYTES_MIN = 40,
    BODY_BYTES_SPREAD = 520,
    SERIAL_DIGITS = 8,
    PATTERN_BYTES = 4096,
    /* A stored message costs its record (RECORDS.md: 41 bytes, on FIFO topics about 50 more for
     * ids and hashes) and, when nothing beside it is left, the header of its batch. */
    RECORD_BYTES = 41,
    RECORD_FIFO_BYTES = 50,
    BATCH_BYTES = 64,
    SECOND_MS = 1000,
    HOUR_MS = 3600 * 1000,
};

void day_die(const struct day *d, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "LEASELOG_SEED=%" PRIu64 ": at %.3f h: ", d->options.seed,
            day_now_ms(d) / (double)HOUR_MS);
    vfprintf(stderr, format, arguments);
    fprintf(stderr, "\n");
    va_end(arguments);
    abort();
}

uint32_t day_now_ms(const struct day *d)
{
    return (uint32_t)(d->clock.boot_ms - d->begin_ms);
}

/* Any number of draws for a serial, the same each time. */
static struct rng draws(const struct day *d, uint32_t serial)
{
    struct rng r = {.state = d->options.seed * 0x9e3779b97f4a7c15u + serial};
    rng_next(&r);
    return r;
}

static bool one_in(struct rng *r, uint64_t n)
{
    return rng_below(r, n) == 0;
}

bool day_is_fifo(enum day_kind kind)
{
    return kind == DAY_FIFO || kind == DAY_FIFO_POISON || kind == DAY_FIFO_DEAD;
}

struct fate day_fate(const struct day *d, uint32_t serial)
{
    struct rng r = draws(d, serial);
    struct fate f = {0};
    enum day_kind kind = d->topics[d->letters[serial].topic].kind;
    uint64_t often = kind == DAY_PLAIN ? 15 : 40;
    f.retries = one_in(&r, often) ? 1 + (uint8_t)rng_below(&r, 2) : 0;
    if (kind == DAY_FIFO_POISON || kind == DAY_POISON)
        f.poison = one_in(&r, 50);
    if (kind == DAY_HELD && one_in(&r, 100))
        f.hold_ms = HOUR_MS + (uint32_t)rng_below(&r, 7 * HOUR_MS);
    if (kind == DAY_FIFO && one_in(&r, 2000))
        f.hold_ms = HOUR_MS / 2 + (uint32_t)rng_below(&r, HOUR_MS);
    if (kind == DAY_DELAYS && one_in(&r, 5))
        f.delay_ms = SECOND_MS + (uint32_t)rng_below(&r, 60 * SECOND_MS);
    if (kind == DAY_DELAYS && one_in(&r, 100))
        f.delay_ms = HOUR_MS + (uint32_t)rng_below(&r, 5 * HOUR_MS);
    return f;
}

static size_t body_bytes(const struct day *d, uint32_t serial)
{
    struct rng r = draws(d, ~serial);
    return BODY_BYTES_MIN + rng_below(&r, BODY_BYTES_SPREAD);
}

struct bytes day_body(const struct day *d, uint32_t serial)
{
    static char pattern[PATTERN_BYTES], body[SERIAL_DIGITS + BODY_BYTES_MIN + BODY_BYTES_SPREAD];
    if (pattern[0] == 0) {
        struct rng r = {.state = 1};
        rng_fill(&r, pattern, sizeof pattern);
        pattern[0] = 1;
    }
    size_t n = body_bytes(d, serial);
    snprintf(body, sizeof body, "%08" PRIx32, serial);
    memcpy(body + SERIAL_DIGITS, pattern + serial % (PATTERN_BYTES / 2), n - SERIAL_DIGITS);
    return (struct bytes){body, n};
}

uint32_t day_group(uint32_t serial)
{
    return serial / 3 % DAY_GROUPS;
}

static uint64_t stored_bytes(const struct day *d, uint32_t serial)
{
    bool fifo = day_is_fifo(d->topics[d->letters[serial].topic].kind);
    return body_bytes(d, serial) + RECORD_BYTES + BATCH_BYTES + (fifo ? RECORD_FIFO_BYTES : 0);
}

/* ---- letters ---- */

void letter_send(struct day *d, uint32_t serial, uint32_t topic, uint32_t delay_ms)
{
    struct day_topic *t = &d->topics[topic];
    struct letter *l = &d->letters[serial];
    *l = (struct letter){
        .topic = (uint16_t)topic,
        .next = DAY_NONE,
        .until_ms = day_now_ms(d) + delay_ms,
        .alive = true,
    };
    t->alive++;
    t->alive_bytes += stored_bytes(d, serial);
    uint32_t group = day_group(serial);
    if (!day_is_fifo(t->kind))
        return;
    if (t->groups[group] == DAY_NONE)
        t->groups[group] = serial;
    else
        d->letters[t->groups_last[group]].next = serial;
    t->groups_last[group] = serial;
}

static void ungroup(struct day *d, uint32_t serial)
{
    struct day_topic *t = &d->topics[d->letters[serial].topic];
    uint32_t group = day_group(serial), before = DAY_NONE, at = t->groups[group];
    for (; at != serial; at = d->letters[at].next)
        before = at;
    if (before == DAY_NONE)
        t->groups[group] = d->letters[serial].next;
    else
        d->letters[before].next = d->letters[serial].next;
    if (t->groups_last[group] == serial)
        t->groups_last[group] = before;
}

/* Not alive any more, one way or the other. */
static void end(struct day *d, uint32_t serial)
{
    struct letter *l = &d->letters[serial];
    struct day_topic *t = &d->topics[l->topic];
    if (!l->alive || t->alive == 0)
        day_die(d, "message %" PRIu32 " ends twice", serial);
    if (day_is_fifo(t->kind))
        ungroup(d, serial);
    l->alive = false;
    t->alive--;
    t->alive_bytes -= stored_bytes(d, serial);
}

void letter_delete(struct day *d, uint32_t serial)
{
    if (d->undone)
        return;
    end(d, serial);
    d->deleted++;
}

static bool feeds(enum day_kind kind)
{
    return kind == DAY_POISON || kind == DAY_FIFO_POISON;
}

static bool is_dead(const struct day *d, const struct letter *l)
{
    return feeds(d->topics[l->topic].kind) && l->count >= DAY_RECEIVES_MAX &&
           l->until_ms <= day_now_ms(d);
}

/* All before it in its group are dead letters, or were received with it, just now. */
static void check_order(const struct day *d, uint32_t serial, int64_t visibility_ms)
{
    const struct day_topic *t = &d->topics[d->letters[serial].topic];
    for (uint32_t at = t->groups[day_group(serial)]; at != serial; at = d->letters[at].next) {
        const struct letter *l = &d->letters[at];
        bool with_it = l->until_ms == day_now_ms(d) + visibility_ms && l->count > 0;
        if (!with_it && !is_dead(d, l))
            day_die(d, "%s: message %" PRIu32 " came before %" PRIu32 " of its group", t->name,
                    serial, at);
    }
}

/* How often it says it was received, and whether it may be there at all. */
static uint32_t place(struct day *d, struct letter *l, uint32_t at, const struct queue_received *r)
{
    struct day_topic *t = &d->topics[l->topic];
    if (at == l->topic) {
        if (is_dead(d, l) && t->kind == DAY_POISON && l->until_ms <= t->redriven_ms) {
            if (!d->undone) {
                l->redriven = true;
                l->count = 0;
                d->redriven++;
            }
            return 1;
        }
        return is_dead(d, l) ? 0 : l->count + 1u;
    }
    if (!feeds(t->kind) || at != l->topic + 1u || !is_dead(d, l))
        return 0;
    d->dead += r->origin.n > 0 && !d->undone;
    return l->count + 1u;
}

uint32_t letter_take(struct day *d, uint32_t at, const struct queue_received *r,
                     int64_t visibility_ms)
{
    const char *name = d->topics[at].name;
    char digits[SERIAL_DIGITS + 1] = {0};
    memcpy(digits, r->body.at, r->body.n < SERIAL_DIGITS ? r->body.n : SERIAL_DIGITS);
    uint32_t serial = (uint32_t)strtoul(digits, NULL, 16);
    struct bytes body = serial < d->sent ? day_body(d, serial) : BYTES_NONE;
    if (body.n != r->body.n || memcmp(body.at, r->body.at, body.n) != 0)
        day_die(d, "%s: a message that nobody sent", name);
    struct letter *l = &d->letters[serial];
    if (!l->alive || serial < d->topics[l->topic].purged_below)
        day_die(d, "%s: message %" PRIu32 " came back after its end", name, serial);
    if (l->until_ms > day_now_ms(d))
        day_die(d, "%s: message %" PRIu32 " came %" PRIu32 " ms early", name, serial,
                l->until_ms - day_now_ms(d));
    uint32_t count = place(d, l, at, r);
    if (r->receive_count != count)
        day_die(d, "%s: message %" PRIu32 " of %s came for the %u. time, not the %u.", name, serial,
                d->topics[l->topic].name, (unsigned)r->receive_count, (unsigned)count);
    if (day_is_fifo(d->topics[at].kind) && at == l->topic && !d->undone)
        check_order(d, serial, visibility_ms);
    if (!d->undone) {
        l->count++;
        l->until_ms = day_now_ms(d) + (uint32_t)visibility_ms;
    }
    return serial;
}

/* ---- topics ---- */

void topic_purged(struct day *d, struct day_topic *t)
{
    d->purged += t->alive;
    t->alive = t->alive_bytes = 0;
    t->purged_below = d->sent;
}

void topic_expire(struct day *d, struct day_topic *t)
{
    for (; t->expired_n < t->batches_n; t->expired_n++) {
        const struct day_batch *b = &t->batches[t->expired_n];
        if (b->sent_ms + DAY_RETENTION_MS > day_now_ms(d))
            return;
        for (uint32_t i = 0; i < b->n; i++)
            end(d, b->first + i);
        d->expired += b->n;
    }
}

uint64_t day_alive(const struct day *d)
{
    uint64_t n = 0;
    for (uint32_t i = 0; i < d->options.topics; i++)
        n += d->topics[i].alive;
    return n;
}

uint64_t day_alive_bytes(const struct day *d)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < d->options.topics; i++)
        bytes += d->topics[i].alive_bytes;
    return bytes;
}
