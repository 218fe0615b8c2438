// SPDX-License-Identifier: Apache-2.0
/* Whichever operation of the disk fails while a topic is made, changed or deleted, the catalogue's
 * included: after the next start it is whole or not there, and what was answered holds. */
#include "sim/test_sim.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/runner.h"
#include "sim/sim.h"

enum { SLOT = 2, OPERATIONS_MAX = 400 };

/* How the life ends in which something failed. */
enum end { KILLED, POWER_OFF_AT_ONCE, POWER_CUT, ENDS };

static void quiet(void)
{
    int nowhere = open("/dev/null", O_WRONLY);
    if (getenv("LEASELOG_VERBOSE") == NULL)
        dup2(nowhere, STDERR_FILENO);
    close(nowhere);
}

static void make(struct sim *s)
{
    sim_topic_create(s, SLOT);
}

static void change(struct sim *s)
{
    sim_topic_change(s, SLOT);
}

static void drop(struct sim *s)
{
    sim_topic_delete(s, SLOT);
    queue_housekeep(s->q);
}

/* A redrive of no messages: it ends by itself, and both is written to the catalogue. */
static enum err redrive_err;
static uint8_t redrive_id[16];

static void redrive(struct sim *s)
{
    struct queue_topic *t;
    redrive_err = ERR_NOT_FOUND;
    if (queue_topic_find(s->q, bytes_of_text(s->plans[SLOT].name), &t) != ERR_OK)
        return;
    redrive_err = queue_redrive_start(t, NULL, 0, redrive_id);
    queue_topic_give_back(t);
    queue_housekeep(s->q);
}

/* What was answered is there, what failed may be; either way it comes to its end. */
static void redrive_check(struct sim *s)
{
    struct queue_redrive found[QUEUE_REDRIVES_MAX];
    struct queue_topic *t;
    ck_assert_int_eq(queue_topic_find(s->q, bytes_of_text(s->plans[SLOT].name), &t), ERR_OK);
    size_t n = queue_redrives(t, found, QUEUE_REDRIVES_MAX);
    queue_topic_give_back(t);
    ck_assert_uint_le(n, 1);
    if (redrive_err == ERR_OK) {
        ck_assert_uint_eq(n, 1);
        ck_assert_mem_eq(found[0].id, redrive_id, sizeof redrive_id);
    }
    if (n > 0)
        ck_assert_int_eq(found[0].state, QUEUE_REDRIVE_COMPLETED);
}

static void die(struct sim *s, enum end end)
{
    if (end == KILLED)
        queue_housekeep(s->q);
    sim_down(s, false);
    if (end == POWER_OFF_AT_ONCE || end == POWER_CUT) {
        fault_disk_power_cut(s->disk);
        fake_clock_reboot(&s->clock);
    } else {
        fault_disk_kill(s->disk);
        fault_disk_fail_never(s->disk);
    }
}

/* True when the n-th operation came, and failed. */
static bool fails_at(uint64_t n, bool there, void (*act)(struct sim *s), enum end end)
{
    struct sim s;
    struct verdict v;
    sim_init(&s, test_seed());
    ck_assert_int_eq(sim_open(&s), ERR_OK);
    sim_look_around(&s, true);
    if (there)
        make(&s);
    queue_commit_all(s.q);
    sim_note_synced(&s);
    fault_disk_fail_in(s.disk, n, ERR_IO, end == POWER_OFF_AT_ONCE);
    act(&s);
    if (s.slots[SLOT] != HISTORY_NONE)
        sim_send(&s, SLOT);
    queue_commit_all(s.q);
    sim_note_synced(&s);
    bool hit = fault_disk_has_failed(s.disk);
    die(&s, end);
    ck_assert_int_eq(sim_open(&s), ERR_OK);
    sim_look_around(&s, end == KILLED);
    sim_rest(&s);
    sim_strays(&s);
    if (act == redrive)
        redrive_check(&s);
    checker_run(&s.history, false, &v);
    ck_assert_msg(v.rule == RULE_NONE, "operation %u: %s: %s", (unsigned)n,
                  checker_rule_name(v.rule), v.text);
    sim_fini(&s);
    return hit;
}

static void fail_everywhere(bool there, void (*act)(struct sim *s), uint64_t at_least)
{
    quiet();
    for (int end = 0; end < ENDS; end++) {
        uint64_t n = 0;
        while (n < OPERATIONS_MAX && fails_at(n, there, act, (enum end)end))
            n++;
        ck_assert_uint_gt(n, at_least);
        ck_assert_uint_lt(n, OPERATIONS_MAX);
    }
}

START_TEST(a_topic_is_whole_or_not_there_wherever_making_it_failed)
{
    fail_everywhere(false, make, 20);
}
END_TEST

START_TEST(a_setting_is_the_old_or_the_new_one_wherever_changing_it_failed)
{
    fail_everywhere(true, change, 8);
}
END_TEST

START_TEST(a_redrive_is_there_or_not_and_ends_wherever_starting_it_failed)
{
    fail_everywhere(true, redrive, 8);
}
END_TEST

START_TEST(a_topic_is_whole_or_gone_without_a_trace_wherever_deleting_it_failed)
{
    fail_everywhere(true, drop, 20);
}
END_TEST

TCase *tcase_topics(void)
{
    TCase *t = tcase_create("topics");
    tcase_set_timeout(t, 0);
    tcase_add_test(t, a_topic_is_whole_or_not_there_wherever_making_it_failed);
    tcase_add_test(t, a_setting_is_the_old_or_the_new_one_wherever_changing_it_failed);
    tcase_add_test(t, a_redrive_is_there_or_not_and_ends_wherever_starting_it_failed);
    tcase_add_test(t, a_topic_is_whole_or_gone_without_a_trace_wherever_deleting_it_failed);
    return t;
}
