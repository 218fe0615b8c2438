// SPDX-License-Identifier: Apache-2.0
/* Taking over a node's catalogue: whole, also when it is cut short after any transaction. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/note.h"
#include "catalog/engine.h"
#include "lib/folder.h"
#include "lib/runner.h"

enum { KEYS = 300, TXNS_MAX = 20 };

static const char ids[] = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
static const char meta[] = "{\"format\":1}";
static char folder[FOLDER_PATH_ROOM], paths[2][FOLDER_PATH_ROOM + 16];
static struct catalog *from, *to;

/* ---- a target that fails ---- */

static const struct catalog_engine *real;
static struct catalog_engine failing;
static int txns_left;        /* until one fails; negative: none does */
static bool carried_out;     /* the one that fails has happened all the same */
static const char *intruder; /* before it somebody puts this key; NULL: nobody */
static size_t ops_max, bytes_max;

static void run(struct catalog *c, struct catalog_txn *first)
{
    size_t bytes = 0;
    for (size_t i = 0; i < first->ops_n; i++)
        bytes += first->ops[i].value.n;
    ops_max = first->ops_n > ops_max ? first->ops_n : ops_max;
    bytes_max = bytes > bytes_max ? bytes : bytes_max;
    bool fails = txns_left >= 0 && txns_left-- == 0;
    if (fails && intruder != NULL) {
        struct catalog_op op = {.key = intruder, .value = BYTES_OF("of another cluster")};
        struct catalog_txn other = {.ops = &op, .ops_n = 1};
        real->run(c, &other);
        ck_assert_int_eq(other.err, ERR_OK);
        fails = false;
    }
    if (!fails || carried_out)
        real->run(c, first);
    if (fails)
        first->err = ERR_BUSY;
}

static void target_open(void)
{
    ck_assert_int_eq(catalog_open(paths[1], &to), ERR_OK);
    real = to->engine;
    failing = *real;
    failing.run = run;
    to->engine = &failing;
    txns_left = -1;
}

/* As after a crash. */
static void target_reopen(void)
{
    catalog_close(to);
    target_open();
}

static void target_anew(void)
{
    catalog_close(to);
    ck_assert_int_eq(unlink(paths[1]), 0);
    target_open();
}

static void put(struct catalog *c, const char *key, const char *value)
{
    struct catalog_op op = {.key = key, .value = bytes_of_text(value), .drop = value[0] == '\0'};
    ck_assert_int_eq(catalog_txn(c, NULL, 0, &op, 1, NULL), ERR_OK);
}

static void set_up(void)
{
    note_init(NOTE_ERROR, false);
    folder_make(folder);
    snprintf(paths[0], sizeof paths[0], "%s/from", folder);
    snprintf(paths[1], sizeof paths[1], "%s/to", folder);
    ck_assert_int_eq(catalog_open(paths[0], &from), ERR_OK);
    target_open();
    put(from, "k/epoch", "{\"format\":1,\"epoch\":\"7\"}");
    put(from, "k/ids", ids);
    put(from, "meta", meta);
    struct catalog_op ops[100];
    static char keys[100][16];
    for (int i = 0; i < KEYS; i += 100) {
        for (int k = 0; k < 100; k++) {
            snprintf(keys[k], sizeof keys[k], "t/%03d", i + k);
            ops[k] = (struct catalog_op){.key = keys[k], .value = bytes_of_text(keys[k])};
        }
        ck_assert_int_eq(catalog_txn(from, NULL, 0, ops, 100, NULL), ERR_OK);
    }
    put(from, "g/x", "group");
}

static void tear_down(void)
{
    catalog_close(from);
    catalog_close(to);
    folder_remove(folder);
}

/* ---- what the target holds ---- */

static bool is_there(struct catalog *c, const char *key)
{
    struct catalog_kv kv;
    enum err e = catalog_get(c, key, &kv);
    if (e == ERR_OK)
        catalog_kv_fini(&kv);
    return e == ERR_OK;
}

static void expect_equal(void)
{
    struct catalog_kvs a, b;
    size_t skipped = 0, k = 0;
    ck_assert_int_eq(catalog_list(from, "", &a), ERR_OK);
    ck_assert_int_eq(catalog_list(to, "", &b), ERR_OK);
    for (size_t i = 0; i < a.n; i++) {
        if (strcmp(a.at[i].key, "k/epoch") == 0) {
            skipped++;
            continue;
        }
        if (k < b.n && strcmp(b.at[k].key, "k/copy") == 0)
            k++;
        ck_assert_uint_lt(k, b.n);
        ck_assert_str_eq(a.at[i].key, b.at[k].key);
        ck_assert(bytes_equal(a.at[i].value, b.at[k].value));
        k++;
    }
    ck_assert_uint_eq(b.n, a.n - skipped + 1);
    catalog_kvs_fini(&a);
    catalog_kvs_fini(&b);
}

START_TEST(all_is_taken_over_but_what_is_of_the_node_alone)
{
    ck_assert_int_eq(catalog_copy_check(to), ERR_OK);
    ck_assert_int_eq(catalog_copy(from, to), ERR_OK);
    expect_equal();
    ck_assert_uint_eq(ops_max, 120);
    ck_assert_int_eq(catalog_copy_check(to), ERR_OK);
    struct catalog_kv kv;
    ck_assert_int_eq(catalog_get(to, "k/copy", &kv), ERR_OK);
    ck_assert_int_eq(catalog_value_check("k/copy", kv.value), ERR_OK);
    kv.value.n--;
    ck_assert_int_eq(catalog_value_check("k/copy", kv.value), ERR_CORRUPT);
    catalog_kv_fini(&kv);
}
END_TEST

START_TEST(a_copy_that_is_cut_short_after_any_transaction_is_finished_by_the_next)
{
    for (int happened = 0; happened <= 1; happened++) {
        int n = 0;
        enum err e = ERR_BUSY;
        carried_out = happened;
        for (; e != ERR_OK; n++) {
            ck_assert_int_lt(n, TXNS_MAX);
            target_anew();
            txns_left = n;
            e = catalog_copy(from, to);
            ck_assert(e == ERR_OK || e == ERR_BUSY);
            bool last = happened && is_there(to, "meta");
            bool begun = n > 0 || happened;
            target_reopen();
            ck_assert_int_eq(catalog_copy_check(to),
                             e == ERR_OK || last || !begun ? ERR_OK : ERR_CONFLICT);
            ck_assert_int_eq(is_there(to, "meta"), e == ERR_OK || last);
            ck_assert_int_eq(catalog_copy(from, to), ERR_OK);
            expect_equal();
        }
        ck_assert_int_eq(n, 6); /* the marker, three with keys, the end; then none fails */
    }
}
END_TEST

START_TEST(a_source_that_changed_since_the_crash_is_taken_over_as_it_is_now)
{
    txns_left = 3;
    ck_assert_int_eq(catalog_copy(from, to), ERR_BUSY);
    target_reopen();
    ck_assert(is_there(to, "t/000"));
    put(from, "t/000", "");
    put(from, "t/001", "changed");
    put(from, "a", "new");
    put(from, "z", "new");
    ck_assert_int_eq(catalog_copy(from, to), ERR_OK);
    ck_assert(!is_there(to, "t/000"));
    expect_equal();
}
END_TEST

START_TEST(a_finished_copy_is_never_touched_again)
{
    ck_assert_int_eq(catalog_copy(from, to), ERR_OK);
    put(to, "t/001", "the cluster's");
    put(to, "b/1", "a broker");
    int64_t rev, later;
    ck_assert_int_eq(catalog_txn(to, NULL, 0, NULL, 0, &rev), ERR_OK);
    ck_assert_int_eq(catalog_copy(from, to), ERR_OK);
    ck_assert_int_eq(catalog_txn(to, NULL, 0, NULL, 0, &later), ERR_OK);
    ck_assert_int_eq(later, rev);
}
END_TEST

START_TEST(a_target_that_is_anothers_is_refused_and_left_alone)
{
    int64_t rev, later;
    put(to, "n/x", "somebody's");
    ck_assert_int_eq(catalog_txn(to, NULL, 0, NULL, 0, &rev), ERR_OK);
    ck_assert_int_eq(catalog_copy(from, to), ERR_CONFLICT);
    target_anew();
    txns_left = 2; /* half of a copy of this node, then of another */
    ck_assert_int_eq(catalog_copy(from, to), ERR_BUSY);
    ck_assert_int_eq(catalog_txn(to, NULL, 0, NULL, 0, &rev), ERR_OK);
    put(from, "k/ids", meta);
    ck_assert_int_eq(catalog_copy(from, to), ERR_CONFLICT);
    put(from, "k/ids", ids);
    ck_assert_int_eq(catalog_txn(to, NULL, 0, NULL, 0, &later), ERR_OK);
    ck_assert_int_eq(later, rev);
    put(to, "b/1", "a broker that should not have started");
    ck_assert_int_eq(catalog_copy(from, to), ERR_CONFLICT);
    put(to, "b/1", "");
    put(to, "meta", "of another cluster");
    ck_assert_int_eq(catalog_copy(from, to), ERR_CONFLICT);
    ck_assert(is_there(to, "meta"));
}
END_TEST

START_TEST(whoever_begins_to_live_in_the_target_meanwhile_ends_the_copy)
{
    intruder = "meta";
    for (int n = 0; n <= 4; n++) { /* before each of the copy's five transactions */
        struct catalog_kv kv;
        target_anew();
        txns_left = n;
        ck_assert_int_eq(catalog_copy(from, to), ERR_CONFLICT);
        ck_assert_int_eq(catalog_copy(from, to), ERR_CONFLICT);
        ck_assert_int_eq(catalog_get(to, "meta", &kv), ERR_OK);
        ck_assert(bytes_equal(kv.value, BYTES_OF("of another cluster")));
        catalog_kv_fini(&kv);
    }
}
END_TEST

START_TEST(of_two_that_copy_at_one_time_one_ends)
{
    intruder = "k/copy";
    for (int n = 0; n <= 4; n++) {
        struct catalog_kv kv;
        target_anew();
        txns_left = n;
        ck_assert_int_eq(catalog_copy(from, to), ERR_CONFLICT);
        ck_assert_int_eq(catalog_get(to, "k/copy", &kv), ERR_OK);
        ck_assert(bytes_equal(kv.value, BYTES_OF("of another cluster")));
        catalog_kv_fini(&kv);
        ck_assert(!is_there(to, "meta"));
    }
}
END_TEST

START_TEST(a_catalogue_of_no_node_is_not_taken_over)
{
    put(from, "k/ids", "");
    ck_assert_int_eq(catalog_copy(from, to), ERR_NOT_FOUND);
    ck_assert(!is_there(to, "k/copy"));
}
END_TEST

/* etcd takes 1.5 MiB in one request. */
START_TEST(large_values_go_in_transactions_that_etcd_takes)
{
    static char big[400 * 1024 + 1];
    memset(big, 'v', sizeof big - 1);
    for (int i = 0; i < 5; i++) {
        char key[16];
        snprintf(key, sizeof key, "r/%d", i);
        put(from, key, big);
    }
    ck_assert_int_eq(catalog_copy(from, to), ERR_OK);
    expect_equal();
    ck_assert_uint_gt(bytes_max, 2 * sizeof big - 10);
    ck_assert_uint_le(bytes_max, 1 << 20);
}
END_TEST

Suite *suite_new(void)
{
    Suite *s = suite_create("taking over a catalogue");
    TCase *tc = tcase_create("copy");
    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_test(tc, all_is_taken_over_but_what_is_of_the_node_alone);
    tcase_add_test(tc, a_copy_that_is_cut_short_after_any_transaction_is_finished_by_the_next);
    tcase_add_test(tc, a_source_that_changed_since_the_crash_is_taken_over_as_it_is_now);
    tcase_add_test(tc, a_finished_copy_is_never_touched_again);
    tcase_add_test(tc, a_target_that_is_anothers_is_refused_and_left_alone);
    tcase_add_test(tc, whoever_begins_to_live_in_the_target_meanwhile_ends_the_copy);
    tcase_add_test(tc, of_two_that_copy_at_one_time_one_ends);
    tcase_add_test(tc, a_catalogue_of_no_node_is_not_taken_over);
    tcase_add_test(tc, large_values_go_in_transactions_that_etcd_takes);
    suite_add_tcase(s, tc);
    return s;
}
