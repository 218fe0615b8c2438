// SPDX-License-Identifier: Apache-2.0
/* The state of a partition as a snapshot holds it (partition_load), whatever its bytes.
 *
 * Input: two bytes, the length of the state; the state; choices for the steps that follow.
 * Contract: the state is refused, or it is one that can be planned on and folded into without a
 * CHECK failing, and that is saved and loaded as the same state, before and after. */
#include "fuzz/partition_walk.h"

int LLVMFuzzerTestOneInput(const uint8_t *at, size_t n)
{
    struct cursor c = fuzz_input(at, n);
    struct partition *p;
    size_t length = cursor_u16(&c);
    struct bytes state = cursor_bytes(&c, length < c.left ? length : c.left);
    enum err e = partition_load(state, &p);
    CHECK(e == ERR_OK || e == ERR_CORRUPT || e == ERR_NEWER_FORMAT);
    if (e != ERR_OK)
        return 0;
    walk_save(p);
    walk_steps(p, &c);
    walk_save(p);
    partition_free(p);
    return 0;
}
