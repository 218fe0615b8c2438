// SPDX-License-Identifier: Apache-2.0
/* Judging stored values by their keys, for a check of the whole catalogue. */
#include <string.h>

#include "base/codec.h"
#include "catalog/partition_key.h"
#include "catalog/redrive.h"
#include "catalog/topic.h"
#include "catalog/topic_json.h"

static enum err topic_check(struct bytes value)
{
    struct topic_config config;
    enum err e = topic_config_decode(value, &config);
    if (e == ERR_OK)
        topic_config_fini(&config);
    return e;
}

static enum err group_check(struct bytes value)
{
    struct group_config config;
    return group_config_decode(value, &config);
}

static enum err redrives_check(struct bytes value)
{
    struct redrives_config config;
    return redrives_config_decode(value, &config);
}

static enum err partition_check(struct bytes value)
{
    struct replica_key key;
    return catalog_partition_decode(value, 1, &key);
}

static enum err hex_check(struct bytes value, size_t n)
{
    uint8_t raw[32];
    CHECK(n <= sizeof raw);
    return codec_hex_decode(value, raw, n) == ERR_OK ? ERR_OK : ERR_CORRUPT;
}

enum err catalog_value_check(const char *key, struct bytes value)
{
    if (strcmp(key, "k/copy") == 0)
        return catalog_copy_marker_check(value);
    if (strcmp(key, "k/epoch") == 0)
        return catalog_epoch_check(value);
    if (strcmp(key, "k/receipt") == 0)
        return catalog_secrets_check(value);
    if (strcmp(key, "k/ids") == 0)
        return hex_check(value, 32);
    if (strncmp(key, "n/", 2) == 0)
        return hex_check(value, 16);
    if (strncmp(key, "t/", 2) == 0)
        return topic_check(value);
    if (strncmp(key, "g/", 2) == 0)
        return group_check(value);
    if (strncmp(key, "p/", 2) == 0)
        return partition_check(value);
    if (strncmp(key, "r/", 2) == 0)
        return redrives_check(value);
    return ERR_NOT_FOUND;
}
