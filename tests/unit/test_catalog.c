// SPDX-License-Identifier: Apache-2.0
/* The catalogue: compare-and-swap, the file it lives in, and the forms of its values. */
#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/note.h"
#include "base/rng.h"
#include "catalog/catalog.h"
#include "catalog/topic.h"
#include "lib/runner.h"

static char folder[200], path[256];
static struct catalog *c;

static void folder_make(void)
{
    const char *parent = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%s/leaselog-catalog-XXXXXX", parent ? parent : "/tmp");
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
    static char keys[CATALOG_TXN_MAX + 1][8];
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

/* ---- the values ---- */

static void topic_fill(struct topic_config *t)
{
    topic_config_init(t);
    memset(t->id, 0xa7, sizeof t->id);
    snprintf(t->name, sizeof t->name, "orders.fifo");
    t->state = TOPIC_READY;
    t->fifo = true;
    t->partitions = 3;
    t->created_wall_ms = 1700000000001;
    t->modified_wall_ms = 1700000000002;
    t->delay_ms = 5000;
    t->retention_ms = 60000;
    t->visibility_ms = 43200000;
    t->receive_wait_ms = 20000;
    t->message_bytes_max = 2048;
    t->content_dedup = true;
    t->dedup_per_group = true;
    t->receives_max = 5;
    snprintf(t->dead_letter, sizeof t->dead_letter, "dead.fifo");
    topic_attribute_set(t, "Policy", "{\"Version\":\"2012-10-17\"}");
    topic_attribute_set(t, "KmsMasterKeyId", "alias/\xc3\xa9");
    topic_tag_set(t, "team", "");
}

static void topics_expect_equal(const struct topic_config *a, const struct topic_config *b)
{
    struct buf x = BUF_EMPTY, y = BUF_EMPTY;
    topic_config_encode(a, &x);
    topic_config_encode(b, &y);
    ck_assert(bytes_equal(buf_bytes(&x), buf_bytes(&y)));
    buf_fini(&x);
    buf_fini(&y);
}

START_TEST(a_topic_reads_back_as_it_was_written)
{
    struct topic_config t, again, copy;
    struct buf json = BUF_EMPTY;
    topic_fill(&t);
    topic_config_encode(&t, &json);
    ck_assert_int_eq(topic_config_decode(buf_bytes(&json), &again), ERR_OK);
    topics_expect_equal(&t, &again);
    ck_assert_mem_eq(again.id, t.id, 16);
    ck_assert_str_eq(again.name, "orders.fifo");
    ck_assert_int_eq(again.state, TOPIC_READY);
    ck_assert(again.fifo && again.content_dedup && again.dedup_per_group);
    ck_assert_uint_eq(again.partitions, 3);
    ck_assert_int_eq(again.created_wall_ms, 1700000000001);
    ck_assert_int_eq(again.modified_wall_ms, 1700000000002);
    ck_assert_int_eq(again.delay_ms, 5000);
    ck_assert_int_eq(again.retention_ms, 60000);
    ck_assert_int_eq(again.visibility_ms, 43200000);
    ck_assert_int_eq(again.receive_wait_ms, 20000);
    ck_assert_uint_eq(again.message_bytes_max, 2048);
    ck_assert_uint_eq(again.receives_max, 5);
    ck_assert_str_eq(again.dead_letter, "dead.fifo");
    ck_assert_str_eq(topic_attribute_get(&again, "KmsMasterKeyId"), "alias/\xc3\xa9");
    ck_assert_uint_eq(again.tags_n, 1);
    ck_assert_str_eq(again.tags[0].value, "");
    topic_config_copy(&copy, &again);
    topic_config_fini(&again);
    topics_expect_equal(&t, &copy);
    topic_config_fini(&copy);
    topic_config_init(&again); /* the defaults keep their own bounds, once there is a name */
    snprintf(again.name, sizeof again.name, "a");
    buf_clear(&json);
    topic_config_encode(&again, &json);
    ck_assert_int_eq(topic_config_decode(buf_bytes(&json), &copy), ERR_OK);
    topics_expect_equal(&again, &copy);
    topic_config_fini(&copy);
    topic_config_fini(&again);
    topic_config_fini(&t);
    buf_fini(&json);
}
END_TEST

START_TEST(attributes_are_set_once_and_removed)
{
    struct topic_config t;
    topic_fill(&t);
    topic_attribute_set(&t, "Policy", "other");
    ck_assert_uint_eq(t.attributes_n, 2);
    ck_assert_str_eq(topic_attribute_get(&t, "Policy"), "other");
    topic_attribute_set(&t, "Policy", topic_attribute_get(&t, "Policy"));
    ck_assert_str_eq(topic_attribute_get(&t, "Policy"), "other");
    topic_attribute_set(&t, "Policy", "");
    ck_assert_ptr_null(topic_attribute_get(&t, "Policy"));
    ck_assert_str_eq(topic_attribute_get(&t, "KmsMasterKeyId"), "alias/\xc3\xa9");
    topic_attribute_set(&t, "KmsMasterKeyId", NULL);
    topic_attribute_set(&t, "absent", NULL);
    ck_assert_uint_eq(t.attributes_n, 0);
    topic_tag_set(&t, "team", NULL);
    ck_assert_uint_eq(t.tags_n, 0);
    topic_config_fini(&t);
}
END_TEST

/* What stands in place of what, in the JSON of topic_fill. */
static const struct {
    const char *from, *to;
    enum err e;
} spoilt_topics[] = {
    {"\"format\":1", "\"format\":1", ERR_OK},
    {"\"format\":1", "\"format\":2", ERR_NEWER_FORMAT},
    {"\"format\":1", "\"format\":0", ERR_CORRUPT},
    {"\"format\":1", "\"format\":\"1\"", ERR_CORRUPT},
    {"\"format\":1,", "", ERR_CORRUPT},
    {"\"format\":1", "\"format\":1,\"more\":1", ERR_CORRUPT},
    {"\"format\":1", "\"format\":1,\"format\":1", ERR_CORRUPT},
    {"\"id\":\"a7", "\"id\":\"A7", ERR_CORRUPT},
    {"\"id\":\"a7", "\"id\":\"a", ERR_CORRUPT},
    {"\"id\":\"a7", "\"id\":\"a7a7", ERR_CORRUPT},
    {"\"id\":\"a7", "\"id\":\"g7", ERR_CORRUPT},
    {"\"orders.fifo\"", "\"\"", ERR_CORRUPT},
    {"\"orders.fifo\"", "\"a/b\"", ERR_CORRUPT},
    {"\"orders.fifo\"", "\"a\\u0000b\"", ERR_CORRUPT},
    {"\"orders.fifo\"", "\"\xff\"", ERR_CORRUPT},
    {"\"orders.fifo\"", "null", ERR_CORRUPT},
    {"\"ready\"", "\"steady\"", ERR_CORRUPT},
    {"\"fifo\":true", "\"fifo\":1", ERR_CORRUPT},
    {"\"content_dedup\":true", "\"content_dedup\":\"true\"", ERR_CORRUPT},
    {"\"dedup_per_group\":true,", "", ERR_CORRUPT},
    {"\"partitions\":3", "\"partitions\":120", ERR_OK},
    {"\"partitions\":3", "\"partitions\":0", ERR_CORRUPT},
    {"\"partitions\":3", "\"partitions\":121", ERR_CORRUPT},
    {"\"partitions\":3", "\"partitions\":4294967299", ERR_CORRUPT},
    {"\"partitions\":3", "\"partitions\":3.0", ERR_CORRUPT},
    {"\"partitions\":3", "\"partitions\":\"3\"", ERR_CORRUPT},
    {"\"1700000000001\"", "1700000000001", ERR_CORRUPT},
    {"\"1700000000001\"", "\"-1\"", ERR_CORRUPT},
    {"\"1700000000001\"", "\"9223372036854775808\"", ERR_CORRUPT},
    {"\"1700000000002\"", "\"\"", ERR_CORRUPT},
    {"\"delay_ms\":\"5000\"", "\"delay_ms\":\"900000\"", ERR_OK},
    {"\"delay_ms\":\"5000\"", "\"delay_ms\":\"900001\"", ERR_CORRUPT},
    {"\"delay_ms\":\"5000\"", "\"delay_ms\":\"05000\"", ERR_CORRUPT},
    {"\"delay_ms\":\"5000\"", "\"delay_ms\":\"+5000\"", ERR_CORRUPT},
    {"\"delay_ms\":\"5000\"", "\"delay_ms\":\" 5000\"", ERR_CORRUPT},
    {"\"delay_ms\":\"5000\"", "\"delay_ms\":\"5000ms\"", ERR_CORRUPT},
    {"\"retention_ms\":\"60000\"", "\"retention_ms\":\"59999\"", ERR_CORRUPT},
    {"\"retention_ms\":\"60000\"", "\"retention_ms\":\"1209600000\"", ERR_OK},
    {"\"retention_ms\":\"60000\"", "\"retention_ms\":\"1209600001\"", ERR_CORRUPT},
    {"\"43200000\"", "\"43200001\"", ERR_CORRUPT},
    {"\"20000\"", "\"20001\"", ERR_CORRUPT},
    {"\"message_bytes_max\":2048", "\"message_bytes_max\":1023", ERR_CORRUPT},
    {"\"message_bytes_max\":2048", "\"message_bytes_max\":1048577", ERR_CORRUPT},
    {"\"receives_max\":5", "\"receives_max\":1000", ERR_OK},
    {"\"receives_max\":5", "\"receives_max\":1001", ERR_CORRUPT},
    {"\"receives_max\":5", "\"receives_max\":-1", ERR_CORRUPT},
    {"\"receives_max\":5", "\"receives_max\":0", ERR_CORRUPT}, /* a target without a policy */
    {"\"dead.fifo\"", "\"\"", ERR_CORRUPT},                    /* a policy without a target */
    {"\"dead.fifo\"", "\"../x\"", ERR_CORRUPT},
    {"\"tags\":{\"team\":\"\"}", "\"tags\":[]", ERR_CORRUPT},
    {"\"tags\":{\"team\":\"\"}", "\"tags\":{\"team\":1}", ERR_CORRUPT},
    {"\"tags\":{\"team\":\"\"}", "\"tags\":{\"\":\"\"}", ERR_CORRUPT},
    {"\"tags\":{\"team\":\"\"}", "\"tags\":{}", ERR_OK},
    {"\"team\"", "\"a\":\"\",\"a\"", ERR_CORRUPT},
};

START_TEST(a_topic_whose_value_is_spoilt_is_refused)
{
    struct topic_config t, out;
    struct buf json = BUF_EMPTY, spoilt = BUF_EMPTY;
    topic_fill(&t);
    topic_config_encode(&t, &json);
    buf_put_u8(&json, 0);
    const char *from = spoilt_topics[_i].from, *at = strstr(json.at, from);
    ck_assert_msg(at != NULL, "%s is not in %s", from, json.at);
    buf_put(&spoilt, json.at, (size_t)(at - json.at));
    buf_put_text(&spoilt, spoilt_topics[_i].to);
    buf_put_text(&spoilt, at + strlen(from));
    memset(&out, 0x55, sizeof out);
    enum err e = topic_config_decode(buf_bytes(&spoilt), &out);
    ck_assert_msg(e == spoilt_topics[_i].e, "%s → %s: %s", from, spoilt_topics[_i].to, err_text(e));
    if (e == ERR_OK)
        topic_config_fini(&out);
    else
        ck_assert_int_eq(out.id[0], 0x55);
    topic_config_fini(&t);
    buf_fini(&json);
    buf_fini(&spoilt);
}
END_TEST

START_TEST(a_topic_that_is_cut_or_followed_by_anything_is_refused)
{
    struct topic_config t, out;
    struct buf json = BUF_EMPTY;
    topic_fill(&t);
    topic_config_encode(&t, &json);
    for (size_t n = 0; n < json.n; n++)
        ck_assert_int_eq(topic_config_decode((struct bytes){json.at, n}, &out), ERR_CORRUPT);
    buf_put_text(&json, "x");
    ck_assert_int_eq(topic_config_decode(buf_bytes(&json), &out), ERR_CORRUPT);
    ck_assert_int_eq(topic_config_decode(BYTES_OF("[]"), &out), ERR_CORRUPT);
    ck_assert_int_eq(topic_config_decode(BYTES_OF("{\"format\":1}"), &out), ERR_CORRUPT);
    topic_config_fini(&t);
    buf_fini(&json);
}
END_TEST

/* Flips bytes at random: whatever comes of it is refused or reads back as itself. */
START_TEST(random_damage_to_a_topic_never_breaks_the_reader)
{
    struct rng rng = {.state = test_seed()};
    struct topic_config t, out, again;
    struct buf json = BUF_EMPTY, copy = BUF_EMPTY, second = BUF_EMPTY;
    topic_fill(&t);
    topic_config_encode(&t, &json);
    int refused = 0;
    for (int i = 0; i < 5000; i++) {
        buf_clear(&copy);
        buf_put_bytes(&copy, buf_bytes(&json));
        for (uint64_t k = rng_below(&rng, 3) + 1; k > 0; k--)
            copy.at[rng_below(&rng, copy.n)] = (char)rng_below(&rng, 256);
        enum err e = topic_config_decode(buf_bytes(&copy), &out);
        if (e != ERR_OK) {
            ck_assert(e == ERR_CORRUPT || e == ERR_NEWER_FORMAT);
            refused++;
            continue;
        }
        buf_clear(&second);
        topic_config_encode(&out, &second);
        ck_assert_int_eq(topic_config_decode(buf_bytes(&second), &again), ERR_OK);
        topics_expect_equal(&out, &again);
        topic_config_fini(&out);
        topic_config_fini(&again);
    }
    ck_assert_int_gt(refused, 2500);
    topic_config_fini(&t);
    buf_fini(&json);
    buf_fini(&copy);
    buf_fini(&second);
}
END_TEST

START_TEST(a_group_reads_back_and_is_refused_when_spoilt)
{
    static const char *const spoilt[] = {
        "{\"format\":1,\"gid\":1,\"generation\":\"1\"}",
        "{\"format\":1,\"gid\":-1,\"generation\":\"1\",\"dropped\":false}",
        "{\"format\":1,\"gid\":4294967296,\"generation\":\"1\",\"dropped\":false}",
        "{\"format\":1,\"gid\":1,\"generation\":1,\"dropped\":false}",
        "{\"format\":1,\"gid\":1,\"generation\":\"-1\",\"dropped\":false}",
        "{\"format\":1,\"gid\":1,\"generation\":\"1\",\"dropped\":0}",
        "{\"format\":1,\"gid\":1,\"generation\":\"1\",\"dropped\":false,\"x\":0}",
    };
    struct group_config g = {UINT32_MAX, INT64_MAX, true}, again = {0};
    struct buf json = BUF_EMPTY;
    group_config_encode(&g, &json);
    ck_assert_int_eq(group_config_decode(buf_bytes(&json), &again), ERR_OK);
    ck_assert_uint_eq(again.gid, UINT32_MAX);
    ck_assert_uint_eq(again.generation, INT64_MAX);
    ck_assert(again.dropped);
    for (size_t i = 0; i < sizeof spoilt / sizeof spoilt[0]; i++)
        ck_assert_int_eq(group_config_decode(bytes_of_text(spoilt[i]), &again), ERR_CORRUPT);
    ck_assert_int_eq(group_config_decode(BYTES_OF("{\"format\":2,\"new\":0}"), &again),
                     ERR_NEWER_FORMAT);
    ck_assert_uint_eq(again.gid, UINT32_MAX);
    buf_fini(&json);
}
END_TEST

START_TEST(a_partition_is_led_by_this_broker_alone)
{
    struct buf json = BUF_EMPTY;
    partition_config_encode(7, 12, &json);
    buf_put_u8(&json, 0);
    ck_assert_str_eq(json.at,
                     "{\"format\":1,\"replicas\":[7],\"leader\":7,\"epoch\":\"12\",\"isr\":[7],"
                     "\"inc\":{},\"adding\":[],\"removing\":[],\"state\":\"ok\",\"op\":\"0\"}");
    buf_fini(&json);
}
END_TEST

START_TEST(keys_are_what_the_header_says)
{
    char key[CATALOG_KEY_BYTES_MAX + 1];
    uint8_t id[16] = {0x01, 0xab};
    catalog_key_name(key, "orders");
    ck_assert_str_eq(key, "n/orders");
    catalog_key_topic(key, id);
    ck_assert_str_eq(key, "t/01ab0000000000000000000000000000");
    catalog_key_group(key, id, "default");
    ck_assert_str_eq(key, "g/01ab0000000000000000000000000000/default");
    catalog_key_partition(key, id, 119);
    ck_assert_str_eq(key, "p/01ab0000000000000000000000000000/119");
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
    tcase_add_test(tc, a_full_disk_leaves_all_or_nothing);
    return tc;
}

Suite *suite_new(void)
{
    Suite *s = suite_create("catalog");
    TCase *tc = tcase_create("values");
    tcase_add_test(tc, a_topic_reads_back_as_it_was_written);
    tcase_add_test(tc, attributes_are_set_once_and_removed);
    tcase_add_loop_test(tc, a_topic_whose_value_is_spoilt_is_refused, 0,
                        sizeof spoilt_topics / sizeof spoilt_topics[0]);
    tcase_add_test(tc, a_topic_that_is_cut_or_followed_by_anything_is_refused);
    tcase_add_test(tc, random_damage_to_a_topic_never_breaks_the_reader);
    tcase_add_test(tc, a_group_reads_back_and_is_refused_when_spoilt);
    tcase_add_test(tc, a_partition_is_led_by_this_broker_alone);
    tcase_add_test(tc, keys_are_what_the_header_says);
    suite_add_tcase(s, case_compare_and_swap());
    suite_add_tcase(s, case_file());
    suite_add_tcase(s, tc);
    return s;
}
