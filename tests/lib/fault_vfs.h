// SPDX-License-Identifier: Apache-2.0
/* SQLite on a fault_disk: a VFS by which the catalogue's operations count, fail and are lost in a
 * power cut as those of the logs are. It does what SQLite's own one for Unix does with its files;
 * locks are left out, since one process alone has the file.
 *
 * The last name of a path is the file's name on the fault_disk, in its root. Registered once in a
 * process, as the default; one disk at a time, one thread. */
#ifndef TESTS_LIB_FAULT_VFS_H
#define TESTS_LIB_FAULT_VFS_H

#include <stdbool.h>

#include "lib/fault_disk.h"

/* From now on SQLite opens its files here. */
void fault_vfs_use(struct fault_disk *f);
/* The process is dead: whatever SQLite still does fails and changes nothing. Until the next
 * fault_vfs_use. */
void fault_vfs_kill(void);
/* Another process holds the file's lock when a transaction begins; SQLite's time-out passes at
 * once. */
void fault_vfs_busy(bool busy);

#endif
