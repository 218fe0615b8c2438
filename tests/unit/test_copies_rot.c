// SPDX-License-Identifier: Apache-2.0
/* Bytes of a copy that are not what was stored: whoever finds them, and when, the copy is made anew
 * from another one, and only where there is none it goes on with what it has. */
#include <stdio.h>
#include <string.h>

#include "copies_fixture.h"

static void flip_in_log(void *broker, const char *path, uint64_t bytes)
{
    struct broker *b = broker;
    if (strstr(path, ".log") != NULL && bytes > 80)
        fault_disk_flip(b->disk, path, 70, 3);
}

START_TEST(a_copy_whose_bytes_have_rotted_is_made_anew)
{
    make_topic(1, "q", 1, 3, 1, NULL);
    ck_assert_int_eq(send_to(1, "q", "a"), ERR_OK);
    ck_assert_int_eq(send_to(1, "q", "b"), ERR_OK);
    uint64_t before = status_of(3, "q", 0).incarnation;
    queue_close(world.brokers[3].q);
    world.brokers[3].q = NULL;
    fault_disk_each(world.brokers[3].disk, flip_in_log, &world.brokers[3]);
    broker_start(3);
    world_pass(2000);
    ck_assert_uint_ne(status_of(3, "q", 0).incarnation, before);
    ck_assert_uint_eq(status_of(1, "q", 0).isr_size, 3);
    ck_assert_uint_eq(state_of(3, "q", 0), state_of(1, "q", 0));
    broker_die(1, true);
    elect("q", 3);
    world_pass(500);
    ck_assert_str_eq(drain(3, "q"), "a b");
}
END_TEST

/* Nobody could follow it, and nobody would take its place while it lives. */
START_TEST(a_leader_that_cannot_read_its_log_makes_room_for_another)
{
    make_topic(1, "q", 1, 3, 1, NULL);
    ck_assert_int_eq(send_to(1, "q", "a"), ERR_OK);
    ck_assert_int_eq(send_to(1, "q", "b"), ERR_OK);
    queue_close(world.brokers[1].q);
    world.brokers[1].q = NULL;
    broker_start(1); /* so that nothing is cached */
    elect("q", 1);
    world_pass(500);
    uint64_t before = status_of(1, "q", 0).incarnation;
    fault_disk_each(world.brokers[1].disk, flip_in_log, &world.brokers[1]);
    broker_die(3, true);
    fault_disk_free(world.brokers[3].disk);
    world.brokers[3].disk = fault_disk_new(test_seed() + 7);
    broker_start(3);
    world_pass(2000);
    ck_assert_uint_ne(key_of("q", 0).leader, 1);
    elect("q", 2);
    world_pass(2000);
    ck_assert_uint_ne(status_of(1, "q", 0).incarnation, before);
    ck_assert_uint_eq(status_of(2, "q", 0).isr_size, 3);
    ck_assert_uint_eq(state_of(1, "q", 0), state_of(2, "q", 0));
    ck_assert_str_eq(drain(2, "q"), "a b");
}
END_TEST

static void flip_behind_mark(void *broker, const char *path, uint64_t bytes)
{
    struct broker *b = broker;
    if (strstr(path, ".log") != NULL && bytes > 30000)
        fault_disk_flip(b->disk, path, bytes / 2, 3);
}

/* A start does not read what is below the mark, so it is found when it is folded, or read. */
static void rot_of(uint32_t broker)
{
    make_topic(1, "q", 1, 3, 1, NULL);
    send_long(1, 25);
    for (uint32_t b = 1; b <= BROKERS; b++)
        plog_checkpoint_ask(world.brokers[b].q->plog);
    world_pass(1000);
    uint64_t before = status_of(broker, "q", 0).incarnation;
    broker_die(broker, false);
    fault_disk_each(world.brokers[broker].disk, flip_behind_mark, &world.brokers[broker]);
    broker_start(broker);
    if (broker == 1)
        elect("q", 1);
    world_pass(2000);
    if (broker == 1)
        elect("q", 2);
    world_pass(2000);
    ck_assert_uint_ne(status_of(broker, "q", 0).incarnation, before);
    elect("q", broker); /* it is in sync again */
    world_pass(1000);
    drain_long(broker, 25);
}

START_TEST(a_follower_that_finds_rot_behind_the_mark_is_made_anew)
{
    rot_of(3);
}
END_TEST

START_TEST(a_leader_that_finds_rot_behind_the_mark_gives_way_and_is_made_anew)
{
    rot_of(1);
}
END_TEST

START_TEST(the_only_copy_goes_on_with_what_has_not_rotted)
{
    make_topic(1, "q", 1, 1, 1, NULL);
    send_long(1, 25);
    world_pass(500);
    queue_close(world.brokers[1].q);
    world.brokers[1].q = NULL;
    fault_disk_each(world.brokers[1].disk, flip_behind_mark, &world.brokers[1]);
    broker_start(1);
    elect("q", 1);
    world_pass(500);
    for (int i = 0; i < 3; i++)
        ck_assert_uint_le(receive_at(1, "q", 10, 1000).n, 10);
    ck_assert_int_eq(status_of(1, "q", 0).quarantine, REPLICA_QUARANTINE_NONE);
    ck_assert_int_eq(send_to(1, "q", "more"), ERR_OK);
}
END_TEST

START_TEST(a_leader_whose_client_meets_rot_gives_way_and_is_made_anew)
{
    make_topic(1, "q", 1, 3, 1, NULL);
    send_long(1, 25);
    world_pass(500);
    queue_close(world.brokers[1].q); /* with a snapshot, so that a start folds nothing */
    world.brokers[1].q = NULL;
    fault_disk_each(world.brokers[1].disk, flip_behind_mark, &world.brokers[1]);
    broker_start(1);
    elect("q", 1);
    world_pass(500);
    uint64_t before = status_of(1, "q", 0).incarnation;
    for (int i = 0; i < 3; i++)
        ck_assert_uint_le(receive_at(1, "q", 10, 1000).n, 10);
    world_pass(2000);
    ck_assert_uint_ne(status_of(1, "q", 0).incarnation, before);
    elect("q", 2);
    world_pass(2000);
    drain_long(2, 25);
}
END_TEST

static void flip_before_last(void *broker, const char *path, uint64_t bytes)
{
    struct broker *b = broker;
    if (strstr(path, ".log") != NULL && bytes > 30000)
        fault_disk_flip(b->disk, path, bytes - 500, 3);
}

/* What follows the rot was never committed and is to go, and the place to cut at is not found. */
START_TEST(a_copy_that_has_rotted_where_it_is_to_be_cut_is_made_anew)
{
    struct request lost;
    make_topic(1, "q", 1, 3, 1, NULL);
    send_long(1, 25);
    broker_cut_off(1, true);
    request_send(&lost, 1, "q", "lost");
    queue_commit_all(world.brokers[1].q);
    broker_die(1, false);
    broker_start(1); /* which writes into the segment what the journal had, and leads no more */
    uint64_t before = status_of(1, "q", 0).incarnation;
    fault_disk_each(world.brokers[1].disk, flip_before_last, &world.brokers[1]);
    elect("q", 2);
    world_pass(3000);
    ck_assert_uint_ne(status_of(1, "q", 0).incarnation, before);
    ck_assert_uint_eq(status_of(2, "q", 0).isr_size, 3);
    ck_assert_int_eq(status_of(1, "q", 0).quarantine, REPLICA_QUARANTINE_NONE);
    elect("q", 1);
    world_pass(1000);
    drain_long(1, 25);
}
END_TEST

TCase *tcase_rot(void)
{
    TCase *t = tcase_create("rot");
    tcase_set_timeout(t, 60);
    tcase_add_checked_fixture(t, world_setup, world_teardown);
    tcase_add_test(t, a_copy_whose_bytes_have_rotted_is_made_anew);
    tcase_add_test(t, a_leader_that_cannot_read_its_log_makes_room_for_another);
    tcase_add_test(t, a_follower_that_finds_rot_behind_the_mark_is_made_anew);
    tcase_add_test(t, a_leader_that_finds_rot_behind_the_mark_gives_way_and_is_made_anew);
    tcase_add_test(t, the_only_copy_goes_on_with_what_has_not_rotted);
    tcase_add_test(t, a_leader_whose_client_meets_rot_gives_way_and_is_made_anew);
    tcase_add_test(t, a_copy_that_has_rotted_where_it_is_to_be_cut_is_made_anew);
    return t;
}
