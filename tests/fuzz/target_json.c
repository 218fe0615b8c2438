// SPDX-License-Identifier: Apache-2.0
/* The JSON parser (base/json.h) against jansson's.
 *
 * Input: a text. How it is read at random follows from its bytes.
 * Contract: json_against.h. */
#include <stdio.h>

#include "fuzz/fuzz.h"
#include "fuzz/json_against.h"

int LLVMFuzzerTestOneInput(const uint8_t *at, size_t n)
{
    struct json_agreed agreed;
    struct rng rng = {.state = n};
    for (size_t i = 0; i < n; i++)
        rng.state = rng.state * 31 + at[i];
    const char *wrong = json_against((struct bytes){at, n}, &rng, &agreed);
    if (wrong != NULL)
        fprintf(stderr, "%s\n", wrong);
    CHECK(wrong == NULL);
    return 0;
}
