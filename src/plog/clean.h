// SPDX-License-Identifier: Apache-2.0
/* The cleaner's parts. A job (clean.c) reads its segments twice, batch by batch: first to know how
 * much must stay, then to write that into a new file (clean_out.c); and then the new file takes the
 * place of the old ones (swap.c; FORMAT.md, "Cleaned segments"). */
#ifndef PLOG_CLEAN_H
#define PLOG_CLEAN_H

#include "plog/inside.h"

/* What a job puts out: batches and GAPs one behind the other, in memory until taken. */
struct clean_out {
    struct buf bytes;        /* not yet written */
    uint64_t position;       /* of the next batch in the new file */
    uint64_t messages;       /* in batches */
    struct batch_header gap; /* being gathered; gap.records is 0 when there is none */
    struct segment segment;  /* the new one: name, number, pending index entries */
    uint64_t indexed_position;
};

void clean_out_init(struct clean_out *o, uint64_t name);
void clean_out_fini(struct clean_out *o);
/* The records of batch h are no longer wanted, or it is a GAP. */
void clean_out_gap(struct clean_out *o, const struct batch_header *h);
/* A batch of whose messages some are wanted: wanted[i] for message h->first_number + i, or NULL:
 * all stays. `exact`: it is cut even where that makes it no smaller. ERR_CORRUPT: its records do
 * not read. */
enum err clean_out_batch(struct clean_out *o, struct bytes batch, const struct batch_header *h,
                         const bool *wanted, bool exact) MUST_USE;
/* Everything is put out: o->bytes and o->position are final. */
void clean_out_end(struct clean_out *o);

/* The offset up to which segments may be cleaned. */
uint64_t clean_offset_max(struct plog_log *l);
/* False: the log was removed, and what is in its folder now is another's. */
bool clean_log_is_there(struct plog_log *l);
/* NAME-END.clean and then `more`, in the log's folder; freed with mem_free. */
char *clean_path(const struct plog_log *l, uint64_t name, uint64_t end, const char *more);

/* What swap_run puts in the place of what. */
struct swap {
    struct plog_log *log;
    const struct segment_view *sources; /* whose files must still be theirs */
    size_t sources_n;
    uint64_t end;           /* the offset behind the last one */
    struct segment segment; /* the new one; lends its pending index entries */
};

/* The file NAME-END.clean.tmp, synced, takes the place of the sources. ERR_BUSY: not now;
 * ERR_GONE: a source or the log is gone; ERR_NO_SPACE: nothing has happened; else ERR_FAILED. */
enum err swap_run(const struct swap *s) MUST_USE;
/* [recovery] Finishes the swap that a NAME-END.clean among the names tells of, if one does; then
 * *changed. ERR_CORRUPT: it cannot be ours. */
enum err swap_recover(struct plog_log *l, char *const *names, size_t n, bool *changed) MUST_USE;

#endif
