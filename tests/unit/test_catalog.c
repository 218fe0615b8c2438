// SPDX-License-Identifier: Apache-2.0
/* The catalogue: compare-and-swap, the file it lives in, and a broker's start. */
#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/note.h"
#include "catalog/engine.h"
#include "catalog_live.h"

static char folder[200], path[256];

static void folder_make(void)
{
    const char *parent = getenv("TMPDIR");
    snprintf(folder, sizeof folder,
             "%s/leaselog-catalog-"
             "XX"
             "XX"
             "XX",
             parent ? parent : "/tmp");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/catalog.sqlite", folder);
    note_init(NOTE_ERROR, false);
}

static void folder_drop(void)
{
    char journal[300];
    catalog_close(c);
    c = NULL;
    snprintf(journal, sizeof journal, "%s-journal", path);
    unlink(journal);
    unlink(path);
    ck_assert_int_eq(rmdir(folder), 0);
}

static void set_up(void)
{
    folder_make();
    ck_assert_int_eq(catalog_open(path, &c), ERR_OK);
}

void catalog_reopen(void)
{
    catalog_close(c);
    c = NULL;
    ck_assert_int_eq(catalog_open(path, &c), ERR_OK);
}

static void sql(const char *text)
{
    sqlite3 *db;
    char *message = NULL;
    ck_assert_int_eq(sqlite3_open(path, &db), SQLITE_OK);
    ck_assert_msg(sqlite3_exec(db, text, NULL, NULL, &message) == SQLITE_OK, "%s", message);
    sqlite3_close(db);
}

/* ---- the file ---- */

START_TEST(a_reopened_catalogue_keeps_values_and_revisions)
{
    put_free("a", "1");
    put_free("a", "2");
    int64_t rev = last_rev;
    catalog_reopen();
    expect("a", "2");
    ck_assert_int_eq(put("a", "3", rev), ERR_OK);
    ck_assert_int_eq(last_rev, rev + 1);
}
END_TEST

START_TEST(only_the_owner_may_read_the_file)
{
    struct stat st;
    ck_assert_int_eq(stat(path, &st), 0);
    ck_assert_int_eq(st.st_mode & 0777, 0600);
}
END_TEST

START_TEST(a_newer_schema_is_refused_and_left_alone)
{
    put_free("a", "1");
    catalog_close(c);
    c = NULL;
    sql("PRAGMA user_version = 2");
    ck_assert_int_eq(catalog_open(path, &c), ERR_NEWER_FORMAT);
    ck_assert_ptr_null(c);
    sql("PRAGMA user_version = 1");
    catalog_reopen();
    expect("a", "1");
}
END_TEST

START_TEST(a_file_that_is_no_catalogue_is_refused)
{
    catalog_close(c);
    c = NULL;
    sql("PRAGMA application_id = 1");
    ck_assert_int_eq(catalog_open(path, &c), ERR_CORRUPT);
    unlink(path);
    sql("CREATE TABLE kv (key TEXT)");
    ck_assert_int_eq(catalog_open(path, &c), ERR_CORRUPT);
    unlink(path);
    FILE *f = fopen(path, "w");
    for (int i = 0; i < 1000; i++)
        fputs("This is no database. ", f);
    fclose(f);
    ck_assert_int_eq(catalog_open(path, &c), ERR_CORRUPT);
    unlink(path);
    sql("PRAGMA application_id = 1819045735; PRAGMA user_version = 1");
    ck_assert_int_eq(catalog_open(path, &c), ERR_CORRUPT); /* ours, but the tables are missing */
    ck_assert_ptr_null(c);
}
END_TEST

START_TEST(a_damaged_page_is_found_when_the_file_is_opened)
{
    char value[3000];
    memset(value, 'v', sizeof value - 1);
    value[sizeof value - 1] = '\0';
    for (int i = 0; i < 50; i++) {
        char key[20];
        snprintf(key, sizeof key, "key-%d", i);
        put_free(key, value);
    }
    catalog_close(c);
    c = NULL;
    int fd = open(path, O_RDWR);
    char junk[4096];
    memset(junk, 0xa5, sizeof junk);
    ck_assert_int_eq(pwrite(fd, junk, sizeof junk, 4096), sizeof junk);
    close(fd);
    ck_assert_int_eq(catalog_open(path, &c), ERR_CORRUPT);
    ck_assert_ptr_null(c);
}
END_TEST

START_TEST(a_path_that_cannot_be_opened_is_told_apart)
{
    struct catalog *other = NULL;
    ck_assert_int_eq(catalog_open("/nonexistent/folder/catalog.sqlite", &other), ERR_IO);
    ck_assert_int_eq(catalog_open(folder, &other), ERR_IO);
    if (geteuid() != 0) {
        chmod(path, 0);
        ck_assert_int_eq(catalog_open(path, &other), ERR_PERMISSION);
    }
    ck_assert_ptr_null(other);
}
END_TEST

START_TEST(leased_keys_vanish_at_the_next_open)
{
    session_begin(6);
    ck_assert_int_eq(put_leased("s/1", "x"), ERR_OK);
    ck_assert_int_eq(put_leased("s/2", "x"), ERR_OK);
    put_free("b/1", "x");
    int64_t rev = last_rev;
    catalog_reopen(); /* as after a crash: the session has not ended */
    expect("s/1", NULL);
    expect("s/2", NULL);
    expect("b/1", "x");
    put_free("b/2", "x");
    ck_assert_int_eq(last_rev, rev + 2); /* one revision for the two that vanished */
}
END_TEST

START_TEST(a_watch_that_is_asked_to_go_on_from_too_far_back_lists_again)
{
    put_free("a", "1");
    int64_t early = last_rev;
    put_free("a", "2");
    watcher_begin("");
    watcher_await_again(1);
    watcher_go_from(early);
    watcher_await_again(2);
    watcher_go("");
    put_free("a", "3");
    watcher_await("a=3|");
    watcher_end();
}
END_TEST

START_TEST(a_watch_that_does_not_keep_up_lists_again)
{
    enum { TXNS = 10000 / CATALOG_TXN_MAX + 1 };
    static char keys[CATALOG_TXN_MAX][16];
    struct catalog_op ops[CATALOG_TXN_MAX];
    watcher_begin("k");
    watcher_await_again(1);
    for (int i = 0; i < TXNS; i++) {
        for (int k = 0; k < CATALOG_TXN_MAX; k++) {
            snprintf(keys[k], sizeof keys[k], "k%d", k);
            ops[k] = (struct catalog_op){.key = keys[k], .value = BYTES_OF("v")};
        }
        ck_assert_int_eq(catalog_txn(c, NULL, 0, ops, CATALOG_TXN_MAX, &last_rev), ERR_OK);
    }
    watcher_go("k"); /* too late: more was missed than is kept */
    watcher_await_again(2);
    watcher_go("k");
    put_free("k", "1");
    watcher_await("k=1|");
    watcher_end();
}
END_TEST

/* SQLite's own seam for tests: its unix layer calls these two through a table. */
static int calls_left, failure;

static bool call_fails(void)
{
    if (calls_left > 0 && --calls_left == 0)
        errno = failure;
    else
        return false;
    return true;
}

static ssize_t pwrite_failing(int fd, const void *at, size_t n, off_t offset)
{
    return call_fails() ? -1 : pwrite(fd, at, n, offset);
}

static int ftruncate_failing(int fd, off_t n)
{
    return call_fails() ? -1 : ftruncate(fd, n);
}

static void system_calls_replace(void)
{
    sqlite3_vfs *vfs = sqlite3_vfs_find(NULL);
    sqlite3_syscall_ptr write_ptr = (sqlite3_syscall_ptr)pwrite_failing;
    vfs->xSetSystemCall(vfs, "pwrite", write_ptr);
    vfs->xSetSystemCall(vfs, "pwrite64", write_ptr);
    vfs->xSetSystemCall(vfs, "ftruncate", (sqlite3_syscall_ptr)ftruncate_failing);
}

/* Each write and each truncation of a transaction fails once. */
static void fail_each_call(int with)
{
    bool fired = true;
    failure = with;
    put_free("a", "0");
    put_free("b", "0");
    system_calls_replace();
    int i = 1;
    for (; fired; i++) {
        char value[12], before[12];
        snprintf(value, sizeof value, "%d", i);
        struct catalog_kv kv;
        ck_assert_int_eq(catalog_get(c, "a", &kv), ERR_OK);
        snprintf(before, sizeof before, "%.*s", (int)kv.value.n, (const char *)kv.value.at);
        catalog_kv_fini(&kv);
        struct catalog_op ops[] = {{.key = "a", .value = bytes_of_text(value)},
                                   {.key = "b", .value = bytes_of_text(value)}};
        calls_left = i;
        enum err e = catalog_txn(c, NULL, 0, ops, 2, NULL);
        fired = calls_left == 0;
        calls_left = 0;
        ck_assert_msg(fired == (e != ERR_OK), "call %d: err %d", i, e);
        ck_assert_int_eq(catalog_failed(c), e == ERR_IO);
        if (e == ERR_IO)
            ck_assert_int_eq(catalog_txn(c, NULL, 0, ops, 2, NULL), ERR_FAILED);
        catalog_reopen();
        ck_assert_int_eq(catalog_get(c, "a", &kv), ERR_OK);
        bool changed = bytes_equal(kv.value, bytes_of_text(value));
        catalog_kv_fini(&kv);
        ck_assert(e != ERR_OK || changed);
        expect("a", changed ? value : before);
        expect("b", changed ? value : before);
    }
    ck_assert_int_gt(i, 5);
}

START_TEST(a_failed_write_leaves_all_or_nothing_and_ends_changes)
{
    fail_each_call(EIO);
}
END_TEST

START_TEST(a_full_disk_leaves_all_or_nothing)
{
    fail_each_call(ENOSPC);
}
END_TEST

START_TEST(too_few_descriptors_refuse_a_change_and_nothing_more)
{
    struct rlimit before, none;
    struct catalog_kv kv;
    struct catalog_op op = {.key = "a", .value = BYTES_OF("2")};
    put_free("a", "1");
    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &before), 0);
    none = before;
    none.rlim_cur = 3; /* those that are open stay open */
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
    enum err changed = catalog_txn(c, NULL, 0, &op, 1, NULL);
    enum err read = catalog_get(c, "a", &kv);
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &before), 0);
    ck_assert_int_eq(changed, ERR_BUSY);
    if (read == ERR_OK)
        catalog_kv_fini(&kv);
    else
        ck_assert_int_eq(read, ERR_BUSY);
    expect("a", "1");
    ck_assert_int_eq(catalog_txn(c, NULL, 0, &op, 1, NULL), ERR_OK);
    expect("a", "2");
}
END_TEST

/* ---- transactions that waited for each other ---- */

enum { TOGETHER = 3 };

/* As whoever gets the lock does for all who wait: each puts two keys, if the first is absent. */
static void run_together(struct catalog_txn *t, const char *const keys[TOGETHER][2])
{
    struct catalog_cmp absent[TOGETHER];
    struct catalog_op ops[TOGETHER][2];
    for (size_t i = 0; i < TOGETHER; i++) {
        absent[i] = (struct catalog_cmp){keys[i][0], CATALOG_MOD, 0};
        for (size_t k = 0; k < 2; k++)
            ops[i][k] = (struct catalog_op){.key = keys[i][k], .value = BYTES_OF("x")};
        t[i] = (struct catalog_txn){.cmps = &absent[i], .cmps_n = 1, .ops = ops[i], .ops_n = 2};
        t[i].next = i + 1 < TOGETHER ? &t[i + 1] : NULL;
    }
    catalog_lock(c);
    c->engine->run(c, t);
    lock_give(&c->lk);
}

START_TEST(of_transactions_together_one_that_fails_half_way_leaves_nothing_and_the_others_happen)
{
    static const char *const keys[TOGETHER][2] = {{"a", "b"}, {"c", "bad"}, {"a", "d"}};
    struct catalog_txn t[TOGETHER];
    sql("CREATE TRIGGER no BEFORE INSERT ON kv WHEN NEW.key = 'bad'"
        " BEGIN SELECT RAISE(ABORT, 'no'); END");
    run_together(t, keys);
    ck_assert_int_eq(t[0].err, ERR_OK);
    ck_assert_int_eq(t[1].err, ERR_CORRUPT);
    ck_assert_int_eq(t[2].err, ERR_CONFLICT);
    expect("a", "x");
    expect("b", "x");
    expect("c", NULL);
    expect("d", NULL);
    ck_assert(!catalog_failed(c));
}
END_TEST

START_TEST(what_was_undone_is_not_told)
{
    static const char *const keys[TOGETHER][2] = {{"a", "b"}, {"c", "bad"}, {"a", "d"}};
    struct catalog_txn t[TOGETHER];
    sql("CREATE TRIGGER no BEFORE INSERT ON kv WHEN NEW.key = 'bad'"
        " BEGIN SELECT RAISE(ABORT, 'no'); END");
    watcher_begin("");
    watcher_await_again(1);
    watcher_go("");
    run_together(t, keys);
    put_free("z", "1");
    watcher_await("a=x b=x|z=1|");
    watcher_end();
}
END_TEST

START_TEST(of_transactions_together_none_is_known_once_a_write_has_failed)
{
    static const char *const keys[TOGETHER][2] = {{"a", "b"}, {"c", "d"}, {"a", "e"}};
    struct catalog_txn t[TOGETHER];
    system_calls_replace();
    failure = EIO;
    calls_left = 1;
    run_together(t, keys);
    ck_assert_int_eq(calls_left, 0);
    for (size_t i = 0; i < TOGETHER; i++)
        ck_assert_int_eq(t[i].err, ERR_IO);
    ck_assert(catalog_failed(c));
}
END_TEST

static TCase *case_contract(void)
{
    TCase *tc = tcase_create("contract");
    tcase_add_checked_fixture(tc, set_up, folder_drop);
    catalog_contract_add(tc);
    catalog_live_add(tc);
    return tc;
}

static TCase *case_file(void)
{
    TCase *tc = tcase_create("file");
    tcase_add_checked_fixture(tc, set_up, folder_drop);
    tcase_add_test(tc, a_reopened_catalogue_keeps_values_and_revisions);
    tcase_add_test(tc, only_the_owner_may_read_the_file);
    tcase_add_test(tc, a_newer_schema_is_refused_and_left_alone);
    tcase_add_test(tc, a_file_that_is_no_catalogue_is_refused);
    tcase_add_test(tc, a_damaged_page_is_found_when_the_file_is_opened);
    tcase_add_test(tc, a_path_that_cannot_be_opened_is_told_apart);
    tcase_add_test(tc, leased_keys_vanish_at_the_next_open);
    tcase_add_test(tc, a_watch_that_is_asked_to_go_on_from_too_far_back_lists_again);
    tcase_add_test(tc, a_watch_that_does_not_keep_up_lists_again);
    tcase_add_test(tc, what_was_undone_is_not_told);
    tcase_add_test(tc, a_failed_write_leaves_all_or_nothing_and_ends_changes);
    tcase_add_test(tc, too_few_descriptors_refuse_a_change_and_nothing_more);
    tcase_add_test(tc, a_full_disk_leaves_all_or_nothing);
    tcase_add_test(
        tc, of_transactions_together_one_that_fails_half_way_leaves_nothing_and_the_others_happen);
    tcase_add_test(tc, of_transactions_together_none_is_known_once_a_write_has_failed);
    return tc;
}

Suite *suite_new(void)
{
    Suite *s = suite_create("catalog");
    suite_add_tcase(s, case_contract());
    suite_add_tcase(s, case_file());
    return s;
}
