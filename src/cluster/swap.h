// SPDX-License-Identifier: Apache-2.0
/* Compare-and-swaps of partitions' keys, many in one transaction of the catalogue. */
#ifndef CLUSTER_SWAP_H
#define CLUSTER_SWAP_H

#include "catalog/catalog.h"
#include "replica/event.h"

enum { CLUSTER_SWAPS_MAX = 60 }; /* etcd takes 128 operations; 60 took 9.3 ms on three members */

struct cluster_swap {
    uint8_t topic[16];
    uint32_t partition;
    struct replica_key value;          /* its version is what is compared with */
    enum replica_swap_outcome outcome; /* written */
    int64_t version;                   /* WON: the new one */
};

/* Each by itself wins or loses, though they travel together: at most CLUSTER_SWAPS_MAX, of
 * different partitions. `also`, if not NULL, must hold for each. Blocks. */
void cluster_swaps_run(struct catalog *c, const struct catalog_cmp *also,
                       struct cluster_swap *swaps, size_t n);

#endif
