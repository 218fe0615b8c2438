// SPDX-License-Identifier: Apache-2.0
/* A file that an operator keeps a secret in. */
#ifndef APP_SECRET_FILE_H
#define APP_SECRET_FILE_H

#include <stdbool.h>
#include <stddef.h>

/* All of the file, at most room-1 bytes, and a NUL behind them. False: it cannot be read, or is
 * larger; stderr says which. The log warns when others than its owner may read it. Whoever calls
 * wipes `text`. */
bool secret_file_read(const char *path, char *text, size_t room, size_t *n);

#endif
