// SPDX-License-Identifier: Apache-2.0
/* What a catalogue promises, whatever stands behind it: the same tests for each. */
#ifndef TESTS_UNIT_CATALOG_CONTRACT_H
#define TESTS_UNIT_CATALOG_CONTRACT_H

#include "catalog/catalog.h"
#include "lib/runner.h"

extern struct catalog *c; /* an empty one, opened by the test's fixture */
extern int64_t last_rev;
void catalog_reopen(void); /* defined by each test program */

void catalog_contract_add(TCase *tc);

/* One compare, one op; gives the result and keeps the revision in last_rev. */
enum err put(const char *key, const char *value, int64_t rev);
void put_free(const char *key, const char *value);
/* Fails unless the key holds the value; NULL: unless it is absent. */
void expect(const char *key, const char *value);

#endif
