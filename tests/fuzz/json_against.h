// SPDX-License-Identifier: Apache-2.0
/* Our JSON parser (base/json.h) against jansson's on one text. Both must agree on whether it is
 * JSON and, if it is, on every value. The known differences are modelled exactly:
 *   - jansson refuses integers beyond int64 and reals beyond double. Where it says so, that number
 * is blotted out with a 0 in jansson's copy of the text, and jansson is asked again.
 *   - jansson loses a NUL byte that follows a number or a literal ([1<NUL>] is 1 in an array to
 * it). No JSON text holds a NUL byte, so a text that does counts as refused.
 *   - we refuse to nest deeper than JSON_DEPTH_MAX, jansson than 2048. The depth of what jansson
 * accepted is measured.
 * Besides: skipping the whole text, taking it apart, and reading it at random must all come to the
 * same verdict; and what was accepted, written by json_write, must mean the same. */
#ifndef TESTS_FUZZ_JSON_AGAINST_H
#define TESTS_FUZZ_JSON_AGAINST_H

#include <stdbool.h>

#include "base/bytes.h"
#include "base/rng.h"

struct json_agreed {
    bool accepted; /* by jansson */
    bool too_deep; /* for us */
    bool blotted;  /* numbers were */
};

/* NULL, or what they disagree about. `rng` decides how the text is read at random. */
const char *json_against(struct bytes text, struct rng *rng, struct json_agreed *out);

#endif
