// SPDX-License-Identifier: Apache-2.0
/* Part of test_plog. */
#ifndef TESTS_UNIT_TEST_PLOG_MARKS_H
#define TESTS_UNIT_TEST_PLOG_MARKS_H

#include "lib/runner.h"

TCase *tcase_marks(void);

#endif
