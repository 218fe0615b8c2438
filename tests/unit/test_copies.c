// SPDX-License-Identifier: Apache-2.0
/* A topic on three brokers: what is answered survives the loss of its leader, and the copies become
 * one again afterwards. */
#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "copies_fixture.h"

/* ---- who answers, and when ---- */

START_TEST(a_send_is_answered_once_all_that_are_in_sync_have_it)
{
    struct request r;
    make_topic(1, "q", 1, 3, 1, NULL);
    request_send(&r, 1, "q", "a");
    queue_commit_all(world.brokers[1].q);
    ck_assert(!r.told);
    world_settle();
    ck_assert(r.told);
    ck_assert_int_eq(r.err, ERR_OK);
    for (uint32_t i = 1; i <= BROKERS; i++) {
        struct replica_status s = status_of(i, "q", 0);
        ck_assert_uint_eq(s.durable_end, status_of(1, "q", 0).durable_end);
        ck_assert_uint_eq(state_of(i, "q", 0), state_of(1, "q", 0));
    }
}
END_TEST

START_TEST(nothing_is_handed_out_that_is_not_committed)
{
    struct request r;
    make_topic(1, "q", 1, 3, 1, NULL);
    request_send(&r, 1, "q", "a");
    queue_commit_all(world.brokers[1].q);
    struct queue_topic *t;
    struct got g = {0};
    struct queue_wait w = {0};
    struct queue_receive request = {.max = 1, .visibility_ms = -1};
    ck_assert_int_eq(queue_topic_find(world.brokers[1].q, BYTES_OF("q"), &t), ERR_OK);
    ck_assert_int_eq(queue_receive(t, &request, &world.arena, g.at, &g.n, &w), ERR_OK);
    ck_assert_uint_eq(g.n, 0);
    ck_assert(!queue_wait_start(&w));
    queue_topic_give_back(t);
    world_settle();
    ck_assert_uint_eq(receive_at(1, "q", 1, -1).n, 1);
}
END_TEST

START_TEST(who_does_not_lead_says_so)
{
    make_topic(1, "q", 1, 3, 1, NULL);
    ck_assert_int_eq(send_to(1, "q", "a"), ERR_OK);
    ck_assert_int_eq(send_to(2, "q", "b"), ERR_NOT_LEADER);
    ck_assert_int_eq(receive_at(2, "q", 1, -1).err, ERR_NOT_LEADER);
    struct got g = receive_at(1, "q", 1, -1);
    ck_assert_uint_eq(g.n, 1);
    ck_assert_int_eq(delete_at(3, "q", g.at[0].receipt), ERR_NOT_LEADER);
    ck_assert_int_eq(delete_at(1, "q", g.at[0].receipt), ERR_OK);
    struct queue_topic *t;
    ck_assert_int_eq(queue_topic_find(world.brokers[2].q, BYTES_OF("q"), &t), ERR_OK);
    ck_assert_uint_eq(queue_copy_leader(t, 0), 1);
    ck_assert(!queue_copy_is_ours(t, 0));
    queue_topic_give_back(t);
}
END_TEST

START_TEST(with_one_copy_left_nothing_is_answered_and_nothing_handed_out)
{
    struct request r;
    make_topic(1, "q", 1, 3, 1, NULL);
    ck_assert_int_eq(send_to(1, "q", "a"), ERR_OK);
    broker_die(2, false);
    broker_die(3, false);
    request_send(&r, 1, "q", "b");
    world_pass(6900);
    ck_assert(!r.told);
    ck_assert_int_eq(receive_at(1, "q", 1, -1).err, ERR_NOT_ENOUGH);
    world_pass(300);
    ck_assert(r.told);
    ck_assert_int_eq(r.err, ERR_UNKNOWN);
    /* It has happened after all, as soon as somebody is back. */
    broker_start(2);
    world_pass(1000);
    ck_assert_str_eq(drain(1, "q"), "a b");
}
END_TEST

START_TEST(one_copy_that_is_gone_stops_nothing_for_long)
{
    struct request r;
    make_topic(1, "q", 1, 3, 1, NULL);
    broker_die(3, true);
    request_send(&r, 1, "q", "a");
    world_pass(300);
    ck_assert(r.told);
    ck_assert_int_eq(r.err, ERR_OK);
    ck_assert_uint_eq(status_of(1, "q", 0).isr_size, 2);
    broker_start(3);
    world_pass(1000);
    ck_assert_uint_eq(status_of(1, "q", 0).isr_size, 3);
    ck_assert_uint_eq(state_of(3, "q", 0), state_of(1, "q", 0));
}
END_TEST

/* Its session stands, so only its lag tells: the send waits until it has left, and is answered. */
START_TEST(a_copy_that_lives_and_fetches_nothing_costs_no_send)
{
    struct request r;
    make_topic(1, "q", 1, 3, 1, NULL);
    broker_cut_off(3, true);
    queue_copy_session(world.brokers[1].q, 3, true, false);
    request_send(&r, 1, "q", "a");
    world_pass(4500);
    ck_assert(!r.told);
    ck_assert_uint_eq(status_of(1, "q", 0).isr_size, 3);
    world_pass(2000);
    ck_assert(r.told);
    ck_assert_int_eq(r.err, ERR_OK);
    ck_assert_uint_eq(status_of(1, "q", 0).isr_size, 2);
}
END_TEST

/* ---- failover ---- */

START_TEST(a_failover_keeps_every_answered_send_and_delete)
{
    char body[8];
    make_topic(1, "q", 3, 3, 1, NULL);
    for (int i = 0; i < 30; i++) {
        snprintf(body, sizeof body, "m%02d", i);
        ck_assert_int_eq(send_to(1, "q", body), ERR_OK);
    }
    char gone[32][8];
    size_t gone_n = 0;
    for (int i = 0; i < 3; i++) {
        struct got g = receive_at(1, "q", 3, 600000);
        for (size_t k = 0; k < g.n; k++) {
            ck_assert_int_eq(delete_at(1, "q", g.at[k].receipt), ERR_OK);
            snprintf(gone[gone_n++], 8, "%.3s", (const char *)g.at[k].body.at);
        }
    }
    ck_assert_uint_ge(gone_n, 3);
    broker_die(1, true);
    elect("q", 2);
    world_pass(600);
    const char *left = drain(2, "q");
    ck_assert_uint_eq(strlen(left), 4 * (30 - gone_n) - 1);
    for (size_t i = 0; i < gone_n; i++)
        ck_assert_ptr_null(strstr(left, gone[i]));
    broker_start(1);
    world_pass(1000);
    for (uint32_t i = 0; i < 3; i++)
        ck_assert_uint_eq(state_of(1, "q", i), state_of(2, "q", i));
}
END_TEST

START_TEST(a_lease_lasts_as_long_under_the_next_leader)
{
    make_topic(1, "q", 1, 3, 1, NULL);
    ck_assert_int_eq(send_to(1, "q", "a"), ERR_OK);
    struct got g = receive_at(1, "q", 1, 30000);
    ck_assert_uint_eq(g.n, 1);
    world_pass(10000);
    broker_die(1, false);
    elect("q", 3);
    world_pass(500);
    ck_assert_uint_eq(receive_at(3, "q", 1, 30000).n, 0);
    world_pass(19000);
    ck_assert_uint_eq(receive_at(3, "q", 1, 30000).n, 0);
    world_pass(1000);
    struct got again = receive_at(3, "q", 1, 30000);
    ck_assert_uint_eq(again.n, 1);
    ck_assert_uint_eq(again.at[0].receive_count, 2);
    /* The first handle still deletes, as on any standard queue. */
    ck_assert_int_eq(delete_at(3, "q", g.at[0].receipt), ERR_OK);
    world_pass(31000);
    ck_assert_uint_eq(receive_at(3, "q", 1, 30000).n, 0);
}
END_TEST

START_TEST(brokers_whose_clocks_differ_end_no_lease_early)
{
    make_topic(1, "q", 1, 3, 1, NULL);
    ck_assert_int_eq(send_to(1, "q", "a"), ERR_OK);
    /* Started anew with another wall clock, its own time is an hour ahead. */
    broker_die(2, true);
    fault_disk_free(world.brokers[2].disk);
    world.brokers[2].disk = fault_disk_new(test_seed());
    world.clock.wall_ms += 3600000;
    broker_start(2);
    world.clock.wall_ms -= 3600000;
    world_pass(1000);
    ck_assert_uint_eq(status_of(1, "q", 0).isr_size, 3);
    ck_assert_uint_eq(receive_at(1, "q", 1, 30000).n, 1);
    broker_die(1, false);
    elect("q", 2);
    world_pass(29000);
    ck_assert_uint_eq(receive_at(2, "q", 1, 30000).n, 0);
    world_pass(1100);
    ck_assert_uint_eq(receive_at(2, "q", 1, 30000).n, 1);
}
END_TEST

static void with_dead_letters(struct topic_config *c)
{
    c->receives_max = 1;
    snprintf(c->dead_letter, sizeof c->dead_letter, "dead");
}

START_TEST(a_dead_letter_arrives_once_under_whoever_leads)
{
    make_topic(1, "dead", 1, 3, 1, NULL);
    make_topic(1, "q", 1, 3, 1, with_dead_letters);
    ck_assert_int_eq(send_to(1, "q", "a"), ERR_OK);
    ck_assert_uint_eq(receive_at(1, "q", 1, 0).n, 1);
    struct queue_topic *t;
    ck_assert_int_eq(queue_topic_find(world.brokers[1].q, BYTES_OF("q"), &t), ERR_OK);
    /* MOVE is committed, but nobody has driven it. */
    ck_assert_uint_eq(receive_at(1, "q", 1, 0).n, 0);
    queue_topic_give_back(t);
    broker_die(1, false);
    elect("dead", 3);
    elect("q", 2);
    world_pass(3000);
    elect("dead", 2);
    world_pass(3000);
    ck_assert_str_eq(drain(2, "dead"), "a");
    ck_assert_str_eq(drain(2, "q"), "");
}
END_TEST

START_TEST(a_move_is_not_called_off_because_its_target_is_not_known_here_yet)
{
    make_topic(1, "dead", 1, 3, 1, NULL);
    make_topic(1, "q", 1, 3, 1, with_dead_letters);
    ck_assert_int_eq(send_to(1, "q", "a"), ERR_OK);
    ck_assert_uint_eq(receive_at(1, "q", 1, 0).n, 1);
    ck_assert_uint_eq(receive_at(1, "q", 1, 0).n, 0);
    broker_die(1, false);
    /* To the second broker the dead-letter topic is gone for a while. */
    struct queue_topic *t;
    ck_assert_int_eq(queue_topic_find(world.brokers[2].q, BYTES_OF("dead"), &t), ERR_OK);
    topic_unregister(t);
    elect("q", 2);
    world_pass(1500);
    ck_assert_uint_eq(receive_at(2, "q", 1, 0).n, 0);
    queue_topic_give_back(t);
    ck_assert_str_eq(drain(2, "q"), "");
}
END_TEST

START_TEST(a_fifo_receive_is_answered_when_its_lease_is_committed)
{
    make_topic(1, "q.fifo", 1, 3, 1, NULL);
    ck_assert_int_eq(send_to(1, "q.fifo", "a"), ERR_OK);
    ck_assert_int_eq(send_to(1, "q.fifo", "b"), ERR_OK);
    struct got g = receive_at(1, "q.fifo", 1, 30000);
    ck_assert_uint_eq(g.n, 1);
    broker_die(1, true);
    elect("q.fifo", 2);
    world_pass(500);
    /* The group is still blocked by the lease that the first leader gave. */
    ck_assert_uint_eq(receive_at(2, "q.fifo", 1, 30000).n, 0);
    ck_assert_int_eq(delete_at(2, "q.fifo", g.at[0].receipt), ERR_OK);
    ck_assert_str_eq(drain(2, "q.fifo"), "b");
}
END_TEST

/* ---- copies that were away ---- */

START_TEST(who_led_before_cuts_what_nobody_else_has)
{
    struct request lost;
    make_topic(1, "q", 1, 3, 1, NULL);
    ck_assert_int_eq(send_to(1, "q", "a"), ERR_OK);
    broker_cut_off(1, true);
    request_send(&lost, 1, "q", "lost");
    world_settle();
    ck_assert(!lost.told);
    elect("q", 2);
    world_pass(500);
    ck_assert_int_eq(send_to(2, "q", "b"), ERR_OK);
    broker_cut_off(1, false);
    world_pass(3000);
    ck_assert(lost.told);
    ck_assert_int_eq(lost.err, ERR_UNKNOWN);
    ck_assert_uint_eq(status_of(2, "q", 0).isr_size, 3);
    ck_assert_uint_eq(state_of(1, "q", 0), state_of(2, "q", 0));
    elect("q", 1);
    world_pass(500);
    ck_assert_str_eq(drain(1, "q"), "a b");
}
END_TEST

START_TEST(a_zombie_hands_out_nothing)
{
    make_topic(1, "q", 1, 3, 1, NULL);
    ck_assert_int_eq(send_to(1, "q", "a"), ERR_OK);
    broker_cut_off(1, true);
    elect("q", 2);
    world_pass(3100);
    ck_assert_int_eq(receive_at(1, "q", 1, -1).err, ERR_NOT_ENOUGH);
    ck_assert_uint_eq(receive_at(2, "q", 1, -1).n, 1);
}
END_TEST

/* Its process may have stood still in between. */
START_TEST(leases_that_were_given_are_not_answered_once_nobody_is_heard_of)
{
    struct queue_receive request = {.max = 1, .visibility_ms = -1};
    struct queue_received out[QUEUE_BATCH_MAX];
    struct queue_wait w = {.ready = NULL};
    size_t n = 0;
    make_topic(1, "q", 1, 3, 1, NULL);
    ck_assert_int_eq(send_to(1, "q", "a"), ERR_OK);
    struct queue_topic *t = topic_at(1, "q");
    ck_assert_int_eq(queue_receive(t, &request, &world.arena, out, &n, &w), ERR_OK);
    ck_assert_uint_eq(n, 1);
    fake_clock_pass(&world.clock, 3100);
    ck_assert(!queue_wait_start(&w));
    ck_assert_int_eq(w.err, ERR_NOT_ENOUGH);
    queue_topic_give_back(t);
}
END_TEST

START_TEST(a_lost_disk_is_filled_again)
{
    char body[8];
    make_topic(1, "q", 1, 3, 1, NULL);
    for (int i = 0; i < 20; i++) {
        snprintf(body, sizeof body, "m%02d", i);
        ck_assert_int_eq(send_to(1, "q", body), ERR_OK);
    }
    broker_die(3, true);
    fault_disk_free(world.brokers[3].disk);
    world.brokers[3].disk = fault_disk_new(test_seed() + 7);
    broker_start(3);
    world_pass(1000);
    ck_assert_uint_eq(status_of(1, "q", 0).isr_size, 3);
    ck_assert_uint_eq(state_of(3, "q", 0), state_of(1, "q", 0));
    broker_die(1, true);
    elect("q", 3);
    world_pass(500);
    ck_assert_uint_eq(strlen(drain(3, "q")), 4 * 20 - 1);
}
END_TEST

static void finish_many(uint32_t broker, int n)
{
    send_long(broker, n);
    drain_long(broker, n);
}

/* What can be taken from the log of "q" on a broker is below its older snapshot and its mark. */
static void raise_snapshot(uint32_t broker)
{
    struct queue_topic *t;
    ck_assert_int_eq(queue_topic_find(world.brokers[broker].q, BYTES_OF("q"), &t), ERR_OK);
    snapshot_raise_older(&t->partitions[0], plog_committed(t->partitions[0].log));
    plog_checkpoint_ask(world.brokers[broker].q->plog);
    queue_topic_give_back(t);
}

START_TEST(a_new_copy_begins_with_a_snapshot_where_the_log_was_released)
{
    make_topic(1, "q", 1, 3, 1, NULL);
    struct queue_topic *t;
    ck_assert_int_eq(queue_topic_find(world.brokers[1].q, BYTES_OF("q"), &t), ERR_OK);
    struct queue_partition *p = &t->partitions[0];
    for (int i = 0; i < 3; i++) {
        finish_many(1, 40);
        snapshot_raise_older(p, plog_committed(p->log));
        plog_checkpoint_ask(world.brokers[1].q->plog);
        world_pass(2000);
    }
    ck_assert_uint_gt(plog_start_offset(p->log), 0);
    ck_assert_int_eq(send_to(1, "q", "kept"), ERR_OK);
    queue_topic_give_back(t);
    broker_die(3, true);
    fault_disk_free(world.brokers[3].disk);
    world.brokers[3].disk = fault_disk_new(test_seed() + 7);
    broker_start(3);
    world_pass(2000);
    ck_assert_uint_eq(status_of(1, "q", 0).isr_size, 3);
    ck_assert_uint_gt(status_of(3, "q", 0).start, 0);
    ck_assert_uint_eq(state_of(3, "q", 0), state_of(1, "q", 0));
    broker_die(1, true);
    elect("q", 3);
    world_pass(500);
    ck_assert_str_eq(drain(3, "q"), "kept");
}
END_TEST

static unsigned states_lost;

static void lose_snapshot(void *self, const struct queue_copy_id *of, uint32_t leader,
                          uint64_t epoch)
{
    (void)self, (void)of, (void)leader, (void)epoch;
    states_lost++;
}

/* Broker 3 comes with an empty disk to a log out of which much has been cleaned, and has all of
 * the log, but not the state, when the leader dies. */
START_TEST(who_is_elected_before_a_gap_takes_the_state_of_another_member)
{
    make_topic(1, "q", 1, 3, 1, NULL);
    ck_assert_int_eq(send_to(1, "q", "kept"), ERR_OK);
    struct queue_topic *t;
    ck_assert_int_eq(queue_topic_find(world.brokers[1].q, BYTES_OF("q"), &t), ERR_OK);
    struct queue_partition *p = &t->partitions[0];
    struct got pinned = receive_at(1, "q", 1, 60000);
    ck_assert_uint_eq(pinned.n, 1);
    for (int i = 0; i < 4; i++) {
        finish_many(1, 40);
        for (uint32_t b = 1; b <= BROKERS; b++)
            raise_snapshot(b);
        world_pass(12000);
    }
    ck_assert_uint_eq(plog_start_offset(p->log), 0);
    queue_topic_give_back(t);
    broker_die(3, true);
    fault_disk_free(world.brokers[3].disk);
    world.brokers[3].disk = fault_disk_new(test_seed() + 7);
    broker_die(1, false); /* and with it what it remembers of what was cleaned */
    broker_start(1);
    elect("q", 1);
    void (*carried)(void *, const struct queue_copy_id *, uint32_t, uint64_t) =
        world.brokers[3].links.snapshot;
    world.brokers[3].links.snapshot = lose_snapshot;
    states_lost = 0;
    broker_start(3);
    world_pass(3000);
    ck_assert_uint_eq(states_lost, 1);
    ck_assert_uint_eq(status_of(1, "q", 0).isr_size, 3);
    broker_die(1, true);
    world.brokers[3].links.snapshot = carried;
    elect("q", 3);
    world_pass(3000);
    ck_assert_int_eq(send_to(3, "q", "new"), ERR_OK);
    world_pass(6000); /* the lease of what has been kept ends */
    ck_assert_str_eq(drain(3, "q"), "kept new");
    ck_assert_uint_eq(state_of(3, "q", 0), state_of(2, "q", 0));
}
END_TEST

static unsigned snapshots_seen;

static void flip_snapshot(void *broker, const char *path, uint64_t bytes)
{
    struct broker *b = broker;
    if (strstr(path, ".snap") == NULL)
        return;
    snapshots_seen++;
    fault_disk_flip(b->disk, path, bytes / 2, 3);
}

START_TEST(a_follower_stores_its_state_when_it_stops_and_needs_it_not_if_that_rots)
{
    make_topic(1, "q", 1, 3, 1, NULL);
    send_long(1, 25);
    world_pass(500);
    uint64_t before = status_of(3, "q", 0).incarnation;
    queue_close(world.brokers[3].q);
    world.brokers[3].q = NULL;
    snapshots_seen = 0;
    fault_disk_each(world.brokers[3].disk, flip_snapshot, &world.brokers[3]);
    ck_assert_uint_eq(snapshots_seen, 1);
    broker_start(3);
    world_pass(1000);
    ck_assert_uint_eq(status_of(3, "q", 0).incarnation, before);
    ck_assert_uint_eq(state_of(3, "q", 0), state_of(1, "q", 0));
    elect("q", 3);
    world_pass(500);
    drain_long(3, 25);
}
END_TEST

START_TEST(all_may_stop_and_start_again)
{
    make_topic(1, "q", 2, 3, 1, NULL);
    for (int i = 0; i < 4; i++)
        ck_assert_int_eq(send_to(1, "q", "a"), ERR_OK);
    for (uint32_t i = 1; i <= BROKERS; i++)
        broker_die(i, true);
    for (uint32_t i = 1; i <= BROKERS; i++)
        broker_start(i);
    /* An epoch that may have been led is not led again. */
    ck_assert_int_eq(send_to(1, "q", "b"), ERR_NOT_LEADER);
    elect("q", 2);
    world_pass(500);
    ck_assert_str_eq(drain(2, "q"), "a a a a");
}
END_TEST

START_TEST(a_deleted_topic_goes_everywhere)
{
    make_topic(1, "q", 1, 3, 1, NULL);
    struct queue_topic *t;
    ck_assert_int_eq(queue_topic_find(world.brokers[1].q, BYTES_OF("q"), &t), ERR_OK);
    uint8_t id[16];
    memcpy(id, t->id.at, sizeof id);
    ck_assert_int_eq(queue_topic_delete(t), ERR_OK);
    queue_topic_give_back(t);
    queue_copy_topic_gone(world.brokers[2].q, id);
    queue_copy_topic_gone(world.brokers[3].q, id);
    for (uint32_t i = 1; i <= BROKERS; i++) {
        queue_housekeep(world.brokers[i].q);
        ck_assert_int_eq(queue_topic_find(world.brokers[i].q, BYTES_OF("q"), &t), ERR_NOT_FOUND);
    }
    struct catalog_kvs kvs = {0};
    ck_assert_int_eq(catalog_list(world.catalog, "p/", &kvs), ERR_OK);
    ck_assert_uint_eq(kvs.n, 0);
    catalog_kvs_fini(&kvs);
    make_topic(2, "q", 1, 3, 2, NULL);
    ck_assert_int_eq(send_to(2, "q", "a"), ERR_OK);
}
END_TEST

/* ---- with threads ---- */

enum { THREADED_N = 300 };
static struct request threaded[THREADED_N];

static size_t told_n(void)
{
    size_t n = 0;
    for (size_t i = 0; i < THREADED_N; i++)
        n += __atomic_load_n(&threaded[i].told, __ATOMIC_ACQUIRE);
    return n;
}

/* What comes of a topic that is made on the first broker. */
static enum err birth(const char *name, uint32_t copies, uint32_t min_isr, bool single,
                      uint32_t *copies_got)
{
    struct topic_config config;
    struct queue_topic *t;
    topic_config_init(&config);
    snprintf(config.name, sizeof config.name, "%s", name);
    config.copies = copies;
    config.min_isr = min_isr;
    config.allow_single_copy = single;
    enum err e = queue_topic_create(world.brokers[1].q, &config, &t);
    topic_config_fini(&config);
    if (e == ERR_OK) {
        *copies_got = queue_topic_config(t)->copies;
        ck_assert_uint_le(queue_topic_config(t)->min_isr, *copies_got);
        queue_topic_give_back(t);
    }
    return e;
}

START_TEST(no_topic_silently_gets_fewer_copies_than_are_usual)
{
    uint32_t got = 0;
    broker_die(3, false);
    ck_assert_int_eq(birth("a", 0, 0, false, &got), ERR_TOO_FEW_BROKERS);
    ck_assert_int_eq(birth("a", 3, 0, true, &got), ERR_TOO_FEW_BROKERS);
    ck_assert_int_eq(birth("a", 0, 3, true, &got), ERR_TOO_FEW_BROKERS);
    ck_assert_int_eq(birth("a", 1, 0, false, &got), ERR_SINGLE_COPY);
    ck_assert_int_eq(birth("a", 2, 1, false, &got), ERR_SINGLE_COPY);
    ck_assert_int_eq(birth("a", 2, 0, false, &got), ERR_OK);
    ck_assert_uint_eq(got, 2);
    ck_assert_int_eq(birth("b", 0, 0, true, &got), ERR_OK);
    ck_assert_uint_eq(got, 2);
    broker_die(2, false);
    ck_assert_int_eq(birth("c", 0, 2, true, &got), ERR_TOO_FEW_BROKERS);
    ck_assert_int_eq(birth("c", 0, 0, true, &got), ERR_OK);
    ck_assert_uint_eq(got, 1);
    ck_assert_int_eq(birth("d", 1, 1, true, &got), ERR_OK);
}
END_TEST

START_TEST(brokers_with_their_own_threads_answer_whoever_asked)
{
    size_t unknown_n = 0;
    make_topic(1, "q", 1, 3, 1, NULL);
    for (uint32_t i = 1; i <= BROKERS; i++)
        queue_threads_start(world.brokers[i].q);
    for (size_t i = 0; i < THREADED_N; i++) {
        request_send(&threaded[i], i < 2 * THREADED_N / 3 ? 1 : 2, "q", "x");
        queue_pass_end(world.brokers[i < 2 * THREADED_N / 3 ? 1 : 2].q);
        world_deliver();
        if (i == 2 * THREADED_N / 3)
            elect("q", 2); /* some wait at the first, and are told all the same */
    }
    while (told_n() < THREADED_N)
        if (!world_deliver())
            sched_yield();
    for (uint32_t i = 1; i <= BROKERS; i++)
        queue_threads_stop(world.brokers[i].q);
    world_settle();
    for (size_t i = 0; i < THREADED_N; i++) {
        ck_assert(threaded[i].err == ERR_OK || threaded[i].err == ERR_UNKNOWN ||
                  threaded[i].err == ERR_NOT_LEADER || threaded[i].err == ERR_NOT_READY);
        unknown_n += threaded[i].err != ERR_OK;
    }
    ck_assert_uint_lt(unknown_n, THREADED_N);
    for (uint32_t i = 1; i <= BROKERS; i++)
        ck_assert_uint_eq(status_of(i, "q", 0).durable_end, status_of(2, "q", 0).durable_end);
}
END_TEST

Suite *suite_new(void)
{
    Suite *s = suite_create("copies");
    TCase *t = tcase_create("copies");
    tcase_set_timeout(t, 60);
    tcase_add_checked_fixture(t, world_setup, world_teardown);
    tcase_add_test(t, no_topic_silently_gets_fewer_copies_than_are_usual);
    tcase_add_test(t, a_send_is_answered_once_all_that_are_in_sync_have_it);
    tcase_add_test(t, nothing_is_handed_out_that_is_not_committed);
    tcase_add_test(t, who_does_not_lead_says_so);
    tcase_add_test(t, with_one_copy_left_nothing_is_answered_and_nothing_handed_out);
    tcase_add_test(t, one_copy_that_is_gone_stops_nothing_for_long);
    tcase_add_test(t, a_copy_that_lives_and_fetches_nothing_costs_no_send);
    tcase_add_test(t, a_failover_keeps_every_answered_send_and_delete);
    tcase_add_test(t, a_lease_lasts_as_long_under_the_next_leader);
    tcase_add_test(t, brokers_whose_clocks_differ_end_no_lease_early);
    tcase_add_test(t, a_move_is_not_called_off_because_its_target_is_not_known_here_yet);
    tcase_add_test(t, a_dead_letter_arrives_once_under_whoever_leads);
    tcase_add_test(t, a_fifo_receive_is_answered_when_its_lease_is_committed);
    tcase_add_test(t, who_led_before_cuts_what_nobody_else_has);
    tcase_add_test(t, a_zombie_hands_out_nothing);
    tcase_add_test(t, leases_that_were_given_are_not_answered_once_nobody_is_heard_of);
    tcase_add_test(t, a_lost_disk_is_filled_again);
    tcase_add_test(t, a_new_copy_begins_with_a_snapshot_where_the_log_was_released);
    tcase_add_test(t, who_is_elected_before_a_gap_takes_the_state_of_another_member);
    tcase_add_test(t, a_follower_stores_its_state_when_it_stops_and_needs_it_not_if_that_rots);
    tcase_add_test(t, all_may_stop_and_start_again);
    tcase_add_test(t, a_deleted_topic_goes_everywhere);
    tcase_add_test(t, brokers_with_their_own_threads_answer_whoever_asked);
    suite_add_tcase(s, t);
    suite_add_tcase(s, tcase_repeat());
    suite_add_tcase(s, tcase_rot());
    return s;
}
