// SPDX-License-Identifier: Apache-2.0
/* Memory of one request: handed out piece by piece, freed all at once. The first chunk may be the
 * caller's own, so that a small request allocates nothing. Not for sharing between threads. */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include <stddef.h>

#include "base/bytes.h"

struct arena_chunk;

struct arena {
    char *at; /* the free part of the current chunk */
    size_t left;
    struct arena_chunk *chunks; /* owned, newest first */
};

/* `first` is lent until arena_fini; it may be NULL with n = 0. */
void arena_init(struct arena *a, void *first, size_t n);
void arena_fini(struct arena *a);
/* n bytes, aligned for any type, not cleared; never NULL. */
void *arena_get(struct arena *a, size_t n);
/* As arena_get, cleared. */
void *arena_zeros(struct arena *a, size_t n);
/* A copy with a NUL behind it, which .n does not count. */
struct bytes arena_copy(struct arena *a, struct bytes b);

#endif
