// SPDX-License-Identifier: Apache-2.0
/* Where the copies of new partitions go. Pure. */
#ifndef CLUSTER_PLACE_H
#define CLUSTER_PLACE_H

#include "cluster/view.h"

/* Writes the brokers of each partition, `copies` a partition (members[i * copies + k]), the
 * preferred leader first: distinct ones, live and not draining, those with the fewest copies first,
 * and as leaders those that lead the fewest. ERR_NEED: there are fewer such brokers than copies.
 * ERR_INVALID: copies is 0 or above REPLICA_MEMBERS_MAX. */
enum err cluster_place(const struct cluster_view *v, uint32_t partitions, uint32_t copies,
                       uint32_t *members) MUST_USE;

#endif
