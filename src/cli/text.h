// SPDX-License-Identifier: Apache-2.0
/* What people type: times, numbers, name=value, and words that are nearly right. Pure functions. */
#ifndef CLI_TEXT_H
#define CLI_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

enum { CLI_SECONDS_MAX = 50 * 365 * 86400 };

/* "30s", "5m", "2h", "1d", or whole seconds without a unit; at most CLI_SECONDS_MAX. */
bool cli_seconds_read(const char *text, int64_t *seconds);
/* Decimal digits only, within [min, max]. */
bool cli_number_read(const char *text, int64_t min, int64_t max, int64_t *out);
/* Seconds with up to three digits behind a point, as milliseconds within [min, max]. */
bool cli_millis_read(const char *text, int64_t min, int64_t max, int64_t *out);

/* Splits "name=value" or "name:type=value" at its first '='. All three are lent from text. */
struct cli_pair {
    struct bytes name;
    struct bytes type; /* n = 0: none was given */
    const char *value;
};
bool cli_pair_read(const char *text, struct cli_pair *out);

/* How many letters must be put in, left out, replaced or swapped with their neighbour to make one
 * word of the other; 99 when a word is longer than 40 letters. */
int cli_word_distance(const char *a, const char *b);
/* The one of n words that is nearest to word, or NULL when none is near enough to be meant. */
const char *cli_word_nearest(const char *word, const char *const *words, size_t n);

/* Appends text in single quotes, for a POSIX shell. */
void cli_shell_quote(struct buf *out, struct bytes text);
/* Appends text as one segment of a URL's path, or one value of its query. */
void cli_url_quote(struct buf *out, struct bytes text);

/* Appends text as one line for people: control characters become \n, \t, \r or \xNN, so that no
 * message can command the terminal; a backslash is doubled. At most `most` characters, of which the
 * last is an ellipsis when there were more. Gives how many characters were put. */
size_t cli_line_quote(struct buf *out, struct bytes text, size_t most);

#endif
