// SPDX-License-Identifier: Apache-2.0
/* UTF-8 as RFC 3629 has it: no overlong forms, no surrogates, nothing above U+10FFFF. */
#ifndef BASE_UTF8_H
#define BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"

bool utf8_valid(struct bytes text);

/* Where the first character begins that SQS does not take in a message (SendMessage: allowed are
 * #x9 | #xA | #xD | #x20 to #xD7FF | #xE000 to #xFFFD | #x10000 to #x10FFFF), or that is not UTF-8;
 * text.n when there is none. */
size_t utf8_first_forbidden(struct bytes text);

/* How many bytes the character at `at` has (1 to 4), of which `left` > 0 may be looked at; 0 when
 * it is not UTF-8. */
size_t utf8_char_bytes(const unsigned char *at, size_t left);

/* Writes a character, which is a code point but no surrogate; the result is its bytes, 1 to 4. */
size_t utf8_encode(uint32_t code, char out[4]);

#endif
