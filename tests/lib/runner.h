// SPDX-License-Identifier: Apache-2.0
/* One main for every check program, so that each test file holds tests and nothing else. */
#ifndef TESTS_LIB_RUNNER_H
#define TESTS_LIB_RUNNER_H

#include <check.h>
#include <stdint.h>

/* Each test program defines this. */
Suite *suite_new(void);

/* LEASELOG_SEED from the environment, or a fixed default; printed when a test fails. */
uint64_t test_seed(void);

#endif
