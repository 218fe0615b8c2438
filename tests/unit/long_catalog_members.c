// SPDX-License-Identifier: Apache-2.0
/* The catalogue in an etcd of several members, over TLS, and with a full database. These take their
 * time: etcd's own time-outs are waited for. */
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/note.h"
#include "catalog/etcd_http.h"
#include "catalog_live.h"
#include "etcd_process.h"

enum { PATIENCE_MS = 60000, TRY_MS = 50, TTL_S = 3 };

static struct etcd_cluster etcd;
static struct catalog_etcd_options options;
static char certificate[3][FOLDER_PATH_ROOM + 16]; /* the roots, ours, its key */

void catalog_reopen(void)
{
    enum err e = ERR_BUSY;
    catalog_close(c);
    c = NULL;
    for (int ms = 0; ms < PATIENCE_MS && e != ERR_OK; ms += TRY_MS) {
        e = catalog_open_etcd(&options, &c);
        if (e != ERR_OK)
            poll(NULL, 0, TRY_MS);
    }
    ck_assert_int_eq(e, ERR_OK);
}

static void up(void)
{
    note_init(getenv("LEASELOG_VERBOSE") == NULL ? NOTE_ERROR : NOTE_INFO, false);
    etcd_cluster_start(&etcd);
    options.endpoints = etcd.endpoints;
    options.cluster = "test";
    catalog_reopen();
}

static void down(void)
{
    watcher_end(); /* of a test that failed half-way */
    session_end();
    catalog_close(c);
    c = NULL;
    etcd_cluster_end(&etcd);
    memset(&options, 0, sizeof options);
}

static void up_three(void)
{
    etcd_cluster_prepare(&etcd, 3);
    up();
}

/* Waits until a put goes through, as it does once a leader is elected. */
static void await_write(const char *key, const char *value)
{
    struct catalog_op op = {.key = key, .value = bytes_of_text(value)};
    enum err e = ERR_BUSY;
    for (int ms = 0; ms < PATIENCE_MS && e != ERR_OK; ms += TRY_MS) {
        e = catalog_txn(c, NULL, 0, &op, 1, NULL);
        ck_assert(e == ERR_OK || e == ERR_BUSY);
        if (e != ERR_OK)
            poll(NULL, 0, TRY_MS);
    }
    ck_assert_int_eq(e, ERR_OK);
}

/* What is told may miss what was put while the watch was listing; so it is put until it is told. */
static void await_watch(const char *key)
{
    char event[32];
    bool seen = false;
    snprintf(event, sizeof event, "%s=seen", key);
    for (int ms = 0; ms < PATIENCE_MS && !seen; ms += 500) {
        await_write(key, "seen");
        seen = watcher_has(event, 500);
    }
    ck_assert(seen);
}

/* ---- members that die ---- */

static bool is_there(const char *key)
{
    struct catalog_kv kv;
    enum err e = ERR_BUSY;
    for (int ms = 0; ms < PATIENCE_MS && e == ERR_BUSY; ms += TRY_MS) {
        e = catalog_get(c, key, &kv);
        if (e == ERR_BUSY)
            poll(NULL, 0, TRY_MS);
    }
    ck_assert(e == ERR_OK || e == ERR_NOT_FOUND);
    if (e == ERR_OK)
        catalog_kv_fini(&kv);
    return e == ERR_OK;
}

/* The one that is asked, while it is. */
static void *kill_first(void *self)
{
    (void)self;
    etcd_member_kill(&etcd, 0);
    return NULL;
}

START_TEST(when_a_member_is_killed_no_transaction_is_lost_and_sessions_and_watches_go_on)
{
    enum { KEYS = 60, KILLED_AT = 20 };
    int unknown = 0;
    pthread_t killer;
    session_begin(TTL_S * 3);
    ck_assert_int_eq(put_leased("s/1", "x"), ERR_OK);
    watcher_begin("w/");
    watcher_await_again(1);
    watcher_follow("w/");
    await_watch("w/1");
    for (int i = 0; i < KEYS; i++) {
        char key[16];
        snprintf(key, sizeof key, "n/%d", i);
        if (i == KILLED_AT)
            ck_assert_int_eq(pthread_create(&killer, NULL, kill_first, NULL), 0);
        enum err e = put(key, "1", 0);
        ck_assert_msg(e == ERR_OK || e == ERR_BUSY, "%s: %d", key, e);
        unknown += e == ERR_BUSY;
        if (e == ERR_OK)
            ck_assert(is_there(key));
        /* An unknown outcome is settled by the same compare: at most one of the two wins. */
        while (e == ERR_BUSY && !is_there(key))
            e = put(key, "1", 0);
        ck_assert(is_there(key));
    }
    pthread_join(killer, NULL);
    printf("%d of %d outcomes were unknown\n", unknown, KEYS);
    await_watch("w/2");
    ck_assert(!session_await_lost(0));
    ck_assert(is_there("s/1"));
    watcher_end();
    session_end();
    ck_assert(!is_there("s/1"));
}
END_TEST

START_TEST(without_a_quorum_all_is_busy_the_session_is_lost_and_the_watch_says_so)
{
    session_begin(TTL_S);
    watcher_begin("w/");
    watcher_await_again(1);
    watcher_follow("w/");
    await_watch("w/1");
    int before = watcher_agains();
    etcd_member_kill(&etcd, 1);
    etcd_member_kill(&etcd, 2);
    ck_assert_int_eq(put("a", "1", 0), ERR_BUSY);
    ck_assert(session_await_lost(PATIENCE_MS));
    session_end();
    for (int ms = 0; watcher_agains() == before && ms < PATIENCE_MS; ms += TRY_MS)
        poll(NULL, 0, TRY_MS);
    ck_assert_int_gt(watcher_agains(), before);
    etcd_member_start(&etcd, 1);
    etcd_member_start(&etcd, 2);
    await_watch("w/2");
    session_begin(TTL_S);
    session_end();
    watcher_end();
}
END_TEST

/* ---- a process that dies ---- */

static void live_and_die(void)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    c = NULL;
    catalog_reopen();
    session_begin(2);
    if (put_leased("s/child", "x") != ERR_OK)
        _exit(1);
    pause();
    _exit(0);
}

START_TEST(what_a_killed_process_has_leased_vanishes_by_itself)
{
    pid_t child = fork();
    if (child == 0)
        live_and_die();
    int ms = 0;
    for (; !is_there("s/child") && ms < PATIENCE_MS; ms += TRY_MS)
        poll(NULL, 0, TRY_MS);
    ck_assert(is_there("s/child"));
    poll(NULL, 0, 4000); /* kept alive for longer than its time */
    ck_assert(is_there("s/child"));
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    ck_assert(is_there("s/child"));
    for (ms = 0; is_there("s/child") && ms < PATIENCE_MS; ms += TRY_MS)
        poll(NULL, 0, TRY_MS);
    ck_assert(!is_there("s/child"));
}
END_TEST

/* ---- a full database ---- */

static void up_small(void)
{
    etcd_cluster_prepare(&etcd, 1);
    etcd.more[0] = "--quota-backend-bytes";
    etcd.more[1] = "4000000";
    up();
}

START_TEST(a_full_database_refuses_writes_and_new_sessions_but_keeps_old_ones_alive)
{
    static char big[256 * 1024];
    struct catalog_session *other = NULL;
    memset(big, 'v', sizeof big - 1);
    session_begin(TTL_S);
    ck_assert_int_eq(put_leased("s/1", "x"), ERR_OK);
    watcher_begin("s/");
    watcher_await_again(1);
    watcher_go("s/");
    enum err e = ERR_OK;
    for (int i = 0; i < 100 && e == ERR_OK; i++) {
        char key[16];
        snprintf(key, sizeof key, "n/%d", i);
        e = put(key, big, 0);
    }
    ck_assert_int_eq(e, ERR_NO_SPACE);
    ck_assert_int_eq(put("small", "1", 0), ERR_NO_SPACE);
    ck_assert_int_eq(catalog_session_begin(c, TTL_S, NULL, NULL, &other), ERR_NO_SPACE);
    ck_assert_ptr_null(other);
    ck_assert(!session_await_lost(TTL_S * 1000 + 1500));
    expect("s/1", "x");
    session_end(); /* a revocation needs no space */
    watcher_await("-s/1|");
    watcher_end();
}
END_TEST

/* ---- certificates and tokens ---- */

static void up_secret(void)
{
    char command[2048];
    etcd_cluster_prepare(&etcd, 1);
    /* The server's certificate is also its gateway's, as a client of itself; ours has no common
     * name, which etcd would take for a user. */
    snprintf(command, sizeof command,
             "cd %s && openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=roots"
             " -keyout ca.key -out ca.pem 2>/dev/null &&"
             " cert() { openssl req -newkey rsa:2048 -nodes -subj \"$2\" -keyout $1.key"
             " -out $1.csr 2>/dev/null && echo \"$3\" >$1.ext && openssl x509 -req -in $1.csr"
             " -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -extfile $1.ext -out $1.pem"
             " 2>/dev/null; } &&"
             " cert server /O=etcd 'subjectAltName=IP:127.0.0.1' &&"
             " cert client /O=leaselog 'extendedKeyUsage=clientAuth'",
             etcd.folder);
    ck_assert_int_eq(system(command), 0);
    static const char *const names[] = {"ca.pem", "client.pem", "client.key"};
    static char server[2][FOLDER_PATH_ROOM + 16];
    for (int i = 0; i < 3; i++)
        snprintf(certificate[i], sizeof certificate[i], "%s/%s", etcd.folder, names[i]);
    snprintf(server[0], sizeof server[0], "%s/server.pem", etcd.folder);
    snprintf(server[1], sizeof server[1], "%s/server.key", etcd.folder);
    const char *more[] = {"--cert-file",        server[0],           "--key-file",  server[1],
                          "--client-cert-auth", "--trusted-ca-file", certificate[0]};
    memcpy(etcd.more, more, sizeof more);
    etcd.scheme = "https";
    options.ca_file = certificate[0];
    options.cert_file = certificate[1];
    options.key_file = certificate[2];
    up();
}

START_TEST(over_tls_both_sides_need_their_certificates)
{
    struct catalog *none = NULL;
    struct catalog_etcd_options o = options;
    session_begin(TTL_S);
    watcher_begin("s/");
    watcher_await_again(1);
    watcher_go("s/");
    ck_assert_int_eq(put_leased("s/1", "x"), ERR_OK);
    watcher_await("s/1=x|");
    watcher_end();
    session_end();
    o.ca_file = NULL; /* the system's roots do not know the server's */
    ck_assert_int_eq(catalog_open_etcd(&o, &none), ERR_BUSY);
    o = options;
    o.cert_file = o.key_file = NULL;
    ck_assert_int_eq(catalog_open_etcd(&o, &none), ERR_BUSY);
    ck_assert_ptr_null(none);
}
END_TEST

static void ask(struct etcd_http *h, const char *path, const char *body)
{
    struct bytes answer;
    ck_assert_int_eq(etcd_http_ask(h, path, bytes_of_text(body), true, &answer), ERR_OK);
}

START_TEST(a_token_that_died_with_its_member_is_asked_for_again)
{
    struct etcd_http *h;
    ck_assert_int_eq(etcd_http_new(&options, &h), ERR_OK);
    ask(h, "auth/user/add", "{\"name\":\"root\",\"password\":\"secret\"}");
    ask(h, "auth/role/add", "{\"name\":\"root\"}");
    ask(h, "auth/user/grant", "{\"user\":\"root\",\"role\":\"root\"}");
    ask(h, "auth/enable", "{}");
    etcd_http_free(h);
    options.user = "root";
    options.password = "secret";
    catalog_reopen();
    session_begin(60);
    ck_assert_int_eq(put_leased("s/1", "x"), ERR_OK);
    watcher_begin("w/");
    watcher_await_again(1);
    watcher_follow("w/");
    await_watch("w/1");
    etcd_member_kill(&etcd, 0);
    etcd_member_start(&etcd, 0);
    await_watch("w/2"); /* the catalogue's token, and the watch's */
    ck_assert(is_there("s/1"));
    session_end(); /* the session's */
    ck_assert(!is_there("s/1"));
    watcher_end();
}
END_TEST

static void add(Suite *s, const char *name, void (*set_up)(void), const TTest *one,
                const TTest *other)
{
    TCase *tc = tcase_create(name);
    tcase_set_timeout(tc, 240);
    tcase_add_checked_fixture(tc, set_up, down);
    tcase_add_test(tc, one);
    if (other != NULL)
        tcase_add_test(tc, other);
    suite_add_tcase(s, tc);
}

Suite *suite_new(void)
{
    Suite *s = suite_create("catalog in an etcd of several members");
    etcd_needed();
    add(s, "members", up_three,
        when_a_member_is_killed_no_transaction_is_lost_and_sessions_and_watches_go_on,
        without_a_quorum_all_is_busy_the_session_is_lost_and_the_watch_says_so);
    add(s, "death and space", up_small, what_a_killed_process_has_leased_vanishes_by_itself,
        a_full_database_refuses_writes_and_new_sessions_but_keeps_old_ones_alive);
    add(s, "secrets", up_secret, over_tls_both_sides_need_their_certificates,
        a_token_that_died_with_its_member_is_asked_for_again);
    return s;
}
