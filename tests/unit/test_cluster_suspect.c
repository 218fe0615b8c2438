// SPDX-License-Identifier: Apache-2.0
/* Who is thought to be dead, and is knocked at. */
#include "base/mem.h"
#include "cluster/suspect.h"
#include "lib/runner.h"

static struct cluster_view *view;
static int64_t rev;

static void setup(void)
{
    view = mem_new(sizeof *view);
    cluster_view_init(view);
    rev = 1;
}

static void teardown(void)
{
    cluster_view_fini(view);
    mem_free(view);
}

static void registered_show(struct cluster_view *v, int64_t session, int64_t lease)
{
    struct buf json = BUF_EMPTY;
    struct cluster_session_key s = {.session = session, .store = "x", .lease = lease};
    cluster_session_key_encode(&s, &json);
    cluster_view_put(v, "s/2", buf_bytes(&json), 1, ++rev);
    buf_fini(&json);
}

/* Both knocks, when there are two; the lease to be revoked. */
static int64_t knock_twice(struct cluster_suspects *s, struct cluster_view *v, int64_t at_ms)
{
    if (!cluster_suspects_hint(s, v, 2, at_ms))
        return 0;
    ck_assert(!cluster_suspects_hint(s, v, 2, at_ms)); /* it is under way */
    ck_assert_int_eq(cluster_suspects_knocked(s, v, 2, CLUSTER_KNOCK_REFUSED, at_ms), 0);
    ck_assert(!cluster_suspects_hint(s, v, 2, at_ms)); /* the second one stands out */
    ck_assert_int_eq(s->due_ms, at_ms + 50);
    ck_assert_uint_eq(cluster_suspects_due(s, v, at_ms + 49), 0);
    ck_assert_uint_eq(cluster_suspects_due(s, v, at_ms + 50), 2);
    ck_assert_uint_eq(cluster_suspects_due(s, v, at_ms + 50), 0);
    return cluster_suspects_knocked(s, v, 2, CLUSTER_KNOCK_REFUSED, at_ms + 50);
}

START_TEST(two_refusals_a_moment_apart_end_a_session_and_anything_less_does_not)
{
    struct cluster_view *v = view;
    struct cluster_suspects s;
    cluster_suspects_init(&s);
    ck_assert(!cluster_suspects_hint(&s, v, 2, 0)); /* never heard of */
    registered_show(v, 7, 0);
    ck_assert(!cluster_suspects_hint(&s, v, 2, 0)); /* its lease is not known */
    registered_show(v, 7, 70);
    ck_assert(cluster_suspects_hint(&s, v, 2, 0));
    ck_assert_int_eq(cluster_suspects_knocked(&s, v, 2, CLUSTER_KNOCK_REFUSED, 0), 0);
    ck_assert_uint_eq(cluster_suspects_due(&s, v, 50), 2);
    ck_assert_int_eq(cluster_suspects_knocked(&s, v, 2, CLUSTER_KNOCK_ANSWERED, 50), 0);
    ck_assert(!cluster_suspects_hint(&s, v, 2, 549)); /* not a knock for each lost call */
    ck_assert_int_eq(knock_twice(&s, v, 550), 70);
    ck_assert_int_eq(cluster_suspects_knocked(&s, v, 2, CLUSTER_KNOCK_REFUSED, 600), 0);
    cluster_view_drop(v, "s/2", ++rev);
    ck_assert(!cluster_suspects_hint(&s, v, 2, 100000));
    ck_assert_uint_eq(cluster_suspects_due(&s, v, 100000), 0); /* who is gone is left alone */
    cluster_suspects_fini(&s);
}
END_TEST

START_TEST(one_that_says_nothing_is_tried_a_few_times_and_is_not_gone_for_that)
{
    struct cluster_view *v = view;
    struct cluster_suspects s;
    int64_t at_ms = 0;
    int knocks = 1;
    cluster_suspects_init(&s);
    registered_show(v, 7, 70);
    ck_assert(cluster_suspects_hint(&s, v, 2, at_ms));
    do {
        /* Once refused and then silent is no evidence either. */
        enum cluster_knock k = knocks == 3 ? CLUSTER_KNOCK_REFUSED : CLUSTER_KNOCK_SILENT;
        ck_assert_int_eq(cluster_suspects_knocked(&s, v, 2, k, at_ms), 0);
        at_ms += 50;
    } while (cluster_suspects_due(&s, v, at_ms) == 2 && ++knocks < 100);
    ck_assert_int_eq(knocks, 10);
    ck_assert(!cluster_suspects_hint(&s, v, 2, at_ms));
    /* One that is dying takes a connection first, and is refused then. */
    ck_assert(cluster_suspects_hint(&s, v, 2, 2000));
    ck_assert_int_eq(cluster_suspects_knocked(&s, v, 2, CLUSTER_KNOCK_SILENT, 2000), 0);
    ck_assert_uint_eq(cluster_suspects_due(&s, v, 2050), 2);
    ck_assert_int_eq(cluster_suspects_knocked(&s, v, 2, CLUSTER_KNOCK_REFUSED, 2050), 0);
    ck_assert_uint_eq(cluster_suspects_due(&s, v, 2100), 2);
    ck_assert_int_eq(cluster_suspects_knocked(&s, v, 2, CLUSTER_KNOCK_REFUSED, 2100), 70);
    cluster_suspects_fini(&s);
}
END_TEST

START_TEST(a_session_that_began_between_the_two_knocks_is_left_alone)
{
    struct cluster_view *v = view;
    struct cluster_suspects s;
    cluster_suspects_init(&s);
    registered_show(v, 7, 70);
    ck_assert(cluster_suspects_hint(&s, v, 2, 0));
    ck_assert_int_eq(cluster_suspects_knocked(&s, v, 2, CLUSTER_KNOCK_REFUSED, 0), 0);
    registered_show(v, 8, 80);
    ck_assert_uint_eq(cluster_suspects_due(&s, v, 50), 2);
    ck_assert_int_eq(cluster_suspects_knocked(&s, v, 2, CLUSTER_KNOCK_REFUSED, 50), 0);
    ck_assert_int_eq(knock_twice(&s, v, 60), 80); /* and may be suspected anew */
    cluster_suspects_fini(&s);
}
END_TEST

START_TEST(one_that_lives_though_connections_are_refused_is_troubled_less_and_less)
{
    struct cluster_view *v = view;
    struct cluster_suspects s;
    int64_t at_ms = 0, pause_ms = 5000;
    cluster_suspects_init(&s);
    for (int64_t session = 7; session < 20; session++) {
        registered_show(v, session, 10 * session);
        ck_assert_int_eq(knock_twice(&s, v, at_ms), 10 * session);
        registered_show(v, session + 1, 10 * session + 10);
        ck_assert(!cluster_suspects_hint(&s, v, 2, at_ms + 50 + pause_ms - 1));
        at_ms += 50;
        for (int64_t end_ms = at_ms + pause_ms; at_ms < end_ms;) { /* is it back? no */
            at_ms += 1000;
            ck_assert_uint_eq(cluster_suspects_due(&s, v, at_ms), 2);
            ck_assert_int_eq(cluster_suspects_knocked(&s, v, 2, CLUSTER_KNOCK_REFUSED, at_ms), 0);
        }
        pause_ms = pause_ms * 2 > 300000 ? 300000 : pause_ms * 2;
    }
    cluster_suspects_fini(&s);
}
END_TEST

START_TEST(one_that_is_reached_in_its_next_session_may_soon_be_suspected_again)
{
    struct cluster_view *v = view;
    struct cluster_suspects s;
    cluster_suspects_init(&s);
    for (int64_t session = 7, at_ms = 0; session < 12; session++, at_ms += 2050) {
        registered_show(v, session, 10 * session);
        ck_assert_int_eq(knock_twice(&s, v, at_ms), 10 * session);
        registered_show(v, session + 1, 10 * session + 10);
        ck_assert_uint_eq(cluster_suspects_due(&s, v, at_ms + 1050), 2); /* is it back? */
        ck_assert_int_eq(cluster_suspects_knocked(&s, v, 2, CLUSTER_KNOCK_ANSWERED, at_ms + 1050),
                         0);
        ck_assert(!cluster_suspects_hint(&s, v, 2, at_ms + 2049));
    }
    cluster_suspects_fini(&s);
}
END_TEST
Suite *suite_new(void)
{
    Suite *s = suite_create("cluster suspects");
    TCase *tc = tcase_create("suspects");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, two_refusals_a_moment_apart_end_a_session_and_anything_less_does_not);
    tcase_add_test(tc, one_that_says_nothing_is_tried_a_few_times_and_is_not_gone_for_that);
    tcase_add_test(tc, one_that_is_reached_in_its_next_session_may_soon_be_suspected_again);
    tcase_add_test(tc, a_session_that_began_between_the_two_knocks_is_left_alone);
    tcase_add_test(tc, one_that_lives_though_connections_are_refused_is_troubled_less_and_less);
    suite_add_tcase(s, tc);
    return s;
}
