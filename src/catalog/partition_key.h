// SPDX-License-Identifier: Apache-2.0
/* The value of p/<tid>/<n>: the partition's key (replica/key.h) as JSON.
 *
 * Format 2: replicas (broker ids, in order of preference), leader, epoch, isr, inc (broker id to
 * incarnation, 16 hex digits; a member that never registered has none), min_isr, state, op (hex);
 * unclean_epoch and wish_epoch unless they are 0.
 * Format 1 is what a broker writes that is alone (partition_config_encode): one member, in sync,
 * without an incarnation; it is read as that, with a min_isr of one. */
#ifndef CATALOG_PARTITION_KEY_H
#define CATALOG_PARTITION_KEY_H

#include "base/buf.h"
#include "base/err.h"
#include "replica/key.h"

/* Of an epoch that is read: whoever is elected gets the next one, and that can still be written. */
#define CATALOG_EPOCH_MAX (INT64_MAX - 1)

/* Appends k in format 2; its version is not part of the value. k must be valid. */
void catalog_partition_encode(const struct replica_key *k, struct buf *json);
/* `version` is the revision of the value's last change. ERR_CORRUPT, ERR_NEWER_FORMAT. */
enum err catalog_partition_decode(struct bytes json, int64_t version,
                                  struct replica_key *out) MUST_USE;

#endif
