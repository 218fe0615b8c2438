// SPDX-License-Identifier: Apache-2.0
/* Which sends of other brokers have arrived, so that one whose answer was lost may be repeated and
 * appends nothing. For each front (record_repeat): its newest life, and of that life's sends which
 * are not below `settled_below` those that are here.
 *
 * The table follows from the records alone, and is complete for what it can be asked: a sequence at
 * or above `settled_below` that is not in it was never stored. What is below, or of an older life,
 * cannot be told any more, and is refused: so nothing is stored twice, however late a call comes.
 *
 * Memory: 32 bytes a send that is kept, at most RECORD_REPEAT_WINDOW a front, in practice as many
 * as that front sends side by side; fronts are at most as many as there were brokers' ids. */
#ifndef PARTITION_FRONTS_H
#define PARTITION_FRONTS_H

#include <stddef.h>

#include "partition/record.h"

struct front_send {
    uint64_t sequence;
    uint64_t number; /* it got here */
    struct uuid id;
};

struct front {
    uint32_t broker;
    uint64_t life;
    uint64_t settled_below;
    struct front_send *at; /* by sequence, owned */
    size_t n;
    size_t room;
};

struct fronts {
    struct front *at; /* by broker, owned */
    size_t n;
};

void fronts_fini(struct fronts *f);

enum front_answer {
    FRONT_NEW,       /* not stored yet: it may be */
    FRONT_KNOWN,     /* stored; *send is the first one, lent until the next put */
    FRONT_FORGOTTEN, /* settled, or of an older life: whether it was stored cannot be told */
};
enum front_answer fronts_find(const struct fronts *f, const struct record_repeat *key,
                              const struct front_send **send);
/* It has arrived, and all below key->settled_below is settled. What fronts_find does not call
 * FRONT_NEW changes nothing but that. */
void fronts_put(struct fronts *f, const struct record_repeat *key, uint64_t number, struct uuid id);

#endif
