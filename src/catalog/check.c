// SPDX-License-Identifier: Apache-2.0
/* Judging stored values by their keys, for a check of the whole catalogue. */
#include <string.h>

#include "base/codec.h"
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

/* On one node it is always what partition_config_encode writes, for some epoch. */
static enum err partition_check(struct bytes value)
{
    json_t *root;
    int64_t epoch;
    enum err e = catalog_json_load(value, &root);
    if (e != ERR_OK)
        return e;
    const char *text = json_string_value(json_object_get(root, "epoch"));
    json_int_t leader = json_integer_value(json_object_get(root, "leader"));
    struct buf same = BUF_EMPTY;
    e = ERR_CORRUPT;
    if (text != NULL && catalog_int64_read(text, 0, INT64_MAX, &epoch) && leader >= 0 &&
        leader <= UINT32_MAX) {
        partition_config_encode((uint32_t)leader, (uint64_t)epoch, &same);
        e = bytes_equal(buf_bytes(&same), value) ? ERR_OK : ERR_CORRUPT;
    }
    buf_fini(&same);
    json_decref(root);
    return e;
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
