// SPDX-License-Identifier: Apache-2.0
/* The values of the keys by which brokers know of each other, as JSON (jansson). The partitions'
 * form is in catalog/partition_key.h. Every decoder takes bytes from outside: a member that is
 * missing, unknown, of the wrong type or out of bounds is ERR_CORRUPT, a higher format
 * ERR_NEWER_FORMAT. Sessions and times are decimal strings. */
#ifndef CLUSTER_KEYS_H
#define CLUSTER_KEYS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/bytes.h"
#include "base/err.h"
#include "peer/peer.h"

enum {
    CLUSTER_ID_CHARS_MAX = 36, /* of a cluster's id and of a store's */
    CLUSTER_KEY_ROOM = 64,     /* for any key below, with its NUL */
    CLUSTER_BROKER_MAX = 65535,
};

enum cluster_broker_state {
    CLUSTER_BROKER_ACTIVE,
    CLUSTER_BROKER_DRAINING, /* by an operator: gets no leadership and no new partitions */
    CLUSTER_BROKER_REMOVED,
};

/* Whether a key may hold it as a URL: printable, without blanks, and not too long. Others could not
 * read what is not. */
bool cluster_key_url_ok(const char *text);

/* b/<id>: stays when the broker is down. */
struct cluster_broker_key {
    char url[PEER_URL_BYTES_MAX + 1];        /* for its peers */
    char client_url[PEER_URL_BYTES_MAX + 1]; /* for clients */
    char store[CLUSTER_ID_CHARS_MAX + 1];    /* the uuid of its data directory */
    int64_t session;                         /* counts registrations; above 0 */
    enum cluster_broker_state state;
    int version; /* PEER_VERSION of what it runs */
};
void cluster_broker_key_encode(const struct cluster_broker_key *k, struct buf *json);
enum err cluster_broker_key_decode(struct bytes json, struct cluster_broker_key *out) MUST_USE;

/* s/<id>: there as long as the broker's lease lives. */
struct cluster_session_key {
    int64_t session;
    char store[CLUSTER_ID_CHARS_MAX + 1];
    bool is_leaving; /* it resigns: a planned stop */
    int64_t lease; /* that the key hangs on: whoever revokes it makes the key vanish; 0: unknown */
};
void cluster_session_key_encode(const struct cluster_session_key *k, struct buf *json);
enum err cluster_session_key_decode(struct bytes json, struct cluster_session_key *out) MUST_USE;

/* ctl: the controller, there as long as its lease lives. */
struct cluster_ctl_key {
    uint32_t broker;
    int64_t session;
    char url[PEER_URL_BYTES_MAX + 1];
};
void cluster_ctl_key_encode(const struct cluster_ctl_key *k, struct buf *json);
enum err cluster_ctl_key_decode(struct bytes json, struct cluster_ctl_key *out) MUST_USE;

/* meta: made by whoever comes first, never changed. */
struct cluster_meta_key {
    char cluster_id[CLUSTER_ID_CHARS_MAX + 1];
    int64_t created_wall_ms;
};
void cluster_meta_key_encode(const struct cluster_meta_key *k, struct buf *json);
enum err cluster_meta_key_decode(struct bytes json, struct cluster_meta_key *out) MUST_USE;

/* ---- keys' names ---- */

void cluster_key_broker(char key[CLUSTER_KEY_ROOM], uint32_t broker);
void cluster_key_session(char key[CLUSTER_KEY_ROOM], uint32_t broker);

enum cluster_key_kind {
    CLUSTER_KEY_OTHER, /* of no concern here */
    CLUSTER_KEY_CTL,
    CLUSTER_KEY_BROKER,
    CLUSTER_KEY_SESSION,
    CLUSTER_KEY_TOPIC,
    CLUSTER_KEY_PARTITION,
    CLUSTER_KEY_REDRIVES,
};
struct cluster_key_name {
    enum cluster_key_kind kind;
    uint32_t broker;
    uint8_t topic[16];
    uint32_t partition;
};
/* What a key is about; a name that is not well-formed is OTHER. */
struct cluster_key_name cluster_key_read(const char *key);

#endif
