// SPDX-License-Identifier: Apache-2.0
#include "sim/checker.h"

#include <stdarg.h>

#include "base/check.h"
#include "sim/beliefs.h"

enum { DEDUP_MS = 5 * 60 * 1000 }; /* SQS: from the first accepted send */

struct checker {
    const struct history *h;
    size_t i;
    bool damaged;
    struct beliefs b;
    struct verdict *out;
};

/* Only the first thing that is wrong is kept: what follows from it would be told as well. */
static void wrong(struct checker *c, enum rule rule, uint32_t message, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
static void wrong(struct checker *c, enum rule rule, uint32_t message, const char *format, ...)
{
    if (c->out->rule != RULE_NONE || (c->damaged && rule != RULE_PHANTOM && rule != RULE_REFUSED))
        return;
    *c->out = (struct verdict){.rule = rule, .event = c->i, .message = message};
    va_list list;
    va_start(list, format);
    vsnprintf(c->out->text, sizeof c->out->text, format, list);
    va_end(list);
}

/* ---- sending ---- */

/* A send whose deduplication id e's send has as well, and may still be held against it. */
static bool is_same_id(struct checker *c, const struct event *e, const struct message *m)
{
    const struct event *s = &m->sent;
    return m->accepted && s->topic == e->topic && s->dedup == e->dedup &&
           (!beliefs_topic(&c->b, e->topic)->policy.dedup_per_group || s->group == e->group) &&
           e->now_ms < s->now_ms + DEDUP_MS;
}

/* A send was accepted or not, by which we learn whether an earlier one under its id is known. */
static void learn_dedup(struct checker *c, const struct event *e)
{
    bool found = false;
    for (uint32_t i = 0; i < e->message; i++) {
        struct message *m = &c->b.messages[i];
        if (!is_same_id(c, e, m))
            continue;
        bool is_first = e->flag && m->sent.id == e->id && m->sent.number == e->number;
        if (is_first && (m->known & MAYBE_YES) == 0)
            wrong(c, RULE_DEDUP, i, "message %u is a duplicate of one that is forgotten",
                  e->message);
        if (!is_first && m->known == MAYBE_YES)
            wrong(c, RULE_DEDUP, i, "message %u was accepted under the same id", e->message);
        found = found || is_first;
        if (is_first)
            m->duplicate_op = e->op;
        if (m->known != MAYBE_BOTH)
            continue;
        m->known = m->known_all = is_first ? MAYBE_YES : MAYBE_NO;
        struct copy *home = beliefs_copy(&c->b, i, e->topic);
        if (!is_first || !m->finish_tried)
            copy_see(home, is_first ? MAYBE_YES : MAYBE_NO);
    }
    if (e->flag && !found)
        wrong(c, RULE_DEDUP, e->message, "a duplicate of none");
}

static void on_send(struct checker *c, const struct event *e)
{
    struct message *m = beliefs_message(&c->b, e->message);
    m->sent = *e;
    m->life = c->b.life;
    if (e->err != ERR_OK)
        return;
    if (beliefs_topic(&c->b, e->topic)->maybe_gone)
        wrong(c, RULE_TOPIC, e->message, "was accepted, and its topic is perhaps deleted");
    if (e->dedup != 0)
        learn_dedup(c, e);
    if (e->flag)
        return;
    m->accepted = true;
    m->known = MAYBE_YES;
    m->known_all = MAYBE_BOTH;
    m->last_op = e->op;
    struct copy *home = beliefs_copy_add(&c->b, e->message, e->topic);
    copy_decide(home, MAYBE_YES, e->op);
    home->low_ms = home->high_ms = home->low_all_ms = home->high_all_ms = e->until_ms;
    home->expires_ms = e->now_ms + beliefs_topic(&c->b, e->topic)->policy.retention_ms;
}

/* ---- receiving ---- */

/* The message comes as a dead letter: from which topic? */
static struct copy *arrive(struct checker *c, const struct event *e)
{
    uint32_t slot = beliefs_topic(&c->b, e->topic)->policy.slot;
    struct message *m = &c->b.messages[e->message];
    uint32_t from = m->copies;
    while (from != HISTORY_NONE && c->b.topics[c->b.copies[from].topic].policy.dead_slot != slot)
        from = c->b.copies[from].next;
    if (from == HISTORY_NONE || !e->moved) {
        wrong(c, RULE_PHANTOM, e->message, "was never sent to this topic");
        return NULL;
    }
    struct copy *to = beliefs_copy_add(&c->b, e->message, e->topic), *source = &c->b.copies[from];
    if (!copy_may_move(&c->b, source))
        wrong(c, RULE_DEAD_LETTER, e->message, "moved before its receives were used up");
    if ((source->there & MAYBE_YES) == 0 && source->left_to != HISTORY_NONE)
        wrong(c, RULE_DEAD_LETTER, e->message, "moved twice");
    if (source->low_ms > c->b.now_max_ms)
        wrong(c, RULE_DEAD_LETTER, e->message, "moved while leased until %lld",
              (long long)source->low_ms);
    to->arrived = true;
    to->count_before = to->count_low = to->count_durable = source->count_low;
    to->count_high = source->count_high;
    to->expires_ms = source->expires_ms;
    struct policy *p = &beliefs_topic(&c->b, e->topic)->policy;
    if (p->fifo) /* retention counts from the move */
        to->expires_ms = source->low_ms + p->retention_ms;
    else
        to->expires_ms += p->retention_ms - c->b.topics[source->topic].policy.retention_ms;
    source->left_to = e->topic;
    copy_see(source, MAYBE_NO);
    copy_see(to, MAYBE_YES);
    return to;
}

/* FIFO: all earlier ones of the group are gone, or came with this very receive. */
static void check_order(struct checker *c, const struct event *e)
{
    const struct message *m = &c->b.messages[e->message];
    for (uint32_t i = 0; i < e->message; i++) {
        const struct message *earlier = &c->b.messages[i];
        if (earlier->sent.group != m->sent.group || earlier->sent.topic != e->topic)
            continue;
        const struct copy *copy = beliefs_copy(&c->b, i, e->topic);
        if (copy != NULL && copy_is_sure(&c->b, copy) && copy->last_take != e->op)
            wrong(c, RULE_ORDER, e->message, "message %u of its group is before it", i);
    }
}

static void check_take(struct checker *c, const struct event *e, const struct copy *copy)
{
    const struct message *m = &c->b.messages[e->message];
    if ((copy->there & MAYBE_YES) == 0 && copy->left_to != HISTORY_NONE)
        wrong(c, RULE_DEAD_LETTER, e->message, "is here and in topic %u", copy->left_to);
    else if ((copy->there & MAYBE_YES) == 0)
        wrong(c, RULE_DELETED, e->message, "came back");
    if (copy->last_take == e->op)
        wrong(c, RULE_LEASE, e->message, "came twice in one answer");
    if (copy->low_ms > e->now_ms)
        wrong(c, RULE_LEASE, e->message, "%s until %lld", copy->taken ? "is leased" : "is delayed",
              (long long)copy->low_ms);
    if (e->receive_count < copy->count_low + 1 || e->receive_count > copy->count_high + 1)
        wrong(c, RULE_COUNT, e->message, "receive count %u, after %u to %u", e->receive_count,
              copy->count_low, copy->count_high);
    if (!copy->arrived && (e->number != m->sent.number || e->moved))
        wrong(c, RULE_PHANTOM, e->message, "was number %llu", (unsigned long long)m->sent.number);
    if (!copy->arrived && e->now_ms >= copy->expires_ms)
        wrong(c, RULE_EXPIRED, e->message, "expired at %lld", (long long)copy->expires_ms);
    if (!m->durable && m->life == c->b.life)
        wrong(c, RULE_COMMITTED, e->message, "is not durable yet");
    if (beliefs_topic(&c->b, e->topic)->policy.fifo && !copy->arrived)
        check_order(c, e);
}

static void on_take(struct checker *c, const struct event *e)
{
    struct message *m = e->message < c->b.messages_n ? &c->b.messages[e->message] : NULL;
    if (m == NULL || !e->flag || m->sent.id != e->id) {
        wrong(c, m != NULL && !m->accepted ? RULE_REFUSED : RULE_PHANTOM, e->message,
              m == NULL ? "was never sent" : "is not what was sent");
        return;
    }
    if (!m->accepted) {
        wrong(c, RULE_REFUSED, e->message, "was refused, or is a duplicate");
        return;
    }
    struct copy *copy = beliefs_copy(&c->b, e->message, e->topic);
    if (copy == NULL)
        copy = arrive(c, e);
    if (copy == NULL)
        return;
    check_take(c, e, copy);
    copy_see(copy, MAYBE_YES);
    if (m->known == MAYBE_BOTH && !m->finish_tried)
        m->known = m->known_all = MAYBE_YES;
    /* A standard receive is answered at once. */
    copy_lease(copy, e->until_ms, e->op, beliefs_topic(&c->b, e->topic)->policy.fifo);
    copy->count_low = copy->count_high = e->receive_count;
    copy->last_take = e->op;
    copy->last_take_life = c->b.life;
}

/* An earlier message of its group, or its own state, keeps it from being received. */
static bool is_blocked(struct checker *c, const struct copy *copy)
{
    if (!beliefs_topic(&c->b, copy->topic)->policy.fifo)
        return false;
    const struct message *m = &c->b.messages[copy->message];
    for (size_t i = 0; i < c->b.copies_n; i++) {
        const struct copy *other = &c->b.copies[i];
        if (other != copy && other->topic == copy->topic && (other->there & MAYBE_YES) != 0 &&
            c->b.messages[other->message].sent.group == m->sent.group)
            return true;
    }
    return false;
}

static void on_empty(struct checker *c, const struct event *e)
{
    for (size_t i = 0; i < c->b.copies_n; i++) {
        const struct copy *copy = &c->b.copies[i];
        if (copy->topic == e->topic && copy_is_sure(&c->b, copy) && copy->there_all == MAYBE_YES &&
            copy->high_ms <= e->now_ms && !is_blocked(c, copy))
            wrong(c, RULE_STARVED, copy->message, "could have been received");
    }
}

/* ---- receipts ---- */

static bool is_current(const struct copy *copy, const struct event *e)
{
    return copy->last_take == e->lease && copy->low_ms > e->now_ms;
}

/* What the verb answered fits what the receipt may do. */
static void check_receipt(struct checker *c, const struct event *e, const struct copy *copy)
{
    bool fifo = beliefs_topic(&c->b, e->topic)->policy.fifo;
    if (e->err == ERR_OK) {
        if ((copy->there & MAYBE_YES) == 0 && copy->left_to == HISTORY_NONE)
            wrong(c, RULE_DELETED, e->message, "a receipt found it again");
        if (fifo && copy->last_take != e->lease && copy->last_take_life == c->b.life)
            wrong(c, RULE_RECEIPT, e->message, "a receipt that is not the newest did something");
        if (fifo && e->now_ms >= copy->high_ms)
            wrong(c, RULE_RECEIPT, e->message, "a receipt did something after its lease");
        return;
    }
    if (e->err == ERR_GONE && copy_is_sure(&c->b, copy))
        wrong(c, RULE_LOST, e->message, "a receipt did not find it");
    if (e->err != ERR_GONE && copy_is_sure(&c->b, copy) && (!fifo || is_current(copy, e)))
        wrong(c, RULE_RECEIPT, e->message, "a good receipt was refused: %s", err_text(e->err));
}

static void on_receipt(struct checker *c, const struct event *e)
{
    struct copy *copy = beliefs_copy(&c->b, e->message, e->topic);
    if (copy == NULL || e->err == ERR_FAILED || e->err == ERR_BUSY || e->err == ERR_IO)
        return;
    check_receipt(c, e, copy);
    if (e->err == ERR_GONE && copy->there == MAYBE_BOTH && !copy_may_move(&c->b, copy))
        copy_see(copy, MAYBE_NO);
    if (e->err != ERR_OK)
        return;
    if (copy->left_to == HISTORY_NONE)
        copy_see(copy, MAYBE_YES);
    if (e->kind == EVENT_DELETE) {
        c->b.messages[e->message].finish_tried = true;
        copy_decide(copy, MAYBE_NO, e->op);
    } else {
        copy_lease(copy, e->until_ms, e->op, true);
    }
}

/* Back at once if the lease is the newest and not over; else nothing. */
static void on_give(struct checker *c, const struct event *e)
{
    struct copy *copy = beliefs_copy(&c->b, e->message, e->topic);
    if (copy == NULL || copy->there == MAYBE_NO)
        return;
    /* A crash may have lost the newest leases, so that an older one is the newest again, or none.
     */
    bool is_known = copy->last_take_life == c->b.life;
    if (is_known && copy->last_take != e->lease)
        return;
    if (is_known && is_current(copy, e))
        copy_lease(copy, e->now_ms, e->op, false);
    else if (copy->low_ms > e->now_ms)
        copy_may_end(copy, e->now_ms);
}

/* ---- whole topics ---- */

static void on_purge(struct checker *c, const struct event *e)
{
    uint8_t left = e->err == ERR_OK ? MAYBE_NO : MAYBE_BOTH;
    beliefs_topic(&c->b, e->topic)->swept = true;
    for (size_t i = 0; i < c->b.copies_n; i++)
        if (c->b.copies[i].topic == e->topic && c->b.copies[i].there != MAYBE_NO) {
            copy_decide(&c->b.copies[i], left, e->op);
            c->b.copies[i].answer_binds = e->err == ERR_OK;
        }
    for (size_t i = 0; i < c->b.messages_n; i++) {
        struct message *m = &c->b.messages[i];
        if (m->sent.topic != e->topic || m->known == MAYBE_NO)
            continue;
        m->known = left;
        m->known_all |= left;
        m->last_op = e->err == ERR_OK ? e->op : HISTORY_NONE;
        m->finish_tried = true;
    }
}

/* Dead letters that were on their way there, or are not closed yet, may go on in their topics. */
static void on_gone(struct checker *c, const struct event *e)
{
    struct incarnation *t = beliefs_topic(&c->b, e->topic);
    t->swept = true;
    t->gone = e->err == ERR_OK;
    t->maybe_gone = !t->gone;
    for (size_t i = 0; i < c->b.copies_n; i++) {
        struct copy *copy = &c->b.copies[i];
        if (copy->topic == e->topic && copy->there != MAYBE_NO)
            copy_see(copy, t->gone ? MAYBE_NO : MAYBE_BOTH);
        if (copy->left_to == e->topic)
            copy_see(copy, MAYBE_BOTH);
    }
}

static void on_topic(struct checker *c, const struct event *e)
{
    struct incarnation *t = beliefs_topic(&c->b, e->topic);
    t->policy = e->policy;
    for (size_t i = 0; i < c->b.topics_n; i++) {
        struct incarnation *other = &c->b.topics[i];
        bool feeds = other->policy.dead_slot == t->policy.slot && other != t;
        t->feeds = t->feeds || feeds || t->policy.dead_slot != HISTORY_NONE;
        other->feeds = other->feeds || t->policy.dead_slot == other->policy.slot;
    }
}

static void on_change(struct checker *c, const struct event *e)
{
    struct incarnation *t = beliefs_topic(&c->b, e->topic);
    t->setting_tried = e->until_ms;
    if (e->err == ERR_OK)
        t->setting = e->until_ms;
}

static void on_found(struct checker *c, const struct event *e)
{
    struct incarnation *t = beliefs_topic(&c->b, e->topic);
    if (t->gone)
        wrong(c, RULE_TOPIC, HISTORY_NONE, "topic %u came back", e->topic);
    if (e->until_ms != t->setting && e->until_ms != t->setting_tried)
        wrong(c, RULE_TOPIC, HISTORY_NONE, "topic %u has setting %lld, not %lld or %lld", e->topic,
              (long long)e->until_ms, (long long)t->setting, (long long)t->setting_tried);
    t->maybe_gone = false;
    t->setting = t->setting_tried = e->until_ms;
}

static void on_missed(struct checker *c, const struct event *e)
{
    struct incarnation *t = beliefs_topic(&c->b, e->topic);
    if (!t->maybe_gone)
        wrong(c, RULE_TOPIC, HISTORY_NONE, "topic %u is missing", e->topic);
    struct event gone = *e;
    gone.err = ERR_OK;
    on_gone(c, &gone);
}

/* At rest. Topics that have to do with dead letters are counted at the end only, since nobody sees
 * a move. */
static void on_count(struct checker *c, const struct event *e)
{
    uint64_t low = 0, high = 0, leased_low = 0, leased_high = 0, delayed_low = 0, delayed_high = 0;
    if (beliefs_topic(&c->b, e->topic)->feeds)
        return;
    for (size_t i = 0; i < c->b.copies_n; i++) {
        const struct copy *copy = &c->b.copies[i];
        if (copy->topic != e->topic || (copy->there & MAYBE_YES) == 0)
            continue;
        bool sure = copy_is_sure(&c->b, copy);
        bool leased = copy->taken && copy->last_take_life == c->b.life;
        high++;
        low += sure;
        leased_high += copy->taken && copy->high_ms > e->now_ms;
        leased_low += sure && leased && copy->low_ms > e->now_ms;
        delayed_high += !leased && copy->high_ms > e->now_ms;
        delayed_low += sure && !copy->taken && copy->low_ms > e->now_ms;
    }
    uint64_t total = e->visible + e->in_flight + e->delayed + e->moving;
    if (total < low || total > high)
        wrong(c, RULE_COUNTERS, HISTORY_NONE, "%llu messages, not %llu to %llu",
              (unsigned long long)total, (unsigned long long)low, (unsigned long long)high);
    if (e->in_flight < leased_low || e->in_flight > leased_high)
        wrong(c, RULE_COUNTERS, HISTORY_NONE, "%llu in flight, not %llu to %llu",
              (unsigned long long)e->in_flight, (unsigned long long)leased_low,
              (unsigned long long)leased_high);
    if (e->delayed < delayed_low || e->delayed > delayed_high)
        wrong(c, RULE_COUNTERS, HISTORY_NONE, "%llu delayed, not %llu to %llu",
              (unsigned long long)e->delayed, (unsigned long long)delayed_low,
              (unsigned long long)delayed_high);
}

/* The copy may have gone to its dead-letter topic, and vanished there before anybody saw it. */
static bool may_have_vanished(struct checker *c, const struct copy *copy)
{
    const struct policy *p = &c->b.topics[copy->topic].policy;
    if (!copy_may_move(&c->b, copy))
        return false;
    for (size_t i = 0; i < c->b.topics_n; i++) {
        const struct incarnation *t = &c->b.topics[i];
        int64_t accepted_ms = p->fifo ? copy->low_ms : copy->expires_ms - p->retention_ms;
        if (t->policy.slot == p->dead_slot &&
            (t->swept || c->b.now_max_ms >= accepted_ms + t->policy.retention_ms))
            return true;
    }
    return false;
}

static void on_final(struct checker *c, const struct event *e)
{
    if (e->flag)
        wrong(c, RULE_STARVED, HISTORY_NONE, "the drain does not end");
    for (size_t i = 0; i < c->b.copies_n; i++) {
        const struct copy *copy = &c->b.copies[i];
        if (copy->there != MAYBE_YES || c->b.now_max_ms >= copy->expires_ms)
            continue;
        if (may_have_vanished(c, copy))
            continue;
        wrong(c, RULE_LOST, copy->message, "is not in topic %u any more", copy->topic);
    }
}

/* ---- lives ---- */

static void on_open(struct checker *c, const struct event *e)
{
    if (e->err != ERR_OK)
        wrong(c, RULE_START, HISTORY_NONE, "the start failed: %s", err_text(e->err));
    if (e->flag ? e->now_ms != e->until_ms : e->now_ms < e->until_ms)
        wrong(c, RULE_TIME, HISTORY_NONE, "it is %lld, not %lld", (long long)e->now_ms,
              (long long)e->until_ms);
    c->b.life++;
    for (size_t i = 0; i < c->b.messages_n; i++)
        c->b.messages[i].durable = true; /* what is there now was read from the disk */
}

static void take(struct checker *c, const struct event *e)
{
    switch (e->kind) {
    case EVENT_OPEN:
        on_open(c, e);
        return;
    case EVENT_CRASH:
        beliefs_crashed(&c->b);
        return;
    case EVENT_TIME:
        if (e->now_ms != e->until_ms)
            wrong(c, RULE_TIME, HISTORY_NONE, "it is %lld, not %lld", (long long)e->now_ms,
                  (long long)e->until_ms);
        return;
    case EVENT_TOPIC:
        on_topic(c, e);
        return;
    case EVENT_GONE:
        on_gone(c, e);
        return;
    case EVENT_CHANGE:
        on_change(c, e);
        return;
    case EVENT_FOUND:
        on_found(c, e);
        return;
    case EVENT_MISSED:
        on_missed(c, e);
        return;
    case EVENT_CLOSED:
        wrong(c, RULE_START, HISTORY_NONE, "topic %u is closed", e->topic);
        return;
    case EVENT_STRAYS:
        if (e->visible > 0)
            wrong(c, RULE_STRAYS, HISTORY_NONE, "%llu things", (unsigned long long)e->visible);
        return;
    case EVENT_SEND:
        on_send(c, e);
        return;
    case EVENT_TAKE:
        on_take(c, e);
        return;
    case EVENT_EMPTY:
        on_empty(c, e);
        return;
    case EVENT_DELETE:
    case EVENT_EXTEND:
        on_receipt(c, e);
        return;
    case EVENT_GIVE:
        on_give(c, e);
        return;
    case EVENT_PURGE:
        on_purge(c, e);
        return;
    case EVENT_END:
        if (e->err == ERR_OK)
            beliefs_answered(&c->b, e->op);
        return;
    case EVENT_SYNCED:
        beliefs_synced(&c->b);
        return;
    case EVENT_COUNT:
        on_count(c, e);
        return;
    case EVENT_FINAL:
        on_final(c, e);
        return;
    case EVENT_KINDS:
        break;
    }
    UNREACHABLE();
}

void checker_run(const struct history *h, bool damaged, struct verdict *out)
{
    struct checker c = {.h = h, .damaged = damaged, .out = out};
    *out = (struct verdict){.message = HISTORY_NONE};
    c.b.now_max_ms = INT64_MIN;
    for (c.i = 0; c.i < h->n && out->rule == RULE_NONE; c.i++) {
        const struct event *e = &h->at[c.i];
        if (e->now_ms > c.b.now_max_ms)
            c.b.now_max_ms = e->now_ms;
        take(&c, e);
    }
    beliefs_fini(&c.b);
}

const char *checker_rule_name(enum rule rule)
{
    static const char *const names[RULES] = {
        "none",        "lost",  "deleted", "phantom", "lease",     "order",   "refused",
        "dead letter", "dedup", "count",   "starved", "committed", "expired", "receipt",
        "counters",    "time",  "start",   "topic",   "strays",
    };
    return names[rule];
}
