// SPDX-License-Identifier: Apache-2.0
/* What the forms of wire.h share. Not for other rooms. */
#ifndef PEER_LAYOUT_H
#define PEER_LAYOUT_H

#include "base/buf.h"
#include "peer/wire.h"

enum { PEER_WIRE_VERSION = 1, LAYOUT_PARTITION_BYTES = 20 };

void layout_partition_put(struct buf *out, const struct wire_partition *of);
/* Sets c->bad when there is too little. */
void layout_partition_take(struct cursor *c, struct wire_partition *of);
bool layout_magic_take(struct cursor *c, const char magic[4]) MUST_USE;

#endif
