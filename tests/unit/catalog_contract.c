// SPDX-License-Identifier: Apache-2.0
#include "catalog_contract.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "catalog/topic.h"

struct catalog *c;
int64_t last_rev;

enum err put(const char *key, const char *value, int64_t rev)
{
    struct catalog_cmp cmp = {key, CATALOG_MOD, rev};
    struct catalog_op op = {.key = key, .value = bytes_of_text(value)};
    return catalog_txn(c, &cmp, 1, &op, 1, &last_rev);
}

void put_free(const char *key, const char *value)
{
    struct catalog_op op = {.key = key, .value = bytes_of_text(value)};
    ck_assert_int_eq(catalog_txn(c, NULL, 0, &op, 1, &last_rev), ERR_OK);
}

void expect(const char *key, const char *value)
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

/* ---- a broker's start ---- */

START_TEST(each_start_raises_the_epoch)
{
    uint64_t epoch = 0;
    ck_assert_int_eq(catalog_epoch_raise(c, &epoch), ERR_OK);
    ck_assert_uint_eq(epoch, 1);
    catalog_reopen();
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
    catalog_reopen();
    memset(&s, 0, sizeof s);
    ck_assert_int_eq(catalog_secrets_get(c, second, &s), ERR_OK);
    ck_assert_mem_eq(s.current, first, 32);
    put_free("k/receipt", "{\"format\":1,\"current\":\"1f\",\"previous\":\"1f\"}");
    ck_assert_int_eq(catalog_secrets_get(c, second, &s), ERR_CORRUPT);
    put_free("k/receipt", "{\"format\":9}");
    ck_assert_int_eq(catalog_secrets_get(c, second, &s), ERR_NEWER_FORMAT);
}
END_TEST

void catalog_contract_add(TCase *tc)
{
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
}
