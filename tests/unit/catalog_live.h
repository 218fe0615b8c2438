// SPDX-License-Identifier: Apache-2.0
/* What a catalogue promises of sessions and watches, whatever stands behind it; and a watcher that
 * writes down what it is told, for tests that wait for it. */
#ifndef TESTS_UNIT_CATALOG_LIVE_H
#define TESTS_UNIT_CATALOG_LIVE_H

#include "catalog_contract.h"

void catalog_live_add(TCase *tc);

/* Begins a watch of the catalogue `c`; ended by watcher_end or at the end of the test's process. */
void watcher_begin(const char *prefix);
void watcher_end(void);
/* Waits until `again` has been called n times since the beginning. */
void watcher_await_again(int n);
/* Lists, and goes on from there. */
void watcher_go(const char *prefix);
void watcher_go_from(int64_t rev);
/* From now on the watcher lists and goes on by itself whenever it is asked to. */
void watcher_follow(const char *prefix);
int watcher_agains(void);
/* Whether this has been told, as one event: "a=1". Waits at most timeout_ms. */
bool watcher_has(const char *event, int timeout_ms);
/* Waits until all that was told is this: "a=1 b=2|-a|" for a and b put at one revision, then a
 * dropped. */
void watcher_await(const char *expected);

/* Begins the session `session`; `lost_count` counts the calls of lost. */
extern struct catalog_session *session;
void session_begin(int ttl_s);
void session_end(void);
/* Waits at most timeout_ms for the session to be lost. */
bool session_await_lost(int timeout_ms);
enum err put_leased(const char *key, const char *value);

#endif
