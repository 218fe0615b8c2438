// SPDX-License-Identifier: Apache-2.0
/* The bytes of hops and their answers (src/route/WIRE.md). */
#include <string.h>

#include "lib/runner.h"
#include "route/wire.h"

static void fill(struct front_item *item, struct queue_message *m, struct queue_attribute *a)
{
    *a = (struct queue_attribute){BYTES_OF("n"), BYTES_OF("Binary.x"), true, BYTES_OF("\0\1")};
    *m = (struct queue_message){.body = BYTES_OF("body"), .key = BYTES_OF("key"), .delay_ms = 5000};
    m->trace = BYTES_OF("Root=1");
    m->group_id = BYTES_OF("g");
    m->dedup_id = BYTES_OF("d");
    m->attributes = a;
    m->attributes_n = 1;
    memset(m->body_md5, 9, sizeof m->body_md5);
    *item = (struct front_item){.partition = 3, .message = m, .repeat = {1, 7, 1030, 7}};
}

START_TEST(a_message_arrives_as_it_was_sent_and_a_part_of_it_is_refused)
{
    struct queue_attribute a;
    struct queue_message m;
    struct front_item item, *items[] = {&item};
    struct front_hop hop = {.kind = FRONT_SEND, .strict = true, .items = items, .n = 1};
    struct buf b = BUF_EMPTY;
    struct arena arena;
    struct route_request in;
    arena_init(&arena, NULL, 0);
    fill(&item, &m, &a);
    memset(hop.topic, 4, sizeof hop.topic);
    route_hop_put(&hop, 777, &b);
    ck_assert_int_eq(route_request_read(buf_bytes(&b), &arena, &in), ERR_OK);
    ck_assert_int_eq(in.kind, ROUTE_SEND);
    ck_assert(in.strict);
    ck_assert_uint_eq(in.left_ms, 777);
    ck_assert_uint_eq(in.items[0].partition, 3);
    const struct queue_repeat *key = &in.items[0].repeat;
    ck_assert(key->life == 7 && key->sequence == 1030 && key->settled_below == 7);
    ck_assert_uint_eq(key->front, 0); /* who signed */
    const struct queue_message *got = in.items[0].message;
    ck_assert(bytes_equal(got->body, m.body) && bytes_equal(got->key, m.key));
    ck_assert(bytes_equal(got->trace, m.trace) && bytes_equal(got->group_id, m.group_id));
    ck_assert(bytes_equal(got->dedup_id, m.dedup_id) && !got->tombstone);
    ck_assert_int_eq(got->delay_ms, 5000);
    ck_assert_mem_eq(got->body_md5, m.body_md5, 16);
    ck_assert_uint_eq(got->attributes_n, 1);
    ck_assert(got->attributes[0].binary && bytes_equal(got->attributes[0].value, a.value));
    for (size_t n = 0; n < b.n; n++)
        ck_assert_int_eq(route_request_read((struct bytes){b.at, n}, &arena, &in), ERR_CORRUPT);
    buf_put_u8(&b, 0);
    ck_assert_int_eq(route_request_read(buf_bytes(&b), &arena, &in), ERR_CORRUPT);
    b.at[2] = 2; /* a second hop */
    ck_assert_int_eq(route_request_read((struct bytes){b.at, b.n - 1}, &arena, &in), ERR_CORRUPT);
    buf_fini(&b);
    arena_fini(&arena);
}
END_TEST

/* What becomes of a hop with this message, `times` times. */
static enum err read_again(const struct queue_message *m, size_t times)
{
    static struct front_item item, *items[QUEUE_SEND_MAX];
    struct front_hop hop = {.kind = FRONT_SEND, .items = items, .n = times};
    struct buf b = BUF_EMPTY;
    struct arena arena;
    struct route_request in;
    arena_init(&arena, NULL, 0);
    item = (struct front_item){.message = m};
    for (size_t i = 0; i < times; i++)
        items[i] = &item;
    route_hop_put(&hop, 1, &b);
    enum err e = route_request_read(buf_bytes(&b), &arena, &in);
    buf_fini(&b);
    arena_fini(&arena);
    return e;
}

START_TEST(a_message_that_no_record_can_hold_is_refused)
{
    static char many[QUEUE_BODY_BYTES_MAX];
    struct queue_message m;
    struct queue_attribute a;
    struct front_item item;
    fill(&item, &m, &a);
    ck_assert_int_eq(read_again(&m, 1), ERR_OK);
    m.body = BYTES_NONE;
    ck_assert_int_eq(read_again(&m, 1), ERR_CORRUPT);
    m.tombstone = true;
    ck_assert_int_eq(read_again(&m, 1), ERR_OK);
    m.key = BYTES_NONE;
    ck_assert_int_eq(read_again(&m, 1), ERR_CORRUPT);
    m.key = BYTES_OF("key");
    m.body = BYTES_OF("body");
    ck_assert_int_eq(read_again(&m, 1), ERR_CORRUPT);
    m.tombstone = false;
    struct bytes *const names[] = {&a.name, &a.data_type};
    for (int i = 0; i < 2; i++) {
        struct bytes was = *names[i];
        *names[i] = (struct bytes){many, QUEUE_KEY_BYTES_MAX};
        ck_assert_int_eq(read_again(&m, 1), ERR_OK);
        *names[i] = (struct bytes){many, QUEUE_KEY_BYTES_MAX + 1};
        ck_assert_int_eq(read_again(&m, 1), ERR_CORRUPT);
        *names[i] = BYTES_NONE;
        ck_assert_int_eq(read_again(&m, 1), ERR_CORRUPT);
        *names[i] = was;
    }
    m.body = (struct bytes){many, sizeof many};
    ck_assert_int_eq(read_again(&m, 8), ERR_OK);
    ck_assert_int_eq(read_again(&m, 10), ERR_CORRUPT);
    a.value = (struct bytes){many, 1025};
    ck_assert_int_eq(read_again(&m, 1), ERR_CORRUPT);
}
END_TEST

START_TEST(a_key_that_no_record_can_hold_is_refused)
{
    static const struct {
        struct queue_repeat key;
        enum err e;
    } cases[] = {
        {{0, UINT64_MAX, INT64_MAX - 1, INT64_MAX - 1}, ERR_OK},
        {{0, 0, INT64_MAX, INT64_MAX}, ERR_CORRUPT},
        {{0, 0, 4, 5}, ERR_CORRUPT},
        {{0, 0, 1023, 0}, ERR_OK},
        {{0, 0, 1024, 0}, ERR_CORRUPT},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct queue_message m;
        struct queue_attribute a;
        struct front_item item, *items[] = {&item};
        struct front_hop hop = {.kind = FRONT_SEND, .items = items, .n = 1};
        struct buf b = BUF_EMPTY;
        struct arena arena;
        struct route_request in;
        arena_init(&arena, NULL, 0);
        fill(&item, &m, &a);
        item.repeat = cases[i].key;
        route_hop_put(&hop, 1, &b);
        ck_assert_int_eq(route_request_read(buf_bytes(&b), &arena, &in), cases[i].e);
        buf_fini(&b);
        arena_fini(&arena);
    }
}
END_TEST

START_TEST(what_is_received_arrives_as_it_was_and_a_part_of_it_is_refused)
{
    struct queue_attribute a = {BYTES_OF("n"), BYTES_OF("String"), false, BYTES_OF("v")};
    struct queue_receive request = {.max = 10};
    struct queue_received m = {.body = BYTES_OF("body"),
                               .receive_count = 3,
                               .number = 17,
                               .sent_wall_ms = 5,
                               .first_received_wall_ms = 6,
                               .partition = 2,
                               .group_id = BYTES_OF("g"),
                               .dedup_id = BYTES_OF("d"),
                               .key = BYTES_OF("k"),
                               .origin = BYTES_OF("o"),
                               .trace = BYTES_OF("t"),
                               .attributes = &a,
                               .attributes_n = 1,
                               .receipt = "receipt"};
    struct arena arena;
    struct buf b = BUF_EMPTY;
    enum err e = ERR_IO;
    arena_init(&arena, NULL, 0);
    struct front_hop hop = {.kind = FRONT_RECEIVE, .receive = &request, .arena = &arena};
    route_answer_put(ROUTE_RECEIVE, ERR_OK, &b);
    route_received_put(&m, 1, &b);
    ck_assert_int_eq(route_hop_read(buf_bytes(&b), &hop, &e), ERR_OK);
    ck_assert_int_eq(e, ERR_OK);
    ck_assert_uint_eq(hop.received_n, 1);
    const struct queue_received *got = hop.received;
    ck_assert(bytes_equal(got[0].body, m.body) && bytes_equal(got[0].origin, m.origin));
    ck_assert(bytes_equal(got[0].group_id, m.group_id) && bytes_equal(got[0].key, m.key));
    ck_assert(bytes_equal(got[0].dedup_id, m.dedup_id) && bytes_equal(got[0].trace, m.trace));
    ck_assert_str_eq(got[0].receipt, "receipt");
    ck_assert_uint_eq(got[0].number, 17);
    ck_assert_uint_eq(got[0].receive_count, 3);
    ck_assert(bytes_equal(got[0].attributes[0].value, a.value));
    for (size_t n = 0; n < b.n; n++)
        ck_assert_int_eq(route_hop_read((struct bytes){b.at, n}, &hop, &e), ERR_CORRUPT);
    buf_fini(&b);
    arena_fini(&arena);
}
END_TEST

START_TEST(errors_arrive_as_they_were)
{
    const enum err all[] = {ERR_OK, ERR_GONE, ERR_TOPIC_FULL, ERR_NOT_LEADER, ERR_UNKNOWN};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        ck_assert_int_eq(route_err_of_code(route_err_code(all[i])), all[i]);
    ck_assert_int_eq(route_err_of_code(9999), ERR_UNKNOWN);
}
END_TEST

Suite *suite_new(void)
{
    Suite *s = suite_create("route_wire");
    TCase *t = tcase_create("route_wire");
    tcase_add_test(t, a_message_arrives_as_it_was_sent_and_a_part_of_it_is_refused);
    tcase_add_test(t, a_message_that_no_record_can_hold_is_refused);
    tcase_add_test(t, a_key_that_no_record_can_hold_is_refused);
    tcase_add_test(t, what_is_received_arrives_as_it_was_and_a_part_of_it_is_refused);
    tcase_add_test(t, errors_arrive_as_they_were);
    suite_add_tcase(s, t);
    return s;
}
