// SPDX-License-Identifier: Apache-2.0
#include "base/arena.h"

#include <stdint.h>

#include "base/check.h"
#include "base/mem.h"

enum { ALIGN = 16, CHUNK_BYTES = 8192 };

struct arena_chunk {
    struct arena_chunk *next;
    max_align_t data[];
};

void arena_init(struct arena *a, void *first, size_t n)
{
    size_t skip = n == 0 ? 0 : (ALIGN - (uintptr_t)first % ALIGN) % ALIGN;
    *a = (struct arena){NULL, 0, NULL};
    if (n > skip)
        *a = (struct arena){(char *)first + skip, n - skip, NULL};
}

void arena_fini(struct arena *a)
{
    while (a->chunks != NULL) {
        struct arena_chunk *c = a->chunks;
        a->chunks = c->next;
        mem_free(c);
    }
    a->at = NULL;
    a->left = 0;
}

static struct arena_chunk *chunk_add(struct arena *a, size_t n)
{
    struct arena_chunk *c = mem_resize(NULL, sizeof *c + n);
    c->next = a->chunks;
    a->chunks = c;
    return c;
}

void *arena_get(struct arena *a, size_t n)
{
    CHECK(n < SIZE_MAX / 2);
    n = n == 0 ? ALIGN : (n + ALIGN - 1) / ALIGN * ALIGN;
    if (n > CHUNK_BYTES / 4 && n > a->left)
        return chunk_add(a, n)->data; /* large ones get their own, the current chunk goes on */
    if (n > a->left) {
        a->at = (char *)chunk_add(a, CHUNK_BYTES)->data;
        a->left = CHUNK_BYTES;
    }
    void *got = a->at;
    a->at += n;
    a->left -= n;
    return got;
}

void *arena_zeros(struct arena *a, size_t n)
{
    void *at = arena_get(a, n);
    memset(at, 0, n);
    return at;
}

struct bytes arena_copy(struct arena *a, struct bytes b)
{
    char *at = arena_get(a, b.n + 1);
    if (b.n > 0)
        memcpy(at, b.at, b.n);
    at[b.n] = '\0';
    return (struct bytes){at, b.n};
}
