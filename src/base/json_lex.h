// SPDX-License-Identifier: Apache-2.0
/* The smallest parts of a JSON text: strings and numbers. Used by json.c alone. */
#ifndef BASE_JSON_LEX_H
#define BASE_JSON_LEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* `at` is behind the opening quote. Gives the place of the closing one, and whether there are
 * escapes before it; NULL when the string is not sound. */
const unsigned char *json_lex_string(const unsigned char *at, const unsigned char *end,
                                     bool *escaped);

/* What a sound string from `at` to its closing quote means. `out` has room for close - at bytes,
 * since no escape is shorter than what it stands for. The result is the bytes written. */
size_t json_lex_unescape(const unsigned char *at, const unsigned char *close, char *out);

/* Gives the end of the number that begins at `at`, and whether it has neither fraction nor
 * exponent; NULL when it is none. Leading zeros end it: the caller then finds a digit where none
 * may be. */
const unsigned char *json_lex_number(const unsigned char *at, const unsigned char *end,
                                     bool *integer);

/* The value of an integer that json_lex_number found; false when it is no int64. */
bool json_lex_int64(const unsigned char *at, const unsigned char *end, int64_t *value);

#endif
