// SPDX-License-Identifier: Apache-2.0
/* Of each key the number of its last message, in bounded memory: what a pass of compaction knows.
 *
 * Keys are known by their hash alone: 128 bits of HMAC-SHA-256 under a secret of the data directory
 * (secret_id_hash). Nobody who sends keys can look for two that fall together, and by chance that
 * happens among a billion keys with a probability below 2^-68. Two keys of one slot are told apart
 * by all 128 bits. */
#ifndef QUEUE_KEY_MAP_H
#define QUEUE_KEY_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "partition/record.h"

struct key_slot {
    struct id_hash hash;
    uint64_t number_after; /* the last message's number + 1; 0: the slot is free */
};

struct key_map {
    struct key_slot *slots; /* owned; NULL when keys_max is 0 */
    size_t room;            /* a power of two, a third more than keys_max at least */
    size_t keys, keys_max;
};

/* For at most keys_max keys, 32 to 64 bytes each. */
void key_map_init(struct key_map *m, size_t keys_max);
void key_map_fini(struct key_map *m);
/* The key's last message is `number`, higher than all before. False: it is a new key, and the map
 * is full. */
bool key_map_put(struct key_map *m, const struct id_hash *hash, uint64_t number);
/* The last message's number + 1; 0: the key is not there. */
uint64_t key_map_find(const struct key_map *m, const struct id_hash *hash);

#endif
