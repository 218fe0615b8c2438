// SPDX-License-Identifier: Apache-2.0
/* What all structures on disk have in common (FORMAT.md, first section): a magic of three letters
 * and the version at 0, a CRC at 4. */
#ifndef PLOG_FORMAT_H
#define PLOG_FORMAT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/bytes.h"
#include "base/err.h"
#include "plog/plog.h"

enum { FORMAT_VERSION = 1, FORMAT_AT_CRC = 4, FORMAT_AT_COVERED = 8, STAMP_BYTES = 40 };

/* `kind` is the third letter. */
void format_magic_store(char *at, char kind);
bool format_letters_fit(const void *at, char kind);
/* Over bytes 0..4 and 8..n. */
void format_crc_store(char *at, size_t n, uint32_t seed);
/* Letters, CRC and version of a whole structure. ERR_CORRUPT, ERR_NEWER_FORMAT. */
enum err format_check(struct bytes whole, char kind, uint32_t seed) MUST_USE;

void format_stamp_put(struct buf *b, const struct plog_stamp *s);
struct plog_stamp format_stamp_take(struct cursor *c);

#endif
