// SPDX-License-Identifier: Apache-2.0
#include "base/check.h"

#include <stdio.h>
#include <stdlib.h>

void check_failed(const char *file, int line, const char *func, const char *expr)
{
    fprintf(stderr, "leaselog: %s:%d: %s: check failed: %s\n", file, line, func, expr);
    abort();
}
