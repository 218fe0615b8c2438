// SPDX-License-Identifier: Apache-2.0
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

#include "base/check.h"

void *mem_new(size_t n)
{
    return mem_new_array(1, n);
}

void *mem_new_array(size_t count, size_t size)
{
    void *at = calloc(count > 0 ? count : 1, size > 0 ? size : 1);
    CHECK(at != NULL);
    return at;
}

void *mem_resize(void *at, size_t n)
{
    void *moved = realloc(at, n > 0 ? n : 1);
    CHECK(moved != NULL);
    return moved;
}

void mem_free(void *at)
{
    free(at);
}

char *mem_copy_text(const char *text)
{
    char *copy = strdup(text);
    CHECK(copy != NULL);
    return copy;
}
