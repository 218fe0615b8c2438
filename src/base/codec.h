// SPDX-License-Identifier: Apache-2.0
/* Bytes as text: hex, base64 (RFC 4648), UUIDs. Decoders take exactly what the encoders write (hex
 * also in upper case): no white space, no missing padding, no stray bits; else ERR_INVALID. */
#ifndef BASE_CODEC_H
#define BASE_CODEC_H

#include <stddef.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/bytes.h"
#include "base/err.h"
#include "base/rng.h"

enum { CODEC_UUID_ROOM = 37 /* 36 characters and the NUL */ };

/* Lower case. */
void codec_hex_put(struct buf *out, struct bytes data);
/* The same to `out`, which has room for 2 * data.n + 1 characters; ends with a NUL. */
void codec_hex_text(struct bytes data, char *out);
/* Exactly n bytes to `out`. */
enum err codec_hex_decode(struct bytes text, void *out, size_t n) MUST_USE;

/* With padding. */
void codec_base64_put(struct buf *out, struct bytes data);
/* The length that codec_base64_put adds. */
size_t codec_base64_chars(size_t data_bytes);
/* The result lies in the arena. */
enum err codec_base64_decode(struct bytes text, struct arena *arena, struct bytes *data) MUST_USE;

/* As it is written, lower case, NUL-terminated. */
void codec_uuid_text(const uint8_t id[16], char out[CODEC_UUID_ROOM]);
/* A random UUID (version 4), lower case, NUL-terminated. Unique, but not secret: see base/rng.h. */
void codec_uuid(struct rng *rng, char out[CODEC_UUID_ROOM]);

#endif
