// SPDX-License-Identifier: Apache-2.0
#include "runner.h"

#include <stdio.h>
#include <stdlib.h>

uint64_t test_seed(void)
{
    const char *s = getenv("LEASELOG_SEED");
    return s == NULL ? 1 : strtoull(s, NULL, 10);
}

int main(void)
{
    SRunner *runner = srunner_create(suite_new());
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    if (failed > 0)
        fprintf(stderr, "play again with LEASELOG_SEED=%llu\n", (unsigned long long)test_seed());
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
