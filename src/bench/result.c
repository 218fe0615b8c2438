// SPDX-License-Identifier: Apache-2.0
#include "bench/result.h"

#include <string.h>

const char *const bench_operation_names[BENCH_OPS_N] = {"send", "receive", "delete"};

/* A text from outside, cut to the room there is. It will be shown, so nothing stays in it that
 * could command a terminal. */
static void text_store(char *out, size_t room, struct bytes text)
{
    const unsigned char *at = text.at;
    size_t n = text.n < room ? text.n : room - 1;
    for (size_t i = 0; i < n; i++)
        out[i] = at[i] >= ' ' && at[i] < 127 ? (char)at[i] : '?';
    out[n] = '\0';
}

void bench_result_failed(struct bench_result *r, struct bytes code, struct bytes text)
{
    struct bench_failure one = {.n = 1};
    text_store(one.code, sizeof one.code, code);
    text_store(one.text, sizeof one.text, text);
    r->newest = one;
    for (size_t i = 0; i < r->failures_n; i++)
        if (strcmp(r->failures[i].code, one.code) == 0) {
            r->failures[i].n++;
            return;
        }
    if (r->failures_n < BENCH_FAILURES_MAX)
        r->failures[r->failures_n++] = one;
    else
        r->failures_other++;
}

uint64_t bench_result_failures(const struct bench_result *r)
{
    uint64_t n = r->failures_other;
    for (size_t i = 0; i < r->failures_n; i++)
        n += r->failures[i].n;
    return n;
}
