// SPDX-License-Identifier: Apache-2.0
/* Recovery of one log: its files cut at the mark, then the journal's batches written again. Damage
 * is the log's alone: it is remembered in l->damage, and the others go on. */
#ifndef PLOG_RECOVER_LOG_H
#define PLOG_RECOVER_LOG_H

#include "plog/inside.h"

/* Lists the folder, checks it against the mark and cuts it there. Errors are of the disk, or
 * ERR_NEWER_FORMAT. */
enum err recover_log_open(struct plog_log *l) MUST_USE;
/* One batch of the journal. */
enum err recover_log_append(struct plog_log *l, struct bytes batch) MUST_USE;

#endif
