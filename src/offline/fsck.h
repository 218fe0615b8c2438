// SPDX-License-Identifier: Apache-2.0
/* `leaselog fsck`. */
#ifndef OFFLINE_FSCK_H
#define OFFLINE_FSCK_H

#include "disk/disk.h"
#include "offline/args.h"
#include "offline/offline.h"

enum offline_exit offline_fsck(const struct disk *d, const struct offline_args *args);

#endif
