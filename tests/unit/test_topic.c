// SPDX-License-Identifier: Apache-2.0
/* The forms of the catalogue's values: what is written reads back, and nothing else is read. */
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/rng.h"
#include "catalog/partition_key.h"
#include "catalog/redrive.h"
#include "catalog/topic.h"
#include "lib/runner.h"

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

static enum err decode_in_format(char format, const char *members)
{
    struct topic_config t;
    struct buf json = BUF_EMPTY;
    topic_config_init(&t);
    snprintf(t.name, sizeof t.name, "a");
    topic_config_encode(&t, &json);
    json.n--; /* the closing brace */
    buf_put_format(&json, ",%s}", members);
    ((char *)memmem(json.at, json.n, "\"format\":", 9))[9] = format;
    enum err e = topic_config_decode(buf_bytes(&json), &t);
    if (e == ERR_OK) {
        ck_assert(t.compact);
        topic_config_fini(&t);
    }
    buf_fini(&json);
    return e;
}

static enum err decode_compact(const char *members)
{
    return decode_in_format('2', members);
}

START_TEST(a_compact_topic_has_the_newer_format_and_all_others_the_old_one)
{
    struct topic_config t, again;
    struct buf json = BUF_EMPTY;
    topic_config_init(&t);
    snprintf(t.name, sizeof t.name, "a");
    topic_config_encode(&t, &json);
    ck_assert_ptr_nonnull(memmem(json.at, json.n, "\"format\":1,", 11));
    ck_assert_ptr_null(memmem(json.at, json.n, "cleanup", 7));
    t.compact = true;
    t.delete_retention_ms = 1234;
    buf_clear(&json);
    topic_config_encode(&t, &json);
    ck_assert_ptr_nonnull(memmem(json.at, json.n, "\"format\":2,", 11));
    ck_assert_int_eq(topic_config_decode(buf_bytes(&json), &again), ERR_OK);
    ck_assert(again.compact && again.delete_retention_ms == 1234);
    topic_config_fini(&again);
    topic_config_fini(&t);
    buf_fini(&json);
    static const char good[] = "\"cleanup\":\"compact\",\"delete_retention_ms\":\"0\"";
    ck_assert_int_eq(decode_compact(good), ERR_OK);
    ck_assert_int_eq(decode_in_format('1', good), ERR_CORRUPT);
    ck_assert_int_eq(decode_compact("\"cleanup\":\"compact\""), ERR_CORRUPT);
    ck_assert_int_eq(decode_compact("\"delete_retention_ms\":\"0\""), ERR_CORRUPT);
    ck_assert_int_eq(decode_compact("\"cleanup\":\"x\",\"delete_retention_ms\":\"0\""),
                     ERR_CORRUPT);
    ck_assert_int_eq(decode_compact("\"cleanup\":\"compact\",\"delete_retention_ms\":\"-1\""),
                     ERR_CORRUPT);
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

START_TEST(limits_come_back_and_a_topic_without_them_is_written_as_before)
{
    struct topic_config t, again;
    struct buf json = BUF_EMPTY;
    topic_fill(&t);
    topic_config_encode(&t, &json);
    buf_put_u8(&json, 0);
    ck_assert(strstr(json.at, "\"format\":1,") != NULL && strstr(json.at, "max_") == NULL);
    t.retention_bytes = 3;
    t.max_bytes = TOPIC_LIMIT_MAX;
    t.max_messages = 5;
    t.when_full = TOPIC_FULL_DEAD_LETTER;
    buf_clear(&json);
    topic_config_encode(&t, &json);
    ck_assert_int_eq(topic_config_decode(buf_bytes(&json), &again), ERR_OK);
    ck_assert_int_eq(again.retention_bytes, 3);
    ck_assert_int_eq(again.max_bytes, TOPIC_LIMIT_MAX);
    ck_assert_int_eq(again.max_messages, 5);
    ck_assert_int_eq(again.when_full, TOPIC_FULL_DEAD_LETTER);
    topic_config_fini(&again);
    topic_config_fini(&t);
    buf_fini(&json);
}
END_TEST

#define WITH_LIMITS(n, way)                                                                        \
    "\"format\":2,\"retention_bytes\":\"0\",\"max_bytes\":\"" n                                    \
    "\",\"max_messages\":\"0\",\"when_full\":\"" way "\""

/* What stands in place of what, in the JSON of topic_fill. */
static const struct {
    const char *from, *to;
    enum err e;
} spoilt_topics[] = {
    {"\"format\":1", "\"format\":1", ERR_OK},
    {"\"format\":1", "\"format\":3", ERR_NEWER_FORMAT},
    {"\"format\":1", "\"format\":2", ERR_CORRUPT},
    {"\"format\":1", "\"format\":1,\"max_bytes\":\"0\"", ERR_CORRUPT},
    {"\"format\":1", WITH_LIMITS("1", "drop_oldest"), ERR_OK},
    {"\"format\":1", WITH_LIMITS("1125899906842624", "reject"), ERR_OK},
    {"\"format\":1", WITH_LIMITS("1125899906842625", "reject"), ERR_CORRUPT},
    {"\"format\":1", WITH_LIMITS("-1", "reject"), ERR_CORRUPT},
    {"\"format\":1", WITH_LIMITS("1", "explode"), ERR_CORRUPT},
    /* A FIFO topic is never compact. */
    {"\"format\":1", "\"format\":2,\"cleanup\":\"compact\",\"delete_retention_ms\":\"1\"",
     ERR_CORRUPT},
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
    ck_assert_msg(e == spoilt_topics[_i].e, "%s, %s: %s", from, spoilt_topics[_i].to, err_text(e));
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

static void partition_fill(struct replica_key *k)
{
    *k = (struct replica_key){.version = 41, .epoch = 7, .leader = 3, .min_isr = 2, .members_n = 3};
    k->op = 0xfedcba9876543210;
    k->members[0] = (struct replica_member){1, true, 0x00000000000000ab};
    k->members[1] = (struct replica_member){3, true, UINT64_MAX};
    k->members[2] = (struct replica_member){65535, false, 0};
}

#define PARTITION_TEXT                                                                             \
    "{\"format\":2,\"replicas\":[1,3,65535],\"leader\":3,\"epoch\":\"7\",\"isr\":[1,3],"           \
    "\"inc\":{\"1\":\"00000000000000ab\",\"3\":\"ffffffffffffffff\"},\"min_isr\":2,"               \
    "\"state\":\"ok\",\"op\":\"fedcba9876543210\"}"

START_TEST(a_partition_with_copies_reads_back_as_it_was_written)
{
    struct replica_key k, again;
    struct buf json = BUF_EMPTY;
    partition_fill(&k);
    catalog_partition_encode(&k, &json);
    ck_assert_int_eq(catalog_partition_decode(buf_bytes(&json), 41, &again), ERR_OK);
    ck_assert(again.version == 41 && again.leader == 3 && again.members_n == 3);
    buf_clear(&json);
    catalog_partition_encode(&again, &json);
    buf_put_u8(&json, 0);
    ck_assert_str_eq(json.at, PARTITION_TEXT);
    k.unclean_epoch = 7;
    k.wish_epoch = 6;
    buf_clear(&json);
    catalog_partition_encode(&k, &json);
    ck_assert_int_eq(catalog_partition_decode(buf_bytes(&json), 41, &again), ERR_OK);
    ck_assert(again.unclean_epoch == 7 && again.wish_epoch == 6);
    buf_clear(&json);
    partition_config_encode(7, 12, &json);
    ck_assert_int_eq(catalog_partition_decode(buf_bytes(&json), 5, &again), ERR_OK);
    ck_assert_uint_eq(again.members_n, 1);
    ck_assert_uint_eq(again.leader, 7);
    ck_assert_uint_eq(again.epoch, 12);
    ck_assert_uint_eq(again.min_isr, 1);
    ck_assert(again.members[0].in_isr && again.version == 5);
    buf_fini(&json);
}
END_TEST

static const char *const spoilt_partitions[][2] = {
    {"[1,3,65535]", "[1,3,3]"},
    {"[1,3,65535]", "[1,3,0]"},
    {"[1,3,65535]", "[1,2,3,4,5,6,7,8,9]"},
    {"[1,3,65535]", "[]"},
    {"\"leader\":3", "\"leader\":2"},
    {"\"leader\":3", "\"leader\":-1"},
    {"\"7\"", "\"0\""},
    {"\"7\"", "7"},
    {"\"7\"", "\"-1\""},
    {"\"7\"", "\"9223372036854775807\""}, /* who is elected could not have the next one */
    {"\"isr\":[1,3]", "\"isr\":[1,1]"},
    {"\"isr\":[1,3]", "\"isr\":[1,2]"},
    {"\"isr\":[1,3]", "\"isr\":3"},
    {"\"3\":\"ffffffffffffffff\"", "\"2\":\"ffffffffffffffff\""},
    {"ffffffffffffffff", "0000000000000000"},
    {"ffffffffffffffff", "fffffffffffffff"},
    {"\"min_isr\":2", "\"min_isr\":0"},
    {"\"min_isr\":2", "\"min_isr\":9"},
    {"\"ok\"", "\"OK\""},
    {"fedcba9876543210", "fedcba987654321"},
    {"\"op\"", "\"of\""},
    {"\"format\":2", "\"format\":1"},
};

START_TEST(a_partition_that_is_spoilt_is_refused)
{
    struct replica_key k = {.epoch = 99};
    const char *whole = PARTITION_TEXT;
    const char *from = spoilt_partitions[_i][0], *to = spoilt_partitions[_i][1];
    const char *at = strstr(whole, from);
    struct buf json = BUF_EMPTY;
    ck_assert_ptr_nonnull(at);
    buf_put(&json, whole, (size_t)(at - whole));
    buf_put_text(&json, to);
    buf_put_text(&json, at + strlen(from));
    ck_assert_int_eq(catalog_partition_decode(buf_bytes(&json), 1, &k), ERR_CORRUPT);
    ck_assert_int_eq(catalog_partition_decode(BYTES_OF("{\"format\":3}"), 1, &k), ERR_NEWER_FORMAT);
    ck_assert_uint_eq(k.epoch, 99);
    buf_fini(&json);
}
END_TEST

static void redrives_fill(struct redrives_config *r)
{
    memset(r, 0, sizeof *r);
    r->n = 2;
    for (size_t i = 0; i < 2; i++) {
        struct redrive_config *one = &r->at[i];
        memset(one->id, 0x10 + (int)i, sizeof one->id);
        one->started_wall_ms = 1700000000000 - (int64_t)i;
        one->to_move = UINT64_C(1) << 60;
        one->moved = 7 + i;
    }
    snprintf(r->at[0].target, sizeof r->at[0].target, "orders.fifo");
    memset(r->at[0].target_id, 0xee, sizeof r->at[0].target_id);
    r->at[0].per_second_max = 500;
    r->at[0].ends_n = 2;
    r->at[0].ends[1] = UINT64_C(1) << 61;
    r->at[1].state = REDRIVE_FAILED;
    r->at[1].failure = REDRIVE_NO_SOURCE;
}

START_TEST(redrives_read_back_as_they_were_written)
{
    struct redrives_config r, back;
    struct buf json = BUF_EMPTY;
    redrives_fill(&r);
    redrives_config_encode(&r, &json);
    ck_assert_int_eq(redrives_config_decode(buf_bytes(&json), &back), ERR_OK);
    ck_assert_uint_eq(back.n, 2);
    ck_assert_mem_eq(back.at, r.at, 2 * sizeof r.at[0]);
    for (size_t n = 0; n < json.n; n++)
        ck_assert_int_eq(redrives_config_decode((struct bytes){json.at, n}, &back), ERR_CORRUPT);
    buf_fini(&json);
}
END_TEST

START_TEST(random_damage_to_redrives_never_breaks_the_reader)
{
    struct rng rng = {.state = test_seed()};
    struct redrives_config r, back;
    struct buf json = BUF_EMPTY;
    size_t refused = 0;
    redrives_fill(&r);
    redrives_config_encode(&r, &json);
    for (int i = 0; i < 2000; i++) {
        char *at = (char *)json.at + rng_next(&rng) % json.n, before = *at;
        *at = (char)rng_next(&rng);
        refused += redrives_config_decode(buf_bytes(&json), &back) != ERR_OK;
        *at = before;
    }
    ck_assert_uint_gt(refused, 1000);
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
    catalog_key_redrives(key, id);
    ck_assert_str_eq(key, "r/01ab0000000000000000000000000000");
}
END_TEST

Suite *suite_new(void)
{
    Suite *s = suite_create("topic");
    TCase *tc = tcase_create("values");
    tcase_add_test(tc, a_topic_reads_back_as_it_was_written);
    tcase_add_test(tc, a_compact_topic_has_the_newer_format_and_all_others_the_old_one);
    tcase_add_test(tc, attributes_are_set_once_and_removed);
    tcase_add_test(tc, limits_come_back_and_a_topic_without_them_is_written_as_before);
    tcase_add_loop_test(tc, a_topic_whose_value_is_spoilt_is_refused, 0,
                        sizeof spoilt_topics / sizeof spoilt_topics[0]);
    tcase_add_test(tc, a_topic_that_is_cut_or_followed_by_anything_is_refused);
    tcase_add_test(tc, random_damage_to_a_topic_never_breaks_the_reader);
    tcase_add_test(tc, a_group_reads_back_and_is_refused_when_spoilt);
    tcase_add_test(tc, a_partition_is_led_by_this_broker_alone);
    tcase_add_test(tc, a_partition_with_copies_reads_back_as_it_was_written);
    tcase_add_loop_test(tc, a_partition_that_is_spoilt_is_refused, 0,
                        sizeof spoilt_partitions / sizeof spoilt_partitions[0]);
    tcase_add_test(tc, redrives_read_back_as_they_were_written);
    tcase_add_test(tc, random_damage_to_redrives_never_breaks_the_reader);
    tcase_add_test(tc, keys_are_what_the_header_says);
    suite_add_tcase(s, tc);
    return s;
}
