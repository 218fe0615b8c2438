// SPDX-License-Identifier: Apache-2.0
/* A data directory of each format, made once and kept, must be opened by every later version and
 * show exactly what was stored (README.md here says how one is made). */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/crc32c.h"
#include "base/mem.h"
#include "plog/format.h"
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

/* The state of format 1 does not know them: they are counted at the first start. */
static void assert_live(const char *topic, uint64_t messages, uint64_t bytes)
{
    struct queue_topic *t = topic_of(topic);
    struct queue_live live = queue_topic_live(t);
    ck_assert_uint_eq(live.messages, messages);
    ck_assert_uint_eq(live.bytes, bytes);
    for (uint32_t i = 0; i < t->partitions_n; i++)
        ck_assert(account_now_locked(&t->partitions[i]).exact);
    queue_topic_give_back(t);
}

static void assert_all_live(void)
{
    /* m0, m2 to m9; "with attributes", color String.paint blue, raw Binary and two bytes */
    assert_live("plain", 10, 9 * 2 + 15 + 5 + 12 + 4 + 3 + 6 + 2);
    assert_live("later", 1, 8);
    assert_live("orders.fifo", 3, 6);
    assert_live("poison", 0, 0);
    assert_live("dead", 1, 3);
    assert_live("two", 4, 4);
}

START_TEST(live_bytes_of_format_1_are_counted_once_and_kept)
{
    unpack();
    bench_start();
    assert_all_live();
    struct got g = receive("plain", 1);
    ck_assert_int_eq(delete_receipt("plain", g.at[0].receipt), ERR_OK);
    assert_live("plain", 9, 63);
    bench_restart();
    assert_live("plain", 9, 63);
    bench_stop();
    bench_start();
    assert_live("plain", 9, 63);
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

/* ---- what a later version wrote ---- */

/* Reads a whole file of the unpacked directory; the path may hold the shell's patterns. */
static char *file_load(const char *pattern, char path[256], size_t *n)
{
    char command[512];
    snprintf(command, sizeof command, "ls %s/%s | tail -n 1", bench.dir, pattern);
    FILE *f = popen(command, "r");
    ck_assert_ptr_nonnull(f);
    ck_assert_ptr_nonnull(fgets(path, 256, f));
    ck_assert_int_eq(pclose(f), 0);
    path[strcspn(path, "\n")] = '\0';
    f = fopen(path, "rb");
    ck_assert_ptr_nonnull(f);
    ck_assert_int_eq(fseek(f, 0, SEEK_END), 0);
    *n = (size_t)ftell(f);
    rewind(f);
    char *at = mem_new(*n + 1);
    ck_assert_uint_eq(fread(at, 1, *n, f), *n);
    fclose(f);
    return at;
}

static void file_store(const char *path, const char *at, size_t n)
{
    FILE *f = fopen(path, "wb");
    ck_assert_ptr_nonnull(f);
    ck_assert_uint_eq(fwrite(at, 1, n, f), n);
    ck_assert_int_eq(fclose(f), 0);
}

static void raise_version(char *at, size_t n, uint32_t seed)
{
    at[3]++;
    format_crc_store(at, n, seed);
}

static void newer_store(void)
{
    char path[256];
    size_t n;
    char *at = file_load("store.json", path, &n);
    char *version = strstr(at, "\"leaselog\":1"), *crc = strstr(at, ",\"crc32c\"");
    ck_assert(version != NULL && crc != NULL);
    version[strlen("\"leaselog\":")] = '2';
    char digits[9];
    snprintf(digits, sizeof digits, "%08x", crc32c(0, at, (size_t)(crc - at)));
    memcpy(crc + strlen(",\"crc32c\":\""), digits, 8);
    file_store(path, at, n);
    mem_free(at);
}

static void newer_marks(void)
{
    char path[256];
    size_t n;
    char *at = file_load("marks", path, &n);
    raise_version(at, n, 0);
    file_store(path, at, n);
    mem_free(at);
}

static void newer_journal_header(void)
{
    char path[256];
    size_t n;
    char *at = file_load("journal/*", path, &n);
    raise_version(at, 64, 0);
    file_store(path, at, n);
    mem_free(at);
}

/* The seed of a round's CRC: lap and salt of the file, and the round's number (FORMAT.md). */
static uint32_t round_seed(const char *file, const char *round)
{
    uint32_t seed = crc32c(0, file + 8, 16);
    return crc32c(seed, round + 24, 8);
}

/* Does something to the first round of the journal, and makes its CRC good again. */
static void change_round(void (*change)(char *round))
{
    char path[256];
    size_t n;
    char *at = file_load("journal/*", path, &n), *round = at + 4096;
    ck_assert_uint_gt(n, 4096 + 96);
    ck_assert(format_letters_fit(round, 'R'));
    uint32_t length = le_load_u32(round + 8), old = le_load_u32(round + 4);
    ck_assert_uint_le(length, n - 4096);
    format_crc_store(round, length, round_seed(at, round));
    ck_assert_uint_eq(le_load_u32(round + 4), old); /* the test knows the seed */
    change(round);
    format_crc_store(round, length, round_seed(at, round));
    file_store(path, at, n);
    mem_free(at);
}

static void raise_round(char *round)
{
    round[3]++;
}

static void raise_entry_kind(char *round)
{
    round[96] = 6;
}

/* The batch of the first append among the round's entries. */
static char *first_batch(char *round)
{
    char *entry = round + 96;
    for (uint32_t i = 0; i < le_load_u32(round + 12); i++) {
        if (entry[0] == 1)
            return entry + 36;
        entry += 36 + le_load_u32(entry + 32);
    }
    ck_abort_msg("no append in the first round");
    return NULL;
}

static void raise_batch(char *round)
{
    char *batch = first_batch(round);
    raise_version(batch, le_load_u32(batch + 8), 0);
}

static void raise_compression(char *round)
{
    char *batch = first_batch(round);
    batch[12] = 1;
    format_crc_store(batch, le_load_u32(batch + 8), 0);
}

static void newer_round(void)
{
    change_round(raise_round);
}

static void newer_entry(void)
{
    change_round(raise_entry_kind);
}

static void newer_batch_in_journal(void)
{
    change_round(raise_batch);
}

static void newer_compression(void)
{
    change_round(raise_compression);
}

static void newer_catalogue(void)
{
    char path[256];
    size_t n;
    char *at = file_load("catalog.sqlite", path, &n);
    at[63]++; /* user_version, big-endian: the file format of SQLite, section 1.3 */
    file_store(path, at, n);
    mem_free(at);
}

static const struct {
    const char *what;
    void (*make)(void);
} newer[] = {
    {"store.json", newer_store},
    {"marks", newer_marks},
    {"a journal file's header", newer_journal_header},
    {"a round", newer_round},
    {"an entry's kind", newer_entry},
    {"a batch in the journal", newer_batch_in_journal},
    {"a batch's compression", newer_compression},
    {"catalog.sqlite", newer_catalogue},
};

START_TEST(what_a_later_version_wrote_is_left_to_it)
{
    unpack();
    newer[_i].make();
    ck_assert_msg(queue_open(&bench.options, &bench.q) == ERR_NEWER_FORMAT, "%s", newer[_i].what);
    bench.q = NULL;
    bench_teardown();
}
END_TEST

/* Only what lies in one log: that log stays closed, and the others are served. */
START_TEST(a_log_that_a_later_version_wrote_stays_closed)
{
    unpack();
    bool snapshots = _i == 1;
    char path[256];
    size_t n;
    char *at = file_load(snapshots ? "t/*/0/*.snap" : "t/*/0/*0000.log", path, &n);
    ck_assert_uint_gt(n, 64);
    raise_version(at, snapshots ? n : le_load_u32(at + 8), 0);
    file_store(path, at, n);
    mem_free(at);
    bench_start();
    static const char *const names[] = {"plain",  "later",  "orders.fifo", "dead",
                                        "poison", "purged", "two"};
    unsigned closed = 0, refused = 0;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        struct queue_topic *t = topic_of(names[i]);
        for (uint32_t k = 0; k < t->partitions_n; k++)
            closed += t->partitions[k].closed;
        queue_topic_give_back(t);
        enum err e = receive_for(names[i], 1, 0).err;
        refused += e != ERR_OK;
        ck_assert_msg(e == ERR_OK || e == (snapshots ? ERR_CLOSED : ERR_NEWER_FORMAT), "%s: %s",
                      names[i], err_text(e));
    }
    ck_assert_uint_eq(refused, 1);
    ck_assert_uint_eq(closed, snapshots ? 1 : 0); /* old batches are only read when wanted */
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
        tcase_add_test(tc, live_bytes_of_format_1_are_counted_once_and_kept);
        tcase_add_test(tc, leases_dedup_ids_and_receipts_of_format_1_still_hold);
        tcase_add_loop_test(tc, what_a_later_version_wrote_is_left_to_it, 0,
                            sizeof newer / sizeof newer[0]);
        tcase_add_loop_test(tc, a_log_that_a_later_version_wrote_stays_closed, 0, 2);
    }
    suite_add_tcase(s, tc);
    return s;
}
