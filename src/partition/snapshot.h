// SPDX-License-Identifier: Apache-2.0
/* What saving and loading share. */
#ifndef PARTITION_SNAPSHOT_H
#define PARTITION_SNAPSHOT_H

enum {
    SNAPSHOT_FORMAT = 3,
    /* Read, and never written: without fronts; without live bytes and sizes too. */
    SNAPSHOT_FORMAT_NO_FRONTS = 2,
    SNAPSHOT_FORMAT_NO_LIVE = 1,
};

/* The flags of an entry. */
enum {
    SNAPSHOT_DELAYED = 1 << 0,
    SNAPSHOT_MOVING = 1 << 1,
    SNAPSHOT_RECEIVED = 1 << 2, /* the lease's fields follow */
    SNAPSHOT_FLAGS_KNOWN = (1 << 3) - 1,
};

#endif
