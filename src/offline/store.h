// SPDX-License-Identifier: Apache-2.0
/* A data directory as its marks and its journal tell it: which logs there are, up to where their
 * segments count, and which batches of the journal go on behind that. */
#ifndef OFFLINE_STORE_H
#define OFFLINE_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/check.h"
#include "base/err.h"
#include "disk/disk.h"
#include "offline/findings.h"
#include "offline/journal.h"
#include "plog/marks.h"

enum { OFFLINE_DIR_ROOM = 48 }; /* "t/", 32 digits, "/", 10 digits */

struct offline_log {
    struct plog_id id;
    uint64_t incarnation;
    char dir[OFFLINE_DIR_ROOM]; /* t/TOPIC/PARTITION */
    bool marked;                /* the marks name it; else the journal has made it */
    bool unknown;               /* the marks cannot be read: it is a folder, and all in it counts */
    /* By the marks, or by the journal's last truncate or begin anew; else zeros. */
    struct mark mark;
    bool cut;        /* the journal has cut it: its indexes were not saved for that */
    bool begun_anew; /* the journal has begun it anew: files of before may lie there */
};

/* A batch in the journal that lies, or would lie, behind its log's mark. */
struct offline_append {
    struct plog_id id;
    uint64_t incarnation;
    size_t round;    /* its place among the journal's rounds */
    size_t batch_at; /* in the round's bytes */
    uint32_t bytes;
};

struct offline_store {
    struct disk disk; /* borrowed */
    struct marks marks;
    bool marks_good;
    struct offline_journal journal;
    struct offline_log *logs; /* owned, by id */
    size_t logs_n;
    struct offline_append *appends; /* owned; by log, then in the journal's order */
    size_t appends_n;
};

/* Reads marks and journal; what is wrong with them goes to the findings. */
void offline_store_read(const struct disk *d, struct findings *f, struct offline_store *out);
void offline_store_fini(struct offline_store *s);
/* The log, or NULL. */
const struct offline_log *offline_store_find(const struct offline_store *s, struct plog_id id);
/* The journal's batches of a log, lent; *n may be 0. */
const struct offline_append *offline_store_appends(const struct offline_store *s,
                                                   const struct offline_log *l, size_t *n);
/* t/TOPIC/PARTITION */
void offline_log_dir(struct plog_id id, char dir[OFFLINE_DIR_ROOM]);
/* Where a batch of the journal lies: freed with mem_free. */
char *offline_append_where(const struct offline_store *s, const struct offline_append *a,
                           uint64_t *at);

/* Reads the batches of appends, keeping the round that it has read last. */
struct offline_append_reader {
    const struct offline_store *store;
    struct buf round;
    size_t have; /* the round's place; SIZE_MAX: none */
};
#define OFFLINE_APPEND_READER(store) ((struct offline_append_reader){store, BUF_EMPTY, SIZE_MAX})
/* Lent until the next call. */
enum err offline_append_read(struct offline_append_reader *r, const struct offline_append *a,
                             struct bytes *batch) MUST_USE;
void offline_append_reader_fini(struct offline_append_reader *r);

#endif
