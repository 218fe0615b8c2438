// SPDX-License-Identifier: Apache-2.0
/* store.json: which store a data directory is. Written once, at the end of making the store. */
#ifndef PLOG_STORE_H
#define PLOG_STORE_H

#include "plog/inside.h"

/* Reads store.json into p->store_uuid. ERR_NOT_FOUND: there is none, and nothing that looks like a
 * store's remains either, so one may be made. ERR_CORRUPT (noted), ERR_NEWER_FORMAT. */
enum err store_read(struct plog *p) MUST_USE;
enum { STORE_UUID_BYTES = 36, STORE_BYTES_MAX = 4096 };
/* The file's bytes; the uuid is text and ends with a NUL. ERR_CORRUPT, ERR_NEWER_FORMAT; nothing is
 * noted. */
enum err store_decode(struct bytes whole, char uuid[STORE_UUID_BYTES + 1]) MUST_USE;
/* Makes an empty store: folders, first journal file, marks, and store.json last. */
enum err store_make(struct plog *p) MUST_USE;

#endif
