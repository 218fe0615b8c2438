// SPDX-License-Identifier: Apache-2.0
#include "offline/topics.h"

#include <string.h>

#include "base/mem.h"
#include "plog/files.h"

char *offline_catalog_path(const char *dir)
{
    return file_path(dir, "catalog.sqlite");
}

void offline_topics_put(struct offline_topics *t, const struct catalog_kv *kv)
{
    struct topic_config config;
    if (topic_config_decode(kv->value, &config) != ERR_OK)
        return;
    t->at = mem_resize(t->at, (t->n + 1) * sizeof t->at[0]);
    t->at[t->n++] = config;
}

enum err offline_topics_read(const char *dir, struct offline_topics *out)
{
    struct catalog *c;
    struct catalog_kvs kvs = {0};
    struct offline_topics t = {0};
    char *path = offline_catalog_path(dir);
    enum err e = catalog_open_to_read(path, &c);
    mem_free(path);
    if (e != ERR_OK)
        return e;
    e = catalog_list(c, "t/", &kvs);
    for (size_t i = 0; i < kvs.n; i++)
        offline_topics_put(&t, &kvs.at[i]);
    catalog_kvs_fini(&kvs);
    catalog_close(c);
    if (e == ERR_OK)
        *out = t;
    else
        offline_topics_fini(&t);
    return e;
}

void offline_topics_fini(struct offline_topics *t)
{
    for (size_t i = 0; i < t->n; i++)
        topic_config_fini(&t->at[i]);
    mem_free(t->at);
    *t = (struct offline_topics){0};
}

const struct topic_config *offline_topics_find(const struct offline_topics *t, const uint8_t id[16])
{
    for (size_t i = 0; i < t->n; i++)
        if (memcmp(t->at[i].id, id, sizeof t->at[i].id) == 0)
            return &t->at[i];
    return NULL;
}

const struct topic_config *offline_topics_named(const struct offline_topics *t, const char *name)
{
    for (size_t i = 0; i < t->n; i++)
        if (t->at[i].state != TOPIC_DELETING && strcmp(t->at[i].name, name) == 0)
            return &t->at[i];
    return NULL;
}
