// SPDX-License-Identifier: Apache-2.0
/* A disk in memory that fails on purpose. It remembers what was synced, so that a power cut leaves
 * what a real one may leave: everything synced, and of the rest any sectors of 512 bytes and any
 * names, as the seed has it. A rename survives whole or not at all. */
#ifndef TESTS_LIB_FAULT_DISK_H
#define TESTS_LIB_FAULT_DISK_H

#include <stdbool.h>
#include <stdint.h>

#include "disk/disk.h"

struct fault_disk;

struct fault_disk *fault_disk_new(uint64_t seed);
void fault_disk_free(struct fault_disk *f);
/* Lent until fault_disk_free. */
const struct disk *fault_disk_of(struct fault_disk *f);

/* How many operations there were; reads and closes do not count. */
uint64_t fault_disk_operations(const struct fault_disk *f);
/* The operation that has n others before it from now on answers `e`; a write does half its work.
 * `and_all_later`: the power is off from then on, reads included, until fault_disk_power_cut. */
void fault_disk_fail_in(struct fault_disk *f, uint64_t n, enum err e, bool and_all_later);
void fault_disk_fail_never(struct fault_disk *f);
/* True once the ordered fault has happened. */
bool fault_disk_has_failed(const struct fault_disk *f);
/* Files may hold this many bytes together. */
void fault_disk_capacity(struct fault_disk *f, uint64_t bytes);

/* Power off and on: unsynced bytes and names are lost in part; open files and locks are gone. */
void fault_disk_power_cut(struct fault_disk *f);
/* kill -9: open files and locks are gone, all else is as it was. */
void fault_disk_kill(struct fault_disk *f);

/* Calls `each` for every file (no folders), in byte order of the paths. */
void fault_disk_each(struct fault_disk *f,
                     void (*each)(void *arg, const char *path, uint64_t bytes), void *arg);
/* The file's bytes, lent until its next change; at is NULL when there is none. */
struct bytes fault_disk_bytes(struct fault_disk *f, const char *path);
/* Puts these bytes in the file's place, synced; for planting damage. */
void fault_disk_plant(struct fault_disk *f, const char *path, struct bytes bytes);
void fault_disk_flip(struct fault_disk *f, const char *path, uint64_t byte, unsigned bit);
void fault_disk_delete(struct fault_disk *f, const char *path);

#endif
