// SPDX-License-Identifier: Apache-2.0
/* One replica, told what its brokers 2 and 3 and the catalogue say. It is broker 1. */
#include <string.h>

#include "lib/runner.h"
#include "replica/replica.h"

static struct replica *replica;
static struct replica_effects out;
static struct replica_key key;
static uint64_t log_end;
static int64_t now_ms;
static uint64_t next_random;

static void step(struct replica_event e)
{
    e.random = ++next_random;
    e.log_end = log_end;
    replica_step(replica, &e, now_ms, &out);
}

static const struct replica_effect *effect(enum replica_effect_type type)
{
    for (size_t i = 0; i < out.n; i++)
        if (out.at[i].type == type)
            return &out.at[i];
    return NULL;
}

static struct replica_status look(void)
{
    struct replica_status status;
    replica_look(replica, &status);
    return status;
}

static void tick(int64_t passed_ms)
{
    now_ms += passed_ms;
    step((struct replica_event){.type = REPLICA_EVENT_TICK});
}

static void session(uint32_t broker, bool is_live)
{
    step((struct replica_event){.type = REPLICA_EVENT_SESSION,
                                .session = {.broker = broker, .is_live = is_live}});
}

/* The key changes, and the replica hears of it. */
static void hear(void)
{
    key.version++;
    step((struct replica_event){.type = REPLICA_EVENT_KEY, .key.value = key});
}

/* Answers READ_KEY of the last step with the key as it is. */
static void answer_read(void)
{
    const struct replica_effect *read = effect(REPLICA_EFFECT_READ_KEY);
    ck_assert_ptr_nonnull(read);
    step((struct replica_event){.type = REPLICA_EVENT_KEY,
                                .key = {.value = key, .serial = read->read_key.serial}});
}

static void durable(uint64_t end, uint64_t last_epoch)
{
    log_end = end > log_end ? end : log_end;
    step((struct replica_event){.type = REPLICA_EVENT_DURABLE,
                                .durable = {.end = end, .last_epoch = last_epoch}});
}

static int64_t echo_ms;

static void fetch(uint32_t broker, uint64_t epoch, uint64_t offset, uint64_t last_epoch)
{
    step((struct replica_event){.type = REPLICA_EVENT_FETCH,
                                .fetch.request = {.broker = broker,
                                                  .serial = 7,
                                                  .epoch = epoch,
                                                  .incarnation = 100 + broker,
                                                  .offset = offset,
                                                  .last_epoch = last_epoch,
                                                  .echo_ms = echo_ms}});
    const struct replica_effect *answer = effect(REPLICA_EFFECT_ANSWER);
    ck_assert_ptr_nonnull(answer);
    ck_assert_uint_eq(answer->answer.answer.serial, 7);
    echo_ms = answer->answer.answer.sent_ms;
}

static enum replica_fetch_status fetch_status(void)
{
    return effect(REPLICA_EFFECT_ANSWER)->answer.answer.status;
}

/* Answers the fetch that was asked for last. */
static void reply(uint64_t serial, struct replica_answer answer,
                  const struct replica_batch *batches, size_t n)
{
    answer.serial = serial;
    step((struct replica_event){
        .type = REPLICA_EVENT_ANSWER,
        .answer = {.broker = 2, .answer = answer, .batches = batches, .batches_n = n}});
}

static uint64_t asked(void)
{
    const struct replica_effect *e = effect(REPLICA_EFFECT_FETCH);
    ck_assert_ptr_nonnull(e);
    return e->fetch.request.serial;
}

/* A replica with this log (epochs[i] wrote from starts[i] on), in a partition of `members`, all in
 * sync, led by broker 2 in `epoch`; it has read the key. */
static void begin(size_t members, uint32_t min_isr, uint64_t epoch, uint64_t end,
                  const struct replica_epoch *epochs, size_t epochs_n)
{
    struct replica_config config;
    replica_config_default(&config, 1);
    struct replica_recovered found = {
        .incarnation = 101, .end = end, .epochs = epochs, .epochs_n = epochs_n};
    replica_free(replica);
    replica = replica_new(&config, &found);
    now_ms = 1000000;
    next_random = 1000;
    echo_ms = 0;
    log_end = end;
    key = (struct replica_key){.version = 50,
                               .epoch = epoch,
                               .leader = epoch == 0 || members < 2 ? 0 : 2,
                               .min_isr = min_isr,
                               .members_n = members};
    for (size_t i = 0; i < members; i++)
        key.members[i] = (struct replica_member){
            .broker = (uint32_t)i + 1, .in_isr = true, .incarnation = 101 + i};
    tick(0);
    answer_read();
    for (size_t i = 1; i < members; i++)
        session((uint32_t)i + 1, true);
}

/* Broker 1 leads the next epoch, whose EPOCH record is durable. */
static void lead(void)
{
    key.epoch++;
    key.leader = 1;
    hear();
    ck_assert_ptr_nonnull(effect(REPLICA_EFFECT_LEAD));
    ck_assert_uint_eq(look().leso, log_end);
    log_end++;
    durable(log_end, key.epoch);
}

static void teardown(void)
{
    replica_free(replica);
    replica = NULL;
}

/* ---- leading ---- */

START_TEST(a_partition_on_one_node_commits_by_itself)
{
    begin(1, 1, 0, 0, NULL, 0);
    lead();
    ck_assert_ptr_nonnull(effect(REPLICA_EFFECT_READY));
    ck_assert_uint_eq(look().high_water, 1);
    ck_assert_int_eq(replica_may_append(replica), REPLICA_GATE_OPEN);
    tick(60000);
    ck_assert_int_eq(replica_may_receive(replica, now_ms), REPLICA_GATE_OPEN);
    durable(4, 1);
    ck_assert_uint_eq(effect(REPLICA_EFFECT_HIGH_WATER)->high_water.end, 4);
}
END_TEST

START_TEST(a_record_is_committed_when_all_in_sync_have_it_durable)
{
    begin(3, 2, 0, 0, NULL, 0);
    lead();
    log_end = 5; /* appended, of which three are durable */
    durable(3, 1);
    fetch(2, 1, 3, 1);
    ck_assert_uint_eq(look().high_water, 0);
    ck_assert_int_eq(replica_may_append(replica), REPLICA_GATE_NOT_READY);
    fetch(3, 1, 2, 1);
    ck_assert_uint_eq(look().high_water, 2);
    ck_assert_ptr_nonnull(effect(REPLICA_EFFECT_READY));
    fetch(3, 1, 3, 1);
    ck_assert_uint_eq(look().high_water, 3);
    ck_assert(effect(REPLICA_EFFECT_ANSWER)->answer.answer.high_water == 3);
}
END_TEST

START_TEST(an_epoch_found_at_the_start_is_not_led)
{
    begin(3, 2, 4, 0, NULL, 0);
    key.leader = 1;
    hear();
    ck_assert_ptr_null(effect(REPLICA_EFFECT_LEAD));
    fetch(2, 4, 0, 0);
    ck_assert_int_eq(fetch_status(), REPLICA_FETCH_NOT_LEADER);
    lead();
    ck_assert_uint_eq(look().epoch, 5);
}
END_TEST

START_TEST(a_request_of_another_epoch_or_incarnation_is_not_counted)
{
    begin(2, 2, 1, 0, NULL, 0);
    lead();
    fetch(2, 1, 1, 2);
    ck_assert_int_eq(fetch_status(), REPLICA_FETCH_FENCED);
    key.members[1].incarnation = 999;
    hear();
    fetch(2, 2, 1, 2);
    ck_assert_int_eq(fetch_status(), REPLICA_FETCH_BAD_INCARNATION);
    ck_assert_uint_eq(look().high_water, 0);
}
END_TEST

START_TEST(an_acknowledgement_of_a_lost_disk_does_not_count_for_the_new_one)
{
    begin(2, 2, 1, 0, NULL, 0);
    lead();
    log_end = 2;
    fetch(2, 2, 1, 2);
    ck_assert_uint_eq(look().high_water, 1);
    durable(2, 2);
    key.members[1].incarnation = 999;
    hear();
    step((struct replica_event){
        .type = REPLICA_EVENT_FETCH,
        .fetch.request = {.broker = 2, .epoch = 2, .incarnation = 999, .offset = 0}});
    ck_assert_int_eq(fetch_status(), REPLICA_FETCH_OK);
    ck_assert_uint_eq(look().high_water, 1);
}
END_TEST

START_TEST(a_newer_epoch_in_a_request_silences_the_leader)
{
    begin(1, 1, 0, 0, NULL, 0);
    lead();
    fetch(2, 3, 0, 0);
    ck_assert_int_eq(fetch_status(), REPLICA_FETCH_AHEAD);
    ck_assert_int_eq(replica_may_append(replica), REPLICA_GATE_NOT_LEADER);
    durable(2, 1);
    ck_assert_uint_eq(look().high_water, 1);
    tick(100);
    ck_assert_ptr_nonnull(effect(REPLICA_EFFECT_READ_KEY));
}
END_TEST

START_TEST(a_leader_that_slept_refuses_receives_as_soon_as_it_runs)
{
    begin(3, 2, 0, 0, NULL, 0);
    lead();
    fetch(2, 1, 1, 1);
    fetch(3, 1, 1, 1);
    ck_assert_int_eq(replica_may_receive(replica, now_ms), REPLICA_GATE_OPEN);
    ck_assert_int_eq(replica_may_receive(replica, now_ms + 2999), REPLICA_GATE_OPEN);
    ck_assert_int_eq(replica_may_receive(replica, now_ms + 3000), REPLICA_GATE_STALE);
    ck_assert_int_eq(replica_may_append(replica), REPLICA_GATE_OPEN);
    /* A request that lay in the socket meanwhile tells nothing of now. */
    now_ms += 60000;
    fetch(2, 1, 1, 1);
    ck_assert_int_eq(replica_may_receive(replica, now_ms), REPLICA_GATE_STALE);
    fetch(2, 1, 1, 1);
    ck_assert_int_eq(replica_may_receive(replica, now_ms), REPLICA_GATE_OPEN);
}
END_TEST

/* ---- the in-sync set ---- */

START_TEST(a_late_member_leaves_but_none_below_the_minimum)
{
    begin(3, 2, 0, 0, NULL, 0);
    lead();
    fetch(2, 1, 1, 1);
    tick(5000);
    ck_assert_ptr_null(effect(REPLICA_EFFECT_SWAP));
    tick(1);
    const struct replica_effect *swap = effect(REPLICA_EFFECT_SWAP);
    ck_assert_ptr_nonnull(swap);
    ck_assert_uint_eq(replica_key_isr_size(&swap->swap.value), 2);
    ck_assert_int_eq(swap->swap.value.version, key.version);
    uint64_t op = swap->swap.value.op;
    step((struct replica_event){
        .type = REPLICA_EVENT_SWAP,
        .swap = {.op = op, .outcome = REPLICA_SWAP_WON, .version = key.version + 1}});
    ck_assert_uint_eq(look().isr_size, 2);
    tick(60000);
    ck_assert_ptr_null(effect(REPLICA_EFFECT_SWAP));
}
END_TEST

START_TEST(who_leaves_counts_until_the_version_is_seen_to_have_moved)
{
    begin(3, 2, 0, 0, NULL, 0);
    lead();
    session(3, false);
    const struct replica_effect *swap = effect(REPLICA_EFFECT_SWAP);
    ck_assert_ptr_nonnull(swap);
    struct replica_key proposed = swap->swap.value;
    ck_assert(!proposed.members[2].in_isr);
    fetch(2, 1, 1, 1);
    ck_assert_uint_eq(look().high_water, 0);
    step((struct replica_event){.type = REPLICA_EVENT_SWAP,
                                .swap = {.op = proposed.op, .outcome = REPLICA_SWAP_UNKNOWN}});
    ck_assert_uint_eq(look().high_water, 0);
    tick(100);
    answer_read(); /* unmoved: the same once more */
    swap = effect(REPLICA_EFFECT_SWAP);
    ck_assert_ptr_nonnull(swap);
    ck_assert_mem_eq(&swap->swap.value, &proposed, sizeof proposed);
    key = proposed;
    key.version = proposed.version;
    hear();
    ck_assert_uint_eq(look().high_water, 1);
}
END_TEST

START_TEST(who_joins_counts_at_once_and_while_the_outcome_is_unknown)
{
    begin(3, 2, 0, 0, NULL, 0);
    key.members[2].in_isr = false;
    lead();
    fetch(2, 1, 1, 1);
    ck_assert_uint_eq(look().high_water, 1);
    fetch(3, 1, 1, 1);
    const struct replica_effect *swap = effect(REPLICA_EFFECT_SWAP);
    ck_assert_ptr_nonnull(swap);
    uint64_t op = swap->swap.value.op;
    durable(2, 1);
    fetch(2, 1, 2, 1);
    ck_assert_uint_eq(look().high_water, 1);
    step((struct replica_event){.type = REPLICA_EVENT_SWAP,
                                .swap = {.op = op, .outcome = REPLICA_SWAP_UNKNOWN}});
    ck_assert(look().swap_is_open);
    ck_assert_uint_eq(look().high_water, 1);
    fetch(3, 1, 2, 1);
    ck_assert_uint_eq(look().high_water, 2);
}
END_TEST

START_TEST(nobody_joins_below_where_the_epoch_began)
{
    const struct replica_epoch old = {.epoch = 1};
    begin(3, 2, 1, 6, &old, 1);
    key.members[2].in_isr = false;
    lead();
    ck_assert_uint_eq(look().high_water, 0); /* a mark behind that of the old leader */
    fetch(3, 2, 5, 1);
    ck_assert_ptr_null(effect(REPLICA_EFFECT_SWAP));
    fetch(3, 2, 6, 1);
    ck_assert_ptr_nonnull(effect(REPLICA_EFFECT_SWAP));
}
END_TEST

START_TEST(with_too_few_in_sync_nothing_is_committed)
{
    begin(3, 2, 0, 0, NULL, 0);
    key.members[1].in_isr = key.members[2].in_isr = false;
    lead();
    ck_assert_uint_eq(look().high_water, 0);
    ck_assert_int_eq(replica_may_append(replica), REPLICA_GATE_NOT_ENOUGH);
}
END_TEST

/* ---- following ---- */

START_TEST(a_follower_asks_from_what_is_durable_and_stores_what_follows)
{
    const struct replica_epoch old = {.epoch = 1};
    begin(3, 2, 2, 4, &old, 1);
    session(2, true);
    tick(2000);
    const struct replica_effect *e = effect(REPLICA_EFFECT_FETCH);
    ck_assert_ptr_nonnull(e);
    ck_assert_uint_eq(e->fetch.request.offset, 4);
    ck_assert_uint_eq(e->fetch.request.last_epoch, 1);
    const struct replica_batch batches[] = {
        {.base = 4, .end = 6, .epoch = 1}, {.base = 6, .end = 9, .epoch = 2}, {9, 10, 1}};
    reply(asked(), (struct replica_answer){.epoch = 2, .high_water = 8}, batches, 3);
    ck_assert_uint_eq(effect(REPLICA_EFFECT_STORE)->store.batches_n, 2);
    ck_assert_uint_eq(effect(REPLICA_EFFECT_HIGH_WATER)->high_water.end, 4);
    log_end = 9;
    tick(5000); /* not durable: not asked again */
    ck_assert_ptr_null(effect(REPLICA_EFFECT_FETCH));
    durable(7, 2);
    ck_assert_uint_eq(look().high_water, 7);
    durable(9, 2);
    ck_assert_uint_eq(look().high_water, 8);
    ck_assert_uint_eq(effect(REPLICA_EFFECT_FETCH)->fetch.request.offset, 9);
}
END_TEST

START_TEST(an_answer_of_another_epoch_is_not_obeyed)
{
    const struct replica_epoch old = {.epoch = 1};
    const struct replica_batch batch = {.base = 4, .end = 5, .epoch = 1};
    begin(3, 2, 2, 4, &old, 1);
    tick(2000);
    reply(asked(), (struct replica_answer){.epoch = 3, .high_water = 4}, &batch, 1);
    ck_assert_ptr_null(effect(REPLICA_EFFECT_STORE));
    ck_assert_uint_eq(look().high_water, 0);
    ck_assert_ptr_nonnull(effect(REPLICA_EFFECT_READ_KEY));
    tick(100);
    reply(asked() + 1, (struct replica_answer){.epoch = 2}, &batch, 1); /* to another request */
    ck_assert_ptr_null(effect(REPLICA_EFFECT_STORE));
}
END_TEST

START_TEST(a_follower_cuts_where_the_logs_part)
{
    const struct replica_epoch old[] = {{1, 0}, {2, 5}, {4, 8}};
    begin(3, 2, 5, 10, old, 3);
    tick(2000);
    /* The leader's epoch 2 reaches further than ours, ours is the shorter. */
    reply(asked(),
          (struct replica_answer){
              .status = REPLICA_FETCH_DIVERGE, .epoch = 5, .diverge_epoch = 2, .diverge_end = 9},
          NULL, 0);
    ck_assert_uint_eq(effect(REPLICA_EFFECT_TRUNCATE)->truncate.end, 8);
    tick(3000);
    ck_assert_ptr_null(effect(REPLICA_EFFECT_FETCH));
    log_end = 8;
    step((struct replica_event){.type = REPLICA_EVENT_TRUNCATED, .truncated.end = 8});
    ck_assert_uint_eq(effect(REPLICA_EFFECT_FETCH)->fetch.request.last_epoch, 2);
}
END_TEST

/* Epoch 3's end over there, 8, need not be the end of a batch of our epoch 1. */
START_TEST(a_follower_without_the_leaders_epoch_cuts_where_its_own_older_one_ends)
{
    const struct replica_epoch old[] = {{1, 0}, {4, 11}};
    begin(3, 2, 5, 12, old, 2);
    tick(2000);
    reply(asked(),
          (struct replica_answer){
              .status = REPLICA_FETCH_DIVERGE, .epoch = 5, .diverge_epoch = 3, .diverge_end = 8},
          NULL, 0);
    ck_assert_uint_eq(effect(REPLICA_EFFECT_TRUNCATE)->truncate.end, 11);
    log_end = 11;
    step((struct replica_event){.type = REPLICA_EVENT_TRUNCATED, .truncated.end = 11});
    ck_assert_uint_eq(effect(REPLICA_EFFECT_FETCH)->fetch.request.last_epoch, 1);
    reply(asked(),
          (struct replica_answer){
              .status = REPLICA_FETCH_DIVERGE, .epoch = 5, .diverge_epoch = 1, .diverge_end = 7},
          NULL, 0);
    ck_assert_uint_eq(effect(REPLICA_EFFECT_TRUNCATE)->truncate.end, 7);
}
END_TEST

static void follow_with_high_water(void)
{
    const struct replica_epoch old[] = {{1, 0}, {2, 5}};
    begin(3, 2, 5, 10, old, 2);
    tick(2000);
    reply(asked(), (struct replica_answer){.epoch = 5, .high_water = 7}, NULL, 0);
    ck_assert_uint_eq(look().high_water, 7);
}

START_TEST(a_follower_told_to_cut_what_is_committed_stops_instead)
{
    follow_with_high_water();
    reply(asked(),
          (struct replica_answer){
              .status = REPLICA_FETCH_DIVERGE, .epoch = 5, .diverge_epoch = 2, .diverge_end = 6},
          NULL, 0);
    ck_assert_ptr_null(effect(REPLICA_EFFECT_TRUNCATE));
    const struct replica_effect *e = effect(REPLICA_EFFECT_QUARANTINE);
    ck_assert_ptr_nonnull(e);
    ck_assert_int_eq(e->quarantine.reason, REPLICA_QUARANTINE_BELOW_HIGH_WATER);
    tick(60000);
    ck_assert_uint_eq(out.n, 0);
    ck_assert_int_eq(look().health, REPLICA_HEALTH_QUARANTINED);
}
END_TEST

START_TEST(a_follower_begins_anew_only_behind_its_high_water_mark)
{
    follow_with_high_water();
    struct replica_answer below = {
        .status = REPLICA_FETCH_BELOW_START, .epoch = 5, .start = 7, .start_last_epoch = 2};
    reply(asked(), below, NULL, 0);
    ck_assert_uint_eq(effect(REPLICA_EFFECT_SNAPSHOT)->snapshot.start, 7);
    follow_with_high_water();
    below.start = 6;
    reply(asked(), below, NULL, 0);
    ck_assert_ptr_nonnull(effect(REPLICA_EFFECT_QUARANTINE));
}
END_TEST

START_TEST(a_leader_whose_released_part_holds_the_parting_sends_its_snapshot)
{
    const struct replica_epoch old[] = {{1, 0}, {3, 5}};
    begin(1, 1, 3, 10, old, 2);
    key.members[1] = (struct replica_member){.broker = 2, .incarnation = 102};
    key.members_n = 2;
    lead();
    step((struct replica_event){.type = REPLICA_EVENT_RELEASED, .released.start = 8});
    fetch(2, 4, 9, 2);
    ck_assert_int_eq(fetch_status(), REPLICA_FETCH_BELOW_START);
    ck_assert_uint_eq(effect(REPLICA_EFFECT_ANSWER)->answer.answer.start_last_epoch, 3);
    fetch(2, 4, 12, 3);
    ck_assert_int_eq(fetch_status(), REPLICA_FETCH_DIVERGE);
    ck_assert_uint_eq(effect(REPLICA_EFFECT_ANSWER)->answer.answer.diverge_end, 10);
}
END_TEST

/* Both took [10, 12) from the leader before, and the other one has synced it first. Were it told to
 * cut, its request, coming a second time behind that, would count what it has no more. */
START_TEST(what_this_leader_still_syncs_is_not_called_a_parting)
{
    const struct replica_epoch old = {.epoch = 3};
    begin(2, 2, 3, 10, &old, 1);
    tick(2000);
    const struct replica_batch two = {.base = 10, .end = 12, .epoch = 3};
    reply(asked(), (struct replica_answer){.status = REPLICA_FETCH_OK, .epoch = 3}, &two, 1);
    log_end = 12;
    key.epoch = 4;
    key.leader = 1;
    hear();
    ck_assert_ptr_nonnull(effect(REPLICA_EFFECT_LEAD));
    log_end = 13;
    fetch(2, 4, 12, 3);
    ck_assert_int_eq(fetch_status(), REPLICA_FETCH_OK);
    ck_assert_uint_eq(look().high_water, 10);
    fetch(2, 4, 14, 3);
    ck_assert_int_eq(fetch_status(), REPLICA_FETCH_DIVERGE);
    ck_assert_uint_eq(effect(REPLICA_EFFECT_ANSWER)->answer.answer.diverge_end, 12);
    durable(13, 4);
    ck_assert_uint_eq(look().high_water, 12);
}
END_TEST

/* ---- incarnations, and the catalogue ---- */

START_TEST(damage_draws_an_incarnation_and_is_silent_until_the_key_shows_it)
{
    const struct replica_epoch old = {.epoch = 1};
    begin(3, 2, 1, 4, &old, 1);
    step((struct replica_event){.type = REPLICA_EVENT_DAMAGE});
    const struct replica_effect *adopt = effect(REPLICA_EFFECT_ADOPT);
    const struct replica_effect *swap = effect(REPLICA_EFFECT_SWAP);
    ck_assert_ptr_nonnull(adopt);
    ck_assert_ptr_nonnull(swap);
    ck_assert(adopt < swap);
    ck_assert(!swap->swap.value.members[0].in_isr);
    ck_assert_uint_eq(swap->swap.value.members[0].incarnation, adopt->adopt.incarnation);
    struct replica_key won = swap->swap.value;
    tick(5000);
    ck_assert_ptr_null(effect(REPLICA_EFFECT_FETCH));
    fetch(2, 1, 0, 0);
    ck_assert_int_eq(fetch_status(), REPLICA_FETCH_NOT_LEADER);
    key = won;
    hear();
    ck_assert_ptr_nonnull(effect(REPLICA_EFFECT_DISCARD));
    ck_assert_ptr_null(effect(REPLICA_EFFECT_FETCH));
    log_end = 0;
    step((struct replica_event){.type = REPLICA_EVENT_DISCARDED});
    ck_assert_uint_eq(effect(REPLICA_EFFECT_FETCH)->fetch.request.offset, 0);
}
END_TEST

START_TEST(the_last_copy_is_kept_though_damaged)
{
    const struct replica_epoch old = {.epoch = 1};
    begin(3, 2, 1, 4, &old, 1);
    key.members[1].in_isr = key.members[2].in_isr = false;
    hear();
    step((struct replica_event){.type = REPLICA_EVENT_DAMAGE});
    ck_assert_ptr_null(effect(REPLICA_EFFECT_ADOPT));
    answer_read(); /* somebody may have joined meanwhile: nobody has */
    ck_assert_int_eq(effect(REPLICA_EFFECT_QUARANTINE)->quarantine.reason,
                     REPLICA_QUARANTINE_LAST_COPY);
}
END_TEST

START_TEST(a_catalogue_that_went_back_is_not_believed)
{
    begin(3, 2, 5, 0, NULL, 0);
    step((struct replica_event){.type = REPLICA_EVENT_KEY, .key.value = {0}});
    ck_assert_int_eq(look().health, REPLICA_HEALTH_OK); /* nonsense is no news */
    lead();
    fetch(2, 9, 0, 0);
    tick(100);
    key.version--;
    answer_read();
    ck_assert_ptr_nonnull(effect(REPLICA_EFFECT_STOP_LEADING));
    ck_assert_int_eq(look().quarantine, REPLICA_QUARANTINE_CATALOGUE_BACK);
}
END_TEST

START_TEST(a_failed_disk_ends_a_leadership_and_all_else)
{
    begin(1, 1, 0, 0, NULL, 0);
    lead();
    step((struct replica_event){.type = REPLICA_EVENT_DISK_FAILED});
    ck_assert_ptr_nonnull(effect(REPLICA_EFFECT_STOP_LEADING));
    ck_assert_int_eq(effect(REPLICA_EFFECT_QUARANTINE)->quarantine.reason, REPLICA_QUARANTINE_DISK);
    ck_assert_int_eq(replica_may_append(replica), REPLICA_GATE_NOT_LEADER);
    hear();
    ck_assert_uint_eq(out.n, 0);
    fetch(2, 1, 0, 0);
    ck_assert_int_eq(fetch_status(), REPLICA_FETCH_NOT_LEADER);
}
END_TEST

START_TEST(old_news_are_no_news)
{
    begin(3, 2, 5, 0, NULL, 0);
    lead();
    struct replica_key old = key;
    old.version -= 1;
    old.epoch -= 1;
    old.leader = 2;
    step((struct replica_event){.type = REPLICA_EVENT_KEY, .key.value = old});
    ck_assert_ptr_null(effect(REPLICA_EFFECT_STOP_LEADING));
    ck_assert(look().is_leading);
}
END_TEST

static void add_leading(Suite *suite)
{
    TCase *t = tcase_create("leading");
    tcase_add_checked_fixture(t, NULL, teardown);
    tcase_add_test(t, a_partition_on_one_node_commits_by_itself);
    tcase_add_test(t, a_record_is_committed_when_all_in_sync_have_it_durable);
    tcase_add_test(t, an_epoch_found_at_the_start_is_not_led);
    tcase_add_test(t, a_request_of_another_epoch_or_incarnation_is_not_counted);
    tcase_add_test(t, an_acknowledgement_of_a_lost_disk_does_not_count_for_the_new_one);
    tcase_add_test(t, a_newer_epoch_in_a_request_silences_the_leader);
    tcase_add_test(t, a_leader_that_slept_refuses_receives_as_soon_as_it_runs);
    tcase_add_test(t, a_late_member_leaves_but_none_below_the_minimum);
    tcase_add_test(t, who_leaves_counts_until_the_version_is_seen_to_have_moved);
    tcase_add_test(t, who_joins_counts_at_once_and_while_the_outcome_is_unknown);
    tcase_add_test(t, nobody_joins_below_where_the_epoch_began);
    tcase_add_test(t, with_too_few_in_sync_nothing_is_committed);
    suite_add_tcase(suite, t);
}

Suite *suite_new(void)
{
    Suite *suite = suite_create("replica");
    add_leading(suite);
    TCase *t = tcase_create("following");
    tcase_add_checked_fixture(t, NULL, teardown);
    tcase_add_test(t, a_follower_asks_from_what_is_durable_and_stores_what_follows);
    tcase_add_test(t, an_answer_of_another_epoch_is_not_obeyed);
    tcase_add_test(t, a_follower_cuts_where_the_logs_part);
    tcase_add_test(t, a_follower_without_the_leaders_epoch_cuts_where_its_own_older_one_ends);
    tcase_add_test(t, a_follower_told_to_cut_what_is_committed_stops_instead);
    tcase_add_test(t, a_follower_begins_anew_only_behind_its_high_water_mark);
    tcase_add_test(t, a_leader_whose_released_part_holds_the_parting_sends_its_snapshot);
    tcase_add_test(t, what_this_leader_still_syncs_is_not_called_a_parting);
    tcase_add_test(t, damage_draws_an_incarnation_and_is_silent_until_the_key_shows_it);
    tcase_add_test(t, the_last_copy_is_kept_though_damaged);
    tcase_add_test(t, a_catalogue_that_went_back_is_not_believed);
    tcase_add_test(t, a_failed_disk_ends_a_leadership_and_all_else);
    tcase_add_test(t, old_news_are_no_news);
    suite_add_tcase(suite, t);
    return suite;
}
