// SPDX-License-Identifier: Apache-2.0
/* The catalogue in etcd: the bytes of its gateway, a real etcd, and one that is silent. */
#include <dirent.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/note.h"
#include "catalog/etcd_http.h"
#include "catalog/etcd_json.h"
#include "catalog_live.h"
#include "etcd_process.h"

enum { START_TRIES = 1000, TRY_MS = 20, SILENT_MS = 200 };

static char cluster[64];
static struct etcd_cluster etcd;
static struct clock clock_of_test; /* boot_ms NULL: the system's */

static struct catalog_etcd_options options(void)
{
    return (struct catalog_etcd_options){
        .endpoints = etcd.endpoints,
        .cluster = cluster,
        .clock = clock_of_test.boot_ms != NULL ? &clock_of_test : NULL,
    };
}

static void etcd_up(void)
{
    note_init(NOTE_ERROR, false);
    etcd_cluster_prepare(&etcd, 1);
    etcd_cluster_start(&etcd);
    snprintf(cluster, sizeof cluster, "start");
    struct catalog_etcd_options o = options();
    for (int i = 0; catalog_open_etcd(&o, &c) != ERR_OK; i++) {
        ck_assert_msg(i < START_TRIES, "etcd does not answer; its log is %s/log0", etcd.folder);
        poll(NULL, 0, TRY_MS);
    }
    catalog_close(c);
    c = NULL;
}

static void etcd_down(void)
{
    etcd_cluster_end(&etcd);
}

/* Each test has a name of its own in the same etcd. */
static void set_up(void)
{
    static int n;
    snprintf(cluster, sizeof cluster, "test-%d-%d", (int)getpid(), n++);
    catalog_reopen();
}

static void tear_down(void)
{
    catalog_close(c);
    c = NULL;
}

void catalog_reopen(void)
{
    struct catalog_etcd_options o = options();
    catalog_close(c);
    c = NULL;
    ck_assert_int_eq(catalog_open_etcd(&o, &c), ERR_OK);
}

/* ---- bytes ---- */

/* The gateway takes a member that it does not know for one that is not there. */
START_TEST(requests_have_the_bytes_that_etcd_understands)
{
    struct buf body = BUF_EMPTY;
    struct catalog_cmp cmps[] = {{"n/a", CATALOG_MOD, 0}, {"ctl", CATALOG_CREATED, 77}};
    struct catalog_op ops[] = {{.key = "n/a", .value = BYTES_OF("v")}, {.key = "b", .drop = 1}};
    etcd_put_txn(&body, BYTES_OF("/l/"), cmps, 2, ops, 2, 0);
    buf_put_u8(&body, 0);
    ck_assert_str_eq(body.at, "{\"compare\":["
                              "{\"key\":\"L2wvbi9h\",\"target\":\"MOD\",\"result\":\"EQUAL\","
                              "\"mod_revision\":\"0\"},"
                              "{\"key\":\"L2wvY3Rs\",\"target\":\"CREATE\",\"result\":\"EQUAL\","
                              "\"create_revision\":\"77\"}],"
                              "\"success\":["
                              "{\"request_put\":{\"key\":\"L2wvbi9h\",\"value\":\"dg==\"}},"
                              "{\"request_delete_range\":{\"key\":\"L2wvYg==\"}}]}");
    buf_clear(&body);
    etcd_put_txn(&body, BYTES_OF("/l/"), NULL, 0, ops, 2, 7587845123456789012);
    buf_put_u8(&body, 0);
    ck_assert_str_eq(body.at, "{\"compare\":[],\"success\":["
                              "{\"request_put\":{\"key\":\"L2wvbi9h\",\"value\":\"dg==\","
                              "\"lease\":\"7587845123456789012\"}},"
                              "{\"request_delete_range\":{\"key\":\"L2wvYg==\"}}]}");
    buf_clear(&body);
    etcd_put_grant(&body, 6);
    etcd_put_lease(&body, 7587845123456789012);
    etcd_put_watch(&body, BYTES_OF("/l/"), 10);
    buf_put_u8(&body, 0);
    ck_assert_str_eq(body.at, "{\"TTL\":\"6\"}{\"ID\":\"7587845123456789012\"}"
                              "{\"create_request\":{\"key\":\"L2wv\",\"range_end\":\"L2ww\","
                              "\"start_revision\":\"10\"}}");
    buf_clear(&body);
    etcd_put_get(&body, BYTES_OF("/l/a"));
    buf_put_u8(&body, 0);
    ck_assert_str_eq(body.at, "{\"key\":\"L2wvYQ==\"}");
    buf_clear(&body);
    etcd_put_list(&body, BYTES_OF("/l/"), BYTES_OF("/l/a"), 9, 1000);
    buf_put_u8(&body, 0);
    ck_assert_str_eq(body.at, "{\"key\":\"L2wvYQ==\",\"range_end\":\"L2ww\",\"limit\":\"1000\","
                              "\"revision\":\"9\"}");
    buf_fini(&body);
}
END_TEST

static enum err take_range(const char *json, struct etcd_range *out)
{
    return etcd_take_range(bytes_of_text(json), BYTES_OF("/l/"), out);
}

START_TEST(answers_leave_out_what_is_false_zero_or_empty)
{
    struct etcd_range range;
    int64_t rev = 0;
    ck_assert_int_eq(take_range("{\"header\":{\"revision\":\"5\"}}", &range), ERR_OK);
    ck_assert_int_eq(range.rev, 5);
    ck_assert_uint_eq(range.kvs.n, 0);
    ck_assert(!range.more);
    catalog_kvs_fini(&range.kvs);
    ck_assert_int_eq(take_range("{\"header\":{\"revision\":\"5\"},\"more\":true,\"kvs\":[{\"key\":"
                                "\"L2wvYQ==\",\"create_revision\":\"2\",\"mod_revision\":\"3\","
                                "\"version\":\"1\"}],\"count\":\"2\"}",
                                &range),
                     ERR_OK);
    ck_assert(range.more);
    ck_assert_str_eq(range.kvs.at[0].key, "a");
    ck_assert_uint_eq(range.kvs.at[0].value.n, 0);
    ck_assert_int_eq(range.kvs.at[0].create_rev, 2);
    ck_assert_int_eq(range.kvs.at[0].mod_rev, 3);
    catalog_kvs_fini(&range.kvs);
    struct bytes lost = BYTES_OF("{\"header\":{\"revision\":\"5\"}}");
    struct bytes won = BYTES_OF("{\"header\":{\"revision\":\"6\"},\"succeeded\":true}");
    ck_assert_int_eq(etcd_take_txn(lost, &rev), ERR_CONFLICT);
    ck_assert_int_eq(etcd_take_txn(won, &rev), ERR_OK);
    ck_assert_int_eq(rev, 6);
}
END_TEST

START_TEST(answers_that_make_no_sense_are_refused)
{
    static const char *const odd[] = {
        "",
        "[]",
        "null",
        "{}",
        "{\"header\":{}}",
        "{\"header\":{\"revision\":5}}",
        "{\"header\":{\"revision\":\"5\"},\"kvs\":{}}",
        "{\"header\":{\"revision\":\"5\"},\"kvs\":[5]}",
        "{\"header\":{\"revision\":\"5\"},\"kvs\":[{\"key\":\"L2wv\"}]}",     /* no name */
        "{\"header\":{\"revision\":\"5\"},\"kvs\":[{\"key\":\"L20vYQ==\"}]}", /* of others */
        "{\"header\":{\"revision\":\"5\"},\"kvs\":[{\"key\":\"L2wvYQ\"}]}",   /* no padding */
        "{\"header\":{\"revision\":\"5\"},\"kvs\":[{\"key\":\"L2wvAA==\"}]}", /* a NUL */
        "{\"header\":{\"revision\":\"5\"},\"kvs\":[{\"key\":\"L2wvYQ==\",\"value\":7}]}",
        "{\"header\":{\"revision\":\"5\"},\"kvs\":[{\"key\":\"L2wvYQ==\",\"mod_revision\":\"x\"}]}",
    };
    struct etcd_range range;
    for (size_t i = 0; i < sizeof odd / sizeof odd[0]; i++)
        ck_assert_msg(take_range(odd[i], &range) == ERR_CORRUPT, "%s", odd[i]);
}
END_TEST

START_TEST(an_answer_to_a_keepalive_without_a_time_means_that_the_lease_is_gone)
{
    int64_t id = 0, ttl_s = 0;
    ck_assert_int_eq(etcd_take_grant(BYTES_OF("{\"ID\":\"77\",\"TTL\":\"6\"}"), &id, &ttl_s),
                     ERR_OK);
    ck_assert_int_eq(id, 77);
    ck_assert_int_eq(ttl_s, 6);
    ck_assert_int_eq(etcd_take_grant(BYTES_OF("{\"ID\":\"77\"}"), &id, &ttl_s), ERR_CORRUPT);
    ck_assert_int_eq(etcd_take_grant(BYTES_OF("{\"TTL\":\"6\"}"), &id, &ttl_s), ERR_CORRUPT);
    ck_assert_int_eq(etcd_take_alive(BYTES_OF("{\"result\":{\"ID\":\"77\",\"TTL\":\"6\"}}\n")),
                     ERR_OK);
    ck_assert_int_eq(etcd_take_alive(BYTES_OF("{\"result\":{\"ID\":\"77\"}}\n")), ERR_NOT_FOUND);
    ck_assert_int_eq(etcd_take_alive(BYTES_OF("{\"result\":{}}\n")), ERR_CORRUPT);
    ck_assert_int_eq(etcd_take_alive(BYTES_OF("{\"error\":{\"message\":\"x\"}}\n")), ERR_CORRUPT);
}
END_TEST

#define EVENTS(list) "{\"result\":{\"header\":{\"revision\":\"9\"},\"events\":[" list "]}}"

static enum err take_news(const char *json, struct etcd_news *out)
{
    return etcd_take_news(bytes_of_text(json), BYTES_OF("/l/"), out);
}

START_TEST(lines_of_a_watch_tell_what_was_put_and_dropped_and_its_end)
{
    struct etcd_news news;
    ck_assert_int_eq(take_news("{\"result\":{\"created\":true}}", &news), ERR_OK);
    ck_assert(!news.ended);
    ck_assert_uint_eq(news.kvs.n, 0);
    catalog_kvs_fini(&news.kvs);
    ck_assert_int_eq(take_news(EVENTS("{\"kv\":{\"key\":\"L2wvYQ==\",\"create_revision\":\"2\","
                                      "\"mod_revision\":\"8\"}},"
                                      "{\"type\":\"DELETE\",\"kv\":{\"key\":\"L2wvYg==\","
                                      "\"mod_revision\":\"9\"}}"),
                               &news),
                     ERR_OK);
    ck_assert(!news.ended);
    ck_assert_uint_eq(news.kvs.n, 2);
    ck_assert_str_eq(news.kvs.at[0].key, "a");
    ck_assert_ptr_nonnull(news.kvs.at[0].value.at);
    ck_assert_uint_eq(news.kvs.at[0].value.n, 0);
    ck_assert_int_eq(news.kvs.at[0].mod_rev, 8);
    ck_assert_ptr_null(news.kvs.at[1].value.at);
    catalog_kvs_fini(&news.kvs);
    static const char *const ends[] = {
        "{\"result\":{\"canceled\":true,\"compact_revision\":\"3\"}}",
        "{\"result\":{\"canceled\":true}}",
        "{\"error\":{\"grpc_code\":14,\"message\":\"etcdserver: no leader\"}}",
    };
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        ck_assert_int_eq(take_news(ends[i], &news), ERR_OK);
        ck_assert_msg(news.ended, "%s", ends[i]);
        catalog_kvs_fini(&news.kvs);
    }
    static const char *const odd[] = {
        "",
        "{}",
        "[]",
        "{\"result\":7}",
        "{\"result\":{\"events\":{}}}",
        EVENTS("7"),
        EVENTS("{}"),
        EVENTS("{\"kv\":{\"key\":\"L2wvYQ==\"}}"),
        EVENTS("{\"kv\":{\"key\":\"L20vYQ==\",\"mod_revision\":\"8\"}}"),
        EVENTS("{\"kv\":{\"key\":\"L2wvYQ==\",\"mod_revision\":\"8\"}},"
               "{\"kv\":{\"key\":\"L2wvYQ==\",\"mod_revision\":\"7\"}}"),
    };
    for (size_t i = 0; i < sizeof odd / sizeof odd[0]; i++)
        ck_assert_msg(take_news(odd[i], &news) == ERR_CORRUPT, "%s", odd[i]);
}
END_TEST

/* ---- a real etcd ---- */

START_TEST(a_list_of_many_keys_comes_whole)
{
    enum { MANY = 2500, AT_A_TIME = 125 };
    static char keys[MANY][16];
    for (int from = 0; from < MANY; from += AT_A_TIME) {
        struct catalog_op ops[AT_A_TIME];
        for (int i = 0; i < AT_A_TIME; i++) {
            snprintf(keys[from + i], sizeof keys[0], "t/%05d", from + i);
            ops[i] = (struct catalog_op){.key = keys[from + i], .value = BYTES_OF("v")};
        }
        ck_assert_int_eq(catalog_txn(c, NULL, 0, ops, AT_A_TIME, NULL), ERR_OK);
    }
    struct catalog_kvs kvs;
    ck_assert_int_eq(catalog_list(c, "t/", &kvs), ERR_OK);
    ck_assert_uint_eq(kvs.n, MANY);
    for (int i = 0; i < MANY; i++)
        ck_assert_str_eq(kvs.at[i].key, keys[i]);
    catalog_kvs_fini(&kvs);
}
END_TEST

START_TEST(two_clusters_in_one_etcd_do_not_see_each_other)
{
    put_free("a", "1");
    snprintf(cluster + strlen(cluster), sizeof cluster - strlen(cluster), "-b");
    catalog_reopen();
    expect("a", NULL);
    struct catalog_kvs kvs;
    ck_assert_int_eq(catalog_list(c, "", &kvs), ERR_OK);
    ck_assert_uint_eq(kvs.n, 0);
    catalog_kvs_fini(&kvs);
}
END_TEST

START_TEST(bad_options_are_refused)
{
    static const char *const no_urls[] = {"",       ",", "etcd:2379", "ftp://a:1", "http://a:1,,",
                                          "http://"};
    static const char *const no_names[] = {"", "a/b", "a b", "\xc3\xa9"};
    struct catalog *none = NULL;
    for (size_t i = 0; i < sizeof no_urls / sizeof no_urls[0]; i++) {
        struct catalog_etcd_options o = options();
        o.endpoints = no_urls[i];
        ck_assert_msg(catalog_open_etcd(&o, &none) == ERR_INVALID, "%s", no_urls[i]);
    }
    for (size_t i = 0; i < sizeof no_names / sizeof no_names[0]; i++) {
        struct catalog_etcd_options o = options();
        o.cluster = no_names[i];
        ck_assert_int_eq(catalog_open_etcd(&o, &none), ERR_INVALID);
    }
    ck_assert_ptr_null(none);
}
END_TEST

START_TEST(the_catalogue_of_a_node_is_taken_over_once)
{
    struct catalog *node, *cluster_c = c;
    char path[FOLDER_PATH_ROOM + 16];
    snprintf(path, sizeof path, "%s/node-%d", etcd.folder, (int)getpid());
    ck_assert_int_eq(catalog_open(path, &node), ERR_OK);
    c = node;
    put_free("k/ids", "ids");
    put_free("k/epoch", "5");
    for (int i = 0; i < 200; i++) {
        char key[16];
        snprintf(key, sizeof key, "t/%d", i);
        put_free(key, i % 2 == 0 ? "" : key);
    }
    c = cluster_c;
    ck_assert_int_eq(catalog_copy(node, c), ERR_OK);
    expect("k/epoch", NULL);
    expect("k/ids", "ids");
    expect("t/198", "");
    expect("t/199", "t/199");
    put_free("t/0", "later");
    ck_assert_int_eq(catalog_copy(node, c), ERR_OK);
    expect("t/0", "later");
    catalog_close(node);
}
END_TEST

/* ---- endpoints that do not answer ---- */

/* Opens with a first endpoint that refuses (nobody listens) or is silent (nobody accepts). */
static int open_behind(bool silent)
{
    uint16_t port;
    char two[300];
    int fd = socket_at_free_port(&port);
    if (silent)
        ck_assert_int_eq(listen(fd, 8), 0);
    snprintf(two, sizeof two, "http://127.0.0.1:%u,%s/", port, etcd.endpoints);
    struct catalog_etcd_options o = options();
    o.endpoints = two;
    o.answer_ms = SILENT_MS;
    catalog_close(c);
    c = NULL;
    ck_assert_int_eq(catalog_open_etcd(&o, &c), ERR_OK);
    return fd;
}

START_TEST(an_endpoint_that_refuses_is_passed_by)
{
    int fd = open_behind(false);
    ck_assert_int_eq(put("a", "1", 0), ERR_OK);
    expect("a", "1");
    close(fd);
}
END_TEST

START_TEST(a_read_goes_on_to_the_next_endpoint_when_one_is_silent)
{
    int fd = open_behind(true);
    expect("a", NULL);
    ck_assert_int_eq(put("a", "1", 0), ERR_OK);
    close(fd);
}
END_TEST

/* A signal is on its way for a while: until no thread runs any more, an answer may come. */
static bool is_stopped(void)
{
    char path[64], line[512] = "";
    bool stopped = true;
    snprintf(path, sizeof path, "/proc/%d/task", (int)etcd.pids[0]);
    DIR *tasks = opendir(path);
    ck_assert_ptr_nonnull(tasks);
    for (struct dirent *d; (d = readdir(tasks)) != NULL;) {
        if (d->d_name[0] == '.')
            continue;
        snprintf(path, sizeof path, "/proc/%d/task/%.20s/stat", (int)etcd.pids[0], d->d_name);
        FILE *f = fopen(path, "r");
        if (f == NULL)
            continue; /* it has ended */
        const char *read = fgets(line, sizeof line, f),
                   *name = read == NULL ? NULL : strrchr(line, ')');
        fclose(f);
        stopped = stopped && name != NULL && name[2] == 'T';
    }
    closedir(tasks);
    return stopped;
}

/* It may have been carried out: to send it again would make a conflict of one's own success. */
START_TEST(a_write_without_an_answer_is_not_sent_again)
{
    int fd = open_behind(false);
    ck_assert_int_eq(kill(etcd.pids[0], SIGSTOP), 0);
    while (!is_stopped())
        poll(NULL, 0, 1);
    enum err first = put("a", "1", 0);
    ck_assert_int_eq(kill(etcd.pids[0], SIGCONT), 0);
    ck_assert_int_eq(first, ERR_BUSY);
    /* Sent once, before the stop's end, or never: either way a second one at revision 0 and a read
     * agree on it. */
    enum err e = put("a", "2", 0);
    ck_assert(e == ERR_OK || e == ERR_CONFLICT);
    expect("a", e == ERR_OK ? "2" : "1");
    close(fd);
}
END_TEST

START_TEST(nobody_who_answers_is_told_at_once)
{
    uint16_t port;
    char one[64];
    int fd = socket_at_free_port(&port);
    snprintf(one, sizeof one, "http://127.0.0.1:%u", port);
    struct catalog_etcd_options o = options();
    o.endpoints = one;
    struct catalog *none = NULL;
    ck_assert_int_eq(catalog_open_etcd(&o, &none), ERR_BUSY);
    ck_assert_ptr_null(none);
    close(fd);
}
END_TEST

static void ask(struct etcd_http *h, const char *path, const char *body)
{
    struct bytes answer;
    ck_assert_int_eq(etcd_http_ask(h, path, bytes_of_text(body), true, &answer), ERR_OK);
}

/* ---- sessions that are lost ---- */

static _Atomic int64_t test_ms, clock_reads;

static int64_t test_clock_ms(void *self)
{
    (void)self;
    clock_reads++;
    return test_ms;
}

/* The session's thread has gone round: it reads the clock four times a round. */
static void await_rounds(void)
{
    int64_t until = clock_reads + 8;
    while (clock_reads < until)
        poll(NULL, 0, 5);
}

static void clock_stop(void)
{
    test_ms = 1000;
    clock_of_test = (struct clock){.boot_ms = test_clock_ms, .wall_ms = test_clock_ms};
    catalog_reopen();
}

/* By our own clock, which stands still, it would never be. */
START_TEST(a_session_whose_lease_is_gone_is_lost_once)
{
    clock_stop();
    session_begin(1);
    ck_assert_int_eq(put_leased("s/1", "x"), ERR_OK);
    ck_assert_int_eq(catalog_lease_revoke(c, catalog_session_id(session)), ERR_OK);
    expect("s/1", NULL);
    ck_assert_int_eq(put_leased("s/1", "x"), ERR_NOT_FOUND);
    expect("s/1", NULL);
    ck_assert(session_await_lost(20000));
    session_end();
    clock_of_test.boot_ms = NULL;
    ck_assert(session_await_lost(0));
}
END_TEST

/* As after a stop of the process: by our own clock the time has passed, whatever etcd thinks. */
START_TEST(a_session_that_was_not_heard_of_for_its_time_is_lost)
{
    clock_stop();
    session_begin(1);
    ck_assert_int_eq(put_leased("s/1", "x"), ERR_OK);
    test_ms = 1400;
    await_rounds();
    test_ms = 2100; /* over, had it not been kept alive at 1400 */
    await_rounds();
    ck_assert(!session_await_lost(0));
    test_ms = 9000;
    ck_assert(session_await_lost(20000));
    session_end();
    expect("s/1", NULL);
    clock_of_test.boot_ms = NULL;
}
END_TEST

/* ---- watches that end ---- */

START_TEST(a_watch_from_before_a_compaction_lists_again)
{
    struct etcd_http *h;
    struct catalog_etcd_options o = options();
    char body[64];
    put_free("a", "1");
    int64_t early = last_rev;
    put_free("a", "2");
    put_free("a", "3");
    ck_assert_int_eq(etcd_http_new(&o, &h), ERR_OK);
    snprintf(body, sizeof body, "{\"revision\":\"%lld\",\"physical\":true}", (long long)last_rev);
    ask(h, "kv/compaction", body);
    etcd_http_free(h);
    watcher_begin("");
    watcher_await_again(1);
    watcher_go_from(early);
    watcher_await_again(2);
    watcher_go_from(last_rev - 1); /* the revision of the compaction itself is there */
    watcher_await("a=3|");
    watcher_end();
}
END_TEST

START_TEST(a_watch_passes_by_an_endpoint_that_is_silent)
{
    int fd = open_behind(true);
    watcher_begin("");
    watcher_await_again(1);
    watcher_go("");
    watcher_await_again(2);
    put_free("a", "1");
    watcher_go_from(last_rev - 1);
    watcher_await("a=1|");
    watcher_end();
    close(fd);
}
END_TEST

/* ---- authentication ---- */

START_TEST(a_user_is_let_in_with_the_right_password_only)
{
    struct etcd_http *h;
    struct catalog_etcd_options o = options();
    ck_assert_int_eq(etcd_http_new(&o, &h), ERR_OK);
    ask(h, "auth/user/add", "{\"name\":\"root\",\"password\":\"secret\"}");
    ask(h, "auth/role/add", "{\"name\":\"root\"}");
    ask(h, "auth/user/grant", "{\"user\":\"root\",\"role\":\"root\"}");
    ask(h, "auth/enable", "{}");
    etcd_http_free(h);
    o.user = "root";
    o.password = "secret";
    catalog_close(c);
    c = NULL;
    ck_assert_int_eq(catalog_open_etcd(&o, &c), ERR_OK);
    ck_assert_int_eq(put("a", "1", 0), ERR_OK);
    expect("a", "1");
    struct catalog *none = NULL;
    o.password = "wrong";
    ck_assert_int_ne(catalog_open_etcd(&o, &none), ERR_OK);
    o.user = NULL;
    ck_assert_int_eq(catalog_open_etcd(&o, &none), ERR_OK); /* a transaction of nothing */
    struct catalog_kv kv;
    ck_assert_int_ne(catalog_get(none, "a", &kv), ERR_OK);
    catalog_close(none);
}
END_TEST

Suite *suite_new(void)
{
    Suite *s = suite_create("catalog in etcd");
    TCase *bytes = tcase_create("bytes"), *live = tcase_create("etcd"),
          *auth = tcase_create("auth");
    etcd_needed();
    tcase_add_test(bytes, requests_have_the_bytes_that_etcd_understands);
    tcase_add_test(bytes, answers_leave_out_what_is_false_zero_or_empty);
    tcase_add_test(bytes, answers_that_make_no_sense_are_refused);
    tcase_add_test(bytes, an_answer_to_a_keepalive_without_a_time_means_that_the_lease_is_gone);
    tcase_add_test(bytes, lines_of_a_watch_tell_what_was_put_and_dropped_and_its_end);
    tcase_add_unchecked_fixture(live, etcd_up, etcd_down);
    tcase_add_checked_fixture(live, set_up, tear_down);
    catalog_contract_add(live);
    catalog_live_add(live);
    tcase_add_test(live, a_list_of_many_keys_comes_whole);
    tcase_add_test(live, two_clusters_in_one_etcd_do_not_see_each_other);
    tcase_add_test(live, bad_options_are_refused);
    tcase_add_test(live, the_catalogue_of_a_node_is_taken_over_once);
    tcase_add_test(live, an_endpoint_that_refuses_is_passed_by);
    tcase_add_test(live, a_read_goes_on_to_the_next_endpoint_when_one_is_silent);
    tcase_add_test(live, a_write_without_an_answer_is_not_sent_again);
    tcase_add_test(live, nobody_who_answers_is_told_at_once);
    tcase_add_test(live, a_session_whose_lease_is_gone_is_lost_once);
    tcase_add_test(live, a_session_that_was_not_heard_of_for_its_time_is_lost);
    tcase_add_test(live, a_watch_from_before_a_compaction_lists_again);
    tcase_add_test(live, a_watch_passes_by_an_endpoint_that_is_silent);
    tcase_add_unchecked_fixture(auth, etcd_up, etcd_down);
    tcase_add_checked_fixture(auth, set_up, tear_down);
    tcase_add_test(auth, a_user_is_let_in_with_the_right_password_only);
    suite_add_tcase(s, bytes);
    suite_add_tcase(s, live);
    suite_add_tcase(s, auth);
    return s;
}
