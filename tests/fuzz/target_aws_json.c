// SPDX-License-Identifier: Apache-2.0
/* Requests of SQS's JSON protocol (sqs/decode.h), for every action.
 *
 * Input: a byte that chooses the action, then the body.
 * Contract: as of target_query. */
#include "fuzz/fuzz.h"
#include "fuzz/sqs_walk.h"
#include "sqs/decode.h"

int LLVMFuzzerTestOneInput(const uint8_t *at, size_t n)
{
    struct cursor c = fuzz_input(at, n);
    struct arena arena;
    arena_init(&arena, NULL, 0);
    struct sqs_request r = {0};
    struct sqs_fault f = {.arena = &arena};
    const struct sqs_action *a = sqs_action((enum sqs_action_id)fuzz_choice(&c, SQS_ACTIONS_N));
    bool fine = sqs_decode_json(a, fuzz_rest(&c), &arena, &r, &f);
    walk_fault(&f, fine);
    if (fine)
        walk_request(a, &r, &arena);
    arena_fini(&arena);
    return 0;
}
