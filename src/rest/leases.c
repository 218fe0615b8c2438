// SPDX-License-Identifier: Apache-2.0
/* Leases: list, extend, finish; one at a time or up to 100. Receipts are strict here: only the
 * current lease of an unfinished message counts, since a client that is told 410 can stop its work,
 * where SQS would let it go on in vain. */
#include <inttypes.h>
#include <stdio.h>

#include "base/check.h"
#include "rest/body.h"
#include "rest/lease.h"
#include "rest/put.h"

enum { CHANGES_MAX = 100, LEASES_MAX = 1000, VISIBILITY_S_MAX = 43200, RECEIPT_SHOWN_MAX = 1024 };

/* ---- the list ---- */

struct lease_cursor {
    uint32_t partition;
    uint64_t number;
};

static bool cursor_read(struct rest_call *c, struct lease_cursor *out)
{
    struct bytes text = rest_query_get(&c->query, "cursor")->text;
    int64_t partition, number;
    const char *dash = text.n == 0 ? NULL : memchr(text.at, '-', text.n);
    *out = (struct lease_cursor){0, 0};
    if (text.n == 0)
        return true;
    size_t n = dash == NULL ? 0 : (size_t)(dash - (const char *)text.at);
    if (dash == NULL || !rest_number_read((struct bytes){text.at, n}, &partition) ||
        !rest_number_read((struct bytes){dash + 1, text.n - n - 1}, &number) ||
        partition >= TOPIC_PARTITIONS_MAX)
        return rest_fault_at(&c->fault, REST_PROBLEM_INVALID_PARAMETER, "parameter", "cursor",
                             "cursor must be the next_cursor of an answer");
    *out = (struct lease_cursor){(uint32_t)partition, (uint64_t)number};
    return true;
}

static void put_lease(struct json_writer *w, const struct queue_lease_info *l, int64_t now_ms)
{
    json_begin_object(w);
    json_put_key(w, "partition");
    json_put_int64(w, l->partition);
    json_put_key(w, "number");
    json_put_uint64(w, l->number);
    json_put_key(w, "holder");
    json_put_text(w, l->holder);
    rest_put_time(w, "lease_until", now_ms + l->left_ms);
    rest_put_seconds(w, "left_seconds", l->left_ms);
    rest_put_time(w, "leased_at", now_ms - l->leased_ms);
    json_put_key(w, "receive_count");
    json_put_int64(w, l->receive_count);
    json_end_object(w);
}

/* One more than is shown is read, so that the cursor is there only when something follows. A list
 * of one holder is gathered in several reads, bounded by the leases that there may be. */
void rest_do_list_leases(struct rest_call *c)
{
    struct lease_cursor from;
    if (!cursor_read(c, &from)) {
        rest_reply_fault(c);
        return;
    }
    struct queue_lease_info *held = arena_get(c->arena, (LEASES_MAX + 1) * sizeof *held);
    struct bytes holder = rest_query_get(&c->query, "holder")->text;
    size_t limit = (size_t)rest_query_get(&c->query, "limit")->number, shown = 0, n;
    int64_t now_ms = clock_wall_ms(c->front->clock);
    char next[48] = "";
    struct buf body = BUF_EMPTY;
    struct json_writer w = json_writer_to(&body);
    json_begin_object(&w);
    json_put_key(&w, "leases");
    json_begin_array(&w);
    do {
        n = queue_leases(c->topic, c->match.group, from.partition, from.number, held,
                         LEASES_MAX + 1);
        for (size_t i = 0; i < n && next[0] == 0; i++) {
            from = (struct lease_cursor){held[i].partition, held[i].number + 1};
            if (holder.n > 0 && !bytes_equal(bytes_of_text(held[i].holder), holder))
                continue;
            if (shown == limit)
                snprintf(next, sizeof next, "%u-%" PRIu64, held[i].partition, held[i].number);
            else
                put_lease(&w, &held[i], now_ms);
            shown += next[0] == 0;
        }
    } while (n == LEASES_MAX + 1 && next[0] == 0);
    json_end_array(&w);
    rest_reply_page(c, &w, next);
}

/* ---- one lease ---- */

/* What became of a receipt; true: as asked. */
static bool judge(enum err e, const struct rest_place *at, struct rest_fault *f)
{
    switch ((int)e) {
    case ERR_OK:
        return true;
    case ERR_INVALID:
        return rest_fault_set(f, REST_PROBLEM_RECEIPT_INVALID, "this is no receipt of this topic");
    case ERR_GONE:
        return rest_fault_set(f, REST_PROBLEM_LEASE_EXPIRED, "the message is finished");
    case ERR_LEASE_EXPIRED:
    case ERR_STALE_RECEIPT:
        return rest_fault_set(f, REST_PROBLEM_LEASE_EXPIRED, "%s", err_text(e));
    case ERR_FULL:
        return rest_body_fault(f, REST_PROBLEM_INVALID_BODY, at,
                               "a message can be leased for %d seconds in all, counted from its "
                               "receive",
                               VISIBILITY_S_MAX);
    default:
        return rest_fault_of_err(f, e);
    }
}

static bool judge_finished(enum err e, struct rest_fault *f)
{
    return e == ERR_GONE || judge(e, NULL, f); /* finishing again is a success */
}

static void reply_finished(struct rest_call *c)
{
    const struct front_change *change = c->state;
    (void)judge_finished(change->err, &c->fault);
    rest_reply_fault_or_none(c);
}

void rest_do_finish_lease(struct rest_call *c)
{
    struct front_change *change = arena_zeros(c->arena, sizeof *change);
    change->receipt = c->match.last;
    change->is_delete = true;
    c->state = change;
    rest_call_change(c, change, 1, reply_finished);
}

struct extension {
    struct front_change change;
    int64_t until_ms; /* wall time */
};

static void reply_extended(struct rest_call *c)
{
    static const struct rest_place at = {NULL, {"visibility", 10}, 0};
    const struct extension *x = c->state;
    (void)judge(x->change.err, &at, &c->fault);
    struct buf body = BUF_EMPTY;
    struct json_writer w = json_writer_to(&body);
    if (c->fault.problem != REST_PROBLEM_NONE) {
        rest_reply_fault(c);
        return;
    }
    json_begin_object(&w);
    rest_put_time(&w, "lease_until", x->until_ms);
    json_end_object(&w);
    rest_reply_json(c, &w);
}

static bool read_visibility(struct rest_call *c, int64_t *ms)
{
    struct json j;
    struct bytes key;
    *ms = -1;
    json_init(&j, http_body(c->http), c->arena);
    bool fine = rest_body_object(&j, NULL, &c->fault);
    while (fine && json_next_member(&j, &key)) {
        const struct rest_place at = {NULL, key, 0};
        fine = bytes_equal(key, BYTES_OF("visibility"))
                   ? rest_body_duration(&j, &at, 0, VISIBILITY_S_MAX, ms, &c->fault)
                   : rest_body_unknown(&at, "visibility", &c->fault);
    }
    if (!rest_body_finish(&j, fine, &c->fault))
        return false;
    const struct rest_place missing = {NULL, BYTES_OF("visibility"), 0};
    return *ms >= 0 ||
           rest_body_fault(&c->fault, REST_PROBLEM_INVALID_BODY, &missing,
                           "must be there: a duration from 0s to %ds", VISIBILITY_S_MAX);
}

void rest_do_extend_lease(struct rest_call *c)
{
    struct extension *x = arena_zeros(c->arena, sizeof *x);
    c->state = x;
    if (!read_visibility(c, &x->change.visibility_ms)) {
        rest_reply_fault(c);
        return;
    }
    x->until_ms = clock_wall_ms(c->front->clock) + x->change.visibility_ms;
    x->change.receipt = c->match.last;
    rest_call_change(c, &x->change, 1, reply_extended);
}

/* ---- many ---- */

enum change_kind { CHANGE_DONE, CHANGE_EXTEND, CHANGE_RELEASE, CHANGE_KINDS_N };
static const char *const kind_names[CHANGE_KINDS_N] = {"done", "extend", "release"};

struct change {
    enum change_kind kind;
    size_t index; /* in its list */
    struct bytes receipt;
    int64_t visibility_ms;
    int64_t until_ms;
    struct rest_fault fault;
};

struct changes {
    bool listed[CHANGE_KINDS_N];
    size_t n;
    struct change at[CHANGES_MAX];
    struct front_change asked[CHANGES_MAX]; /* the same */
};

static bool read_change_members(struct json *j, const struct rest_place *up, struct change *x,
                                struct rest_fault *f)
{
    const char *duration = x->kind == CHANGE_EXTEND ? "visibility" : "delay";
    struct bytes key;
    if (!rest_body_object(j, up, f))
        return false;
    while (json_next_member(j, &key)) {
        const struct rest_place at = {up, key, 0};
        bool fine;
        if (bytes_equal(key, BYTES_OF("receipt")))
            fine = rest_body_text(j, &at, 1, RECEIPT_SHOWN_MAX, &x->receipt, f);
        else if (bytes_equal(key, bytes_of_text(duration)))
            fine = rest_body_duration(j, &at, 0, VISIBILITY_S_MAX, &x->visibility_ms, f);
        else
            fine = rest_body_unknown(
                &at, x->kind == CHANGE_EXTEND ? "receipt, visibility" : "receipt, delay", f);
        if (!fine)
            return false;
    }
    if (x->receipt.at == NULL || x->visibility_ms < 0)
        return rest_body_fault(f, REST_PROBLEM_INVALID_BODY, up,
                               x->kind == CHANGE_EXTEND ? "must have receipt and visibility"
                                                        : "must have a receipt");
    return true;
}

static bool read_list(struct json *j, enum change_kind kind, const struct rest_place *up,
                      struct changes *all, struct rest_fault *f)
{
    size_t index = 0;
    if (!rest_body_array(j, up, f))
        return false;
    all->listed[kind] = true;
    while (json_next_element(j)) {
        const struct rest_place at = {up, BYTES_NONE, index};
        if (all->n == CHANGES_MAX)
            return rest_body_fault(f, REST_PROBLEM_INVALID_BODY, &at,
                                   "at most %d receipts may come in all", CHANGES_MAX);
        struct change *x = &all->at[all->n++];
        *x = (struct change){.kind = kind, .index = index++};
        x->visibility_ms = kind == CHANGE_EXTEND ? -1 : 0;
        x->fault.arena = f->arena;
        bool object =
            kind == CHANGE_EXTEND || (kind == CHANGE_RELEASE && json_peek(j) == JSON_TYPE_OBJECT);
        if (!(object ? read_change_members(j, &at, x, f)
                     : rest_body_text(j, &at, 1, RECEIPT_SHOWN_MAX, &x->receipt, f)))
            return false;
    }
    return true;
}

static bool read_changes(struct rest_call *c, struct changes *all)
{
    struct json j;
    struct bytes key;
    json_init(&j, http_body(c->http), c->arena);
    bool fine = rest_body_object(&j, NULL, &c->fault);
    while (fine && json_next_member(&j, &key)) {
        const struct rest_place at = {NULL, key, 0};
        unsigned kind = 0;
        while (kind < CHANGE_KINDS_N && !bytes_equal(key, bytes_of_text(kind_names[kind])))
            kind++;
        fine = kind < CHANGE_KINDS_N ? read_list(&j, (enum change_kind)kind, &at, all, &c->fault)
                                     : rest_body_unknown(&at, "done, extend, release", &c->fault);
    }
    if (!rest_body_finish(&j, fine, &c->fault))
        return false;
    return all->n > 0 ||
           rest_body_fault(&c->fault, REST_PROBLEM_INVALID_BODY, NULL,
                           "must have 1 to %d receipts in done, extend and release", CHANGES_MAX);
}

static void put_result(struct json_writer *w, const struct change *x, const char *request_id)
{
    int status = x->kind == CHANGE_DONE ? 204 : 200;
    bool failed = x->fault.problem != REST_PROBLEM_NONE;
    json_begin_object(w);
    json_put_key(w, "receipt");
    json_put_string(w, x->receipt);
    json_put_key(w, "status");
    json_put_int64(w, failed ? rest_problem_row(x->fault.problem)->status : status);
    if (failed) {
        json_put_key(w, "problem");
        rest_problem_put(w, &x->fault, request_id);
    } else if (x->kind == CHANGE_EXTEND) {
        rest_put_time(w, "lease_until", x->until_ms);
    }
    json_end_object(w);
}

static void judge_changes(struct changes *all)
{
    for (size_t i = 0; i < all->n; i++) {
        struct change *x = &all->at[i];
        const struct rest_place list = {NULL, bytes_of_text(kind_names[x->kind]), 0};
        const struct rest_place at = {&list, BYTES_NONE, x->index};
        if (x->kind == CHANGE_DONE)
            (void)judge_finished(all->asked[i].err, &x->fault);
        else
            (void)judge(all->asked[i].err, &at, &x->fault);
    }
}

static void reply_changes(struct rest_call *c)
{
    struct changes *all = c->state;
    judge_changes(all);
    const char *id = rest_request_id(c->http);
    struct buf body = BUF_EMPTY;
    struct json_writer w = json_writer_to(&body);
    size_t failed = 0;
    json_begin_object(&w);
    for (unsigned kind = 0; kind < CHANGE_KINDS_N; kind++) {
        if (!all->listed[kind])
            continue;
        json_put_key(&w, kind_names[kind]);
        json_begin_array(&w);
        for (size_t i = 0; i < all->n; i++)
            if (all->at[i].kind == kind) {
                put_result(&w, &all->at[i], id);
                failed += all->at[i].fault.problem != REST_PROBLEM_NONE;
            }
        json_end_array(&w);
    }
    json_put_key(&w, "failed");
    json_put_uint64(&w, failed);
    json_end_object(&w);
    rest_reply_json(c, &w);
}

void rest_do_change_leases(struct rest_call *c)
{
    struct changes *all = arena_zeros(c->arena, sizeof *all);
    c->state = all;
    if (!read_changes(c, all)) {
        rest_reply_fault(c);
        return;
    }
    int64_t now_ms = clock_wall_ms(c->front->clock);
    for (size_t i = 0; i < all->n; i++) {
        struct change *x = &all->at[i];
        bool is_delete = x->kind == CHANGE_DONE;
        all->asked[i] = (struct front_change){
            .receipt = x->receipt, .is_delete = is_delete, .visibility_ms = x->visibility_ms};
        x->until_ms = now_ms + x->visibility_ms;
    }
    rest_call_change(c, all->asked, all->n, reply_changes);
}
