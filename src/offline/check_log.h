// SPDX-License-Identifier: Apache-2.0
/* One log: its segments batch by batch, its part of the journal, its indexes, its snapshots, and
 * what else lies in its folder. */
#ifndef OFFLINE_CHECK_LOG_H
#define OFFLINE_CHECK_LOG_H

#include <stdbool.h>
#include <stddef.h>

#include "offline/findings.h"
#include "offline/store.h"

struct offline_check {
    bool online; /* a broker may be writing: only what the marks cover */
    bool repair;
    size_t repaired;
    uint64_t batches, records, bytes; /* that were read */
};

void offline_check_log(struct offline_check *c, const struct offline_store *s,
                       const struct offline_log *l, struct findings *f);

#endif
