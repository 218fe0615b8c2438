// SPDX-License-Identifier: Apache-2.0
/* What saving and loading share. */
#ifndef PARTITION_SNAPSHOT_H
#define PARTITION_SNAPSHOT_H

enum {
    SNAPSHOT_FORMAT = 2,
    SNAPSHOT_FORMAT_NO_LIVE = 1, /* without live bytes and sizes: read, and never written */
};

/* The flags of an entry. */
enum {
    SNAPSHOT_DELAYED = 1 << 0,
    SNAPSHOT_MOVING = 1 << 1,
    SNAPSHOT_RECEIVED = 1 << 2, /* the lease's fields follow */
    SNAPSHOT_FLAGS_KNOWN = (1 << 3) - 1,
};

#endif
