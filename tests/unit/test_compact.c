// SPDX-License-Identifier: Apache-2.0
/* Compact topics: what compaction drops and keeps, over a disk that fails, sentence by sentence and
 * in random histories. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "lib/fault_disk.h"
#include "offline/check_log.h"
#include "queue_fixture.h"

enum {
    SEGMENT_BYTES = 4096,
    KEYS = 40,
    LOOK_MS = 10000,
    RETENTION_MS = 1000000,
    VALUE_MAX = 64,
};

static struct {
    struct fault_disk *disk;
    struct arena arena;
    struct rng rng;
    uint32_t partitions;
    /* What was sent, committed: "" is no value, sent as a tombstone or never. */
    char values[KEYS][VALUE_MAX];
    unsigned sent;
} z;

/* ---- the broker ---- */

static void set_compact(struct topic_config *c)
{
    c->compact = true;
    c->partitions = z.partitions;
    c->delete_retention_ms = RETENTION_MS;
}

static void setup(void)
{
    bench_setup();
    bench_die();
    memset(&z, 0, sizeof z);
    z.rng.state = test_seed();
    z.partitions = 1;
    z.disk = fault_disk_new(test_seed());
    arena_init(&z.arena, NULL, 0);
    bench.options.disk = fault_disk_of(z.disk);
    bench.options.segment_bytes = SEGMENT_BYTES;
    bench.options.journal_bytes = 64 << 10;
    bench.options.snapshot_log_bytes = 2 * SEGMENT_BYTES;
    bench.options.cache_bytes = 1024;
    bench_start();
}

static void teardown(void)
{
    if (bench.q != NULL)
        bench_die();
    bench_teardown();
    arena_fini(&z.arena);
    fault_disk_free(z.disk);
}

static struct queue_topic *topic(void)
{
    return topic_with("c", set_compact);
}

/* ---- sending ---- */

static const char *key_of(unsigned k)
{
    static char text[16];
    snprintf(text, sizeof text, "key-%u", k);
    return text;
}

/* One call, whose messages lie in one batch of the log, as far as they are of one partition. An
 * empty value is a tombstone. */
static void put_many(const unsigned *k, char (*values)[VALUE_MAX], size_t n)
{
    char keys[QUEUE_BATCH_MAX][16];
    struct queue_message m[QUEUE_BATCH_MAX];
    struct queue_sent sent[QUEUE_BATCH_MAX];
    enum err errs[QUEUE_BATCH_MAX];
    struct queue_topic *t = topic();
    for (size_t i = 0; i < n; i++) {
        snprintf(keys[i], sizeof keys[i], "%s", key_of(k[i]));
        m[i] = (struct queue_message){
            .body = bytes_of_text(values[i]),
            .key = bytes_of_text(keys[i]),
            .tombstone = values[i][0] == 0,
            .delay_ms = -1,
        };
    }
    struct waiting w;
    waiting_init(&w);
    queue_send(t, m, n, sent, errs, &w.w);
    waiting_finish(&w);
    for (size_t i = 0; i < n; i++) {
        ck_assert_int_eq(errs[i], ERR_OK);
        snprintf(z.values[k[i]], sizeof z.values[k[i]], "%s", values[i]);
    }
    queue_topic_give_back(t);
}

static void put(unsigned k, const char *value)
{
    char values[1][VALUE_MAX];
    snprintf(values[0], sizeof values[0], "%s", value);
    put_many(&k, values, 1);
}

/* n messages that make no difference, under one key, so that what was sent before is sealed. */
static void fill(unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        char value[VALUE_MAX];
        snprintf(value, sizeof value, "filler %u with some more bytes in it", z.sent++);
        put(KEYS - 1, value);
    }
}

/* ---- time ---- */

/* The housekeeper's steps while time stands nearly still. */
static void steps(int n)
{
    for (int i = 0; i < n; i++)
        bench_pass(20);
}

/* What can be compacted is. */
static void compact_all(void)
{
    for (int i = 0; i < 4; i++) {
        bench_pass(LOOK_MS);
        for (int k = 0; k < 2000 && (bench.q->compaction.active || bench.q->cleaning.job); k++)
            bench_pass(20);
        ck_assert(!bench.q->compaction.active);
    }
}

/* ---- reading ---- */

struct reading {
    size_t n;                     /* messages stored */
    size_t of[KEYS];              /* of each key */
    bool known[KEYS];             /* there is a message ... */
    bool ended[KEYS];             /* ... and the last one is a tombstone */
    char values[KEYS][VALUE_MAX]; /* of the last one */
    unsigned partition[KEYS];
};

static void take(struct reading *r, const struct queue_record *record)
{
    const struct queue_received *m = &record->message;
    char text[16] = "";
    ck_assert_uint_lt(m->key.n, sizeof text);
    memcpy(text, m->key.at, m->key.n);
    unsigned k = (unsigned)strtoul(text + 4, NULL, 10);
    ck_assert_uint_lt(k, KEYS);
    ck_assert(r->of[k] == 0 || r->partition[k] == m->partition);
    r->partition[k] = m->partition;
    r->n++;
    r->of[k]++;
    r->known[k] = true;
    r->ended[k] = m->tombstone;
    snprintf(r->values[k], sizeof r->values[k], "%.*s", (int)m->body.n,
             m->body.n == 0 ? "" : (const char *)m->body.at);
}

/* All partitions from the first offset on, in small pieces. */
static struct reading read_all(void)
{
    struct reading r;
    struct queue_topic *t = topic();
    static struct queue_record out[7];
    memset(&r, 0, sizeof r);
    for (uint32_t p = 0; p < z.partitions; p++) {
        struct queue_records request = {.partition = p, .max = 7, .bytes_max = 300};
        uint64_t end = UINT64_MAX, last = 0;
        while (request.from < end) {
            size_t n;
            ck_assert_int_eq(queue_records(t, &request, &z.arena, out, &n, &request.from, &end),
                             ERR_OK);
            for (size_t i = 0; i < n; i++) {
                ck_assert(out[i].offset >= last);
                last = out[i].offset + 1;
                take(&r, &out[i]);
            }
        }
        ck_assert_uint_eq(request.from, end);
    }
    queue_topic_give_back(t);
    return r;
}

/* Every key has its last value, and one that has none has none. */
static void check(void)
{
    struct reading r = read_all();
    for (unsigned k = 0; k < KEYS; k++)
        ck_assert_msg(strcmp(r.values[k], z.values[k]) == 0, "key %u: '%s' instead of '%s'", k,
                      r.values[k], z.values[k]);
}

static void look_at_files(bool repair)
{
    struct findings f = {.no_remarks = true};
    struct offline_check c = {.repair = repair};
    struct offline_store s;
    offline_store_read(fault_disk_of(z.disk), &f, &s);
    ck_assert(s.marks_good);
    for (size_t i = 0; i < s.logs_n; i++)
        offline_check_log(&c, &s, &s.logs[i], &f);
    ck_assert_msg(repair || f.faults == 0, "%.*s", (int)f.lines.n, f.lines.at);
    ck_assert_uint_gt(c.records, 0);
    offline_store_fini(&s);
    findings_fini(&f);
}

/* fsck finds nothing in the logs, whose broker has just died; but a crash between the last two
 * steps of a swap may leave a segment without its index, which a repair makes. */
static void check_files(void)
{
    queue_commit_all(bench.q);
    bench_die();
    look_at_files(true);
    look_at_files(false);
    bench_start();
}

/* ---- sentences ---- */

START_TEST(of_each_key_the_last_value_stays_and_older_ones_go)
{
    for (unsigned round = 0; round < 30; round++)
        for (unsigned k = 0; k < 10; k++) {
            char value[VALUE_MAX];
            snprintf(value, sizeof value, "%u of round %u", k, round);
            put(k, value);
        }
    put(3, "");
    fill(60);
    ck_assert_uint_eq(read_all().n, 361);
    compact_all();
    check();
    struct reading r = read_all();
    for (unsigned k = 0; k < 10; k++)
        ck_assert_uint_eq(r.of[k], 1);
    ck_assert(r.ended[3]);
    ck_assert_uint_lt(r.n, 100); /* those keys, and what is in the segments that stay */
    check_files();
    check();
    compact_all();
    check();
}
END_TEST

START_TEST(what_is_in_the_last_segment_stays_as_it_is)
{
    for (unsigned i = 0; i < 5; i++)
        put(1, "x");
    compact_all();
    ck_assert_uint_eq(read_all().of[1], 5);
}
END_TEST

START_TEST(a_tombstone_goes_when_delete_retention_has_passed_and_not_a_millisecond_before)
{
    put(1, "old");
    int64_t sent_ms = queue_now_ms(bench.q);
    put(1, "");
    put(2, "stays");
    fill(150);
    compact_all();
    struct reading r = read_all();
    ck_assert(r.of[1] == 1 && r.ended[1]);
    struct queue_topic *t = topic();
    struct queue_partition *p = &t->partitions[0];
    for (int late = 0; late < 2; late++) {
        /* A look at this very moment, and one pass. */
        fake_clock_pass(&bench.clock, sent_ms + RETENTION_MS - 1 + late - queue_now_ms(bench.q));
        ck_assert(!bench.q->compaction.active);
        p->compact_late_ms = p->clean_look_ms = INT64_MIN;
        p->compacted_offset = 0;
        compact_look(p);
        ck_assert(bench.q->compaction.active);
        while (bench.q->compaction.active || bench.q->cleaning.job != NULL) {
            bench.q->compaction.next_ms = bench.q->cleaning.next_ms = INT64_MIN;
            compact_step(bench.q);
            clean_step(bench.q);
        }
        ck_assert_uint_eq(read_all().of[1], late ? 0 : 1);
    }
    queue_topic_give_back(t);
    check();
    ck_assert_uint_eq(read_all().of[2], 1);
}
END_TEST

START_TEST(a_tombstone_goes_by_itself_when_nothing_else_is_sent)
{
    put(1, "old");
    put(1, "");
    fill(150);
    compact_all();
    ck_assert(read_all().ended[1]);
    fake_clock_pass(&bench.clock, RETENTION_MS);
    compact_all();
    ck_assert(!read_all().known[1]);
    check();
}
END_TEST

START_TEST(a_value_after_a_tombstone_stays)
{
    put(1, "old");
    put(1, "");
    put(1, "new");
    fill(150);
    fake_clock_pass(&bench.clock, RETENTION_MS);
    compact_all();
    ck_assert_uint_eq(read_all().of[1], 1);
    check();
}
END_TEST

/* Without it the batch would be smaller than what its GAP and new headers take. */
START_TEST(a_small_value_amid_others_goes_before_the_tombstone_that_ends_it)
{
    char values[3][VALUE_MAX] = {"a", "b", "c"};
    put_many((const unsigned[]){0, 1, 2}, values, 3);
    fill(60);
    put(1, "");
    fill(100);
    fake_clock_pass(&bench.clock, RETENTION_MS);
    compact_all();
    struct reading r = read_all();
    ck_assert(r.of[0] == 1 && r.of[1] == 0 && r.of[2] == 1);
    check();
}
END_TEST

START_TEST(more_keys_than_a_pass_remembers_take_more_passes)
{
    bench_stop();
    bench.options.compact_keys_max = 12;
    bench_start();
    for (unsigned round = 0; round < 10; round++)
        for (unsigned k = 0; k < 30; k++) {
            char value[VALUE_MAX];
            snprintf(value, sizeof value, "%u of round %u", k, round);
            put(k, round == 9 && k % 4 == 0 ? "" : value);
        }
    fill(150);
    fake_clock_pass(&bench.clock, RETENTION_MS);
    for (int i = 0; i < 20; i++)
        compact_all();
    check();
    struct reading r = read_all();
    for (unsigned k = 0; k < 30; k++)
        ck_assert_uint_eq(r.of[k], k % 4 == 0 ? 0 : 1);
}
END_TEST

START_TEST(keys_that_share_a_slot_are_told_apart_by_all_their_bits)
{
    struct key_map m;
    struct id_hash hashes[24];
    key_map_init(&m, 24);
    for (unsigned i = 0; i < 24; i++) {
        memset(&hashes[i], 7, sizeof hashes[i]); /* all of one slot */
        hashes[i].at[8 + i % 8] = (uint8_t)(i + 8);
        ck_assert_uint_eq(key_map_find(&m, &hashes[i]), 0);
        ck_assert(key_map_put(&m, &hashes[i], 100 + i));
    }
    ck_assert(key_map_put(&m, &hashes[5], 1000));
    for (unsigned i = 0; i < 24; i++)
        ck_assert_uint_eq(key_map_find(&m, &hashes[i]), i == 5 ? 1001 : 101 + i);
    struct id_hash other = {{1}};
    ck_assert(!key_map_put(&m, &other, 2000));
    ck_assert_uint_eq(key_map_find(&m, &other), 0);
    key_map_fini(&m);
    key_map_init(&m, 0);
    ck_assert(!key_map_put(&m, &other, 1));
    ck_assert_uint_eq(key_map_find(&m, &other), 0);
    key_map_fini(&m);
}
END_TEST

START_TEST(a_compact_topic_takes_no_message_without_a_key_and_gives_no_lease)
{
    struct queue_topic *t = topic();
    struct queue_message m = {.body = BYTES_OF("x"), .delay_ms = -1};
    struct queue_sent sent;
    struct queue_received got[QUEUE_BATCH_MAX];
    struct queue_receive receive = {.max = 1};
    struct queue_poll poll = {0};
    struct queue_counters counters;
    enum err e;
    size_t n;
    uint8_t id[16];
    uint64_t finished;
    struct waiting w;
    waiting_init(&w);
    queue_send(t, &m, 1, &sent, &e, &w.w);
    ck_assert_int_eq(e, ERR_NEEDS_KEY);
    ck_assert_int_eq(queue_receive(t, &receive, &z.arena, got, &n, &w.w), ERR_LOG_ONLY);
    ck_assert_int_eq(queue_poll_start(t, BYTES_NONE, &poll, NULL), ERR_LOG_ONLY);
    ck_assert_int_eq(queue_purge_group(t, BYTES_NONE, &finished, &w.w), ERR_LOG_ONLY);
    ck_assert_int_eq(queue_redrive_start(t, NULL, 0, id), ERR_LOG_ONLY);
    struct queue_topic *other = topic_of("q");
    ck_assert_int_eq(queue_redrive_start(other, t, 0, id), ERR_LOG_ONLY);
    queue_topic_give_back(other);
    ck_assert_int_eq(queue_count(t, BYTES_NONE, &counters), ERR_OK);
    ck_assert_uint_eq(counters.visible, 0);
    waiting_finish(&w);
    queue_topic_give_back(t);
}
END_TEST

static enum err make_plain(void *arg, struct topic_config *settings)
{
    (void)arg;
    settings->compact = false;
    return ERR_OK;
}

START_TEST(compact_is_fixed_at_birth_and_time_deletes_nothing)
{
    struct queue_topic *t = topic();
    ck_assert_int_eq(queue_topic_change(t, make_plain, NULL), ERR_INVALID);
    queue_topic_give_back(t);
    put(1, "x");
    fake_clock_pass(&bench.clock, 2 * 345600000ll);
    steps(5);
    bench_restart();
    fake_clock_pass(&bench.clock, 1000);
    steps(5);
    check();
}
END_TEST

START_TEST(a_deduplication_id_counts_among_the_messages_of_a_key)
{
    struct queue_topic *t = topic_of("plain");
    struct queue_message m[3] = {
        {.body = BYTES_OF("x"), .key = BYTES_OF("a"), .dedup_id = BYTES_OF("1"), .delay_ms = -1},
        {.body = BYTES_OF("x"), .key = BYTES_OF("b"), .dedup_id = BYTES_OF("1"), .delay_ms = -1},
        {.body = BYTES_OF("x"), .key = BYTES_OF("a"), .dedup_id = BYTES_OF("1"), .delay_ms = -1},
    };
    struct queue_sent sent[3];
    enum err errs[3];
    struct waiting w;
    waiting_init(&w);
    queue_send(t, m, 3, sent, errs, &w.w);
    ck_assert(!sent[0].duplicate && !sent[1].duplicate && sent[2].duplicate);
    waiting_finish(&w);
    queue_topic_give_back(t);
}
END_TEST

/* A topic with groups shows what some group still wants. */
START_TEST(records_of_a_plain_topic_are_those_that_are_unfinished_and_unexpired)
{
    struct queue_topic *t = topic_of("q");
    struct queue_record out[10];
    struct queue_records request = {.max = 10, .bytes_max = 1000};
    size_t n;
    uint64_t next, end;
    send_text("q", "a");
    send_text("q", "b");
    send_delayed("q", "c", 5000);
    struct got g = receive("q", 1);
    ck_assert_int_eq(delete_receipt("q", g.at[0].receipt), ERR_OK);
    queue_commit_all(bench.q);
    ck_assert_int_eq(queue_records(t, &request, &z.arena, out, &n, &next, &end), ERR_OK);
    ck_assert_uint_eq(n, 2);
    ck_assert(bytes_equal(out[0].message.body, BYTES_OF("b")) && out[0].message.number == 1);
    ck_assert(bytes_equal(out[1].message.body, BYTES_OF("c")));
    ck_assert_uint_eq(next, end);
    request.from = out[0].offset + 1;
    ck_assert_int_eq(queue_records(t, &request, &z.arena, out, &n, &next, &end), ERR_OK);
    ck_assert_uint_eq(n, 1);
    request.from = end + 5; /* nothing yet, and it is waited for there */
    ck_assert_int_eq(queue_records(t, &request, &z.arena, out, &n, &next, &end), ERR_OK);
    ck_assert(n == 0 && next == end + 5);
    fake_clock_pass(&bench.clock, 345600000ll - 1);
    request.from = 0;
    ck_assert_int_eq(queue_records(t, &request, &z.arena, out, &n, &next, &end), ERR_OK);
    ck_assert_uint_eq(n, 2);
    fake_clock_pass(&bench.clock, 1);
    ck_assert_int_eq(queue_records(t, &request, &z.arena, out, &n, &next, &end), ERR_OK);
    ck_assert_uint_eq(n, 0);
    request.partition = 1;
    ck_assert_int_eq(queue_records(t, &request, &z.arena, out, &n, &next, &end), ERR_NOT_FOUND);
    queue_topic_give_back(t);
}
END_TEST

/* ---- crashes ---- */

static void crash(void)
{
    bench_die();
    fault_disk_power_cut(z.disk);
    fault_disk_fail_never(z.disk);
    bench_start();
}

/* Time passes until the housekeeper begins a pass. */
static void until_a_pass_begins(void)
{
    struct queue_topic *t = topic();
    for (int i = 0; i < 20 && !bench.q->compaction.active; i++) {
        t->partitions[0].compact_late_ms = INT64_MIN;
        bench_pass(LOOK_MS);
    }
    queue_topic_give_back(t);
    ck_assert(bench.q->compaction.active);
}

/* One long life in which each compaction is cut at its next operation: keys keep their last values,
 * and keys that were ended long ago stay ended. */
START_TEST(no_crash_at_any_operation_of_a_compaction_loses_a_value_or_brings_one_back)
{
    bool cut = true;
    uint64_t n = 0;
    fill(100);
    for (; cut; n++) {
        for (unsigned k = 0; k < 6; k++) {
            char value[VALUE_MAX];
            snprintf(value, sizeof value, "%u before the cut at %u", k, (unsigned)n);
            put(k, value);
        }
        put((unsigned)n % 5, "");
        fill(20);
        fake_clock_pass(&bench.clock, RETENTION_MS / 4);
        until_a_pass_begins();
        fault_disk_fail_in(z.disk, n, ERR_IO, true);
        for (int i = 0; i < 100 && bench.q->compaction.active; i++) {
            fake_clock_pass(&bench.clock, 20);
            queue_housekeep(bench.q);
        }
        cut = fault_disk_has_failed(z.disk);
        crash();
        check();
        ck_assert_uint_lt(n, 1000);
    }
    ck_assert_uint_gt(n, 20);
    compact_all();
    check();
}
END_TEST

/* ---- random histories ---- */

static void random_send(void)
{
    char values[QUEUE_BATCH_MAX][VALUE_MAX];
    unsigned k[QUEUE_BATCH_MAX];
    size_t n = 1 + rng_below(&z.rng, QUEUE_BATCH_MAX);
    for (size_t i = 0; i < n; i++) {
        k[i] = (unsigned)rng_below(&z.rng, KEYS);
        values[i][0] = 0;
        if (rng_below(&z.rng, 4) > 0)
            snprintf(values[i], sizeof values[i], "%u %.*s", z.sent++, (int)rng_below(&z.rng, 40),
                     "some bytes to make it longer or shorter");
    }
    put_many(k, values, n);
}

static void random_step(void)
{
    switch (rng_below(&z.rng, 12)) {
    case 0:
        fake_clock_pass(&bench.clock, (int64_t)rng_below(&z.rng, RETENTION_MS / 2));
        break;
    case 1:
    case 2:
        bench_pass(LOOK_MS);
        steps((int)rng_below(&z.rng, 30));
        break;
    case 3:
        /* A crash somewhere in what the housekeeper does. */
        fault_disk_fail_in(z.disk, rng_below(&z.rng, 120), ERR_IO, true);
        for (int i = 0; i < 40 && !fault_disk_has_failed(z.disk); i++) {
            fake_clock_pass(&bench.clock, i % 10 == 0 ? LOOK_MS : 20);
            queue_housekeep(bench.q);
        }
        crash();
        break;
    case 4:
        bench_stop();
        bench.options.compact_keys_max =
            rng_below(&z.rng, 3) == 0 ? 2 + rng_below(&z.rng, KEYS) : 0;
        bench_start();
        break;
    default:
        for (uint64_t i = rng_below(&z.rng, 12); i > 0; i--)
            random_send();
    }
}

START_TEST(a_full_read_gives_the_last_value_of_each_key_whatever_happens)
{
    uint64_t seed = test_seed() + (uint64_t)_i;
    z.rng.state = seed;
    z.partitions = 1 + (uint32_t)rng_below(&z.rng, 3);
    for (int i = 0; i < 60; i++) {
        random_step();
        check();
    }
    compact_all();
    check();
    /* In the end, with all tombstones' times over, only last values are left below the last
     * segments. */
    fake_clock_pass(&bench.clock, 2 * RETENTION_MS);
    compact_all();
    check();
    check_files();
}
END_TEST

static int histories(void)
{
    const char *text = getenv("LEASELOG_SEEDS");
    return text == NULL ? 3 : (int)strtol(text, NULL, 10);
}

Suite *suite_new(void)
{
    Suite *s = suite_create("compact");
    TCase *t = tcase_create("sentences");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_set_timeout(t, 120);
    tcase_add_test(t, of_each_key_the_last_value_stays_and_older_ones_go);
    tcase_add_test(t, what_is_in_the_last_segment_stays_as_it_is);
    tcase_add_test(t,
                   a_tombstone_goes_when_delete_retention_has_passed_and_not_a_millisecond_before);
    tcase_add_test(t, a_tombstone_goes_by_itself_when_nothing_else_is_sent);
    tcase_add_test(t, a_value_after_a_tombstone_stays);
    tcase_add_test(t, a_small_value_amid_others_goes_before_the_tombstone_that_ends_it);
    tcase_add_test(t, more_keys_than_a_pass_remembers_take_more_passes);
    tcase_add_test(t, keys_that_share_a_slot_are_told_apart_by_all_their_bits);
    tcase_add_test(t, a_compact_topic_takes_no_message_without_a_key_and_gives_no_lease);
    tcase_add_test(t, compact_is_fixed_at_birth_and_time_deletes_nothing);
    tcase_add_test(t, a_deduplication_id_counts_among_the_messages_of_a_key);
    tcase_add_test(t, records_of_a_plain_topic_are_those_that_are_unfinished_and_unexpired);
    suite_add_tcase(s, t);
    t = tcase_create("crashes");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_set_timeout(t, 0);
    tcase_add_test(t, no_crash_at_any_operation_of_a_compaction_loses_a_value_or_brings_one_back);
    tcase_add_loop_test(t, a_full_read_gives_the_last_value_of_each_key_whatever_happens, 0,
                        histories());
    suite_add_tcase(s, t);
    return s;
}
