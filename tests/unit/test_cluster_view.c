// SPDX-License-Identifier: Apache-2.0
/* What brokers write of themselves, the picture that a broker has of all keys, and where new
 * partitions go. */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/note.h"
#include "catalog/partition_key.h"
#include "cluster/place.h"
#include "cluster/view.h"
#include "lib/runner.h"

static struct cluster_view *view;
static const uint8_t topic[16] = {0xab, 1};
#define TOPIC_HEX "ab010000000000000000000000000000"

static void setup(void)
{
    note_init(NOTE_ERROR, false);
    view = mem_new(sizeof *view);
    cluster_view_init(view);
}

static void teardown(void)
{
    cluster_view_fini(view);
    mem_free(view);
}

/* ---- keys ---- */

START_TEST(what_brokers_write_reads_back)
{
    struct buf json = BUF_EMPTY;
    struct cluster_broker_key b = {.session = INT64_MAX - 1, .state = CLUSTER_BROKER_DRAINING}, b2;
    snprintf(b.url, sizeof b.url, "http://10.0.0.1:9325");
    snprintf(b.client_url, sizeof b.client_url, "http://10.0.0.1:9324");
    snprintf(b.store, sizeof b.store, "aa-bb");
    b.version = 3;
    cluster_broker_key_encode(&b, &json);
    ck_assert_int_eq(cluster_broker_key_decode(buf_bytes(&json), &b2), ERR_OK);
    ck_assert_str_eq(b.url, b2.url);
    ck_assert_str_eq(b.client_url, b2.client_url);
    ck_assert_str_eq(b.store, b2.store);
    ck_assert(b2.session == b.session && b2.state == b.state && b2.version == 3);

    struct cluster_session_key s = {.session = 9,
                                    .store = "x",
                                    .is_leaving = true,
                                    .lease = INT64_MAX},
                               s2;
    buf_clear(&json);
    cluster_session_key_encode(&s, &json);
    ck_assert_int_eq(cluster_session_key_decode(buf_bytes(&json), &s2), ERR_OK);
    ck_assert(s2.session == 9 && s2.is_leaving && strcmp(s2.store, "x") == 0);
    ck_assert_int_eq(s2.lease, INT64_MAX);
    struct bytes old =
        BYTES_OF("{\"format\":1,\"session\":\"7\",\"store\":\"x\",\"leaving\":true}");
    ck_assert_int_eq(cluster_session_key_decode(old, &s2), ERR_OK);
    ck_assert(s2.session == 7 && s2.lease == 0);

    struct cluster_ctl_key ctl = {.broker = 65535, .session = 9, .url = "http://a:1"}, ctl2;
    buf_clear(&json);
    cluster_ctl_key_encode(&ctl, &json);
    ck_assert_int_eq(cluster_ctl_key_decode(buf_bytes(&json), &ctl2), ERR_OK);
    ck_assert(ctl2.broker == 65535 && ctl2.session == 9 && strcmp(ctl2.url, ctl.url) == 0);

    struct cluster_meta_key meta = {.cluster_id = "c", .created_wall_ms = 5}, meta2;
    buf_clear(&json);
    cluster_meta_key_encode(&meta, &json);
    ck_assert_int_eq(cluster_meta_key_decode(buf_bytes(&json), &meta2), ERR_OK);
    ck_assert(meta2.created_wall_ms == 5 && strcmp(meta2.cluster_id, "c") == 0);
    buf_fini(&json);
}
END_TEST

static const char *const spoilt[] = {
    "{\"format\":1,\"session\":\"0\",\"store\":\"x\",\"leaving\":true}",
    "{\"format\":1,\"session\":7,\"store\":\"x\",\"leaving\":true}",
    "{\"format\":1,\"session\":\"7\",\"store\":\"\",\"leaving\":true}",
    "{\"format\":1,\"session\":\"7\",\"store\":\"a b\",\"leaving\":true}",
    ("{\"format\":1,\"session\":\"7\",\"store\":\"0123456789012345678901234567890123456\","
     "\"leaving\":true}"),
    "{\"format\":1,\"session\":\"7\",\"store\":\"x\",\"leaving\":1}",
    "{\"format\":1,\"session\":\"7\",\"store\":\"x\"}",
    "{\"format\":1,\"session\":\"7\",\"store\":\"x\",\"leaving\":true,\"lease\":5}",
    "{\"format\":1,\"session\":\"7\",\"store\":\"x\",\"leaving\":true,\"lease\":\"a\"}",
    "{\"format\":1,\"session\":\"7\",\"store\":\"x\",\"leaving\":true,\"more\":1}",
    "{\"format\":1,\"session\":\"7\",\"store\":\"x\",\"leaving\":true",
    "[]",
    "",
};

START_TEST(a_session_that_is_spoilt_is_refused)
{
    struct cluster_session_key s = {.session = 77};
    struct cluster_broker_key b;
    ck_assert_int_eq(cluster_session_key_decode(bytes_of_text(spoilt[_i]), &s), ERR_CORRUPT);
    ck_assert_int_eq(cluster_broker_key_decode(bytes_of_text(spoilt[_i]), &b), ERR_CORRUPT);
    ck_assert_int_eq(cluster_session_key_decode(BYTES_OF("{\"format\":2}"), &s), ERR_NEWER_FORMAT);
    ck_assert_int_eq(s.session, 77);
}
END_TEST

START_TEST(keys_are_told_apart_by_their_names)
{
    struct cluster_key_name n = cluster_key_read("p/" TOPIC_HEX "/119");
    ck_assert(n.kind == CLUSTER_KEY_PARTITION && n.partition == 119);
    ck_assert_mem_eq(n.topic, topic, 16);
    ck_assert_int_eq(cluster_key_read("t/" TOPIC_HEX).kind, CLUSTER_KEY_TOPIC);
    ck_assert_int_eq(cluster_key_read("ctl").kind, CLUSTER_KEY_CTL);
    ck_assert(cluster_key_read("b/65535").broker == 65535);
    ck_assert(cluster_key_read("s/1").kind == CLUSTER_KEY_SESSION);
    static const char *const others[] = {
        "",      "ctl2",         "b/",
        "b/0",   "b/65536",      "s/01",
        "s/-1",  "t/ab",         "t/AB010000000000000000000000000000",
        "p/ab",  "p/" TOPIC_HEX, "p/" TOPIC_HEX "/120",
        "n/ctl", "meta",         "p/" TOPIC_HEX "/",
    };
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        ck_assert_int_eq(cluster_key_read(others[i]).kind, CLUSTER_KEY_OTHER);
}
END_TEST

/* ---- the view ---- */

static struct bytes session_value(int64_t session, bool is_leaving)
{
    static struct buf json;
    struct cluster_session_key s = {.session = session, .store = "x", .is_leaving = is_leaving};
    buf_clear(&json);
    cluster_session_key_encode(&s, &json);
    return buf_bytes(&json);
}

static struct bytes broker_value(enum cluster_broker_state state)
{
    static struct buf json;
    struct cluster_broker_key b = {.url = "u", .store = "x", .session = 1, .version = 1};
    b.state = state;
    buf_clear(&json);
    cluster_broker_key_encode(&b, &json);
    return buf_bytes(&json);
}

static struct bytes partition_value(uint64_t epoch, uint32_t first, uint32_t second)
{
    static struct buf json;
    struct replica_key k = {.epoch = epoch, .leader = first, .min_isr = 1, .members_n = 2};
    k.members[0] = (struct replica_member){first, true, 5};
    k.members[1] = (struct replica_member){second, true, 6};
    buf_clear(&json);
    catalog_partition_encode(&k, &json);
    return buf_bytes(&json);
}

static struct bytes topic_value(uint32_t partitions, enum topic_state state)
{
    static struct buf json;
    struct topic_config t;
    topic_config_init(&t);
    memcpy(t.id, topic, 16);
    snprintf(t.name, sizeof t.name, "orders");
    t.partitions = partitions;
    t.state = state;
    buf_clear(&json);
    topic_config_encode(&t, &json);
    topic_config_fini(&t);
    return buf_bytes(&json);
}

static uint64_t epoch_of(uint32_t partition)
{
    const struct cluster_partition *p = cluster_view_partition(view, topic, partition);
    return p == NULL ? 0 : p->key.epoch;
}

START_TEST(a_key_never_goes_back)
{
    cluster_view_put(view, "p/" TOPIC_HEX "/0", partition_value(3, 1, 2), 5, 20);
    cluster_view_put(view, "p/" TOPIC_HEX "/0", partition_value(2, 1, 2), 5, 19);
    ck_assert_uint_eq(epoch_of(0), 3);
    cluster_view_drop(view, "p/" TOPIC_HEX "/0", 19);
    ck_assert_uint_eq(epoch_of(0), 3);
    cluster_view_put(view, "p/" TOPIC_HEX "/0", partition_value(4, 1, 2), 5, 21);
    ck_assert_uint_eq(epoch_of(0), 4);
    ck_assert_int_eq(cluster_view_partition(view, topic, 0)->key.version, 21);
    ck_assert_uint_eq(view->changes_n, 2);
    cluster_view_drop(view, "p/" TOPIC_HEX "/0", 22);
    ck_assert_ptr_null(cluster_view_partition(view, topic, 0));
    ck_assert_ptr_null(cluster_view_topic(view, topic));
}
END_TEST

static void kv_set(struct catalog_kv *kv, const char *key, struct bytes value, int64_t rev)
{
    char *at = mem_new(value.n + 1);
    memcpy(at, value.at, value.n);
    *kv = (struct catalog_kv){
        .key = mem_copy_text(key), .value = {at, value.n}, .create_rev = rev, .mod_rev = rev};
}

START_TEST(a_list_says_what_is_gone_and_makes_earlier_events_old_news)
{
    struct catalog_kv kvs[2];
    cluster_view_put(view, "s/1", session_value(1, false), 3, 3);
    cluster_view_put(view, "s/2", session_value(1, false), 4, 4);
    cluster_view_put(view, "b/2", broker_value(CLUSTER_BROKER_ACTIVE), 4, 4);
    cluster_view_put(view, "ctl",
                     BYTES_OF("{\"format\":1,\"broker\":1,\"session\":\"1\","
                              "\"url\":\"u\"}"),
                     5, 5);
    cluster_view_put(view, "t/" TOPIC_HEX, topic_value(1, TOPIC_READY), 6, 6);
    cluster_view_put(view, "p/" TOPIC_HEX "/0", partition_value(1, 1, 2), 6, 6);
    ck_assert(view->ctl_create_rev == 5 && view->is_ctl_known);
    ck_assert(cluster_view_is_whole(cluster_view_topic(view, topic)));
    kv_set(&kvs[0], "s/2", session_value(1, false), 4);
    kv_set(&kvs[1], "p/" TOPIC_HEX "/0", partition_value(2, 1, 2), 9);
    struct catalog_kvs all = {kvs, 2};
    ck_assert(!cluster_view_list(view, &all, 5));
    ck_assert(cluster_view_is_live(view, 1));
    cluster_view_changes_clear(view);
    ck_assert(cluster_view_list(view, &all, 10));
    ck_assert(!cluster_view_is_live(view, 1) && cluster_view_is_live(view, 2));
    ck_assert(!view->is_ctl_known && view->ctl_rev == 0);
    ck_assert(!cluster_view_member(view, 2)->is_known);
    ck_assert(!cluster_view_topic(view, topic)->is_known);
    ck_assert_uint_eq(epoch_of(0), 2);
    ck_assert_uint_eq(view->changes_n, 5);
    cluster_view_put(view, "s/1", session_value(1, false), 7, 7); /* before it was dropped */
    ck_assert(!cluster_view_is_live(view, 1));
    cluster_view_put(view, "s/1", session_value(2, false), 11, 11);
    ck_assert(cluster_view_is_live(view, 1));
    all.n = 0;
    ck_assert(cluster_view_list(view, &all, 12));
    ck_assert_ptr_null(view->topics);
    for (size_t i = 0; i < 2; i++) {
        mem_free(kvs[i].key);
        mem_free((void *)(uintptr_t)kvs[i].value.at);
    }
}
END_TEST

START_TEST(a_topic_is_whole_when_it_is_ready_and_all_its_partitions_are_known)
{
    cluster_view_put(view, "p/" TOPIC_HEX "/1", partition_value(1, 1, 2), 6, 6);
    cluster_view_put(view, "t/" TOPIC_HEX, topic_value(2, TOPIC_READY), 6, 6);
    const struct cluster_topic *t = cluster_view_topic(view, topic);
    ck_assert(!cluster_view_is_whole(t));
    cluster_view_put(view, "p/" TOPIC_HEX "/0", partition_value(1, 1, 2), 6, 6);
    ck_assert(cluster_view_is_whole(t));
    cluster_view_put(view, "t/" TOPIC_HEX, topic_value(2, TOPIC_CREATING), 7, 7);
    ck_assert(!cluster_view_is_whole(t));
    cluster_view_put(view, "t/" TOPIC_HEX, topic_value(2, TOPIC_DELETING), 8, 8);
    ck_assert(cluster_view_is_whole(t));
    cluster_view_put(view, "p/" TOPIC_HEX "/0", BYTES_OF("{}"), 6, 9);
    ck_assert(!cluster_view_is_whole(t));
}
END_TEST

START_TEST(who_leaves_or_is_told_to_drain_is_draining)
{
    cluster_view_put(view, "b/3", broker_value(CLUSTER_BROKER_ACTIVE), 4, 4);
    cluster_view_put(view, "s/3", session_value(1, false), 5, 5);
    ck_assert(!cluster_view_is_draining(view, 3));
    cluster_view_put(view, "s/3", session_value(1, true), 5, 6);
    ck_assert(cluster_view_is_draining(view, 3) && cluster_view_is_live(view, 3));
    cluster_view_put(view, "s/3", session_value(2, false), 5, 7);
    ck_assert(!cluster_view_is_draining(view, 3));
    cluster_view_put(view, "b/3", broker_value(CLUSTER_BROKER_DRAINING), 4, 8);
    ck_assert(cluster_view_is_draining(view, 3));
}
END_TEST

/* ---- placing ---- */

static void live_put(uint32_t broker, bool is_leaving)
{
    char key[CLUSTER_KEY_ROOM];
    cluster_key_session(key, broker);
    cluster_view_put(view, key, session_value(1, is_leaving), 2, 2);
}

START_TEST(copies_lie_on_different_brokers_and_all_get_as_many)
{
    uint32_t members[12 * 3], copies[6] = {0}, firsts[6] = {0};
    for (uint32_t b = 1; b <= 4; b++)
        live_put(b, false);
    live_put(5, true);
    ck_assert_int_eq(cluster_place(view, 12, 3, members), ERR_OK);
    for (size_t p = 0; p < 12; p++) {
        const uint32_t *m = &members[p * 3];
        ck_assert(m[0] != m[1] && m[1] != m[2] && m[0] != m[2]);
        firsts[m[0]]++;
        for (size_t k = 0; k < 3; k++)
            copies[m[k]]++;
    }
    for (uint32_t b = 1; b <= 4; b++)
        ck_assert(copies[b] == 9 && firsts[b] == 3);
    ck_assert_int_eq(cluster_place(view, 1, 5, members), ERR_NEED);
    ck_assert_int_eq(cluster_place(view, 1, 0, members), ERR_INVALID);
}
END_TEST

START_TEST(who_has_less_already_gets_more)
{
    uint32_t members[2];
    for (uint32_t b = 1; b <= 3; b++)
        live_put(b, false);
    cluster_view_put(view, "p/" TOPIC_HEX "/0", partition_value(1, 1, 2), 6, 6);
    ck_assert_int_eq(cluster_place(view, 1, 2, members), ERR_OK);
    ck_assert_uint_eq(members[0], 3);
    ck_assert_uint_eq(members[1], 1);
}
END_TEST

Suite *suite_new(void)
{
    Suite *s = suite_create("cluster view");
    TCase *tc = tcase_create("view");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, what_brokers_write_reads_back);
    tcase_add_loop_test(tc, a_session_that_is_spoilt_is_refused, 0,
                        sizeof spoilt / sizeof spoilt[0]);
    tcase_add_test(tc, keys_are_told_apart_by_their_names);
    tcase_add_test(tc, a_key_never_goes_back);
    tcase_add_test(tc, a_list_says_what_is_gone_and_makes_earlier_events_old_news);
    tcase_add_test(tc, a_topic_is_whole_when_it_is_ready_and_all_its_partitions_are_known);
    tcase_add_test(tc, who_leaves_or_is_told_to_drain_is_draining);
    tcase_add_test(tc, copies_lie_on_different_brokers_and_all_get_as_many);
    tcase_add_test(tc, who_has_less_already_gets_more);
    suite_add_tcase(s, tc);
    return s;
}
