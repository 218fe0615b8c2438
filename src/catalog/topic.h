// SPDX-License-Identifier: Apache-2.0
/* The catalogue's values as structs, and their JSON forms (jansson). Unknown members are kept out
 * with ERR_NEWER_FORMAT only when `format` says so; numbers are checked against their bounds. */
#ifndef CATALOG_TOPIC_H
#define CATALOG_TOPIC_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "catalog/catalog.h"

enum { TOPIC_NAME_MAX = 80, TOPIC_PARTITIONS_MAX = 120 };
/* The bounds that a stored topic must keep; those of SQS's SetQueueAttributes. */
enum {
    TOPIC_DELAY_MS_MAX = 900 * 1000,
    TOPIC_RETENTION_MS_MIN = 60 * 1000,
    TOPIC_RETENTION_MS_MAX = 1209600 * 1000,
    TOPIC_VISIBILITY_MS_MAX = 43200 * 1000,
    TOPIC_WAIT_MS_MAX = 20 * 1000,
    TOPIC_MESSAGE_BYTES_MIN = 1024,
    TOPIC_MESSAGE_BYTES_MAX = 1024 * 1024,
    TOPIC_RECEIVES_MAX = 1000,
    TOPIC_ATTRIBUTES_MAX = 64,
    TOPIC_TAGS_MAX = 50,
    TOPIC_DELETE_RETENTION_MS = 86400 * 1000, /* by default */
    TOPIC_DELETE_RETENTION_MS_MAX = 1209600 * 1000,
    TOPIC_COPIES_MAX = 8,
    TOPIC_COPIES_DEFAULT = 3, /* in a cluster, if there are as many brokers */
};
#define TOPIC_LIMIT_MAX ((int64_t)1 << 50) /* of max_bytes, max_messages and retention_bytes */

enum topic_state { TOPIC_CREATING, TOPIC_READY, TOPIC_DELETING };

/* What a send does that does not fit into max_bytes and max_messages. */
enum topic_when_full {
    TOPIC_FULL_REJECT,      /* it is refused */
    TOPIC_FULL_DROP_OLDEST, /* the oldest unfinished messages go */
    TOPIC_FULL_DEAD_LETTER, /* they go to the dead-letter topic; without one: as reject */
    TOPIC_FULL_WAYS,
};
const char *topic_when_full_name(enum topic_when_full way);
/* False: there is no such way. */
bool topic_when_full_read(struct bytes name, enum topic_when_full *way);

/* SQS queue attributes and tags are kept as they were given (canonical values, as text), so that
 * they can be compared and shown; what the broker acts on is in plain fields beside them. */
struct topic_attribute {
    char *name;  /* owned */
    char *value; /* owned */
};

struct topic_config {
    uint8_t id[16];
    char name[TOPIC_NAME_MAX + 1];
    enum topic_state state;
    bool fifo;
    uint32_t partitions;
    int64_t created_wall_ms;
    int64_t modified_wall_ms;
    int64_t delay_ms;
    int64_t retention_ms;
    int64_t visibility_ms;
    int64_t receive_wait_ms;
    uint32_t message_bytes_max;
    int64_t retention_bytes; /* live bytes above which the oldest messages go; 0: no such limit */
    int64_t max_bytes;       /* live bytes that sends may make; 0: no limit */
    int64_t max_messages;    /* the same for live messages */
    enum topic_when_full when_full;
    bool content_dedup;
    bool dedup_per_group;                 /* DeduplicationScope = messageGroup */
    uint32_t receives_max;                /* 0: no redrive policy */
    char dead_letter[TOPIC_NAME_MAX + 1]; /* the target's name; "" when receives_max is 0 */
    bool compact; /* the last message of each key stays, and is read as a log; fixed at birth; never
                     with fifo */
    int64_t delete_retention_ms; /* of a compact topic: how long a tombstone stays */
    /* In a cluster: on how many brokers each partition is, and how many of them must be in sync for
     * anything to be committed. Fixed at birth; 0: not said. On one node both stay 0. */
    uint32_t copies, min_isr;
    /* Of a topic that is being made: one copy, or a min_isr of 1, is meant. Not stored. */
    bool allow_single_copy;
    struct topic_attribute
        *attributes; /* what has no field above: Policy, Kms…, RedriveAllowPolicy… */
    size_t attributes_n;
    struct topic_attribute *tags;
    size_t tags_n;
};

void topic_config_init(struct topic_config *t); /* SQS's defaults */
void topic_config_fini(struct topic_config *t);
/* `to` is written over, not fini'ed. */
void topic_config_copy(struct topic_config *to, const struct topic_config *from);
const char *topic_attribute_get(const struct topic_config *t, const char *name); /* or NULL */
/* value NULL or "" removes. Name and value are copied; both must be UTF-8 (encoding CHECKs it), so
 * whoever takes them from a client tests that first. */
void topic_attribute_set(struct topic_config *t, const char *name, const char *value);
/* The same for tags, whose value may be "": only NULL removes. */
void topic_tag_set(struct topic_config *t, const char *name, const char *value);

/* Appends to json. The caller keeps the bounds above: what breaks them is not read back. */
void topic_config_encode(const struct topic_config *t, struct buf *json);
/* ERR_CORRUPT, ERR_NEWER_FORMAT. On ERR_OK out is written over and later fini'ed by the caller. */
enum err topic_config_decode(struct bytes json, struct topic_config *out) MUST_USE;

struct group_config {
    uint32_t gid;
    uint64_t generation;
    bool dropped;
};
void group_config_encode(const struct group_config *g, struct buf *json);
enum err group_config_decode(struct bytes json, struct group_config *out) MUST_USE;

/* The partition's value as replication.md writes it; on one node leader, replicas and isr are this
 * broker. */
void partition_config_encode(uint32_t broker, uint64_t epoch, struct buf *json);

/* Keys, into a caller's buffer of CATALOG_KEY_BYTES_MAX + 1. */
void catalog_key_name(char *key, const char *topic_name);
void catalog_key_topic(char *key, const uint8_t topic[16]);
void catalog_key_group(char *key, const uint8_t topic[16], const char *group);
void catalog_key_redrives(char *key, const uint8_t topic[16]);
void catalog_key_partition(char *key, const uint8_t topic[16], uint32_t partition);

/* ---- what a broker needs at its start ---- */

/* Raises k/epoch durably and gives the new value. */
enum err catalog_epoch_raise(struct catalog *c, uint64_t *epoch) MUST_USE;
struct catalog_secrets {
    uint8_t current[32];
    uint8_t previous[32]; /* equal to current until it was changed once */
};
/* Reads k/receipt; made at the first start from `fresh` (32 secret bytes). */
enum err catalog_secrets_get(struct catalog *c, const uint8_t fresh[32],
                             struct catalog_secrets *out) MUST_USE;

#endif
