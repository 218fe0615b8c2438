// SPDX-License-Identifier: Apache-2.0
/* A stretch of bytes that somebody else owns. Nothing from outside is NUL-terminated by faith. */
#ifndef BASE_BYTES_H
#define BASE_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

struct bytes {
    const void *at; /* may be NULL when n is 0 */
    size_t n;
};

#define BYTES_NONE ((struct bytes){NULL, 0})
/* A string literal as bytes, without its NUL. */
#define BYTES_OF(literal) ((struct bytes){"" literal, sizeof(literal) - 1})

static inline struct bytes bytes_of_text(const char *text)
{
    return (struct bytes){text, strlen(text)};
}

static inline bool bytes_equal(struct bytes a, struct bytes b)
{
    return a.n == b.n && (a.n == 0 || memcmp(a.at, b.at, a.n) == 0);
}

/* <0, 0, >0 as memcmp; a prefix comes first. */
static inline int bytes_compare(struct bytes a, struct bytes b)
{
    size_t n = a.n < b.n ? a.n : b.n;
    int c = n == 0 ? 0 : memcmp(a.at, b.at, n);
    return c != 0 ? c : (a.n > b.n) - (a.n < b.n);
}

static inline bool bytes_start_with(struct bytes a, struct bytes prefix)
{
    return a.n >= prefix.n && (prefix.n == 0 || memcmp(a.at, prefix.at, prefix.n) == 0);
}

#endif
