// SPDX-License-Identifier: Apache-2.0
#include "catalog_live.h"

#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { PATIENCE_MS = 20000 };

/* ---- waiting for what other threads say ---- */

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t said = PTHREAD_COND_INITIALIZER;
static char told[4096];
static int agains, losses;
static struct catalog_watch *watch;
static const char *followed; /* the prefix; NULL: the test says when to go on */
struct catalog_session *session;

/* False when the time is over. The mutex is held. */
static bool await_change(int timeout_ms, struct timespec *until)
{
    if (until->tv_sec == 0) {
        clock_gettime(CLOCK_REALTIME, until);
        until->tv_sec += timeout_ms / 1000;
        until->tv_nsec += timeout_ms % 1000 * 1000000L;
        if (until->tv_nsec >= 1000000000L) {
            until->tv_sec++;
            until->tv_nsec -= 1000000000L;
        }
    }
    return pthread_cond_timedwait(&said, &mutex, until) == 0;
}

static void on_events(void *self, const struct catalog_event *events, size_t n)
{
    (void)self;
    pthread_mutex_lock(&mutex);
    for (size_t i = 0; i < n; i++) {
        const struct catalog_event *e = &events[i];
        size_t at = strlen(told);
        ck_assert_int_eq(e->mod_rev, events[0].mod_rev);
        ck_assert(e->dropped ? e->value.n == 0 && e->create_rev == 0 : e->create_rev > 0);
        if (e->dropped)
            snprintf(told + at, sizeof told - at, "%s-%s", i > 0 ? " " : "", e->key);
        else
            snprintf(told + at, sizeof told - at, "%s%s=%.*s", i > 0 ? " " : "", e->key,
                     (int)e->value.n, (const char *)e->value.at);
    }
    strncat(told, "|", sizeof told - strlen(told) - 1);
    pthread_cond_broadcast(&said);
    pthread_mutex_unlock(&mutex);
}

/* Until etcd answers, or the test ends with the watch still begun. */
static void follow(const char *prefix)
{
    struct catalog_kvs kvs;
    int64_t rev = 0;
    while (catalog_list_at(c, prefix, &kvs, &rev) != ERR_OK)
        poll(NULL, 0, 50);
    catalog_kvs_fini(&kvs);
    catalog_watch_go(watch, rev);
}

static void on_again(void *self)
{
    (void)self;
    pthread_mutex_lock(&mutex);
    agains++;
    const char *prefix = followed;
    pthread_cond_broadcast(&said);
    pthread_mutex_unlock(&mutex);
    if (prefix != NULL)
        follow(prefix);
}

void watcher_begin(const char *prefix)
{
    struct catalog_watching w = {.events = on_events, .again = on_again};
    agains = 0;
    followed = NULL;
    told[0] = '\0';
    ck_assert_int_eq(catalog_watch_begin(c, prefix, w, &watch), ERR_OK);
}

void watcher_end(void)
{
    catalog_watch_end(watch);
    watch = NULL;
}

void watcher_await_again(int n)
{
    struct timespec until = {0};
    bool ok = true;
    pthread_mutex_lock(&mutex);
    while (agains < n && ok)
        ok = await_change(PATIENCE_MS, &until);
    int is = agains;
    pthread_mutex_unlock(&mutex);
    ck_assert_int_eq(is, n);
}

void watcher_go_from(int64_t rev)
{
    catalog_watch_go(watch, rev);
}

void watcher_go(const char *prefix)
{
    struct catalog_kvs kvs;
    int64_t rev = 0;
    ck_assert_int_eq(catalog_list_at(c, prefix, &kvs, &rev), ERR_OK);
    catalog_kvs_fini(&kvs);
    watcher_go_from(rev);
}

void watcher_follow(const char *prefix)
{
    pthread_mutex_lock(&mutex);
    followed = prefix;
    pthread_mutex_unlock(&mutex);
    follow(prefix);
}

int watcher_agains(void)
{
    pthread_mutex_lock(&mutex);
    int n = agains;
    pthread_mutex_unlock(&mutex);
    return n;
}

bool watcher_has(const char *event, int timeout_ms)
{
    struct timespec until = {0};
    bool ok = true;
    pthread_mutex_lock(&mutex);
    while (strstr(told, event) == NULL && ok)
        ok = await_change(timeout_ms, &until);
    ok = strstr(told, event) != NULL;
    pthread_mutex_unlock(&mutex);
    return ok;
}

void watcher_await(const char *expected)
{
    struct timespec until = {0};
    bool ok = true;
    pthread_mutex_lock(&mutex);
    while (strcmp(told, expected) != 0 && ok)
        ok = await_change(PATIENCE_MS, &until);
    char copy[sizeof told];
    memcpy(copy, told, sizeof copy);
    pthread_mutex_unlock(&mutex);
    ck_assert_str_eq(copy, expected);
}

static void on_lost(void *self)
{
    (void)self;
    pthread_mutex_lock(&mutex);
    losses++;
    pthread_cond_broadcast(&said);
    pthread_mutex_unlock(&mutex);
}

void session_begin(int ttl_s)
{
    losses = 0;
    ck_assert_int_eq(catalog_session_begin(c, ttl_s, on_lost, NULL, &session), ERR_OK);
    ck_assert_int_ne(catalog_session_id(session), 0);
}

void session_end(void)
{
    catalog_session_end(session);
    session = NULL;
}

bool session_await_lost(int timeout_ms)
{
    struct timespec until = {0};
    bool ok = true;
    pthread_mutex_lock(&mutex);
    while (losses == 0 && ok)
        ok = await_change(timeout_ms, &until);
    ok = losses == 1;
    pthread_mutex_unlock(&mutex);
    return ok;
}

enum err put_leased(const char *key, const char *value)
{
    struct catalog_cmp cmp = {key, CATALOG_MOD, 0};
    struct catalog_op op = {.key = key, .value = bytes_of_text(value)};
    return catalog_txn_leased(c, session, &cmp, 1, &op, 1, &last_rev);
}

/* ---- sessions ---- */

START_TEST(leased_keys_vanish_when_their_session_ends_and_others_stay)
{
    session_begin(60);
    ck_assert_int_eq(put_leased("s/1", "x"), ERR_OK);
    ck_assert_int_eq(put_leased("s/1", "x"), ERR_CONFLICT);
    ck_assert_int_eq(put_leased("ctl", "x"), ERR_OK);
    put_free("b/1", "x");
    expect("s/1", "x");
    session_end();
    expect("s/1", NULL);
    expect("ctl", NULL);
    expect("b/1", "x");
    ck_assert_int_eq(put("s/1", "y", 0), ERR_OK);
}
END_TEST

START_TEST(a_key_put_without_the_session_is_its_no_more)
{
    session_begin(60);
    ck_assert_int_eq(put_leased("a", "1"), ERR_OK);
    put_free("a", "2");
    put_free("b", "1");
    struct catalog_op op = {.key = "b", .value = BYTES_OF("2")};
    ck_assert_int_eq(catalog_txn_leased(c, session, NULL, 0, &op, 1, NULL), ERR_OK);
    session_end();
    expect("a", "2");
    expect("b", NULL);
}
END_TEST

START_TEST(a_lease_of_an_earlier_life_is_revoked_and_one_that_is_gone_is_no_error)
{
    session_begin(60);
    ck_assert_int_eq(put_leased("a", "1"), ERR_OK);
    int64_t id = catalog_session_id(session);
    struct catalog_session *earlier = session;
    session_begin(60);
    ck_assert_int_ne(catalog_session_id(session), id);
    ck_assert_int_eq(put_leased("b", "1"), ERR_OK);
    ck_assert_int_eq(catalog_lease_revoke(c, id), ERR_OK);
    expect("a", NULL);
    expect("b", "1");
    ck_assert_int_eq(catalog_lease_revoke(c, id), ERR_OK);
    ck_assert_int_eq(catalog_lease_revoke(c, 0), ERR_INVALID);
    catalog_session_end(earlier);
    session_end();
}
END_TEST

/* ---- watches ---- */

START_TEST(a_watch_first_asks_for_a_list_then_tells_in_order_a_revision_at_a_time)
{
    put_free("w/before", "1");
    watcher_begin("w/");
    watcher_await_again(1);
    put_free("w/listed", "1"); /* after `again`, before the list: not told, for it is listed */
    watcher_go("w/");
    struct catalog_op both[] = {{.key = "w/a", .value = BYTES_OF("1")},
                                {.key = "other", .value = BYTES_OF("1")},
                                {.key = "w/b", .value = BYTES_OF("")}};
    ck_assert_int_eq(catalog_txn(c, NULL, 0, both, 3, NULL), ERR_OK);
    put_free("other", "2");
    put_free("w/a", "2");
    ck_assert_int_eq(put("w/a", "3", 1), ERR_CONFLICT);
    struct catalog_op drops[] = {{.key = "w/a", .drop = 1}, {.key = "w/nothing", .drop = 1}};
    ck_assert_int_eq(catalog_txn(c, NULL, 0, drops, 2, NULL), ERR_OK);
    put_free("w/z", "end");
    watcher_await("w/a=1 w/b=|w/a=2|-w/a|w/z=end|");
    watcher_await_again(1);
    watcher_end();
}
END_TEST

START_TEST(what_changes_between_the_list_and_the_going_on_is_told)
{
    int64_t rev = 0;
    struct catalog_kvs kvs;
    put_free("w/a", "1");
    watcher_begin("");
    watcher_await_again(1);
    ck_assert_int_eq(catalog_list_at(c, "", &kvs, &rev), ERR_OK);
    ck_assert_uint_eq(kvs.n, 1);
    ck_assert_int_eq(rev, last_rev);
    catalog_kvs_fini(&kvs);
    put_free("w/b", "1");
    watcher_go_from(rev);
    put_free("w/c", "1");
    watcher_await("w/b=1|w/c=1|");
    watcher_end();
}
END_TEST

START_TEST(a_watch_sees_leased_keys_come_and_go)
{
    session_begin(60);
    watcher_begin("s/");
    watcher_await_again(1);
    watcher_go("s/");
    ck_assert_int_eq(put_leased("s/1", "x"), ERR_OK);
    watcher_await("s/1=x|");
    session_end();
    watcher_await("s/1=x|-s/1|");
    watcher_end();
}
END_TEST

START_TEST(a_watch_ends_while_it_waits_for_a_list_and_while_it_waits_for_events)
{
    watcher_begin("w/");
    watcher_end();
    watcher_begin("w/");
    watcher_await_again(1);
    watcher_end();
    watcher_begin("w/");
    watcher_await_again(1);
    watcher_go("w/");
    watcher_end();
    put_free("w/a", "1");
    watcher_await("");
}
END_TEST

void catalog_live_add(TCase *tc)
{
    tcase_add_test(tc, leased_keys_vanish_when_their_session_ends_and_others_stay);
    tcase_add_test(tc, a_key_put_without_the_session_is_its_no_more);
    tcase_add_test(tc, a_lease_of_an_earlier_life_is_revoked_and_one_that_is_gone_is_no_error);
    tcase_add_test(tc, a_watch_first_asks_for_a_list_then_tells_in_order_a_revision_at_a_time);
    tcase_add_test(tc, what_changes_between_the_list_and_the_going_on_is_told);
    tcase_add_test(tc, a_watch_sees_leased_keys_come_and_go);
    tcase_add_test(tc, a_watch_ends_while_it_waits_for_a_list_and_while_it_waits_for_events);
}
