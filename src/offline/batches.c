// SPDX-License-Identifier: Apache-2.0
#include "offline/batches.h"

#include <string.h>

static enum err batch_at(struct bytes bytes, uint64_t position, struct bytes *batch,
                         struct batch_header *h)
{
    const char *at = (const char *)bytes.at + position;
    uint64_t left = bytes.n - position;
    if (left < BATCH_HEADER_BYTES)
        return ERR_CORRUPT;
    enum err e = batch_header_peek(at, h);
    if (e != ERR_OK)
        return e;
    if (h->bytes > left)
        return ERR_CORRUPT;
    *batch = (struct bytes){at, h->bytes};
    return batch_check(*batch, h);
}

enum err offline_batches_next(struct offline_batches *b, uint64_t *at, struct bytes *batch,
                              struct batch_header *h)
{
    if (b->position >= b->bytes.n)
        return ERR_NOT_FOUND;
    *at = b->position;
    enum err e = batch_at(b->bytes, b->position, batch, h);
    if (e == ERR_OK) {
        b->position += h->bytes;
        return ERR_OK;
    }
    const char *from = b->bytes.at;
    struct bytes found;
    struct batch_header header;
    for (uint64_t i = b->position + 1;; i++) {
        const char *l = i < b->bytes.n ? memchr(from + i, 'L', b->bytes.n - i) : NULL;
        if (l == NULL) {
            b->position = b->bytes.n;
            return e;
        }
        i = (uint64_t)(l - from);
        if (batch_at(b->bytes, i, &found, &header) == ERR_OK) {
            b->position = i;
            return e;
        }
    }
}
