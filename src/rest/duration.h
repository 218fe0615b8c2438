// SPDX-License-Identifier: Apache-2.0
/* Durations as people write them, and times and durations as we show them. Pure. */
#ifndef REST_DURATION_H
#define REST_DURATION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/json_write.h"

enum { REST_DIGITS_MAX = 12, REST_TIME_ROOM = 32 };

/* "30s", "5m", "2h", "1d", "500ms" or whole seconds without a unit; up to 12 digits, no sign, no
 * fraction. */
bool rest_duration_read(struct bytes text, int64_t *ms);
/* Digits only, up to 18; no sign. */
bool rest_number_read(struct bytes text, int64_t *out);

/* RFC 3339 in UTC with milliseconds: 2026-11-29T16:43:04.000Z. */
void rest_time_text(int64_t wall_ms, char out[REST_TIME_ROOM]);
void rest_put_time(struct json_writer *w, const char *key, int64_t wall_ms);
/* A number of seconds, with milliseconds as a fraction where there are some. */
void rest_put_seconds(struct json_writer *w, const char *key, int64_t ms);

#endif
