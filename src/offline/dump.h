// SPDX-License-Identifier: Apache-2.0
/* `leaselog dump`. Takes no lock and writes nothing, so it may be used on a directory that a broker
 * serves: below the marks segments do not change, and behind them the journal holds all that is
 * committed. What a broker takes away meanwhile is looked for again. */
#ifndef OFFLINE_DUMP_H
#define OFFLINE_DUMP_H

#include "disk/disk.h"
#include "offline/args.h"
#include "offline/offline.h"
#include "offline/store.h"

enum offline_exit offline_dump(const struct disk *d, const struct offline_args *args);
/* The directory: marks, journal files, topics, logs and their files. False: not all could be read.
 */
bool offline_dump_tree(const struct disk *d, const struct offline_args *args,
                       const struct offline_store *s);

#endif
