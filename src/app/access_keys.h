// SPDX-License-Identifier: Apache-2.0
/* The file of --sqs-access-keys. */
#ifndef APP_ACCESS_KEYS_H
#define APP_ACCESS_KEYS_H

#include <stdbool.h>

#include "sqs/signature.h"

/* An empty path is no file, and no keys. False when the file cannot be read or is not of that form;
 * stderr says why. */
bool access_keys_load(const char *path, struct sqs_access_keys *out);

#endif
