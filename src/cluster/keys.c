// SPDX-License-Identifier: Apache-2.0
#include "cluster/keys.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "catalog/topic.h"
#include "catalog/topic_json.h"

enum { FORMAT = 1 };

static const char *const broker_states[] = {"active", "draining", "removed"};

/* Copies text that is to be shown and sent on: printable, without blanks, and not too long. */
static bool text_read(const char *text, size_t chars_max, char *out)
{
    size_t n = strlen(text);
    if (n > chars_max)
        return false;
    for (size_t i = 0; i < n; i++)
        if (text[i] <= ' ' || text[i] > '~')
            return false;
    memcpy(out, text, n + 1);
    return true;
}

static bool id_read(const char *text, char *out)
{
    return text[0] != '\0' && text_read(text, CLUSTER_ID_CHARS_MAX, out);
}

static bool url_read(const char *text, char *out)
{
    return text_read(text, PEER_URL_BYTES_MAX, out);
}

bool cluster_key_url_ok(const char *text)
{
    char url[PEER_URL_BYTES_MAX + 1];
    return url_read(text, url);
}

/* ---- b/ ---- */

void cluster_broker_key_encode(const struct cluster_broker_key *k, struct buf *json)
{
    CHECK(k->state <= CLUSTER_BROKER_REMOVED && k->session > 0);
    catalog_json_store(json_pack("{s:i, s:s, s:s, s:s, s:o, s:s, s:i}", "format", FORMAT, "url",
                                 k->url, "client_url", k->client_url, "store", k->store, "session",
                                 catalog_json_int64(k->session), "state", broker_states[k->state],
                                 "version", k->version),
                       json);
}

static bool state_read(const char *text, enum cluster_broker_state *out)
{
    for (size_t i = 0; i < sizeof broker_states / sizeof broker_states[0]; i++)
        if (strcmp(broker_states[i], text) == 0) {
            *out = (enum cluster_broker_state)i;
            return true;
        }
    return false;
}

enum err cluster_broker_key_decode(struct bytes json, struct cluster_broker_key *out)
{
    json_t *root;
    struct cluster_broker_key k = {.version = 0};
    const char *url, *client_url, *store, *session, *state;
    int format;
    enum err e = catalog_json_load_upto(json, FORMAT, &root);
    if (e != ERR_OK)
        return e;
    if (json_unpack_ex(root, NULL, JSON_STRICT, "{s:i, s:s, s:s, s:s, s:s, s:s, s:i}", "format",
                       &format, "url", &url, "client_url", &client_url, "store", &store, "session",
                       &session, "state", &state, "version", &k.version) == 0 &&
        url_read(url, k.url) && url_read(client_url, k.client_url) && id_read(store, k.store) &&
        catalog_int64_read(session, 1, INT64_MAX - 1, &k.session) && state_read(state, &k.state) &&
        k.version > 0)
        *out = k;
    else
        e = ERR_CORRUPT;
    json_decref(root);
    return e;
}

/* ---- s/ ---- */

void cluster_session_key_encode(const struct cluster_session_key *k, struct buf *json)
{
    CHECK(k->session > 0);
    catalog_json_store(json_pack("{s:i, s:o, s:s, s:b, s:o}", "format", FORMAT, "session",
                                 catalog_json_int64(k->session), "store", k->store, "leaving",
                                 (int)k->is_leaving, "lease", catalog_json_int64(k->lease)),
                       json);
}

enum err cluster_session_key_decode(struct bytes json, struct cluster_session_key *out)
{
    json_t *root;
    struct cluster_session_key k;
    const char *session, *store, *lease = "0"; /* the first brokers did not write it */
    int format, leaving;
    enum err e = catalog_json_load_upto(json, FORMAT, &root);
    if (e != ERR_OK)
        return e;
    if (json_unpack_ex(root, NULL, JSON_STRICT, "{s:i, s:s, s:s, s:b, s?:s}", "format", &format,
                       "session", &session, "store", &store, "leaving", &leaving, "lease",
                       &lease) == 0 &&
        catalog_int64_read(session, 1, INT64_MAX - 1, &k.session) && id_read(store, k.store) &&
        catalog_int64_read(lease, INT64_MIN, INT64_MAX, &k.lease)) {
        k.is_leaving = leaving != 0;
        *out = k;
    } else {
        e = ERR_CORRUPT;
    }
    json_decref(root);
    return e;
}

/* ---- ctl ---- */

void cluster_ctl_key_encode(const struct cluster_ctl_key *k, struct buf *json)
{
    CHECK(k->session > 0);
    catalog_json_store(json_pack("{s:i, s:I, s:o, s:s}", "format", FORMAT, "broker",
                                 (json_int_t)k->broker, "session", catalog_json_int64(k->session),
                                 "url", k->url),
                       json);
}

enum err cluster_ctl_key_decode(struct bytes json, struct cluster_ctl_key *out)
{
    json_t *root;
    struct cluster_ctl_key k;
    const char *session, *url;
    json_int_t broker;
    int format;
    enum err e = catalog_json_load_upto(json, FORMAT, &root);
    if (e != ERR_OK)
        return e;
    if (json_unpack_ex(root, NULL, JSON_STRICT, "{s:i, s:I, s:s, s:s}", "format", &format, "broker",
                       &broker, "session", &session, "url", &url) == 0 &&
        broker >= 1 && broker <= CLUSTER_BROKER_MAX &&
        catalog_int64_read(session, 1, INT64_MAX - 1, &k.session) && url_read(url, k.url)) {
        k.broker = (uint32_t)broker;
        *out = k;
    } else {
        e = ERR_CORRUPT;
    }
    json_decref(root);
    return e;
}

/* ---- meta ---- */

void cluster_meta_key_encode(const struct cluster_meta_key *k, struct buf *json)
{
    catalog_json_store(json_pack("{s:i, s:s, s:o}", "format", FORMAT, "cluster_id", k->cluster_id,
                                 "created", catalog_json_int64(k->created_wall_ms)),
                       json);
}

enum err cluster_meta_key_decode(struct bytes json, struct cluster_meta_key *out)
{
    json_t *root;
    struct cluster_meta_key k;
    const char *id, *created;
    int format;
    enum err e = catalog_json_load_upto(json, FORMAT, &root);
    if (e != ERR_OK)
        return e;
    if (json_unpack_ex(root, NULL, JSON_STRICT, "{s:i, s:s, s:s}", "format", &format, "cluster_id",
                       &id, "created", &created) == 0 &&
        id_read(id, k.cluster_id) && catalog_int64_read(created, 0, INT64_MAX, &k.created_wall_ms))
        *out = k;
    else
        e = ERR_CORRUPT;
    json_decref(root);
    return e;
}

/* ---- names ---- */

void cluster_key_broker(char key[CLUSTER_KEY_ROOM], uint32_t broker)
{
    (void)snprintf(key, CLUSTER_KEY_ROOM, "b/%" PRIu32, broker);
}

void cluster_key_session(char key[CLUSTER_KEY_ROOM], uint32_t broker)
{
    (void)snprintf(key, CLUSTER_KEY_ROOM, "s/%" PRIu32, broker);
}

static bool broker_of(const char *text, uint32_t *out)
{
    int64_t id;
    if (!catalog_int64_read(text, 1, CLUSTER_BROKER_MAX, &id))
        return false;
    *out = (uint32_t)id;
    return true;
}

static bool partition_of(const char *text, struct cluster_key_name *name)
{
    char hex[33];
    int64_t partition;
    if (strlen(text) < 34 || text[32] != '/' ||
        !catalog_int64_read(text + 33, 0, TOPIC_PARTITIONS_MAX - 1, &partition))
        return false;
    memcpy(hex, text, 32);
    hex[32] = '\0';
    name->partition = (uint32_t)partition;
    return catalog_hex_read(hex, name->topic, sizeof name->topic);
}

struct cluster_key_name cluster_key_read(const char *key)
{
    struct cluster_key_name name = {.kind = CLUSTER_KEY_OTHER};
    if (strcmp(key, "ctl") == 0)
        name.kind = CLUSTER_KEY_CTL;
    else if (strncmp(key, "b/", 2) == 0 && broker_of(key + 2, &name.broker))
        name.kind = CLUSTER_KEY_BROKER;
    else if (strncmp(key, "s/", 2) == 0 && broker_of(key + 2, &name.broker))
        name.kind = CLUSTER_KEY_SESSION;
    else if (strncmp(key, "t/", 2) == 0 && catalog_hex_read(key + 2, name.topic, sizeof name.topic))
        name.kind = CLUSTER_KEY_TOPIC;
    else if (strncmp(key, "r/", 2) == 0 && catalog_hex_read(key + 2, name.topic, sizeof name.topic))
        name.kind = CLUSTER_KEY_REDRIVES;
    else if (strncmp(key, "p/", 2) == 0 && partition_of(key + 2, &name))
        name.kind = CLUSTER_KEY_PARTITION;
    return name;
}
