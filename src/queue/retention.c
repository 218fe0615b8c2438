// SPDX-License-Identifier: Apache-2.0
/* Retention: TRIM for what has expired at the head of the log, and the release of segments that
 * hold nothing wanted. Expired messages further on are hidden by the planner until they come to be
 * the head. */
#include "base/mem.h"
#include "base/note.h"
#include "queue/copy_inside.h"
#include "queue/state.h"

enum { TRIM_HEADERS_MAX = 1000, TRIM_READ_AHEAD_BYTES = 256 << 10 };

/* What was found at the head. */
struct expired {
    uint64_t first, below;                    /* [first, below) has expired */
    int64_t accepted_ms;                      /* of `below`; INT64_MIN: it was not looked at */
    uint32_t message_bytes[TRIM_HEADERS_MAX]; /* of those; 0: not stored any more */
};

/* The first number >= head->first that has not expired, looking at a bounded count of messages. */
static enum err find_unexpired(struct queue_partition *p, int64_t expired_ms, struct expired *head)
{
    struct reader reader;
    enum err e = ERR_OK;
    reader_init(&reader);
    uint64_t number = head->below = head->first;
    head->accepted_ms = INT64_MIN;
    for (int i = 0; i < TRIM_HEADERS_MAX && number < plog_committed_number(p->log); i++, number++) {
        struct record_message m;
        e = reader_get(&reader, p->log, number, TRIM_READ_AHEAD_BYTES, &m);
        if (e != ERR_OK && e != ERR_GONE)
            break;
        /* Cleaned, so finished, and there may be very many: trimming up to here makes the state go
         * on with the next unfinished one. */
        if (e == ERR_GONE && i > 0) {
            e = ERR_OK;
            break;
        }
        if (e == ERR_OK && m.accepted_ms > expired_ms) {
            head->accepted_ms = m.accepted_ms;
            break;
        }
        head->message_bytes[i] = e == ERR_OK ? record_message_bytes(&m) : 0;
        e = ERR_OK;
        head->below = number + 1;
    }
    reader_fini(&reader);
    return e;
}

/* True when something was trimmed. */
static bool trim(struct queue_partition *p, const struct expired *head)
{
    lock_take(&p->lk);
    p->head_number = head->below;
    p->head_accepted_ms = head->accepted_ms;
    bool trims = head->below > head->first && partition_check_locked(p, 0) == ERR_OK;
    if (trims) {
        struct appending a;
        append_begin_locked(&a, p, partition_now_ms(p));
        account_run_locked(&a, head->first, head->message_bytes, head->below - head->first);
        append_put_locked(&a, &(struct record){.type = RECORD_TRIM, .trim = {head->below}});
        append_end_locked(&a, false);
    }
    lock_give(&p->lk);
    return trims;
}

static uint64_t floor_locked(struct queue_partition *p)
{
    struct partition_group_info group;
    lock_check_held(&p->lk);
    return partition_group_find(p->state, GID_DEFAULT, &group) ? group.floor
                                                               : partition_wanted_from(p->state);
}

/* TRIM is its leader's to append. */
static bool is_served(struct queue_partition *p)
{
    lock_take(&p->lk);
    bool served = copy_serves_locked(p);
    lock_give(&p->lk);
    return served;
}

bool retention_trim(struct queue_partition *p)
{
    if (p->topic->compact || !is_served(p))
        return false;
    int64_t retention_ms = queue_topic_config(p->topic)->retention_ms;
    lock_take(&p->lk);
    int64_t expired_ms = partition_now_ms(p) - retention_ms;
    uint64_t floor = floor_locked(p);
    bool nothing = floor >= plog_committed_number(p->log) ||
                   (p->head_number == floor && p->head_accepted_ms != INT64_MIN &&
                    p->head_accepted_ms > expired_ms);
    lock_give(&p->lk);
    if (nothing)
        return false;
    struct expired *head = mem_new(sizeof *head);
    head->first = floor;
    bool more = find_unexpired(p, expired_ms, head) == ERR_OK && trim(p, head) &&
                head->accepted_ms == INT64_MIN;
    mem_free(head);
    return more;
}

int64_t retention_next_ms(struct queue_partition *p)
{
    int64_t retention_ms = queue_topic_config(p->topic)->retention_ms, next_ms = INT64_MIN;
    if (p->topic->compact || !is_served(p))
        return INT64_MAX;
    lock_take(&p->lk);
    uint64_t floor = floor_locked(p);
    if (floor >= plog_committed_number(p->log))
        next_ms = INT64_MAX;
    else if (p->head_number == floor && p->head_accepted_ms != INT64_MIN)
        next_ms = p->head_accepted_ms + retention_ms;
    lock_give(&p->lk);
    return next_ms;
}

bool retention_release(struct queue_partition *p)
{
    uint64_t offset = plog_snapshot_older(p->log);
    if (offset == 0)
        return false;
    /* What the state calls finished counts only once its record is committed: a crash would bring
     * the message back, and its bytes must be there then. So each look releases what the last one
     * saw; who ceases to lead meanwhile forgets it under the lock. */
    lock_take(&p->lk);
    uint64_t wanted = p->finished_number;
    bool committed = plog_committed(p->log) >= p->finished_end;
    if (committed) {
        p->finished_number = partition_wanted_from(p->state);
        p->finished_end = plog_end(p->log);
    }
    bool again = p->finished_number != wanted;
    lock_give(&p->lk);
    if (!committed || (wanted == p->released_number && offset == p->released_offset))
        return again || !committed;
    p->released_number = wanted;
    p->released_offset = offset;
    enum err e = plog_release(p->log, wanted, offset);
    copy_released(p);
    if (e != ERR_OK)
        note(NOTE_WARNING, "queue", "topic %s, partition %u: segments could not be released: %s",
             p->topic->name, (unsigned)p->index, err_text(e));
    return again;
}
