// SPDX-License-Identifier: Apache-2.0
/* One log on a fault_disk, and an owner who says what of it is wanted; for the tests of cleaning.
 * Message n is the record at offset 2n + 1, behind a control record. */
#ifndef TESTS_UNIT_PLOG_CLEAN_FIXTURE_H
#define TESTS_UNIT_PLOG_CLEAN_FIXTURE_H

#include "lib/fault_disk.h"
#include "lib/runner.h"
#include "plog/plog.h"

enum { MESSAGE_BYTES = 1000, SEGMENT_BYTES = 16384, SEGMENTS_MAX = 64 };

struct rig {
    struct fault_disk *disk;
    struct plog_options options;
    struct plog *store;
    struct plog_log *log;
    /* What the owner's state says. */
    bool (*wanted)(uint64_t number);
    uint64_t end; /* answered instead of the log's end when not 0 */
    size_t control_bytes;
    struct plog_segment seen[SEGMENTS_MAX]; /* by the last look */
};

extern struct rig rig;
extern const struct plog_wanted rig_wanted;

bool every_tenth(uint64_t number);
bool every_tenth_below_500(uint64_t number);
bool none(uint64_t number);
bool all(uint64_t number);
bool not_the_fifth(uint64_t number);
bool the_fifth(uint64_t number);

/* Of the checked fixture. */
void rig_setup(void);
void rig_teardown(void);

void rig_create(void);
/* A batch of messages of n bytes that say their numbers, each behind a control record. */
void rig_append(unsigned messages, size_t n);
void rig_snapshot(void);
void rig_reopen(bool cleanly);
/* plog_each's: finds the log again. */
void rig_found(void *arg, struct plog_log *l);
/* A log of n messages in many segments, all but the last below two snapshots and the mark. */
void rig_fill(unsigned n, size_t bytes);

/* All segments, into rig.seen; answers how many. */
size_t rig_look(void);
/* How many may be cleaned, and where they end. */
size_t rig_cleanable(uint64_t *end);
/* Steps until it is no longer PLOG_CLEAN_MORE. */
enum err rig_finish(struct plog_clean *c, enum plog_clean_state *state);
/* Cleans [offset, end); the state it comes to. */
enum err rig_clean(uint64_t offset, uint64_t end, uint64_t bytes_max, enum plog_clean_state *state);
void rig_clean_all(void);
void rig_clean_again(uint64_t end);

enum err rig_read_number(uint64_t number);
/* Below number `end`, exactly the wanted messages are there, by number and in order. */
void rig_check_exactly_wanted(uint64_t end);
/* From number `from` on everything is there. */
void rig_check_all_from(uint64_t from);
/* fault_disk_each's: counts a log's files but snapshots in an unsigned. */
void rig_count_files(void *arg, const char *path, uint64_t bytes);

TCase *tcase_cleaner(void);
TCase *tcase_faults(void);

#endif
