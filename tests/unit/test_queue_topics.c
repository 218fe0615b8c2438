// SPDX-License-Identifier: Apache-2.0
/* Topics are made, changed, listed and dropped. */
#include <stdio.h>
#include <string.h>

#include "queue_fixture.h"

START_TEST(a_second_topic_of_the_name_is_refused)
{
    struct queue_topic *t = topic_of("q"), *second;
    struct topic_config config;
    topic_config_init(&config);
    snprintf(config.name, sizeof config.name, "q");
    config.partitions = 1;
    ck_assert_int_eq(queue_topic_create(bench.q, &config, &second), ERR_EXISTS);
    topic_config_fini(&config);
    queue_topic_give_back(t);
}
END_TEST

static enum err set_visibility(void *arg, struct topic_config *c)
{
    c->visibility_ms = *(int64_t *)arg;
    return ERR_OK;
}

static enum err refuse(void *arg, struct topic_config *c)
{
    (void)arg;
    c->visibility_ms = 1;
    return ERR_INVALID;
}

static enum err nonsense(void *arg, struct topic_config *c)
{
    (void)arg;
    c->receives_max = 3; /* and no dead-letter topic: a start could not read this */
    return ERR_OK;
}

START_TEST(a_change_is_kept_and_what_was_lent_stays_as_it_was)
{
    struct queue_topic *t = topic_of("q");
    const struct topic_config *before = queue_topic_config(t);
    int64_t visibility_ms = 7000;
    fake_clock_pass(&bench.clock, 5000);
    topic_set("q", set_visibility, &visibility_ms);
    ck_assert_int_eq(queue_topic_config(t)->modified_wall_ms, before->created_wall_ms + 5000);
    ck_assert_int_eq(before->visibility_ms, 30000);
    ck_assert_int_eq(queue_topic_config(t)->visibility_ms, 7000);
    ck_assert_int_eq(queue_topic_change(t, refuse, NULL), ERR_INVALID);
    ck_assert_int_eq(queue_topic_change(t, nonsense, NULL), ERR_INVALID);
    ck_assert_int_eq(queue_topic_config(t)->visibility_ms, 7000);
    queue_topic_give_back(t);
    bench_restart();
    t = topic_of("q");
    ck_assert_int_eq(queue_topic_config(t)->visibility_ms, 7000);
    queue_topic_give_back(t);
}
END_TEST

static int64_t version_of(struct queue_topic *t)
{
    int64_t version = 0;
    ck_assert_ptr_eq(queue_topic_config_version(t, &version), queue_topic_config(t));
    return version;
}

START_TEST(a_version_stands_for_the_settings_as_they_are)
{
    struct queue_topic *t = topic_of("q");
    int64_t first = version_of(t), visibility_ms = 7000;
    ck_assert_int_gt(first, 0);
    ck_assert_int_eq(queue_topic_change(t, refuse, NULL), ERR_INVALID);
    ck_assert_int_eq(version_of(t), first);
    topic_set("q", set_visibility, &visibility_ms);
    int64_t second = version_of(t);
    ck_assert_int_gt(second, first);
    queue_topic_give_back(t);
    bench_restart();
    t = topic_of("q");
    ck_assert_int_eq(version_of(t), second);
    queue_topic_give_back(t);
    topic_drop("q");
    t = topic_of("q");
    ck_assert_int_gt(version_of(t), second);
    queue_topic_give_back(t);
}
END_TEST

START_TEST(a_change_that_insists_on_another_version_changes_nothing)
{
    struct queue_topic *t = topic_of("q");
    int64_t first = version_of(t), seven = 7000, eight = 8000;
    ck_assert_int_eq(queue_topic_change_if(t, first, set_visibility, &seven), ERR_OK);
    int64_t second = version_of(t);
    ck_assert_int_eq(queue_topic_change_if(t, first, set_visibility, &eight), ERR_CONFLICT);
    ck_assert_int_eq(queue_topic_change_if(t, second + 1, set_visibility, &eight), ERR_CONFLICT);
    ck_assert_int_eq(queue_topic_config(t)->visibility_ms, 7000);
    ck_assert_int_eq(version_of(t), second);
    ck_assert_int_eq(queue_topic_change_if(t, 0, set_visibility, &eight), ERR_OK);
    ck_assert_int_eq(queue_topic_config(t)->visibility_ms, 8000);
    queue_topic_give_back(t);
}
END_TEST

START_TEST(a_delete_that_insists_on_another_version_deletes_nothing)
{
    struct queue_topic *t = topic_of("q"), *again;
    int64_t version = version_of(t);
    send_text("q", "a");
    ck_assert_int_eq(queue_topic_delete_if(t, version + 1), ERR_CONFLICT);
    ck_assert_counts("q", 1, 0, 0);
    ck_assert_int_eq(queue_topic_delete_if(t, version), ERR_OK);
    ck_assert_int_eq(queue_topic_find(bench.q, BYTES_OF("q"), &again), ERR_NOT_FOUND);
    ck_assert_int_eq(queue_topic_delete_if(t, version), ERR_NOT_FOUND);
    queue_topic_give_back(t);
}
END_TEST

START_TEST(a_change_writes_nothing_into_the_log)
{
    struct queue_topic *t = topic_of("q");
    uint64_t end = plog_end(t->partitions[0].log);
    int64_t visibility_ms = 7000;
    topic_set("q", set_visibility, &visibility_ms);
    ck_assert_uint_eq(plog_end(t->partitions[0].log), end);
    queue_topic_give_back(t);
}
END_TEST

START_TEST(a_topic_made_again_starts_empty_and_old_receipts_have_no_effect)
{
    send_text("q", "old");
    struct got old = receive("q", 1);
    topic_drop("q");
    ck_assert_uint_eq(receive("q", 1).n, 0); /* made again here */
    send_text("q", "new");
    ck_assert_int_eq(delete_receipt("q", old.at[0].receipt), ERR_GONE);
    bench_settle();
    bench_restart();
    ck_assert_int_eq(delete_receipt("q", old.at[0].receipt), ERR_GONE);
    struct got g = receive("q", 10);
    ck_assert_str_eq(bodies(&g), "new");
}
END_TEST

START_TEST(a_dropped_topic_is_gone_for_those_who_hold_it_and_after_a_start)
{
    struct queue_topic *t = topic_of("q"), *found;
    send_text("q", "a");
    ck_assert_int_eq(queue_topic_delete(t), ERR_OK);
    ck_assert_int_eq(queue_topic_delete(t), ERR_NOT_FOUND);
    ck_assert_int_eq(queue_topic_find(bench.q, BYTES_OF("q"), &found), ERR_NOT_FOUND);
    struct queue_counters c;
    ck_assert_int_eq(queue_count(t, BYTES_NONE, &c), ERR_NOT_FOUND);
    struct queue_message m = {.body = BYTES_OF("b"), .delay_ms = -1};
    struct queue_sent sent;
    struct waiting w;
    enum err e;
    waiting_init(&w);
    queue_send(t, &m, 1, &sent, &e, &w.w);
    ck_assert_int_eq(e, ERR_NOT_FOUND);
    queue_topic_give_back(t);
    bench_restart(); /* before the housekeeper removed anything */
    ck_assert_int_eq(queue_topic_find(bench.q, BYTES_OF("q"), &found), ERR_NOT_FOUND);
    struct catalog_kvs left = {0};
    ck_assert_int_eq(catalog_list(bench.q->catalog, "t/", &left), ERR_OK);
    ck_assert_uint_eq(left.n, 0);
    catalog_kvs_fini(&left);
}
END_TEST

START_TEST(a_dropped_topic_leaves_no_key_and_no_log)
{
    send_text("q", "a");
    topic_drop("q");
    bench_settle();
    struct catalog_kvs left = {0};
    static const char *const prefixes[] = {"t/", "n/", "g/", "p/"};
    for (size_t i = 0; i < 4; i++) {
        ck_assert_int_eq(catalog_list(bench.q->catalog, prefixes[i], &left), ERR_OK);
        ck_assert_uint_eq(left.n, 0);
        catalog_kvs_fini(&left);
    }
    bench_pass(120000);
    ck_assert_ptr_null(bench.q->freed);
}
END_TEST

START_TEST(a_topic_that_was_half_made_is_finished_at_the_start)
{
    struct topic_config config;
    struct buf json = BUF_EMPTY;
    char key[CATALOG_KEY_BYTES_MAX + 1];
    topic_config_init(&config);
    snprintf(config.name, sizeof config.name, "half");
    config.id[0] = 7;
    config.partitions = 2;
    config.state = TOPIC_CREATING;
    catalog_key_topic(key, config.id);
    topic_config_encode(&config, &json);
    struct catalog_op put = {.key = key, .value = buf_bytes(&json)};
    ck_assert_int_eq(catalog_txn(bench.q->catalog, NULL, 0, &put, 1, NULL), ERR_OK);
    buf_fini(&json);
    topic_config_fini(&config);
    bench_restart();
    struct queue_topic *t;
    ck_assert_int_eq(queue_topic_find(bench.q, BYTES_OF("half"), &t), ERR_OK);
    ck_assert_int_eq(queue_topic_config(t)->state, TOPIC_READY);
    queue_topic_give_back(t);
    send_text("half", "a");
    ck_assert_uint_eq(receive("half", 1).n, 1);
}
END_TEST

static enum err broken_sync(void *self, int file)
{
    (void)self;
    (void)file;
    return ERR_IO;
}

START_TEST(who_waits_on_a_topic_that_goes_is_told_when_the_disk_fails_outside_a_round)
{
    for (int i = 0; i < 150; i++) /* more than half of the journal's 1 MiB, by pages of 4 KiB */
        send_text("other", "a page a round");
    struct queue_topic *t = topic_of("goes");
    struct queue_message m = {.body = BYTES_OF("a"), .delay_ms = -1};
    struct queue_sent sent;
    enum err e;
    struct waiting w;
    waiting_init(&w);
    queue_send(t, &m, 1, &sent, &e, &w.w);
    ck_assert(queue_wait_start(&w.w));
    ck_assert_int_eq(queue_topic_delete(t), ERR_OK);
    queue_topic_give_back(t);
    bench.disk.sync = broken_sync; /* the checkpoint is the first to see it */
    fake_clock_pass(&bench.clock, 1000);
    queue_housekeep(bench.q);
    ck_assert(queue_failed(bench.q));
    ck_assert(w.told);
    ck_assert_int_eq(w.w.err, ERR_FAILED);
}
END_TEST

static bool add_name(void *arg, struct queue_topic *t)
{
    struct buf *names = arg;
    buf_put_text(names, t->name);
    buf_put_text(names, " ");
    return names->n < 12;
}

START_TEST(topics_are_listed_in_order_from_a_name_on)
{
    static const char *const names[] = {"bb", "a", "ba", "bc", "c"};
    for (size_t i = 0; i < 5; i++)
        queue_topic_give_back(topic_of(names[i]));
    struct buf text = BUF_EMPTY;
    queue_topics_each(bench.q, BYTES_OF("b"), BYTES_OF("bb"), add_name, &text);
    ck_assert(bytes_equal(buf_bytes(&text), BYTES_OF("bb bc ")));
    buf_clear(&text);
    queue_topics_each(bench.q, BYTES_NONE, BYTES_NONE, add_name, &text);
    ck_assert(bytes_equal(buf_bytes(&text), BYTES_OF("a ba bb bc c ")));
    buf_fini(&text);
}
END_TEST

START_TEST(a_ready_topic_without_its_directory_stays_closed_and_others_serve)
{
    send_text("q", "a");
    send_text("other", "b");
    struct queue_topic *t = topic_of("q");
    ck_assert_int_eq(plog_remove(bench.q->plog, t->partitions[0].log), ERR_OK);
    t->partitions[0].closed = true;
    queue_topic_give_back(t);
    bench_restart();
    t = topic_of("q");
    struct queue_partition_info info;
    queue_partition_look(t, 0, &info);
    ck_assert(info.closed);
    ck_assert_str_eq(info.where, "its directory is missing");
    ck_assert_int_eq(receive_for("q", 1, -1).err, ERR_CLOSED);
    ck_assert_uint_eq(receive("other", 1).n, 1);
    queue_topic_give_back(t);
}
END_TEST

static void sink_to_dead(struct topic_config *c)
{
    c->receives_max = 3;
    c->retention_ms = 120000;
    snprintf(c->dead_letter, sizeof c->dead_letter, c->fifo ? "dead.fifo" : "dead");
}

static enum err set_retention(void *arg, struct topic_config *c)
{
    c->retention_ms = *(int64_t *)arg;
    return ERR_OK;
}

static enum err set_longer_visibility(void *arg, struct topic_config *c)
{
    c->visibility_ms = *(int64_t *)arg;
    return ERR_OK;
}

static unsigned warnings_of(const char *name)
{
    struct queue_topic *t = topic_of(name);
    unsigned warnings = queue_topic_warnings(t);
    queue_topic_give_back(t);
    return warnings;
}

START_TEST(a_dead_letter_topic_that_keeps_no_longer_than_its_source_is_warned_of)
{
    int64_t retention_ms = 120000;
    queue_topic_give_back(topic_of("dead"));
    queue_topic_give_back(topic_with("q", sink_to_dead));
    ck_assert_uint_eq(warnings_of("q"), 0);
    topic_set("dead", set_retention, &retention_ms);
    ck_assert_uint_eq(warnings_of("q"), QUEUE_WARNING_DEAD_LETTER_RETENTION);
    retention_ms++;
    topic_set("dead", set_retention, &retention_ms);
    ck_assert_uint_eq(warnings_of("q"), 0);
    ck_assert_uint_eq(warnings_of("dead"), 0);
}
END_TEST

START_TEST(a_dead_letter_topic_that_was_deleted_is_warned_of)
{
    queue_topic_give_back(topic_of("dead"));
    queue_topic_give_back(topic_with("q", sink_to_dead));
    topic_drop("dead");
    ck_assert_uint_eq(warnings_of("q"), QUEUE_WARNING_DEAD_LETTER_MISSING);
    queue_topic_give_back(topic_of("dead"));
    ck_assert_uint_eq(warnings_of("q"), 0);
}
END_TEST

START_TEST(fifo_tries_that_outlast_the_deduplication_window_are_warned_of)
{
    int64_t visibility_ms = 100000;
    queue_topic_give_back(topic_of("dead.fifo"));
    queue_topic_give_back(topic_with("q.fifo", sink_to_dead));
    topic_set("q.fifo", set_longer_visibility, &visibility_ms);
    ck_assert_uint_eq(warnings_of("q.fifo"), 0); /* three times 100 s are just the five minutes */
    visibility_ms++;
    topic_set("q.fifo", set_longer_visibility, &visibility_ms);
    ck_assert_uint_eq(warnings_of("q.fifo"), QUEUE_WARNING_DEDUPLICATION_WINDOW);
    queue_topic_give_back(topic_of("dead"));
    queue_topic_give_back(topic_with("q", sink_to_dead));
    topic_set("q", set_longer_visibility, &visibility_ms);
    ck_assert_uint_eq(warnings_of("q"), 0);
}
END_TEST

TCase *tcase_topics(void)
{
    TCase *t = tcase_create("topics");
    tcase_add_checked_fixture(t, bench_setup, bench_teardown);
    tcase_add_test(t, a_second_topic_of_the_name_is_refused);
    tcase_add_test(t, a_change_is_kept_and_what_was_lent_stays_as_it_was);
    tcase_add_test(t, a_version_stands_for_the_settings_as_they_are);
    tcase_add_test(t, a_change_that_insists_on_another_version_changes_nothing);
    tcase_add_test(t, a_delete_that_insists_on_another_version_deletes_nothing);
    tcase_add_test(t, a_change_writes_nothing_into_the_log);
    tcase_add_test(t, a_topic_made_again_starts_empty_and_old_receipts_have_no_effect);
    tcase_add_test(t, a_dropped_topic_is_gone_for_those_who_hold_it_and_after_a_start);
    tcase_add_test(t, a_dropped_topic_leaves_no_key_and_no_log);
    tcase_add_test(t, a_topic_that_was_half_made_is_finished_at_the_start);
    tcase_add_test(t, who_waits_on_a_topic_that_goes_is_told_when_the_disk_fails_outside_a_round);
    tcase_add_test(t, topics_are_listed_in_order_from_a_name_on);
    tcase_add_test(t, a_ready_topic_without_its_directory_stays_closed_and_others_serve);
    tcase_add_test(t, a_dead_letter_topic_that_keeps_no_longer_than_its_source_is_warned_of);
    tcase_add_test(t, a_dead_letter_topic_that_was_deleted_is_warned_of);
    tcase_add_test(t, fifo_tries_that_outlast_the_deduplication_window_are_warned_of);
    return t;
}
