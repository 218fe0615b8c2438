// SPDX-License-Identifier: Apache-2.0
/* What partition/look.h says of a partition, against the model, message by message. */
#ifndef TESTS_MODEL_PARTITION_LOOK_CHECK_H
#define TESTS_MODEL_PARTITION_LOOK_CHECK_H

#include "base/rng.h"
#include "model/partition_model.h"
#include "partition/look.h"

/* NULL, or what is wrong. Which looks are taken is up to chance. */
const char *look_check_group(const struct model *m, int group, const struct partition *p,
                             const struct partition_view *view, uint32_t gid, struct rng *rng);
const char *look_check_wanted(const struct model *m, const struct partition *p, struct rng *rng);

#endif
