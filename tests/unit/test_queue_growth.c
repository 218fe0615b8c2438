// SPDX-License-Identifier: Apache-2.0
/* What must not grow: the directory under one message that is received for ever, memory after the
 * deduplication window, memory under many delayed messages, the cost of a delete behind a gap.
 * LEASELOG_SCALE=n does n times as much; the bounds stay the same. */
#include <ftw.h>
#include <malloc.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "queue_fixture.h"

enum {
    SEGMENT_BYTES = 16 << 10,
    SNAPSHOT_BYTES = 32 << 10,
    JOURNAL_BYTES = 64 << 10,
    WINDOW_MS = 300000,
    LOG_BYTES_MAX = 300 << 10,
    DIRECTORY_BYTES_MAX = 4 << 20, /* some snapshots' worth of log, some journal files */
};

static int scale(void)
{
    const char *text = getenv("LEASELOG_SCALE");
    return text == NULL ? 1 : (int)strtol(text, NULL, 10);
}

/* Figures of a long run. */
static __attribute__((format(printf, 1, 2))) void tell(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    if (scale() > 1)
        vprintf(format, args);
    va_end(args);
}

static void small_setup(void)
{
    bench_setup();
    bench_stop();
    bench.options.segment_bytes = SEGMENT_BYTES;
    bench.options.snapshot_log_bytes = SNAPSHOT_BYTES;
    bench.options.journal_bytes = JOURNAL_BYTES;
    bench.options.cache_bytes = 64 << 10;
    bench_start();
}

/* ---- measuring ---- */

static uint64_t sum_bytes;

static int add_file(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)path;
    (void)type;
    (void)ftw;
    sum_bytes += S_ISREG(st->st_mode) ? (uint64_t)st->st_size : 0;
    return 0;
}

static uint64_t directory_bytes(void)
{
    sum_bytes = 0;
    ck_assert_int_eq(nftw(bench.dir, add_file, 16, FTW_PHYS), 0);
    return sum_bytes;
}

/* The most that the topic's log has had. */
static void note_size(const char *topic, uint64_t *most)
{
    struct queue_topic *t = topic_of(topic);
    uint64_t bytes = plog_log_size(t->partitions[0].log).bytes;
    *most = bytes > *most ? bytes : *most;
    queue_topic_give_back(t);
}

/* What is allocated now, without the windows of headers, which have a bound of their own. A
 * sanitizer's allocator always tells the same, and then the bounds hold of themselves. */
static int64_t heap_bytes(void)
{
    struct mallinfo2 m = mallinfo2();
    return (int64_t)(m.uordblks + m.hblkhd) - (int64_t)bench.q->windows_bytes;
}

static int64_t cpu_us(void)
{
    struct timespec t;
    ck_assert_int_eq(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t), 0);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

/* Time for the housekeeper, in steps short enough for the cleaner. */
static void pass_second(void)
{
    bench_pass(1000);
    for (int k = 0; k < 500 && bench.q->cleaning.job != NULL; k++)
        bench_pass(20);
}

/* Until the cleaner has caught up; before, memory grows by some 120 bytes for each segment. It
 * begins when two looks, ten seconds apart, have seen the same, and then takes two segments a
 * second, which is slow only for segments as small as these. */
static void pass_cleaning(struct queue_topic *t)
{
    int seconds = 0;
    while (plog_log_size(t->partitions[0].log).bytes >= LOG_BYTES_MAX) {
        ck_assert_int_lt(seconds++, 20 * scale() + 100);
        pass_second();
    }
}

/* ---- traffic ---- */

static void fill_message(struct queue_message *m, char *text, size_t room, int place, bool fifo)
{
    snprintf(text, room, "%d", place);
    *m = (struct queue_message){.body = bytes_of_text(text), .delay_ms = -1};
    if (fifo) {
        m->group_id = bytes_of_text(text);
        m->dedup_id = bytes_of_text(text);
    }
}

/* n messages, whose bodies are from, from + 1 ...; delay_ms < 0: the topic's. */
static void send_many(const char *topic, int from, int n, int64_t delay_ms)
{
    static char text[QUEUE_SEND_MAX][16];
    static struct queue_message m[QUEUE_SEND_MAX];
    static struct queue_sent sent[QUEUE_SEND_MAX];
    static enum err errs[QUEUE_SEND_MAX];
    struct queue_topic *t = topic_of(topic);
    for (int i = 0; i < n; i += QUEUE_SEND_MAX) {
        size_t k = 0;
        for (; k < QUEUE_SEND_MAX && i + (int)k < n; k++) {
            fill_message(&m[k], text[k], sizeof text[k], from + i + (int)k, t->fifo);
            m[k].delay_ms = delay_ms;
        }
        struct waiting w;
        waiting_init(&w);
        queue_send(t, m, k, sent, errs, &w.w);
        for (size_t j = 0; j < k; j++)
            ck_assert_int_eq(errs[j], ERR_OK);
        waiting_finish(&w);
    }
    queue_topic_give_back(t);
}

/* One receive in an arena of its own; gives the receipts of what came. */
static size_t receive_ten(struct queue_topic *t, int64_t visibility_ms,
                          char receipts[QUEUE_BATCH_MAX][QUEUE_RECEIPT_TEXT_MAX + 1])
{
    struct queue_received got[QUEUE_BATCH_MAX];
    struct queue_receive r = {.max = 10, .visibility_ms = visibility_ms};
    struct arena arena;
    struct waiting w;
    size_t n = 0;
    arena_init(&arena, NULL, 0);
    waiting_init(&w);
    ck_assert_int_eq(queue_receive(t, &r, &arena, got, &n, &w.w), ERR_OK);
    waiting_finish(&w);
    for (size_t i = 0; i < n; i++)
        memcpy(receipts[i], got[i].receipt, sizeof got[i].receipt);
    arena_fini(&arena);
    return n;
}

static void delete_one(struct queue_topic *t, const char *receipt)
{
    struct waiting w;
    waiting_init(&w);
    ck_assert_int_eq(queue_delete(t, bytes_of_text(receipt), false, &w.w), ERR_OK);
    ck_assert(queue_wait_start(&w.w));
    if (!w.told)
        queue_pass_end(bench.q);
    ck_assert(w.told);
}

/* Receives and deletes n messages; now and then a second passes, so that the journal is recycled.
 */
static void work_off(const char *topic, int n)
{
    char receipts[QUEUE_BATCH_MAX][QUEUE_RECEIPT_TEXT_MAX + 1];
    struct queue_topic *t = topic_of(topic);
    for (int done = 0; done < n;) {
        size_t got = receive_ten(t, 43200000, receipts);
        ck_assert_uint_gt(got, 0);
        for (size_t i = 0; i < got; i++)
            delete_one(t, receipts[i]);
        if (done / 5000 != (done + (int)got) / 5000)
            bench_pass(1000);
        done += (int)got;
    }
    queue_topic_give_back(t);
}

/* ---- tests ---- */

START_TEST(one_message_that_is_received_for_ever_keeps_the_directory_bounded)
{
    static const char *const topics[] = {"q", "q.fifo"};
    const char *name = topics[_i];
    char receipts[QUEUE_BATCH_MAX][QUEUE_RECEIPT_TEXT_MAX + 1];
    send_many(name, 0, 1, -1);
    struct queue_topic *t = topic_of(name);
    uint64_t most = 0;
    int rounds = 6000 * scale();
    for (int i = 1; i <= rounds; i++) {
        ck_assert_uint_eq(receive_ten(t, 0, receipts), 1);
        if (i % 100 != 0)
            continue;
        pass_second();
        note_size(name, &most);
    }
    ck_assert_uint_lt(directory_bytes(), DIRECTORY_BYTES_MAX);
    tell("%s: %d receives, at most %llu bytes\n", name, rounds, (unsigned long long)most);
    ck_assert_uint_lt(most, LOG_BYTES_MAX);
    queue_topic_give_back(t);
    bench_restart();
    t = topic_of(name);
    ck_assert_uint_eq(receive_ten(t, 0, receipts), 1);
    queue_topic_give_back(t);
}
END_TEST

START_TEST(one_delayed_message_does_not_pin_what_was_sent_and_deleted_behind_it)
{
    send_delayed("q", "later", 900000);
    uint64_t most = 0;
    for (int i = 0; i < 30 * scale(); i++) {
        send_many("q", 0, 100, -1);
        work_off("q", 100);
        pass_second();
        note_size("q", &most);
        if (i % 300 == 299) /* long runs outlast it */
            send_delayed("q", "later", 900000);
    }
    tell("delayed: at most %llu bytes\n", (unsigned long long)most);
    ck_assert_uint_lt(most, LOG_BYTES_MAX);
}
END_TEST

START_TEST(ids_leave_memory_when_their_window_has_ended_also_without_traffic)
{
    int n = scale() < 50 ? 10000 * scale() : 500000; /* a million is the table's bound */
    send_many("q.fifo", 0, 1, -1);
    work_off("q.fifo", 1);
    int64_t before = heap_bytes();
    send_many("q.fifo", 1, n, -1);
    work_off("q.fifo", n);
    int64_t full = heap_bytes();
    bench_pass(WINDOW_MS + 1000);
    for (int i = 0; i < 30; i++)
        bench_pass(1000);
    int64_t after = heap_bytes();
    tell("ids: %lld, %lld, %lld\n", (long long)before, (long long)full, (long long)after);
    ck_assert_int_le(after - before, (full - before) / 20 + 300000);
}
END_TEST

START_TEST(a_delayed_message_costs_little_memory)
{
    int n = 5000 * scale();
    send_many("q", 0, 100, 900000);
    int64_t before = heap_bytes();
    send_many("q", 0, n, 900000);
    int64_t each = (heap_bytes() - before) / n;
    tell("delayed: %lld bytes each\n", (long long)each);
    ck_assert_int_lt(each, 100);
    bench_pass(900000 + 1000);
    for (int i = 0; i < 15; i++)
        bench_pass(1000);
    ck_assert_int_lt(heap_bytes() - before,
                     10 * n + 100000); /* a backlog without delays costs nothing */
}
END_TEST

START_TEST(a_gap_does_not_make_the_deletes_behind_it_dearer)
{
    char receipts[QUEUE_BATCH_MAX][QUEUE_RECEIPT_TEXT_MAX + 1];
    enum { TENTHS = 10 };
    int each = 500 * scale();
    int64_t us[TENTHS], heap = 0;
    send_many("q", 0, 1, -1);
    struct queue_topic *t = topic_of("q");
    ck_assert_uint_eq(receive_ten(t, 43200000, receipts), 1);
    for (int k = 0; k < TENTHS; k++) {
        send_many("q", 0, each, -1);
        int64_t begin = cpu_us();
        work_off("q", each);
        us[k] = cpu_us() - begin;
        pass_second();
        pass_cleaning(t);
        heap = k == 0 ? heap_bytes() : heap;
    }
    tell("gap: %lld us, then %lld us, heap %lld then %lld\n", (long long)us[0],
         (long long)us[TENTHS - 1], (long long)heap, (long long)heap_bytes());
    ck_assert_int_lt(us[TENTHS - 1], 2 * us[0] + 20000);
    ck_assert_int_lt(heap_bytes(), heap + (256 << 10));
    queue_topic_give_back(t);
}
END_TEST

Suite *suite_new(void)
{
    Suite *s = suite_create("queue growth");
    TCase *t = tcase_create("growth");
    tcase_add_checked_fixture(t, small_setup, bench_teardown);
    tcase_set_timeout(t, 1200);
    tcase_add_loop_test(t, one_message_that_is_received_for_ever_keeps_the_directory_bounded, 0, 2);
    tcase_add_test(t, one_delayed_message_does_not_pin_what_was_sent_and_deleted_behind_it);
    tcase_add_test(t, ids_leave_memory_when_their_window_has_ended_also_without_traffic);
    tcase_add_test(t, a_delayed_message_costs_little_memory);
    tcase_add_test(t, a_gap_does_not_make_the_deletes_behind_it_dearer);
    suite_add_tcase(s, t);
    return s;
}
