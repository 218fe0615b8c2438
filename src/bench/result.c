// SPDX-License-Identifier: Apache-2.0
#include "bench/result.h"

#include <stdio.h>

const char *const bench_operation_names[BENCH_OPS_N] = {"send", "receive", "delete"};

static int cut(struct bytes text, size_t room)
{
    return (int)(text.n < room ? text.n : room - 1);
}

void bench_result_failed(struct bench_result *r, struct bytes code, struct bytes text)
{
    for (size_t i = 0; i < r->failures_n; i++) {
        struct bench_failure *f = &r->failures[i];
        size_t n = (size_t)cut(code, sizeof f->code);
        if (strlen(f->code) == n && (n == 0 || memcmp(f->code, code.at, n) == 0)) {
            f->n++;
            return;
        }
    }
    if (r->failures_n == BENCH_FAILURES_MAX) {
        r->failures_other++;
        return;
    }
    struct bench_failure *f = &r->failures[r->failures_n++];
    f->n = 1;
    (void)snprintf(f->code, sizeof f->code, "%.*s", cut(code, sizeof f->code),
                   code.n == 0 ? "" : (const char *)code.at);
    (void)snprintf(f->text, sizeof f->text, "%.*s", cut(text, sizeof f->text),
                   text.n == 0 ? "" : (const char *)text.at);
}

uint64_t bench_result_failures(const struct bench_result *r)
{
    uint64_t n = r->failures_other;
    for (size_t i = 0; i < r->failures_n; i++)
        n += r->failures[i].n;
    return n;
}
