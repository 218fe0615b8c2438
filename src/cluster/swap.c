// SPDX-License-Identifier: Apache-2.0
#include "cluster/swap.h"

#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "catalog/partition_key.h"
#include "catalog/topic.h"

struct txn {
    char keys[CLUSTER_SWAPS_MAX][CATALOG_KEY_BYTES_MAX + 1];
    struct buf values[CLUSTER_SWAPS_MAX];
    struct catalog_cmp cmps[CLUSTER_SWAPS_MAX + 1];
    struct catalog_op ops[CLUSTER_SWAPS_MAX];
};

static enum err run_together(struct catalog *c, const struct catalog_cmp *also,
                             const struct cluster_swap *swaps, size_t n, int64_t *rev)
{
    struct txn *t = mem_new(sizeof *t);
    size_t cmps_n = 0;
    for (size_t i = 0; i < n; i++) {
        catalog_key_partition(t->keys[i], swaps[i].topic, swaps[i].partition);
        catalog_partition_encode(&swaps[i].value, &t->values[i]);
        t->cmps[cmps_n++] = (struct catalog_cmp){t->keys[i], CATALOG_MOD, swaps[i].value.version};
        t->ops[i] = (struct catalog_op){.key = t->keys[i], .value = buf_bytes(&t->values[i])};
    }
    if (also != NULL)
        t->cmps[cmps_n++] = *also;
    enum err e = catalog_txn(c, t->cmps, cmps_n, t->ops, n, rev);
    for (size_t i = 0; i < n; i++)
        buf_fini(&t->values[i]);
    mem_free(t);
    return e;
}

/* Anything but a clear yes or no leaves it open: the write may have been sent, and may yet arrive.
 */
static enum replica_swap_outcome outcome_of(enum err e)
{
    return e == ERR_OK         ? REPLICA_SWAP_WON
           : e == ERR_CONFLICT ? REPLICA_SWAP_LOST
                               : REPLICA_SWAP_UNKNOWN;
}

void cluster_swaps_run(struct catalog *c, const struct catalog_cmp *also,
                       struct cluster_swap *swaps, size_t n)
{
    int64_t rev = 0;
    CHECK(n <= CLUSTER_SWAPS_MAX);
    if (n == 0)
        return;
    enum err e = run_together(c, also, swaps, n, &rev);
    if (e == ERR_CONFLICT && n > 1) { /* one of them has lost: which, they find out one by one */
        for (size_t i = 0; i < n; i++)
            cluster_swaps_run(c, also, &swaps[i], 1);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        swaps[i].outcome = outcome_of(e);
        swaps[i].version = rev;
    }
}
