// SPDX-License-Identifier: Apache-2.0
/* Partition time: what was known at the last round of the life before, and CLOCK_BOOTTIME from then
 * on. It never follows a jump of the wall clock; only after a reboot the wall clock's difference is
 * all there is, and it counts when it is positive. */
#include <string.h>

#include "queue/state.h"

static bool stamp_is_none(const struct plog_stamp *s)
{
    static const struct plog_stamp none;
    return s->partition_ms == 0 && s->wall_ms == 0 && s->boot_ms == 0 &&
           memcmp(&s->boot_id, &none.boot_id, sizeof none.boot_id) == 0;
}

void time_start(struct queue *q, const struct plog_stamp *last)
{
    int64_t boot_ms = clock_boot_ms(q->clock), wall_ms = clock_wall_ms(q->clock), now_ms;
    if (stamp_is_none(last)) {
        now_ms = wall_ms;
    } else if (memcmp(&last->boot_id, &q->clock->boot_id, sizeof last->boot_id) == 0 &&
               boot_ms >= last->boot_ms) {
        now_ms = last->partition_ms + (boot_ms - last->boot_ms);
    } else {
        int64_t past_ms = wall_ms - last->wall_ms;
        now_ms = last->partition_ms + (past_ms > 0 ? past_ms : 0);
    }
    __atomic_store_n(&q->time_base_ms, now_ms - boot_ms, __ATOMIC_RELAXED);
}

int64_t queue_now_ms(const struct queue *q)
{
    return __atomic_load_n(&q->time_base_ms, __ATOMIC_RELAXED) + clock_boot_ms(q->clock);
}

struct plog_stamp time_stamp(void *queue)
{
    struct queue *q = queue;
    STAT_ADD(q, rounds, 1); /* asked for once a round */
    int64_t boot_ms = clock_boot_ms(q->clock);
    return (struct plog_stamp){
        .boot_id = q->clock->boot_id,
        .boot_ms = boot_ms,
        .wall_ms = clock_wall_ms(q->clock),
        .partition_ms = __atomic_load_n(&q->time_base_ms, __ATOMIC_RELAXED) + boot_ms,
    };
}
