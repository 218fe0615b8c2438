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
#include "catalog/catalog.h"
#include "catalog/topic.h"
#include "lib/runner.h"

static char folder[200], path[256];
static struct catalog *c;

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

static void reopen(void)
{
    catalog_close(c);
    c = NULL;
    ck_assert_int_eq(catalog_open(path, &c), ERR_OK);
}

/* One compare, one op; gives the result and keeps the revision in last_rev. */
static int64_t last_rev;

static enum err put(const char *key, const char *value, int64_t rev)
{
    struct catalog_cmp cmp = {key, CATALOG_MOD, rev};
    struct catalog_op op = {.key = key, .value = bytes_of_text(value)};
    return catalog_txn(c, &cmp, 1, &op, 1, &last_rev);
}

static void put_free(const char *key, const char *value)
{
    struct catalog_op op = {.key = key, .value = bytes_of_text(value)};
    ck_assert_int_eq(catalog_txn(c, NULL, 0, &op, 1, &last_rev), ERR_OK);
}

/* Fails unless the key holds the value; NULL: unless it is absent. */
static void expect(const char *key, const char *value)
{
    struct catalog_kv kv = {0};
    enum err e = catalog_get(c, key, &kv);
    ck_assert_int_eq(e, value == NULL ? ERR_NOT_FOUND : ERR_OK);
    if (value != NULL) {
        ck_assert_str_eq(kv.key, key);
        ck_assert(bytes_equal(kv.value, bytes_of_text(value)));
    }
    catalog_kv_fini(&kv);
}

static void sql(const char *text)
{
    sqlite3 *db;
    char *message = NULL;
    ck_assert_int_eq(sqlite3_open(path, &db), SQLITE_OK);
    ck_assert_msg(sqlite3_exec(db, text, NULL, NULL, &message) == SQLITE_OK, "%s", message);
    sqlite3_close(db);
}

/* ---- compare and swap ---- */

START_TEST(create_if_absent_works_once)
{
    ck_assert_int_eq(put("n/a", "1", 0), ERR_OK);
    ck_assert_int_eq(put("n/a", "2", 0), ERR_CONFLICT);
    expect("n/a", "1");
    expect("n/b", NULL);
}
END_TEST

START_TEST(a_stale_revision_conflicts_and_the_newest_does_not)
{
    ck_assert_int_eq(put("a", "1", 0), ERR_OK);
    int64_t first = last_rev;
    ck_assert_int_eq(put("a", "2", first), ERR_OK);
    int64_t second = last_rev;
    ck_assert_int_gt(second, first);
    last_rev = -7;
    ck_assert_int_eq(put("a", "3", first), ERR_CONFLICT);
    ck_assert_int_eq(last_rev, -7); /* written only on success */
    ck_assert_int_eq(put("a", "3", second + 1), ERR_CONFLICT);
    expect("a", "2");
    ck_assert_int_eq(put("a", "3", second), ERR_OK);
    ck_assert_int_eq(put("absent", "1", second), ERR_CONFLICT);
}
END_TEST

START_TEST(a_key_made_anew_has_a_new_create_revision)
{
    struct catalog_kv kv;
    put_free("a", "1");
    int64_t made = last_rev;
    put_free("a", "2");
    ck_assert_int_eq(catalog_get(c, "a", &kv), ERR_OK);
    ck_assert_int_eq(kv.create_rev, made);
    ck_assert_int_eq(kv.mod_rev, last_rev);
    catalog_kv_fini(&kv);
    struct catalog_op drop = {.key = "a", .drop = 1};
    ck_assert_int_eq(catalog_txn(c, NULL, 0, &drop, 1, NULL), ERR_OK);
    expect("a", NULL);
    put_free("a", "3");
    struct catalog_cmp old = {"a", CATALOG_CREATED, made}, new = {"a", CATALOG_CREATED, last_rev};
    struct catalog_op op = {.key = "b", .value = BYTES_OF("1")};
    ck_assert_int_eq(catalog_txn(c, &old, 1, &op, 1, NULL), ERR_CONFLICT);
    ck_assert_int_eq(catalog_txn(c, &new, 1, &op, 1, NULL), ERR_OK);
}
END_TEST

START_TEST(a_transaction_happens_whole_or_not_at_all)
{
    put_free("x", "old");
    int64_t before = last_rev;
    struct catalog_cmp cmps[] = {{"x", CATALOG_MOD, before}, {"y", CATALOG_MOD, 99}};
    struct catalog_op ops[] = {{.key = "x", .value = BYTES_OF("new")},
                               {.key = "y", .value = BYTES_OF("new")},
                               {.key = "gone", .drop = 1}};
    ck_assert_int_eq(catalog_txn(c, cmps, 2, ops, 3, NULL), ERR_CONFLICT);
    expect("x", "old");
    expect("y", NULL);
    cmps[1].rev = 0;
    ck_assert_int_eq(catalog_txn(c, cmps, 2, ops, 3, &last_rev), ERR_OK);
    ck_assert_int_eq(last_rev, before + 1); /* one revision for all, and none for the conflict */
    struct catalog_kv x, y;
    ck_assert_int_eq(catalog_get(c, "x", &x), ERR_OK);
    ck_assert_int_eq(catalog_get(c, "y", &y), ERR_OK);
    ck_assert_int_eq(x.mod_rev, last_rev);
    ck_assert_int_eq(y.mod_rev, last_rev);
    ck_assert_int_eq(y.create_rev, last_rev);
    ck_assert_int_eq(x.create_rev, before);
    catalog_kv_fini(&x);
    catalog_kv_fini(&y);
}
END_TEST

START_TEST(a_transaction_without_ops_tells_the_last_revision)
{
    int64_t rev = -1;
    put_free("x", "1");
    ck_assert_int_eq(catalog_txn(c, NULL, 0, NULL, 0, &rev), ERR_OK);
    ck_assert_int_eq(rev, last_rev);
    ck_assert_int_eq(catalog_txn(c, NULL, 0, NULL, 0, &rev), ERR_OK);
    ck_assert_int_eq(rev, last_rev);
}
END_TEST

START_TEST(what_etcd_would_refuse_is_refused)
{
    struct catalog_op twice[] = {{.key = "a", .value = BYTES_OF("1")}, {.key = "a", .drop = 1}};
    ck_assert_int_eq(catalog_txn(c, NULL, 0, twice, 2, NULL), ERR_INVALID);
    expect("a", NULL);
    char key[CATALOG_KEY_BYTES_MAX + 2];
    memset(key, 'k', sizeof key);
    key[CATALOG_KEY_BYTES_MAX + 1] = '\0';
    ck_assert_int_eq(put(key, "1", 0), ERR_INVALID);
    key[CATALOG_KEY_BYTES_MAX] = '\0';
    ck_assert_int_eq(put(key, "1", 0), ERR_OK);
    expect(key, "1");
    ck_assert_int_eq(put("", "1", 0), ERR_INVALID);
    char *big = mem_new(CATALOG_VALUE_BYTES_MAX + 2);
    memset(big, 'v', CATALOG_VALUE_BYTES_MAX + 1);
    ck_assert_int_eq(put("big", big, 0), ERR_TOO_BIG);
    big[CATALOG_VALUE_BYTES_MAX] = '\0';
    ck_assert_int_eq(put("big", big, 0), ERR_OK);
    expect("big", big);
    mem_free(big);
    static struct catalog_op many[CATALOG_TXN_MAX + 1];
    static char keys[CATALOG_TXN_MAX + 1][16];
    for (int i = 0; i <= CATALOG_TXN_MAX; i++) {
        snprintf(keys[i], sizeof keys[i], "m%d", i);
        many[i] = (struct catalog_op){.key = keys[i], .value = BYTES_OF("")};
    }
    ck_assert_int_eq(catalog_txn(c, NULL, 0, many, CATALOG_TXN_MAX + 1, NULL), ERR_TOO_BIG);
    ck_assert_int_eq(catalog_txn(c, NULL, 0, many, CATALOG_TXN_MAX, NULL), ERR_OK);
    expect("m127", "");
}
END_TEST

START_TEST(a_value_is_bytes)
{
    static const char bytes[] = "a\0b\xff";
    struct catalog_op op = {.key = "a", .value = {bytes, 4}};
    struct catalog_kv kv;
    ck_assert_int_eq(catalog_txn(c, NULL, 0, &op, 1, NULL), ERR_OK);
    ck_assert_int_eq(catalog_get(c, "a", &kv), ERR_OK);
    ck_assert(bytes_equal(kv.value, (struct bytes){bytes, 4}));
    catalog_kv_fini(&kv);
}
END_TEST

START_TEST(a_list_is_in_byte_order_and_keeps_to_its_prefix)
{
    static const char *const keys[] = {"t/b", "u/a", "t/",         "t/a/1", "t",
                                       "t0",  "T/a", "t/\xc3\xa9", "t/a",   "s/z"};
    static const char *const expected[] = {"t/", "t/a", "t/a/1", "t/b", "t/\xc3\xa9"};
    struct catalog_kvs kvs;
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        put_free(keys[i], keys[i]);
    ck_assert_int_eq(catalog_list(c, "t/", &kvs), ERR_OK);
    ck_assert_uint_eq(kvs.n, 5);
    for (size_t i = 0; i < 5; i++) {
        ck_assert_str_eq(kvs.at[i].key, expected[i]);
        ck_assert(bytes_equal(kvs.at[i].value, bytes_of_text(expected[i])));
    }
    catalog_kvs_fini(&kvs);
    ck_assert_int_eq(catalog_list(c, "nothing", &kvs), ERR_OK);
    ck_assert_uint_eq(kvs.n, 0);
    catalog_kvs_fini(&kvs);
    ck_assert_int_eq(catalog_list(c, "", &kvs), ERR_OK);
    ck_assert_uint_eq(kvs.n, 10);
    catalog_kvs_fini(&kvs);
}
END_TEST

/* ---- the file ---- */

START_TEST(a_reopened_catalogue_keeps_values_and_revisions)
{
    put_free("a", "1");
    put_free("a", "2");
    int64_t rev = last_rev;
    reopen();
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
    reopen();
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
        reopen();
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

/* ---- a broker's start ---- */

START_TEST(each_start_raises_the_epoch)
{
    uint64_t epoch = 0;
    ck_assert_int_eq(catalog_epoch_raise(c, &epoch), ERR_OK);
    ck_assert_uint_eq(epoch, 1);
    reopen();
    ck_assert_int_eq(catalog_epoch_raise(c, &epoch), ERR_OK);
    ck_assert_uint_eq(epoch, 2);
    expect("k/epoch", "{\"format\":1,\"epoch\":\"2\"}");
}
END_TEST

START_TEST(an_epoch_that_is_spoilt_or_used_up_is_refused)
{
    static const char *const spoilt[] = {
        "",
        "5",
        "{\"format\":1}",
        "{\"format\":1,\"epoch\":5}",
        "{\"format\":1,\"epoch\":\"0\"}",
        "{\"format\":1,\"epoch\":\"-5\"}",
        "{\"format\":1,\"epoch\":\"9223372036854775807\"}",
    };
    uint64_t epoch = 77;
    for (size_t i = 0; i < sizeof spoilt / sizeof spoilt[0]; i++) {
        put_free("k/epoch", spoilt[i]);
        ck_assert_int_eq(catalog_epoch_raise(c, &epoch), ERR_CORRUPT);
        expect("k/epoch", spoilt[i]);
    }
    ck_assert_uint_eq(epoch, 77);
}
END_TEST

START_TEST(secrets_are_made_once)
{
    uint8_t first[32], second[32];
    struct catalog_secrets s;
    memset(first, 0x1f, sizeof first);
    memset(second, 0x2e, sizeof second);
    ck_assert_int_eq(catalog_secrets_get(c, first, &s), ERR_OK);
    ck_assert_mem_eq(s.current, first, 32);
    ck_assert_mem_eq(s.previous, first, 32);
    reopen();
    memset(&s, 0, sizeof s);
    ck_assert_int_eq(catalog_secrets_get(c, second, &s), ERR_OK);
    ck_assert_mem_eq(s.current, first, 32);
    put_free("k/receipt", "{\"format\":1,\"current\":\"1f\",\"previous\":\"1f\"}");
    ck_assert_int_eq(catalog_secrets_get(c, second, &s), ERR_CORRUPT);
    put_free("k/receipt", "{\"format\":9}");
    ck_assert_int_eq(catalog_secrets_get(c, second, &s), ERR_NEWER_FORMAT);
}
END_TEST

static TCase *case_compare_and_swap(void)
{
    TCase *tc = tcase_create("compare and swap");
    tcase_add_checked_fixture(tc, set_up, folder_drop);
    tcase_add_test(tc, create_if_absent_works_once);
    tcase_add_test(tc, a_stale_revision_conflicts_and_the_newest_does_not);
    tcase_add_test(tc, a_key_made_anew_has_a_new_create_revision);
    tcase_add_test(tc, a_transaction_happens_whole_or_not_at_all);
    tcase_add_test(tc, a_transaction_without_ops_tells_the_last_revision);
    tcase_add_test(tc, what_etcd_would_refuse_is_refused);
    tcase_add_test(tc, a_value_is_bytes);
    tcase_add_test(tc, a_list_is_in_byte_order_and_keeps_to_its_prefix);
    tcase_add_test(tc, each_start_raises_the_epoch);
    tcase_add_test(tc, an_epoch_that_is_spoilt_or_used_up_is_refused);
    tcase_add_test(tc, secrets_are_made_once);
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
    tcase_add_test(tc, a_failed_write_leaves_all_or_nothing_and_ends_changes);
    tcase_add_test(tc, too_few_descriptors_refuse_a_change_and_nothing_more);
    tcase_add_test(tc, a_full_disk_leaves_all_or_nothing);
    return tc;
}

Suite *suite_new(void)
{
    Suite *s = suite_create("catalog");
    suite_add_tcase(s, case_compare_and_swap());
    suite_add_tcase(s, case_file());
    return s;
}
