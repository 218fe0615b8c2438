// SPDX-License-Identifier: Apache-2.0
/* What a broker, or whatever listens there, answers to the load generator (bench/answer.h,
 * bench/reply.h).
 *
 * Input: the bytes of a connection.
 * Contract: whatever they are, the head is refused with a sentence, or asked for more, or within
 * its bounds; each shorter part of a sound head is asked for more, and bytes behind it change
 * nothing. The body, and the input as a whole, are read as each of the replies: refused, or within
 * bounds and lent from what was given. */
#include <stdlib.h>

#include "bench/answer.h"
#include "bench/reply.h"
#include "fuzz/fuzz.h"

enum { BODY_BYTES_MAX = 4096 };

static void read_replies(struct bytes body)
{
    struct arena arena;
    struct bench_received got;
    struct bench_fault fault;
    size_t failed;
    arena_init(&arena, NULL, 0);
    if (bench_reply_received(body, &arena, &got) == ERR_OK) {
        CHECK(got.n <= BENCH_BATCH_MAX);
        for (size_t i = 0; i < got.n; i++) {
            struct buf request = BUF_EMPTY;
            struct bench_target to = {"h", "q"};
            CHECK(got.receipts[i].n > 0 && got.receipts[i].n <= body.n);
            bench_request_delete(&request, &to, got.receipts, i + 1);
            buf_fini(&request);
        }
    }
    if (bench_reply_failed(body, &arena, &failed, &fault) == ERR_OK)
        CHECK(failed <= body.n && fault.code.n <= body.n && fault.text.n <= body.n);
    if (bench_reply_fault(body, &arena, &fault) == ERR_OK)
        CHECK(fault.code.n <= body.n && fault.text.n <= body.n);
    arena_fini(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bytes in = {data, size};
    struct bench_answer a, again;
    const char *why = NULL, *ignored;
    enum err e = bench_answer_read(in, BODY_BYTES_MAX, &a, &why);
    CHECK(e == ERR_OK || e == ERR_NEED || ((e == ERR_CORRUPT || e == ERR_TOO_BIG) && why != NULL));
    read_replies(in);
    if (e != ERR_OK)
        return 0;
    CHECK(a.status >= 200 && a.status <= 999 && a.body_bytes <= BODY_BYTES_MAX);
    CHECK(a.head_bytes <= size && a.head_bytes <= BENCH_ANSWER_HEAD_MAX);
    size_t behind = size - a.head_bytes;
    read_replies(
        (struct bytes){data + a.head_bytes, behind < a.body_bytes ? behind : a.body_bytes});
    /* A copy without a byte to spare, so that a sanitizer sees a step beyond. */
    uint8_t *head = malloc(a.head_bytes);
    memcpy(head, data, a.head_bytes);
    in = (struct bytes){head, a.head_bytes};
    CHECK(bench_answer_read(in, BODY_BYTES_MAX, &again, &ignored) == ERR_OK);
    CHECK(again.status == a.status && again.body_bytes == a.body_bytes &&
          again.closes == a.closes && again.head_bytes == a.head_bytes);
    in.n--;
    CHECK(bench_answer_read(in, BODY_BYTES_MAX, &again, &ignored) == ERR_NEED);
    in.n /= 2;
    CHECK(bench_answer_read(in, BODY_BYTES_MAX, &again, &ignored) == ERR_NEED);
    free(head);
    return 0;
}
