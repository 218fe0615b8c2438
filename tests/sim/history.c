// SPDX-License-Identifier: Apache-2.0
#include "sim/history.h"

#include "base/mem.h"

void history_fini(struct history *h)
{
    mem_free(h->at);
    *h = (struct history){0};
}

void history_put(struct history *h, const struct event *e)
{
    if (h->n == h->room) {
        h->room = h->room == 0 ? 1024 : 2 * h->room;
        h->at = mem_resize(h->at, h->room * sizeof h->at[0]);
    }
    h->at[h->n++] = *e;
}

/* FNV-1a, a word at a time. */
static void mix(uint64_t *hash, uint64_t word)
{
    *hash = (*hash ^ word) * UINT64_C(0x100000001b3);
    *hash ^= *hash >> 29;
}

uint64_t history_hash(const struct history *h)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < h->n; i++) {
        const struct event *e = &h->at[i];
        const uint64_t words[] = {
            e->kind,
            e->err,
            e->op,
            e->topic,
            e->message,
            e->lease,
            e->receive_count,
            e->group,
            e->dedup,
            e->flag,
            e->moved,
            e->number,
            e->id,
            (uint64_t)e->now_ms,
            (uint64_t)e->until_ms,
            e->visible,
            e->in_flight,
            e->delayed,
            e->moving,
            e->policy.slot,
            e->policy.dead_slot,
            e->policy.receives_max,
            (uint64_t)e->policy.retention_ms,
        };
        for (size_t k = 0; k < sizeof words / sizeof words[0]; k++)
            mix(&hash, words[k]);
    }
    return hash;
}

static const char *const kind_names[EVENT_KINDS] = {
    "open",   "crash",  "time", "topic",  "gone",  "change", "found",
    "missed", "closed", "send", "take",   "empty", "delete", "extend",
    "give",   "purge",  "end",  "synced", "count", "strays", "final",
};

static bool has_message(enum event_kind kind)
{
    return kind == EVENT_SEND || kind == EVENT_TAKE || kind == EVENT_DELETE ||
           kind == EVENT_EXTEND || kind == EVENT_GIVE;
}

void history_print_event(const struct history *h, size_t i, FILE *out)
{
    const struct event *e = &h->at[i];
    fprintf(out, "%6zu %-7s at %lld op %u topic %d", i, kind_names[e->kind], (long long)e->now_ms,
            e->op, (int)e->topic);
    if (e->err != ERR_OK)
        fprintf(out, " (%s)", err_text(e->err));
    if (has_message(e->kind))
        fprintf(out, " message %u number %llu group %u dedup %u lease %u count %u until %lld",
                e->message, (unsigned long long)e->number, e->group, e->dedup, e->lease,
                e->receive_count, (long long)e->until_ms);
    if (e->kind == EVENT_TOPIC)
        fprintf(out, " slot %u dead letters to %d after %u, retention %lld%s", e->policy.slot,
                (int)e->policy.dead_slot, e->policy.receives_max, (long long)e->policy.retention_ms,
                e->policy.fifo ? ", fifo" : "");
    if (e->kind == EVENT_COUNT)
        fprintf(out, " visible %llu in flight %llu delayed %llu moving %llu",
                (unsigned long long)e->visible, (unsigned long long)e->in_flight,
                (unsigned long long)e->delayed, (unsigned long long)e->moving);
    if (e->kind == EVENT_CHANGE || e->kind == EVENT_FOUND)
        fprintf(out, " setting %lld", (long long)e->until_ms);
    if (e->kind == EVENT_STRAYS)
        fprintf(out, " %llu", (unsigned long long)e->visible);
    if (e->kind == EVENT_OPEN || e->kind == EVENT_TIME)
        fprintf(out, " expected %lld", (long long)e->until_ms);
    fprintf(out, "%s%s\n", e->flag ? " flag" : "", e->moved ? " moved" : "");
}

/* Whether the operation has an event about the message. */
static bool is_of(const struct history *h, uint32_t op, uint32_t message)
{
    for (size_t i = 0; i < h->n; i++)
        if (h->at[i].op == op && h->at[i].message == message && has_message(h->at[i].kind))
            return true;
    return false;
}

void history_print(const struct history *h, uint32_t message, size_t end, FILE *out)
{
    for (size_t i = 0; i <= end && i < h->n; i++) {
        const struct event *e = &h->at[i];
        bool wanted = e->kind == EVENT_OPEN || e->kind == EVENT_CRASH || e->kind == EVENT_TOPIC ||
                      e->kind == EVENT_GONE || e->kind == EVENT_PURGE || e->kind == EVENT_FOUND ||
                      e->kind == EVENT_MISSED || e->kind == EVENT_CHANGE ||
                      (has_message(e->kind) && e->message == message) ||
                      (e->kind == EVENT_END && is_of(h, e->op, message)) || i + 8 > end;
        if (wanted)
            history_print_event(h, i, out);
    }
}
