// SPDX-License-Identifier: Apache-2.0
/* Standard input, whole or by lines, bounded: no message is larger than 1 MiB. */
#ifndef CLI_INPUT_H
#define CLI_INPUT_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"

enum { CLI_BODY_BYTES_MAX = 1024 * 1024 };

/* Appends all that is left of stdin. ERR_TOO_BIG, ERR_IO. */
enum err cli_input_all(struct buf *out) MUST_USE;
/* The next line without its newline, which the last one may lack. ERR_NOT_FOUND: there is none;
 * ERR_TOO_BIG, ERR_IO. Clears out first. */
enum err cli_input_line(struct buf *out) MUST_USE;

#endif
