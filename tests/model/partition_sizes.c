// SPDX-License-Identifier: Apache-2.0
#include "model/partition_sizes.h"

static void tell(const struct model *m, const struct partition *p, uint64_t number,
                 struct partition_sizes *out)
{
    if (number < m->messages_n && partition_size_missing(p, number) &&
        out->n < RECORD_SIZES_NUMBERS_MAX)
        partition_sizes_put(out, number, m->messages[number].body_bytes);
}

bool model_sizes_before(const struct model *m, const struct partition *p,
                        const struct record *record, struct partition_sizes *out)
{
    struct bytes runs = BYTES_NONE;
    struct record_run run;
    uint64_t end = 0, below = 0;
    if (record->type == RECORD_LEASE)
        runs = record->lease.numbers;
    else if (record->type == RECORD_DONE)
        runs = record->done.numbers;
    else if (record->type == RECORD_TRIM)
        below = record->trim.below;
    else if (record->type == RECORD_PURGE)
        below = record->purge.below;
    else if (record->type == RECORD_MOVE)
        tell(m, p, record->move.number, out);
    while (record_runs_next(&runs, &end, &run))
        for (uint64_t n = run.first; n < end; n++)
            tell(m, p, n, out);
    for (uint64_t n = 0; n < below; n++)
        tell(m, p, n, out);
    return out->n > 0;
}

struct partition_live model_live(const struct model *m, int group)
{
    struct partition_live live = {.exact = true};
    for (uint64_t n = 0; n < m->messages_n; n++) {
        const struct model_fate *fate = &m->messages[n].fate[group];
        bool lives = !fate->finished && !fate->moving;
        live.messages += lives;
        live.moving += !fate->finished && fate->moving;
        live.bytes += lives ? m->messages[n].body_bytes : 0;
    }
    return live;
}

bool model_check_live(const struct model *m, const struct partition *p, int group, uint32_t gid,
                      bool may_estimate)
{
    struct partition_live got, want = model_live(m, group);
    return partition_live(p, gid, &got) && got.messages == want.messages &&
           got.moving == want.moving && (!got.exact || got.bytes == want.bytes) &&
           (got.exact || may_estimate);
}
