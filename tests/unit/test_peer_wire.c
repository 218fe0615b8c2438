// SPDX-License-Identifier: Apache-2.0
/* The forms of what brokers send each other: what is written is read as the same, and bytes that
 * were cut or bent are refused or read as something else that is sound. */
#include <stdlib.h>

#include "base/mem.h"
#include "base/rng.h"
#include "lib/runner.h"
#include "peer/wire.h"

static struct rng rng;

static struct wire_partition partition_any(void)
{
    struct wire_partition of;
    rng_fill(&rng, of.topic, sizeof of.topic);
    of.partition = (uint32_t)rng_next(&rng);
    return of;
}

static void ck_same_partition(const struct wire_partition *a, const struct wire_partition *b)
{
    ck_assert_mem_eq(a->topic, b->topic, sizeof a->topic);
    ck_assert_uint_eq(a->partition, b->partition);
}

static struct wire_fetch fetch_any(size_t n)
{
    struct wire_fetch f = {.wait_ms = (uint32_t)rng_next(&rng),
                           .bytes_max = (uint32_t)rng_next(&rng),
                           .parts_n = n,
                           .parts = mem_new_array(n, sizeof *f.parts)};
    for (size_t i = 0; i < n; i++) {
        f.parts[i].of = partition_any();
        f.parts[i].request = (struct replica_fetch){.broker = (uint32_t)rng_next(&rng),
                                                    .serial = rng_next(&rng),
                                                    .epoch = rng_next(&rng),
                                                    .incarnation = rng_next(&rng),
                                                    .offset = rng_next(&rng),
                                                    .last_epoch = rng_next(&rng),
                                                    .echo_ms = (int64_t)rng_next(&rng)};
    }
    return f;
}

static void ck_same_fetch(const struct wire_fetch *a, const struct wire_fetch *b)
{
    ck_assert_uint_eq(a->wait_ms, b->wait_ms);
    ck_assert_uint_eq(a->bytes_max, b->bytes_max);
    ck_assert_uint_eq(a->parts_n, b->parts_n);
    for (size_t i = 0; i < a->parts_n; i++) {
        const struct replica_fetch *x = &a->parts[i].request, *y = &b->parts[i].request;
        ck_same_partition(&a->parts[i].of, &b->parts[i].of);
        ck_assert_uint_eq(x->broker, y->broker);
        ck_assert_uint_eq(x->serial, y->serial);
        ck_assert_uint_eq(x->epoch, y->epoch);
        ck_assert_uint_eq(x->incarnation, y->incarnation);
        ck_assert_uint_eq(x->offset, y->offset);
        ck_assert_uint_eq(x->last_epoch, y->last_epoch);
        ck_assert_int_eq(x->echo_ms, y->echo_ms);
    }
}

static struct wire_answer_part answer_any(char *batches, size_t room)
{
    struct wire_answer_part part = {.of = partition_any()};
    size_t n = (size_t)rng_below(&rng, room + 1);
    rng_fill(&rng, batches, n);
    part.batches = (struct bytes){batches, n};
    part.answer = (struct replica_answer){
        .status = (enum replica_fetch_status)rng_below(&rng, REPLICA_FETCH_BAD_INCARNATION + 1),
        .serial = rng_next(&rng),
        .epoch = rng_next(&rng),
        .sent_ms = (int64_t)rng_next(&rng),
        .high_water = rng_next(&rng),
        .start = rng_next(&rng),
        .start_last_epoch = rng_next(&rng),
        .diverge_epoch = rng_next(&rng),
        .diverge_end = rng_next(&rng)};
    return part;
}

static void ck_same_answer(const struct wire_answer_part *a, const struct wire_answer_part *b)
{
    const struct replica_answer *x = &a->answer, *y = &b->answer;
    ck_same_partition(&a->of, &b->of);
    ck_assert_int_eq(x->status, y->status);
    ck_assert_uint_eq(x->serial, y->serial);
    ck_assert_uint_eq(x->epoch, y->epoch);
    ck_assert_int_eq(x->sent_ms, y->sent_ms);
    ck_assert_uint_eq(x->high_water, y->high_water);
    ck_assert_uint_eq(x->start, y->start);
    ck_assert_uint_eq(x->start_last_epoch, y->start_last_epoch);
    ck_assert_uint_eq(x->diverge_epoch, y->diverge_epoch);
    ck_assert_uint_eq(x->diverge_end, y->diverge_end);
    ck_assert(bytes_equal(a->batches, b->batches));
}

START_TEST(a_fetch_is_read_as_it_was_written)
{
    static const size_t counts[] = {0, 1, 2, 37, WIRE_PARTS_MAX};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        struct wire_fetch f = fetch_any(counts[i]), back;
        struct buf out = BUF_EMPTY;
        wire_fetch_encode(&f, &out);
        ck_assert_uint_eq(out.n, 16 + 72 * counts[i]);
        ck_assert_int_eq(wire_fetch_decode(buf_bytes(&out), &back), ERR_OK);
        ck_same_fetch(&f, &back);
        wire_fetch_fini(&back);
        wire_fetch_fini(&f);
        buf_fini(&out);
    }
}
END_TEST

START_TEST(a_fetch_of_too_many_parts_is_refused)
{
    struct wire_fetch f = fetch_any(WIRE_PARTS_MAX), back;
    struct buf out = BUF_EMPTY;
    wire_fetch_encode(&f, &out);
    buf_reserve(&out, 72);
    memset(out.at + out.n, 0, 72);
    out.n += 72;
    le_store_u32(out.at + 12, WIRE_PARTS_MAX + 1);
    ck_assert_int_eq(wire_fetch_decode(buf_bytes(&out), &back), ERR_CORRUPT);
    wire_fetch_fini(&f);
    buf_fini(&out);
}
END_TEST

START_TEST(answers_are_read_as_they_were_written)
{
    enum { N = 20, ROOM = 300 };
    struct wire_answer_part parts[N], back;
    static char batches[N][ROOM];
    struct buf out = BUF_EMPTY;
    wire_answer_begin(&out);
    for (int i = 0; i < N; i++) {
        parts[i] = answer_any(batches[i], ROOM);
        wire_answer_put(&out, &parts[i]);
    }
    struct bytes rest = buf_bytes(&out);
    bool head = false;
    for (int i = 0; i < N; i++) {
        ck_assert_int_eq(wire_answer_next(&rest, &head, &back), ERR_OK);
        ck_same_answer(&parts[i], &back);
    }
    ck_assert_int_eq(wire_answer_next(&rest, &head, &back), ERR_NOT_FOUND);
    buf_fini(&out);
}
END_TEST

static struct wire_state_part state_any(void)
{
    struct wire_state_part part = {.of = partition_any(), .is_there = rng_below(&rng, 4) > 0};
    struct replica_status *s = &part.status;
    if (!part.is_there)
        return part;
    *s = (struct replica_status){
        .role = (enum replica_role)rng_below(&rng, REPLICA_ROLE_LEADER + 1),
        .health = (enum replica_health)rng_below(&rng, REPLICA_HEALTH_QUARANTINED + 1),
        .quarantine = (enum replica_quarantine)rng_below(&rng, REPLICA_QUARANTINE_DISK + 1),
        .incarnation = rng_next(&rng),
        .epoch = rng_next(&rng),
        .leader = (uint32_t)rng_next(&rng),
        .version = (int64_t)rng_next(&rng),
        .isr_size = (uint32_t)rng_next(&rng),
        .min_isr = (uint32_t)rng_next(&rng),
        .start = rng_next(&rng),
        .durable_end = rng_next(&rng),
        .last_epoch = rng_next(&rng),
        .high_water = rng_next(&rng),
        .leso = rng_next(&rng),
        .is_leading = rng_below(&rng, 2) == 1,
        .is_ready = rng_below(&rng, 2) == 1,
        .swap_is_open = rng_below(&rng, 2) == 1};
    return part;
}

static void ck_same_state(const struct wire_state_part *a, const struct wire_state_part *b)
{
    const struct replica_status *x = &a->status, *y = &b->status;
    ck_same_partition(&a->of, &b->of);
    ck_assert_int_eq(a->is_there, b->is_there);
    ck_assert(x->role == y->role && x->health == y->health && x->quarantine == y->quarantine);
    ck_assert(x->incarnation == y->incarnation && x->epoch == y->epoch && x->leader == y->leader);
    ck_assert(x->version == y->version && x->isr_size == y->isr_size && x->min_isr == y->min_isr);
    ck_assert(x->start == y->start && x->durable_end == y->durable_end);
    ck_assert(x->last_epoch == y->last_epoch && x->high_water == y->high_water);
    ck_assert(x->leso == y->leso && x->is_leading == y->is_leading && x->is_ready == y->is_ready);
    ck_assert(x->swap_is_open == y->swap_is_open);
}

START_TEST(states_are_read_as_they_were_written)
{
    enum { N = 50 };
    struct wire_state_part parts[N], *back;
    struct wire_partition of[N], *of_back;
    struct buf out = BUF_EMPTY;
    size_t n;
    for (int i = 0; i < N; i++) {
        parts[i] = state_any();
        of[i] = parts[i].of;
    }
    wire_state_encode(parts, N, &out);
    ck_assert_int_eq(wire_state_decode(buf_bytes(&out), &back, &n), ERR_OK);
    ck_assert_uint_eq(n, N);
    for (int i = 0; i < N; i++)
        ck_same_state(&parts[i], &back[i]);
    mem_free(back);
    buf_clear(&out);
    wire_state_ask_encode(of, N, &out);
    ck_assert_int_eq(wire_state_ask_decode(buf_bytes(&out), &of_back, &n), ERR_OK);
    ck_assert_uint_eq(n, N);
    for (int i = 0; i < N; i++)
        ck_same_partition(&of[i], &of_back[i]);
    mem_free(of_back);
    buf_fini(&out);
}
END_TEST

START_TEST(a_question_for_a_snapshot_is_read_as_it_was_written)
{
    struct wire_partition of = partition_any(), of_back;
    struct buf out = BUF_EMPTY;
    uint64_t epoch;
    wire_snapshot_ask_encode(&of, 0x0123456789abcdefULL, &out);
    ck_assert_uint_eq(out.n, 32);
    ck_assert_int_eq(wire_snapshot_ask_decode(buf_bytes(&out), &of_back, &epoch), ERR_OK);
    ck_same_partition(&of, &of_back);
    ck_assert_uint_eq(epoch, 0x0123456789abcdefULL);
    buf_fini(&out);
}
END_TEST

START_TEST(what_is_said_of_a_silent_broker_is_read_as_it_was_written)
{
    struct buf out = BUF_EMPTY;
    uint32_t broker;
    int64_t session;
    wire_silent_encode(65535, -5, &out);
    ck_assert_uint_eq(out.n, 16);
    ck_assert_int_eq(wire_silent_decode(buf_bytes(&out), &broker, &session), ERR_OK);
    ck_assert_uint_eq(broker, 65535);
    ck_assert_int_eq(session, -5);
    buf_fini(&out);
}
END_TEST

/* ---- bytes from outside ---- */

static enum err read_fetch(struct bytes b)
{
    struct wire_fetch f;
    enum err e = wire_fetch_decode(b, &f);
    if (e == ERR_OK)
        wire_fetch_fini(&f);
    return e;
}

static enum err read_answer(struct bytes b)
{
    struct wire_answer_part part;
    bool head = false;
    enum err e;
    while ((e = wire_answer_next(&b, &head, &part)) == ERR_OK)
        ck_assert_int_le(part.answer.status, REPLICA_FETCH_BAD_INCARNATION);
    return e == ERR_NOT_FOUND ? ERR_OK : e;
}

static enum err read_ask(struct bytes b)
{
    struct wire_partition *of;
    size_t n;
    enum err e = wire_state_ask_decode(b, &of, &n);
    if (e == ERR_OK)
        mem_free(of);
    return e;
}

static enum err read_state(struct bytes b)
{
    struct wire_state_part *parts;
    size_t n;
    enum err e = wire_state_decode(b, &parts, &n);
    if (e == ERR_OK)
        mem_free(parts);
    return e;
}

static enum err read_snapshot_ask(struct bytes b)
{
    struct wire_partition of;
    uint64_t epoch;
    return wire_snapshot_ask_decode(b, &of, &epoch);
}

static enum err read_silent(struct bytes b)
{
    uint32_t broker;
    int64_t session;
    return wire_silent_decode(b, &broker, &session);
}

static const struct {
    enum err (*read)(struct bytes b);
    size_t fixed[4]; /* places where no other byte is sound; up to a zero after the first */
} forms[] = {
    {read_fetch, {0, 3, 12, 15}}, {read_answer, {0, 3, 5, 7}},       {read_ask, {0, 3, 4, 7}},
    {read_state, {0, 3, 4, 7}},   {read_snapshot_ask, {0, 1, 2, 3}}, {read_silent, {0, 1, 2, 3}},
};
enum { FORMS_N = sizeof forms / sizeof forms[0] };

static void example(int form, struct buf *out)
{
    char batches[40];
    struct wire_fetch f = fetch_any(3);
    struct wire_answer_part answer = answer_any(batches, sizeof batches);
    struct wire_state_part states[3] = {state_any(), state_any(), state_any()};
    struct wire_partition of[3] = {partition_any(), partition_any(), partition_any()};
    buf_clear(out);
    if (form == 0)
        wire_fetch_encode(&f, out);
    else if (form == 1)
        wire_answer_begin(out), wire_answer_put(out, &answer);
    else if (form == 2)
        wire_state_ask_encode(of, 3, out);
    else if (form == 3)
        wire_state_encode(states, 3, out);
    else if (form == 4)
        wire_snapshot_ask_encode(of, 7, out);
    else
        wire_silent_encode(3, 7, out);
    wire_fetch_fini(&f);
}

/* A copy of exactly that length, so that a sanitizer sees a byte too far. */
static enum err read_copy(int form, const struct buf *b, size_t n)
{
    char *copy = malloc(n == 0 ? 1 : n);
    if (n > 0)
        memcpy(copy, b->at, n);
    enum err e = forms[form].read((struct bytes){copy, n});
    free(copy);
    return e;
}

START_TEST(what_is_cut_is_refused)
{
    struct buf out = BUF_EMPTY;
    for (int form = 0; form < FORMS_N; form++) {
        example(form, &out);
        ck_assert_int_eq(read_copy(form, &out, out.n), ERR_OK);
        for (size_t n = 0; n < out.n; n++)
            if (form != 1 || n != 8) /* an answer of no parts is one */
                ck_assert_int_eq(read_copy(form, &out, n), ERR_CORRUPT);
        buf_put_u8(&out, 0);
        ck_assert_int_eq(read_copy(form, &out, out.n), ERR_CORRUPT);
    }
    buf_fini(&out);
}
END_TEST

START_TEST(what_is_bent_is_refused_or_sound)
{
    struct buf out = BUF_EMPTY;
    for (int round = 0; round < 3000; round++) {
        int form = round % FORMS_N;
        example(form, &out);
        for (size_t i = 0; i < 4; i++) {
            char *at = out.at + forms[form].fixed[i];
            *at ^= 0x40;
            ck_assert_int_eq(read_copy(form, &out, out.n), ERR_CORRUPT);
            *at ^= 0x40;
        }
        for (uint64_t bends = 1 + rng_below(&rng, 4); bends > 0; bends--)
            out.at[rng_below(&rng, out.n)] ^= (char)(1 + rng_below(&rng, 255));
        enum err e = read_copy(form, &out, out.n);
        ck_assert(e == ERR_OK || e == ERR_CORRUPT);
    }
    buf_fini(&out);
}
END_TEST

START_TEST(values_that_no_enum_has_are_refused)
{
    struct buf out = BUF_EMPTY;
    example(1, &out);
    le_store_u32(out.at + 8 + 20, REPLICA_FETCH_BAD_INCARNATION + 1);
    ck_assert_int_eq(read_answer(buf_bytes(&out)), ERR_CORRUPT);
    static const size_t at[] = {20, 24, 28, 32}; /* flags, role, health, quarantine */
    for (size_t i = 0; i < 4; i++) {
        example(3, &out);
        le_store_u32(out.at + 8 + at[i], 17);
        ck_assert_int_eq(read_state(buf_bytes(&out)), ERR_CORRUPT);
    }
    buf_fini(&out);
}
END_TEST

static void seed(void)
{
    rng.state = test_seed();
}

Suite *suite_new(void)
{
    Suite *s = suite_create("peer wire");
    TCase *t = tcase_create("forms");
    tcase_add_checked_fixture(t, seed, NULL);
    tcase_add_test(t, a_fetch_is_read_as_it_was_written);
    tcase_add_test(t, a_fetch_of_too_many_parts_is_refused);
    tcase_add_test(t, answers_are_read_as_they_were_written);
    tcase_add_test(t, states_are_read_as_they_were_written);
    tcase_add_test(t, a_question_for_a_snapshot_is_read_as_it_was_written);
    tcase_add_test(t, what_is_said_of_a_silent_broker_is_read_as_it_was_written);
    tcase_add_test(t, what_is_cut_is_refused);
    tcase_add_test(t, what_is_bent_is_refused_or_sound);
    tcase_add_test(t, values_that_no_enum_has_are_refused);
    suite_add_tcase(s, t);
    return s;
}
