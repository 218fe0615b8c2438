// SPDX-License-Identifier: Apache-2.0
/* The catalogue: SQLite's own check, each key and value, keys against each other, and topics
 * against the logs that there are. It has no checksums: a byte that turns one good value into
 * another one is not seen. */
#ifndef OFFLINE_CHECK_CATALOG_H
#define OFFLINE_CHECK_CATALOG_H

#include "offline/findings.h"
#include "offline/store.h"

void offline_check_catalog(const char *dir, const struct offline_store *s, struct findings *f);

#endif
