// SPDX-License-Identifier: Apache-2.0
/* Changes of partitions' keys, many in one transaction. */
#include <stdio.h>
#include <string.h>

#include "base/note.h"
#include "catalog/engine.h"
#include "cluster/swap.h"
#include "lib/folder.h"
#include "lib/runner.h"

static char folder[FOLDER_PATH_ROOM];
static struct catalog *catalog;

static void setup(void)
{
    char path[FOLDER_PATH_ROOM + 20];
    note_init(NOTE_ERROR, false);
    folder_make(folder);
    snprintf(path, sizeof path, "%s/catalog.sqlite", folder);
    ck_assert_int_eq(catalog_open(path, &catalog), ERR_OK);
}

static void teardown(void)
{
    catalog_close(catalog);
    folder_remove(folder);
}

/* ---- a catalogue that does not answer ---- */

static const struct catalog_engine *real;
static bool is_carried_out;

static void run_without_answer(struct catalog *c, struct catalog_txn *first)
{
    if (is_carried_out)
        real->run(c, first);
    first->err = ERR_BUSY;
}

static void swap_prepare(struct cluster_swap *s, uint32_t partition, int64_t version)
{
    *s = (struct cluster_swap){.partition = partition};
    s->value =
        (struct replica_key){.version = version, .min_isr = 1, .members_n = 1, .op = partition};
    s->value.members[0] = (struct replica_member){1, true, 1};
}

START_TEST(a_change_that_is_not_answered_is_open_and_of_many_only_those_lose_that_are_late)
{
    struct cluster_swap swaps[3];
    struct catalog_engine silent;
    struct catalog_cmp term = {"ctl", CATALOG_CREATED, 77};
    real = catalog->engine;
    silent = *real;
    silent.run = run_without_answer;
    catalog->engine = &silent;
    for (int i = 0; i < 2; i++) {
        is_carried_out = i == 1;
        swap_prepare(&swaps[0], 0, 0);
        cluster_swaps_run(catalog, NULL, swaps, 1);
        ck_assert_int_eq(swaps[0].outcome, REPLICA_SWAP_UNKNOWN);
    }
    catalog->engine = real;
    for (uint32_t p = 0; p < 3; p++) /* the first is late: it has been made */
        swap_prepare(&swaps[p], p, 0);
    cluster_swaps_run(catalog, NULL, swaps, 3);
    ck_assert_int_eq(swaps[0].outcome, REPLICA_SWAP_LOST);
    ck_assert_int_eq(swaps[1].outcome, REPLICA_SWAP_WON);
    ck_assert_int_eq(swaps[2].outcome, REPLICA_SWAP_WON);
    for (uint32_t p = 1; p < 3; p++)
        swap_prepare(&swaps[p], p, swaps[p].version);
    cluster_swaps_run(catalog, &term, swaps + 1, 2); /* nobody's term began there */
    ck_assert_int_eq(swaps[1].outcome, REPLICA_SWAP_LOST);
    ck_assert_int_eq(swaps[2].outcome, REPLICA_SWAP_LOST);
}
END_TEST

Suite *suite_new(void)
{
    Suite *s = suite_create("changes of keys");
    TCase *tc = tcase_create("swap");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc,
                   a_change_that_is_not_answered_is_open_and_of_many_only_those_lose_that_are_late);
    suite_add_tcase(s, tc);
    return s;
}
