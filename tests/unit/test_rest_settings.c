// SPDX-License-Identifier: Apache-2.0
/* A topic's settings as the REST front reads them, and what PUT and PATCH make of a topic. */
#include <stdio.h>

#include "base/mem.h"
#include "lib/runner.h"
#include "rest/message.h"
#include "rest/settings.h"

static struct arena arena;
static struct rest_fault fault;
static struct topic_config topic;

static void setup(void)
{
    arena_init(&arena, NULL, 0);
    fault = (struct rest_fault){.arena = &arena};
    topic_config_init(&topic);
    snprintf(topic.name, sizeof topic.name, "q");
}

static void teardown(void)
{
    topic_config_fini(&topic);
    arena_fini(&arena);
}

static bool apply(const char *body, bool patch, bool fresh)
{
    struct rest_settings s;
    fault.problem = REST_PROBLEM_NONE;
    return rest_settings_read(bytes_of_text(body), &arena, &s, &fault) &&
           rest_settings_apply(&s, patch, fresh, &topic, &fault);
}

static bool put(const char *body)
{
    return apply(body, false, false);
}

static bool patch(const char *body)
{
    return apply(body, true, false);
}

static const char *tag(const char *name)
{
    for (size_t i = 0; i < topic.tags_n; i++)
        if (strcmp(topic.tags[i].name, name) == 0)
            return topic.tags[i].value;
    return NULL;
}

START_TEST(limits_are_set_kept_and_taken_away)
{
    ck_assert(put("{\"max_bytes\":7,\"max_messages\":8,\"retention_bytes\":9,"
                  "\"when_full\":\"drop_oldest\"}"));
    ck_assert_int_eq(topic.max_bytes, 7);
    ck_assert_int_eq(topic.max_messages, 8);
    ck_assert_int_eq(topic.retention_bytes, 9);
    ck_assert_int_eq(topic.when_full, TOPIC_FULL_DROP_OLDEST);
    ck_assert(patch("{\"max_bytes\":null,\"retention_bytes\":0}"));
    ck_assert(topic.max_bytes == 0 && topic.max_messages == 8 && topic.retention_bytes == 0);
    ck_assert_int_eq(topic.when_full, TOPIC_FULL_DROP_OLDEST);
    ck_assert(put("{}"));
    ck_assert(topic.max_messages == 0 && topic.when_full == TOPIC_FULL_REJECT);
}
END_TEST

START_TEST(copies_are_said_at_birth_and_fixed_then)
{
    ck_assert(apply("{}", false, true));
    ck_assert(topic.copies == 0 && topic.min_isr == 0 && !topic.allow_single_copy);
    ck_assert(!put("{\"copies\":3}")); /* it was made on one node, and has one */
    ck_assert_int_eq(fault.problem, REST_PROBLEM_IMMUTABLE);
    ck_assert(put("{\"copies\":1,\"min_isr\":1,\"allow_single_copy\":false}"));
    ck_assert(topic.copies == 0 && topic.min_isr == 0);
    ck_assert(!apply("{\"copies\":2,\"min_isr\":3}", false, true));
    ck_assert_str_eq(fault.place, "/min_isr");
    ck_assert(!apply("{\"min_isr\":4}", false, true)); /* of three */
    ck_assert(!apply("{\"copies\":9}", false, true) && !apply("{\"copies\":0}", false, true));
    ck_assert(apply("{\"copies\":1,\"allow_single_copy\":true}", false, true));
    ck_assert(topic.copies == 1 && topic.min_isr == 0 && topic.allow_single_copy);
    topic.min_isr = 1; /* as the queue fills it in */
    ck_assert(!put("{\"allow_single_copy\":false}"));
    ck_assert_int_eq(fault.problem, REST_PROBLEM_IMMUTABLE);
    ck_assert(apply("{\"copies\":8,\"min_isr\":8}", false, true));
    ck_assert(put("{\"copies\":8}") && patch("{\"min_isr\":8,\"allow_single_copy\":true}"));
    ck_assert(put("{\"visibility\":1}"));
    ck_assert(topic.copies == 8 && topic.min_isr == 8);
    ck_assert(!patch("{\"min_isr\":7}") && !put("{\"copies\":7}"));
    ck_assert_int_eq(fault.problem, REST_PROBLEM_IMMUTABLE);
}
END_TEST

START_TEST(dead_letters_for_a_full_topic_need_a_target)
{
    ck_assert(!put("{\"max_bytes\":7,\"when_full\":\"dead_letter\"}"));
    ck_assert_int_eq(fault.problem, REST_PROBLEM_INVALID_BODY);
    ck_assert(
        put("{\"when_full\":\"dead_letter\",\"redrive\":{\"topic\":\"d\",\"receives_max\":1}}"));
    ck_assert(!patch("{\"redrive\":null}"));
    topic.receives_max = 0; /* SQS has taken it away */
    topic.dead_letter[0] = 0;
    ck_assert(patch("{\"visibility\":1}"));
    ck_assert(!patch("{\"when_full\":\"dead_letter\"}"));
}
END_TEST

START_TEST(every_duration_is_read_in_both_forms)
{
    ck_assert(put("{\"visibility\":\"2m\",\"delay\":7,\"retention_seconds\":90.5,\"receive_wait\":"
                  "\"500ms\"}"));
    ck_assert_int_eq(topic.visibility_ms, 120000);
    ck_assert_int_eq(topic.delay_ms, 7000);
    ck_assert_int_eq(topic.retention_ms, 90500);
    ck_assert_int_eq(topic.receive_wait_ms, 500);
    ck_assert(!put("{\"delay\":1,\"delay_seconds\":1}"));
    ck_assert_str_eq(fault.place, "/delay_seconds");
    ck_assert(!put("{\"delay_seconds\":null,\"delay\":1}"));
    ck_assert(!put("{\"delay_seconds\":1.0001}") && !put("{\"delay_seconds\":1.}") &&
              !put("{\"delay_seconds\":-1}") && !put("{\"delay_seconds\":1e2}"));
}
END_TEST

START_TEST(the_bounds_are_those_of_the_catalogue)
{
    ck_assert(put("{\"visibility\":43200,\"delay\":900,\"retention\":1209600,\"receive_wait\":20,"
                  "\"message_bytes_max\":1048576}"));
    ck_assert_int_eq(topic.visibility_ms, TOPIC_VISIBILITY_MS_MAX);
    ck_assert_int_eq(topic.delay_ms, TOPIC_DELAY_MS_MAX);
    ck_assert_int_eq(topic.retention_ms, TOPIC_RETENTION_MS_MAX);
    ck_assert_int_eq(topic.receive_wait_ms, TOPIC_WAIT_MS_MAX);
    ck_assert_uint_eq(topic.message_bytes_max, TOPIC_MESSAGE_BYTES_MAX);
    ck_assert(put("{\"visibility\":0,\"delay\":0,\"retention\":60,\"message_bytes_max\":1024}"));
    ck_assert_int_eq(topic.retention_ms, TOPIC_RETENTION_MS_MIN);
    ck_assert_uint_eq(topic.message_bytes_max, TOPIC_MESSAGE_BYTES_MIN);
    ck_assert(!put("{\"visibility\":43201}") && !put("{\"retention\":59}"));
    ck_assert_str_eq(fault.place, "/retention");
    ck_assert(strstr(fault.detail, "60s to 1209600s") != NULL);
}
END_TEST

START_TEST(put_sets_defaults_and_patch_leaves_what_it_does_not_name)
{
    ck_assert(put("{\"visibility\":1,\"delay\":2,\"tags\":{\"a\":\"1\",\"b\":\"2\"}}"));
    ck_assert(patch("{\"delay\":3,\"tags\":{\"a\":null,\"c\":\"3\"}}"));
    ck_assert_int_eq(topic.visibility_ms, 1000);
    ck_assert_int_eq(topic.delay_ms, 3000);
    ck_assert(tag("a") == NULL && strcmp(tag("b"), "2") == 0 && strcmp(tag("c"), "3") == 0);
    ck_assert(patch("{\"visibility\":null}"));
    ck_assert_int_eq(topic.visibility_ms, 30000);
    ck_assert_int_eq(topic.delay_ms, 3000);
    ck_assert(patch("{\"tags\":null}"));
    ck_assert_uint_eq(topic.tags_n, 0);
    ck_assert(put("{\"tags\":{\"x\":\"\"}}"));
    ck_assert_int_eq(topic.delay_ms, 0);
    ck_assert_str_eq(tag("x"), "");
    ck_assert(put(""));
    ck_assert_uint_eq(topic.tags_n, 0);
}
END_TEST

START_TEST(redrive_is_merged_by_patch_and_replaced_by_put)
{
    ck_assert(put("{\"redrive\":{\"topic\":\"d\",\"receives_max\":3}}"));
    ck_assert_str_eq(topic.dead_letter, "d");
    ck_assert(patch("{\"redrive\":{\"receives_max\":4}}"));
    ck_assert_str_eq(topic.dead_letter, "d");
    ck_assert_uint_eq(topic.receives_max, 4);
    ck_assert(patch("{}"));
    ck_assert_uint_eq(topic.receives_max, 4);
    ck_assert(!put("{\"redrive\":{\"receives_max\":4}}"));
    ck_assert(put("{\"redrive\":null}"));
    ck_assert(topic.receives_max == 0 && topic.dead_letter[0] == 0);
    ck_assert(!patch("{\"redrive\":{\"topic\":\"q\",\"receives_max\":1}}")); /* itself */
    ck_assert(!patch("{\"redrive\":{\"topic\":\"a.b\",\"receives_max\":1}}"));
    ck_assert_str_eq(fault.place, "/redrive/topic");
}
END_TEST

START_TEST(only_a_new_topic_gets_partitions_and_its_name_says_fifo)
{
    ck_assert(apply("{\"partitions\":4}", false, true));
    ck_assert_uint_eq(topic.partitions, 4);
    ck_assert(!topic.fifo);
    ck_assert(put("{}")); /* not 1 again */
    ck_assert_uint_eq(topic.partitions, 4);
    ck_assert(!put("{\"partitions\":5}"));
    ck_assert_int_eq(fault.problem, REST_PROBLEM_IMMUTABLE);
    ck_assert(!put("{\"fifo\":true}"));
    ck_assert_int_eq(fault.problem, REST_PROBLEM_IMMUTABLE);
    snprintf(topic.name, sizeof topic.name, "q.fifo");
    ck_assert(
        apply("{\"content_deduplication\":true,\"deduplication_scope\":\"group\"}", false, true));
    ck_assert(topic.fifo && topic.content_dedup && topic.dedup_per_group);
    ck_assert(!apply("{\"fifo\":false}", false, true));
    ck_assert_int_eq(fault.problem, REST_PROBLEM_INVALID_BODY);
}
END_TEST

START_TEST(what_only_sqs_can_set_stays)
{
    topic_attribute_set(&topic, "Policy", "{}");
    ck_assert(put("{}") && patch("{\"delay\":1}"));
    ck_assert_str_eq(topic_attribute_get(&topic, "Policy"), "{}");
}
END_TEST

START_TEST(what_a_get_shows_may_be_put_back_and_other_members_may_not)
{
    ck_assert(put(
        "{\"name\":\"z\",\"version\":\"9\",\"created_at\":{},\"modified_at\":1,\"stats\":[1]}"));
    ck_assert_str_eq(topic.name, "q");
    ck_assert(!put("{\"visiblity\":1}"));
    ck_assert_str_eq(fault.place, "/visiblity");
    ck_assert(strstr(fault.detail, "visibility") != NULL);
    ck_assert(!put("{\"visibility_second\":1}") && !put("{\"tags_seconds\":1}"));
}
END_TEST

START_TEST(names_of_topics_are_those_of_queues)
{
    static const char *const good[] = {"a", "A-z_09", "q.fifo", "-"};
    static const char *const bad[] = {"",    ".fifo",    "a.b", "a.fifo.fifo",
                                      "a b", "\xc3\xa9", "a/b", ".."};
    char name[90];
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++)
        ck_assert_msg(rest_topic_name_valid(bytes_of_text(good[i])), "%s", good[i]);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        ck_assert_msg(!rest_topic_name_valid(bytes_of_text(bad[i])), "%s", bad[i]);
    memset(name, 'x', sizeof name);
    ck_assert(rest_topic_name_valid((struct bytes){name, 80}));
    ck_assert(!rest_topic_name_valid((struct bytes){name, 81}));
}
END_TEST

/* ---- messages ---- */

static bool make(struct rest_message *m, struct queue_message *out)
{
    fault.problem = REST_PROBLEM_NONE;
    return rest_message_make(&topic, m, (struct rest_blame){NULL, true}, &arena, out, &fault);
}

START_TEST(a_body_that_is_no_text_is_marked)
{
    struct rest_message text = {.body = BYTES_OF("gr\xc3\xbc\xc3\x9f")},
                        bytes = {.body = BYTES_OF("\xff")};
    struct rest_message nul = {.body = BYTES_OF("a\0")};
    struct queue_message out;
    ck_assert(make(&text, &out) && out.attributes_n == 0);
    ck_assert(make(&bytes, &out) && out.attributes_n == 1);
    ck_assert(bytes_equal(out.attributes[0].name, BYTES_OF("leaselog-encoding")));
    ck_assert(make(&nul, &out) && out.attributes_n == 1);
}
END_TEST

START_TEST(the_size_of_a_message_counts_its_attributes)
{
    char body[1024];
    struct queue_message out;
    memset(body, 'x', sizeof body);
    topic.message_bytes_max = 1024;
    struct rest_message m = {.body = {body, 1024 - 3 - 8}};
    m.attributes.at[0] =
        (struct queue_attribute){BYTES_OF("a"), BYTES_OF("String.x"), false, BYTES_OF("vw")};
    m.attributes.n = 1;
    ck_assert(make(&m, &out));
    m.body.n++;
    ck_assert(!make(&m, &out));
    ck_assert_int_eq(fault.problem, REST_PROBLEM_MESSAGE_TOO_BIG);
    m.body.n = 0;
    ck_assert(!make(&m, &out));
    ck_assert_int_eq(fault.problem, REST_PROBLEM_INVALID_BODY);
}
END_TEST

START_TEST(a_fifo_message_without_an_id_gets_its_contents_digest)
{
    struct rest_message m = {.body = BYTES_OF("hello"), .group_id = BYTES_OF("g")};
    struct queue_message out;
    topic.fifo = true;
    ck_assert(!make(&m, &out));
    ck_assert_str_eq(fault.place, "Leaselog-Deduplication-Id");
    topic.content_dedup = true;
    ck_assert(make(&m, &out));
    ck_assert(
        bytes_equal(out.dedup_id,
                    BYTES_OF("2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824")));
    m.delay_given = true;
    ck_assert(make(&m, &out) && out.delay_ms == -1); /* none is no delay of its own */
    m.delay_ms = 1;
    ck_assert(!make(&m, &out));
}
END_TEST

Suite *suite_new(void)
{
    Suite *s = suite_create("rest settings");
    TCase *t = tcase_create("pure");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, every_duration_is_read_in_both_forms);
    tcase_add_test(t, limits_are_set_kept_and_taken_away);
    tcase_add_test(t, copies_are_said_at_birth_and_fixed_then);
    tcase_add_test(t, dead_letters_for_a_full_topic_need_a_target);
    tcase_add_test(t, the_bounds_are_those_of_the_catalogue);
    tcase_add_test(t, put_sets_defaults_and_patch_leaves_what_it_does_not_name);
    tcase_add_test(t, redrive_is_merged_by_patch_and_replaced_by_put);
    tcase_add_test(t, only_a_new_topic_gets_partitions_and_its_name_says_fifo);
    tcase_add_test(t, what_only_sqs_can_set_stays);
    tcase_add_test(t, what_a_get_shows_may_be_put_back_and_other_members_may_not);
    tcase_add_test(t, names_of_topics_are_those_of_queues);
    tcase_add_test(t, a_body_that_is_no_text_is_marked);
    tcase_add_test(t, the_size_of_a_message_counts_its_attributes);
    tcase_add_test(t, a_fifo_message_without_an_id_gets_its_contents_digest);
    suite_add_tcase(s, t);
    return s;
}
