// SPDX-License-Identifier: Apache-2.0
/* What the JSON forms of the catalogue's values share; for this room, and for cluster, whose keys
 * lie in the same catalogue.
 *
 * Every value is one object with the member `format`. Numbers that may pass 2^53 are decimal
 * strings, as etcd's gateway writes them, so that no reader's doubles round them. Secrets and ids
 * are lower-case hex. A member that is missing, unknown, doubled, of the wrong type or out of its
 * bounds makes the whole value ERR_CORRUPT; a higher format makes it ERR_NEWER_FORMAT. */
#ifndef CATALOG_TOPIC_JSON_H
#define CATALOG_TOPIC_JSON_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/check.h"
#include "base/err.h"

enum {
    CATALOG_JSON_FORMAT = 1,
    CATALOG_JSON_FORMAT_TOPIC = 2, /* of a topic that has what format 1 has no member for */
};

/* Reads formats up to `newest`, by which the caller checks its members. The caller gives *out back
 * with json_decref. */
enum err catalog_json_load_upto(struct bytes json, int newest, json_t **out) MUST_USE;
/* The same, of values that have had one format only. */
enum err catalog_json_load(struct bytes json, json_t **out) MUST_USE;
/* Appends root's text and takes root. */
void catalog_json_store(json_t *root, struct buf *json);

/* A new string. */
json_t *catalog_json_int64(int64_t v);
/* Reads digits only (and a minus), no leading zeros; false when the value lies outside the bounds.
 */
bool catalog_int64_read(const char *text, int64_t min, int64_t max, int64_t *out);

/* 2n characters and a NUL. */
void catalog_hex_write(char *hex, const uint8_t *at, size_t n);
/* False unless hex is exactly 2n lower-case digits. */
bool catalog_hex_read(const char *hex, uint8_t *at, size_t n);

/* Whether these are values of k/copy, k/epoch and k/receipt. */
enum err catalog_copy_marker_check(struct bytes json) MUST_USE;
enum err catalog_epoch_check(struct bytes json) MUST_USE;
enum err catalog_secrets_check(struct bytes json) MUST_USE;

#endif
