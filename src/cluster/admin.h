// SPDX-License-Identifier: Apache-2.0
/* What an operator may ask of a cluster, at any of its brokers. Both block, for jobs; ERR_CONFLICT
 * comes with a sentence in `why` that says what is in the way, and nothing was changed then.
 * ERR_BUSY: the catalogue does not answer, and the change may have been made. */
#ifndef CLUSTER_ADMIN_H
#define CLUSTER_ADMIN_H

#include "cluster/cluster.h"

enum { CLUSTER_WHY_ROOM = 160 };

/* The broker becomes the first of the members, which is whom the controller prefers, and the
 * controller elects it at once: an election like any other. It must live and be in sync. ERR_OK: it
 * was asked for, or is so already. ERR_NOT_FOUND: no such partition. */
enum err cluster_move_leader(struct cluster *c, const struct queue_copy_id *of, uint32_t broker,
                             char why[CLUSTER_WHY_ROOM]) MUST_USE;
/* Committed messages were lost, and the operator lets one member lead with what it has. It alone is
 * in sync, in an epoch above all that are known; the others begin anew as its copies, and the key
 * tells of it for ever (unclean_epoch). Refused while a member that is in sync is well. The log
 * tells which offsets are given up, as far as members answer. */
enum err cluster_recover(struct cluster *c, const struct queue_copy_id *of, uint32_t broker,
                         char why[CLUSTER_WHY_ROOM]) MUST_USE;

#endif
