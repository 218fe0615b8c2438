// SPDX-License-Identifier: Apache-2.0
/* A data directory of each format, made once and kept, must be opened by every later version and
 * show exactly what was stored (README.md here says how one is made). */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unit/queue_fixture.h"

/* Where the packed directory of the test's format lies, and where a new one is to be written. */
static const char *golden_path(void)
{
    static char path[512];
    const char *srcdir = getenv("srcdir");
    snprintf(path, sizeof path, "%s/tests/compat/format-1.tar.gz", srcdir == NULL ? "." : srcdir);
    return path;
}

__attribute__((format(printf, 1, 2))) static void run(const char *format, ...)
{
    char command[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(command, sizeof command, format, args);
    va_end(args);
    ck_assert_msg(system(command) == 0, "%s", command);
}

static void beside(const char *name, char path[128])
{
    snprintf(path, 128, "%s/%s", bench.dir, name);
}

static void unpack(void)
{
    bench_setup();
    bench_stop();
    run("rm -rf %s/*", bench.dir);
    run("tar -C %s -xzf %s", bench.dir, golden_path());
}

static void set_dead(struct topic_config *c)
{
    c->receives_max = 1;
    snprintf(c->dead_letter, sizeof c->dead_letter, "dead");
}

static void set_two(struct topic_config *c)
{
    c->partitions = 2;
}

static void purge(const char *name)
{
    struct queue_topic *t = topic_of(name);
    struct waiting w;
    waiting_init(&w);
    ck_assert_int_eq(queue_purge(t, &w.w), ERR_OK);
    waiting_finish(&w);
    queue_topic_give_back(t);
}

static void send_with_attributes(const char *name)
{
    static const struct queue_attribute attributes[] = {
        {.name = {"color", 5}, .data_type = {"String.paint", 12}, .value = {"blue", 4}},
        {.name = {"raw", 3}, .data_type = {"Binary", 6}, .binary = true, .value = {"\0\377", 2}},
    };
    struct queue_topic *t = topic_of(name);
    struct queue_message m = {.body = BYTES_OF("with attributes"),
                              .attributes = attributes,
                              .attributes_n = 2,
                              .trace = BYTES_OF("Root=1-5759e988-bd862e3fe1be46a994272793"),
                              .delay_ms = -1};
    struct queue_sent sent;
    enum err e;
    struct waiting w;
    waiting_init(&w);
    queue_send(t, &m, 1, &sent, &e, &w.w);
    ck_assert_int_eq(e, ERR_OK);
    waiting_finish(&w);
    queue_topic_give_back(t);
}

/* Only run to make a new format's directory. */
START_TEST(a_golden_directory_is_made)
{
    bench_setup();
    queue_topic_give_back(topic_of("dead"));
    queue_topic_give_back(topic_with("poison", set_dead));
    queue_topic_give_back(topic_with("two", set_two));
    for (int i = 0; i < 10; i++) {
        char body[16];
        snprintf(body, sizeof body, "m%d", i);
        send_text("plain", body);
    }
    struct got leased = receive_for("plain", 3, 3600000);
    ck_assert_str_eq(bodies(&leased), "m0 m1 m2");
    ck_assert_int_eq(delete_receipt("plain", leased.at[1].receipt), ERR_OK);
    send_delayed("later", "tomorrow", 900000);
    send_grouped("orders.fifo", "a1", "a", "d1");
    send_grouped("orders.fifo", "a2", "a", "d2");
    send_grouped("orders.fifo", "b1", "b", "d3");
    struct got head = receive_for("orders.fifo", 1, 3600000);
    ck_assert_str_eq(bodies(&head), "a1");
    send_text("poison", "bad");
    ck_assert_uint_eq(receive_for("poison", 1, 0).n, 1);
    ck_assert_uint_eq(receive("poison", 1).n, 0);
    bench_settle();
    ck_assert_counts("dead", 1, 0, 0);
    send_text("purged", "gone");
    purge("purged");
    for (int i = 0; i < 4; i++)
        send_text("two", "x");
    bench_stop(); /* snapshots; what follows lies in the journal behind them */
    bench_start();
    send_text("purged", "after");
    send_with_attributes("plain");
    bench_die();
    char path[128];
    beside("receipt", path);
    FILE *f = fopen(path, "w");
    ck_assert_ptr_nonnull(f);
    fputs(leased.at[2].receipt, f);
    fclose(f);
    run("tar -C %s --sort=name --owner=0 --group=0 --mtime=@0 -czf %s .", bench.dir, golden_path());
    bench_start();
    bench_teardown();
}
END_TEST

START_TEST(a_directory_of_format_1_opens_and_shows_what_was_stored)
{
    unpack();
    bench_start();
    ck_assert_counts("plain", 8, 2, 0);
    ck_assert_counts("later", 0, 0, 1);
    ck_assert_counts("orders.fifo", 2, 1, 0);
    ck_assert_counts("poison", 0, 0, 0);
    ck_assert_counts("purged", 1, 0, 0);
    ck_assert_counts("two", 4, 0, 0);
    struct got g = receive("plain", 10);
    ck_assert_str_eq(bodies(&g), "m3 m4 m5 m6 m7 m8 m9 with attributes");
    const struct queue_received *last = &g.at[7];
    ck_assert_uint_eq(last->attributes_n, 2);
    ck_assert(bytes_equal(last->attributes[0].data_type, BYTES_OF("String.paint")));
    ck_assert(last->attributes[1].binary);
    ck_assert(bytes_equal(last->attributes[1].value, BYTES_OF("\0\377")));
    ck_assert(bytes_start_with(last->trace, BYTES_OF("Root=1-5759e988")));
    struct got dead = receive("dead", 10);
    ck_assert_str_eq(bodies(&dead), "bad");
    ck_assert_uint_eq(dead.at[0].receive_count, 2);
    ck_assert(bytes_equal(dead.at[0].origin, BYTES_OF("poison")));
    bench_teardown();
}
END_TEST

START_TEST(leases_dedup_ids_and_receipts_of_format_1_still_hold)
{
    char path[128], receipt[QUEUE_RECEIPT_TEXT_MAX + 1] = "";
    unpack();
    beside("receipt", path);
    FILE *f = fopen(path, "r");
    ck_assert_ptr_nonnull(f);
    ck_assert_ptr_nonnull(fgets(receipt, sizeof receipt, f));
    fclose(f);
    bench_start();
    ck_assert_int_eq(delete_receipt("plain", receipt), ERR_OK);
    ck_assert_counts("plain", 8, 1, 0);
    ck_assert(send_grouped("orders.fifo", "a1", "a", "d1").duplicate);
    struct got fifo = receive("orders.fifo", 10);
    ck_assert_str_eq(bodies(&fifo), "b1");
    bench_pass(3600000);
    struct got again = receive("orders.fifo", 10);
    ck_assert_str_eq(bodies(&again), "a1 a2 b1");
    struct got late = receive("later", 1);
    ck_assert_str_eq(bodies(&late), "tomorrow");
    bench_teardown();
}
END_TEST

Suite *suite_new(void)
{
    Suite *s = suite_create("compat");
    TCase *tc = tcase_create("compat");
    tcase_set_timeout(tc, 60);
    if (getenv("LEASELOG_GOLDEN_MAKE") != NULL) {
        tcase_add_test(tc, a_golden_directory_is_made);
    } else {
        tcase_add_test(tc, a_directory_of_format_1_opens_and_shows_what_was_stored);
        tcase_add_test(tc, leases_dedup_ids_and_receipts_of_format_1_still_hold);
    }
    suite_add_tcase(s, tc);
    return s;
}
