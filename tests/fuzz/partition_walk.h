// SPDX-License-Identifier: Apache-2.0
/* A partition in whatever state an input has brought about, held against what partition.h promises
 * of every state: it can be saved and loaded, and planned on and folded into, as far as it goes. */
#ifndef TESTS_FUZZ_PARTITION_WALK_H
#define TESTS_FUZZ_PARTITION_WALK_H

#include "fuzz/fuzz.h"
#include "partition/partition.h"

/* Saves, loads and saves again: the bytes are the same. */
void walk_save(const struct partition *p);
/* Sends, receives, deletes, moves, looks and so on, as `choices` has it; at most some dozen steps.
 */
void walk_steps(struct partition *p, struct cursor *choices);

#endif
