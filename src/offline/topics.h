// SPDX-License-Identifier: Apache-2.0
/* The topics of the catalogue, read once; it is closed again before anything else is done. */
#ifndef OFFLINE_TOPICS_H
#define OFFLINE_TOPICS_H

#include <stddef.h>
#include <stdint.h>

#include "base/check.h"
#include "base/err.h"
#include "catalog/topic.h"

struct offline_topics {
    struct topic_config *at; /* owned; those whose value can be read */
    size_t n;
};

/* DIR/catalog.sqlite; freed with mem_free. */
char *offline_catalog_path(const char *dir);
/* What catalog_open_to_read and catalog_list answer. */
enum err offline_topics_read(const char *dir, struct offline_topics *out) MUST_USE;
void offline_topics_put(struct offline_topics *t, const struct catalog_kv *kv);
void offline_topics_fini(struct offline_topics *t);
/* The topic, or NULL. */
const struct topic_config *offline_topics_find(const struct offline_topics *t,
                                               const uint8_t id[16]);
/* By its name, of those that are not being deleted. */
const struct topic_config *offline_topics_named(const struct offline_topics *t, const char *name);

#endif
