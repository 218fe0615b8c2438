// SPDX-License-Identifier: Apache-2.0
/* Requests of SQS's Query protocol (sqs/form.h, sqs/decode.h), for every action.
 *
 * Input: a byte that chooses the action, then the form; what stands behind a first zero byte is the
 * query string. A parameter Action in it, when it names one, goes before the byte.
 * Contract: the request is refused with a text in UTF-8, or all that it holds keeps the bounds of
 * the tables, and messages and settings made of it can be stored. */
#include "fuzz/fuzz.h"
#include "fuzz/sqs_walk.h"
#include "sqs/decode.h"

static void run(const struct sqs_action *a, const struct sqs_form *form, struct arena *arena)
{
    struct sqs_request r = {0};
    struct sqs_fault f = {.arena = arena};
    struct bytes named = sqs_form_get(form, "Action");
    if (named.n > 0 && !sqs_action_find(named, &a, &f)) {
        walk_fault(&f, false);
        return;
    }
    bool fine = sqs_decode_query(a, form, arena, &r, &f);
    walk_fault(&f, fine);
    if (fine)
        walk_request(a, &r, arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *at, size_t n)
{
    struct cursor c = fuzz_input(at, n);
    struct arena arena;
    arena_init(&arena, NULL, 0);
    struct sqs_form form = {0};
    struct sqs_fault f = {.arena = &arena};
    const struct sqs_action *a = sqs_action((enum sqs_action_id)fuzz_choice(&c, SQS_ACTIONS_N));
    const uint8_t *zero = c.left == 0 ? NULL : memchr(c.at, 0, c.left);
    struct bytes body = cursor_bytes(&c, zero == NULL ? c.left : (size_t)(zero - c.at));
    cursor_u8(&c);
    bool fine = sqs_form_add(&form, body, &arena, &f) &&
                sqs_form_add(&form, (struct bytes){c.at, c.left}, &arena, &f);
    walk_fault(&f, fine);
    CHECK(form.n <= SQS_FORM_PAIRS_MAX);
    if (fine)
        run(a, &form, &arena);
    arena_fini(&arena);
    return 0;
}
