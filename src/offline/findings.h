// SPDX-License-Identifier: Apache-2.0
/* What a check finds, one line each. A *fault* is damage, and makes fsck exit with 1; a *remark* is
 * what an operator may want to know of and that does no harm. Lines are held back until they are
 * flushed, so that what was seen while a broker changed the files can be looked at again. */
#ifndef OFFLINE_FINDINGS_H
#define OFFLINE_FINDINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

#define FINDING_WHOLE UINT64_MAX /* instead of a byte: the whole file, or no file at all */

struct findings {
    bool json;
    bool no_remarks;
    size_t faults, remarks;
    struct buf lines; /* not yet printed */
};

/* Where one may go back to, as long as nothing was flushed since. */
struct findings_place {
    size_t faults, remarks, lines_n;
};

void findings_fini(struct findings *f);
/* `file` is relative to the data directory; `at` is a byte in it. `todo` is what the operator
 * should do about it. The rest is printf's. */
void findings_fault(struct findings *f, const char *file, uint64_t at, const char *todo,
                    const char *format, ...) __attribute__((format(printf, 5, 6)));
void findings_remark(struct findings *f, const char *file, uint64_t at, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
struct findings_place findings_here(const struct findings *f);
void findings_back(struct findings *f, struct findings_place place);
/* Prints what is held back to stdout. */
void findings_flush(struct findings *f);

#endif
