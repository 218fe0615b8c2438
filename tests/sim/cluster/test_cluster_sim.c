// SPDX-License-Identifier: Apache-2.0
/* Seeds of the simulated cluster, from LEASELOG_SEED on; sim_cluster plays more. */
#include "lib/runner.h"
#include "sim/cluster/world.h"

enum { SEEDS = 200, SCENE_SEEDS = 3 };

START_TEST(what_must_hold_holds_in_every_run)
{
    struct sim_verdict v;
    uint64_t commits = 0, elections = 0, takes = 0, crashes = 0, ended = 0;
    for (uint64_t seed = test_seed(); seed < test_seed() + SEEDS; seed++) {
        cluster_sim_run(seed, stderr, false, &v);
        ck_assert_msg(v.broken[0] == '\0', "LEASELOG_SEED=%llu: %s", (unsigned long long)seed,
                      v.broken);
        commits += v.counts.commits;
        elections += v.counts.elections;
        takes += v.counts.takes;
        crashes += v.counts.crashes;
        ended += v.counts.ended;
    }
    /* It would all hold as well if nothing happened. */
    ck_assert_uint_gt(commits, 100 * SEEDS);
    ck_assert_uint_gt(elections, 3 * SEEDS);
    ck_assert_uint_gt(takes, 10 * SEEDS);
    ck_assert_uint_gt(crashes, SEEDS);
    ck_assert_uint_gt(ended, SEEDS / 4); /* of those who were only stopped or cut off */
}
END_TEST

START_TEST(a_seed_plays_the_same_run_again)
{
    struct sim_verdict first, again, other;
    cluster_sim_run(test_seed(), stderr, false, &first);
    cluster_sim_run(test_seed(), stderr, false, &again);
    cluster_sim_run(test_seed() + 1, stderr, false, &other);
    ck_assert_uint_eq(first.hash, again.hash);
    ck_assert_uint_ne(first.hash, other.hash);
}
END_TEST

static void play(void (*scene)(struct world *w), bool is_strict)
{
    struct sim_verdict v;
    for (uint64_t seed = test_seed(); seed < test_seed() + SCENE_SEEDS; seed++) {
        cluster_sim_scene(seed, scene, is_strict, stderr, &v);
        ck_assert_msg(v.broken[0] == '\0', "LEASELOG_SEED=%llu: %s", (unsigned long long)seed,
                      v.broken);
    }
}

START_TEST(what_was_asked_before_a_disk_was_lost_counts_for_nothing)
{
    play(scene_old_incarnation, false);
}
END_TEST

START_TEST(what_was_asked_in_an_older_epoch_counts_for_nothing)
{
    play(scene_old_epoch, true);
}
END_TEST

Suite *suite_new(void)
{
    Suite *suite = suite_create("simulated cluster");
    TCase *t = tcase_create("seeds");
    tcase_set_timeout(t, 300);
    tcase_add_test(t, what_must_hold_holds_in_every_run);
    tcase_add_test(t, a_seed_plays_the_same_run_again);
    suite_add_tcase(suite, t);
    t = tcase_create("scenes");
    tcase_add_test(t, what_was_asked_before_a_disk_was_lost_counts_for_nothing);
    tcase_add_test(t, what_was_asked_in_an_older_epoch_counts_for_nothing);
    suite_add_tcase(suite, t);
    return suite;
}
