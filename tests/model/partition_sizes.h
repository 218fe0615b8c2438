// SPDX-License-Identifier: Apache-2.0
/* Sizes of the model's messages: what is told before records, and what must come out. */
#ifndef TESTS_MODEL_PARTITION_SIZES_H
#define TESTS_MODEL_PARTITION_SIZES_H

#include "model/partition_model.h"

/* Puts the sizes that `record` needs before it; false: none. */
bool model_sizes_before(const struct model *m, const struct partition *p,
                        const struct record *record, struct partition_sizes *out);
struct partition_live model_live(const struct model *m, int group);
/* Count and bytes of the group's live messages are right. `may_estimate`: sizes may have been
 * missing. */
bool model_check_live(const struct model *m, const struct partition *p, int group, uint32_t gid,
                      bool may_estimate);

#endif
