// SPDX-License-Identifier: Apache-2.0
#ifndef TESTS_SIM_TEST_SIM_H
#define TESTS_SIM_TEST_SIM_H

#include "lib/runner.h"

TCase *tcase_checker(void);
TCase *tcase_topics(void);

#endif
