// SPDX-License-Identifier: Apache-2.0
/* What cutting a log and beginning it anew have in common. */
#ifndef PLOG_CUT_H
#define PLOG_CUT_H

#include "plog/inside.h"

/* Waits until all that was appended is durable; nobody appends meanwhile. ERR_FAILED. */
enum err cut_settle(struct plog_log *l) MUST_USE;
/* Takes the roles of keeper and writer, and keeps indexes from being made again; gives all back. */
void cut_enter(struct plog_log *l);
void cut_leave(struct plog_log *l);
/* The log's end, in memory, is `to`. */
void cut_set_end(struct plog_log *l, const struct tail *to);
/* [recovery] The journal says that the log was cut here: its mark. ERR_CORRUPT. */
enum err cut_recover(struct plog_log *l, struct bytes payload) MUST_USE;

/* ---- anew.c ---- */

/* [recovery] The journal says that the log began anew. ERR_CORRUPT. */
enum err anew_recover(struct plog_log *l, struct bytes payload) MUST_USE;
/* [recovery] Removes what its folder held before; all that counts is in the journal. */
enum err anew_sweep(struct plog_log *l) MUST_USE;

#endif
