// SPDX-License-Identifier: Apache-2.0
/* The bytes of records (src/partition/RECORDS.md). */
#include <stdlib.h>

#include "base/rng.h"
#include "lib/runner.h"
#include "partition/record.h"

static char noise[4096];

static struct bytes some_bytes(struct rng *rng, size_t least, size_t most)
{
    size_t n = least + rng_below(rng, most - least + 1);
    return (struct bytes){n == 0 ? NULL : noise + rng_below(rng, sizeof noise - n), n};
}

static int64_t some_time(struct rng *rng)
{
    int64_t ms = (int64_t)(rng_next(rng) >> (3 + rng_below(rng, 60)));
    return rng_below(rng, 4) == 0 ? -ms : ms;
}

static uint64_t some_number(struct rng *rng)
{
    return rng_next(rng) >> (2 + rng_below(rng, 61));
}

static struct record_message some_message(struct rng *rng, struct buf *list)
{
    struct record_message m = {
        .body = some_bytes(rng, 1, 300),
        .accepted_ms = some_time(rng),
        .sent_wall_ms = some_time(rng),
        .delay_is_default = rng_below(rng, 2),
    };
    rng_fill(rng, &m.id, sizeof m.id);
    rng_fill(rng, m.body_md5, sizeof m.body_md5);
    m.due_ms = rng_below(rng, 2) ? m.accepted_ms : some_time(rng);
    m.receive_count = rng_below(rng, 2) ? 0 : (uint32_t)rng_next(rng);
    for (uint64_t k = rng_below(rng, 3); k > 0; k--) {
        struct record_attribute a = {some_bytes(rng, 1, 30), some_bytes(rng, 1, 30),
                                     rng_below(rng, 2) ? ATTRIBUTE_TEXT : ATTRIBUTE_BINARY,
                                     some_bytes(rng, 0, 60)};
        record_attribute_put(list, &a);
    }
    m.attributes = buf_bytes(list);
    m.trace = some_bytes(rng, 0, 3);
    if (rng_below(rng, 2)) {
        m.group_id = some_bytes(rng, 0, 128);
        rng_fill(rng, &m.group_hash, sizeof m.group_hash);
    }
    if (rng_below(rng, 2)) {
        m.dedup_id = some_bytes(rng, 0, 128);
        rng_fill(rng, &m.dedup_hash, sizeof m.dedup_hash);
        m.dedup_until_ms = some_time(rng);
    }
    if (rng_below(rng, 2)) {
        m.moved = true;
        rng_fill(rng, &m.origin.topic, sizeof m.origin.topic);
        m.origin.name = some_bytes(rng, 0, 80);
        m.origin.partition = (uint32_t)rng_next(rng);
        m.origin.move_seq = some_number(rng);
        m.origin.moves_closed = some_number(rng);
    } else if (rng_below(rng, 2)) {
        m.repeat.front = 1 + (uint32_t)rng_below(rng, RECORD_FRONT_MAX);
        m.repeat.life = rng_next(rng);
        m.repeat.sequence = m.repeat.settled_below = some_number(rng);
        if (m.repeat.sequence >= RECORD_REPEAT_WINDOW)
            m.repeat.settled_below -= rng_below(rng, RECORD_REPEAT_WINDOW);
    }
    if (rng_below(rng, 2)) {
        m.key = some_bytes(rng, 1, RECORD_ID_BYTES_MAX);
        m.tombstone = rng_below(rng, 3) == 0;
        if (m.tombstone)
            m.body = BYTES_NONE;
    }
    return m;
}

static struct bytes some_runs(struct rng *rng, struct record_runs *runs)
{
    uint64_t number = rng_below(rng, 1000);
    for (uint64_t k = 1 + rng_below(rng, 20); k > 0; k--) {
        record_runs_put(runs, number);
        number += 1 + (rng_below(rng, 2) ? 0 : rng_below(rng, 100000));
    }
    return record_runs_bytes(runs);
}

static struct record some_record(struct rng *rng, struct buf *list, struct record_runs *runs)
{
    struct record r;
    memset(&r, 0, sizeof r);
    r.type = (enum record_type)(RECORD_MESSAGE + rng_below(rng, RECORD_EPOCH + 1));
    if (r.type > RECORD_EPOCH)
        r.type = RECORD_SIZES;
    uint32_t gid = (uint32_t)rng_next(rng);
    switch ((int)r.type) {
    case RECORD_MESSAGE:
        r.message = some_message(rng, list);
        break;
    case RECORD_GROUP:
        r.group = (struct record_group){gid, rng_below(rng, 2), some_bytes(rng, 0, 80),
                                        rng_next(rng), some_number(rng)};
        break;
    case RECORD_LEASE:
        r.lease = (struct record_lease){gid,
                                        {rng_next(rng), rng_next(rng)},
                                        some_time(rng),
                                        some_time(rng),
                                        some_time(rng),
                                        some_bytes(rng, 0, 64),
                                        some_runs(rng, runs)};
        break;
    case RECORD_DONE:
        r.done = (struct record_done){gid, some_runs(rng, runs)};
        break;
    case RECORD_EXTEND:
        r.extend = (struct record_extend){gid, some_number(rng), some_time(rng)};
        break;
    case RECORD_MOVE:
        r.move = (struct record_move){gid, some_number(rng), some_number(rng), {{1, 2}}, 9};
        break;
    case RECORD_MOVED:
    case RECORD_UNMOVE:
        r.moved.seq = some_number(rng);
        break;
    case RECORD_PURGE:
        r.purge = (struct record_purge){gid, some_number(rng), rng_below(rng, 2)};
        break;
    case RECORD_TRIM:
        r.trim.below = some_number(rng);
        break;
    case RECORD_EPOCH:
        r.epoch = (struct record_epoch){rng_next(rng), some_time(rng)};
        break;
    case RECORD_SIZES:
        r.sizes = (struct record_sizes){true, gid, some_number(rng), BYTES_NONE, BYTES_NONE};
        if (rng_below(rng, 2)) {
            r.sizes.numbers = (struct bytes){"\4\1\7\0", 4};
            r.sizes.sizes = (struct bytes){"\1\200\1\377\377\377\377\17", 8};
            r.sizes.total = rng_below(rng, 2);
        }
        if (!r.sizes.total)
            r.sizes.gid = 0, r.sizes.live_bytes = 0;
        break;
    default:
        ck_abort();
    }
    return r;
}

static void same_message(const struct record_message *a, const struct record_message *b)
{
    ck_assert_mem_eq(&a->id, &b->id, 16);
    ck_assert_mem_eq(a->body_md5, b->body_md5, 16);
    ck_assert(bytes_equal(a->body, b->body));
    ck_assert(bytes_equal(a->attributes, b->attributes));
    ck_assert(bytes_equal(a->trace, b->trace));
    ck_assert(a->sent_wall_ms == b->sent_wall_ms && a->accepted_ms == b->accepted_ms);
    ck_assert(a->due_ms == b->due_ms && a->delay_is_default == b->delay_is_default);
    ck_assert(a->receive_count == b->receive_count);
    ck_assert(bytes_equal(a->group_id, b->group_id) && bytes_equal(a->dedup_id, b->dedup_id));
    ck_assert_mem_eq(&a->group_hash, &b->group_hash, 16);
    ck_assert_mem_eq(&a->dedup_hash, &b->dedup_hash, 16);
    ck_assert(a->dedup_until_ms == b->dedup_until_ms && a->moved == b->moved);
    ck_assert(bytes_equal(a->key, b->key) && a->tombstone == b->tombstone);
    ck_assert(bytes_equal(a->origin.name, b->origin.name));
    ck_assert_mem_eq(&a->origin.topic, &b->origin.topic, 16);
    ck_assert(a->origin.partition == b->origin.partition);
    ck_assert(a->origin.move_seq == b->origin.move_seq);
    ck_assert(a->origin.moves_closed == b->origin.moves_closed);
    ck_assert(a->repeat.front == b->repeat.front && a->repeat.life == b->repeat.life);
    ck_assert(a->repeat.sequence == b->repeat.sequence);
    ck_assert(a->repeat.settled_below == b->repeat.settled_below);
}

static void same_lease(const struct record_lease *a, const struct record_lease *b)
{
    ck_assert(a->gid == b->gid && a->id.epoch == b->id.epoch && a->id.counter == b->id.counter);
    ck_assert(a->granted_ms == b->granted_ms && a->granted_wall_ms == b->granted_wall_ms);
    ck_assert(a->until_ms == b->until_ms && bytes_equal(a->holder, b->holder));
    ck_assert(bytes_equal(a->numbers, b->numbers));
}

static void same_record(const struct record *a, const struct record *b)
{
    ck_assert_int_eq(a->type, b->type);
    switch ((int)a->type) {
    case RECORD_MESSAGE:
        same_message(&a->message, &b->message);
        return;
    case RECORD_GROUP:
        ck_assert(a->group.gid == b->group.gid && a->group.dropped == b->group.dropped);
        ck_assert(a->group.generation == b->group.generation && a->group.from == b->group.from);
        ck_assert(bytes_equal(a->group.name, b->group.name));
        return;
    case RECORD_LEASE:
        same_lease(&a->lease, &b->lease);
        return;
    case RECORD_DONE:
        ck_assert(a->done.gid == b->done.gid && bytes_equal(a->done.numbers, b->done.numbers));
        return;
    case RECORD_SIZES:
        ck_assert(a->sizes.total == b->sizes.total && a->sizes.gid == b->sizes.gid);
        ck_assert(a->sizes.live_bytes == b->sizes.live_bytes);
        ck_assert(bytes_equal(a->sizes.numbers, b->sizes.numbers));
        ck_assert(bytes_equal(a->sizes.sizes, b->sizes.sizes));
        return;
    default: /* no padding that differs: both were cleared first */
        ck_assert(a->moved.seq == b->moved.seq);
        ck_assert_mem_eq(&a->move.target, &b->move.target, 16);
        ck_assert(a->move.receive_count == b->move.receive_count);
        ck_assert(a->extend.gid == b->extend.gid && a->extend.number == b->extend.number);
        ck_assert(a->extend.until_ms == b->extend.until_ms);
    }
}

START_TEST(decoding_gives_back_what_was_encoded)
{
    struct rng rng = {.state = test_seed()};
    rng_fill(&rng, noise, sizeof noise);
    for (int round = 0; round < 3000; round++) {
        struct buf list = BUF_EMPTY, b = BUF_EMPTY;
        struct record_runs runs;
        record_runs_init(&runs);
        struct record r = some_record(&rng, &list, &runs), back;
        record_encode(&r, &b);
        ck_assert_int_eq(record_decode((uint8_t)r.type, buf_bytes(&b), &back), ERR_OK);
        same_record(&r, &back);
        buf_fini(&list);
        buf_fini(&b);
        record_runs_fini(&runs);
    }
}
END_TEST

/* What decodes must also encode, and then decode to the same: the encoder's CHECKs hold. */
static void decode_noise(uint8_t type, struct bytes payload)
{
    struct record r, again;
    /* A copy of just this size, so that the sanitizer sees a read past the end. */
    char *exact = malloc(payload.n + 1);
    memcpy(exact, payload.at, payload.n);
    exact = realloc(exact, payload.n == 0 ? 1 : payload.n);
    if (record_decode(type, (struct bytes){exact, payload.n}, &r) == ERR_OK) {
        struct buf b = BUF_EMPTY;
        record_encode(&r, &b);
        ck_assert_int_eq(record_decode(type, buf_bytes(&b), &again), ERR_OK);
        buf_fini(&b);
    }
    free(exact);
}

START_TEST(no_changed_bytes_break_the_decoder)
{
    struct rng rng = {.state = test_seed()};
    rng_fill(&rng, noise, sizeof noise);
    for (int round = 0; round < 20000; round++) {
        struct buf list = BUF_EMPTY, b = BUF_EMPTY;
        struct record_runs runs;
        record_runs_init(&runs);
        struct record r = some_record(&rng, &list, &runs);
        record_encode(&r, &b);
        for (uint64_t k = rng_below(&rng, 3) + 1; k > 0; k--)
            b.at[rng_below(&rng, b.n)] = (char)rng_next(&rng);
        if (rng_below(&rng, 3) == 0)
            b.n = rng_below(&rng, b.n + 1);
        uint8_t type = rng_below(&rng, 8) == 0 ? (uint8_t)rng_next(&rng) : (uint8_t)r.type;
        decode_noise(type, buf_bytes(&b));
        buf_fini(&list);
        buf_fini(&b);
        record_runs_fini(&runs);
    }
}
END_TEST

START_TEST(every_cut_of_a_control_record_is_corrupt)
{
    struct rng rng = {.state = test_seed()};
    for (int round = 0; round < 2000; round++) {
        struct buf list = BUF_EMPTY, b = BUF_EMPTY;
        struct record_runs runs;
        record_runs_init(&runs);
        struct record r = some_record(&rng, &list, &runs), out;
        record_encode(&r, &b);
        if (r.type != RECORD_MESSAGE && r.type != RECORD_LEASE && r.type != RECORD_DONE) {
            for (size_t n = 0; n < b.n; n++)
                ck_assert_int_eq(record_decode((uint8_t)r.type, (struct bytes){b.at, n}, &out),
                                 ERR_CORRUPT);
            buf_put_u8(&b, 0);
            ck_assert_int_eq(record_decode((uint8_t)r.type, buf_bytes(&b), &out), ERR_CORRUPT);
        }
        buf_fini(&list);
        buf_fini(&b);
        record_runs_fini(&runs);
    }
}
END_TEST

START_TEST(a_plain_message_costs_41_bytes_beside_its_body)
{
    struct record r = {.type = RECORD_MESSAGE,
                       .message = {.body = BYTES_OF("x"),
                                   .accepted_ms = 1700000000000,
                                   .sent_wall_ms = 1700000001000,
                                   .due_ms = 1700000000000,
                                   .delay_is_default = true}};
    struct buf b = BUF_EMPTY;
    record_encode(&r, &b);
    ck_assert_uint_eq(b.n, 42);
    buf_fini(&b);
}
END_TEST

START_TEST(a_tombstone_has_a_key_and_no_body)
{
    struct record r = {.type = RECORD_MESSAGE,
                       .message = {.key = BYTES_OF("k"), .tombstone = true}};
    struct record out;
    struct buf b = BUF_EMPTY;
    record_encode(&r, &b);
    ck_assert_int_eq(record_decode(RECORD_MESSAGE, buf_bytes(&b), &out), ERR_OK);
    ck_assert(out.message.tombstone && out.message.body.n == 0);
    ck_assert(bytes_equal(out.message.key, BYTES_OF("k")));
    buf_put_u8(&b, 'x');
    ck_assert_int_eq(record_decode(RECORD_MESSAGE, buf_bytes(&b), &out), ERR_CORRUPT);
    buf_clear(&b);
    r.message = (struct record_message){.body = BYTES_OF("x"), .key = BYTES_OF("k")};
    record_encode(&r, &b);
    ck_assert_int_eq(record_decode(RECORD_MESSAGE, buf_bytes(&b), &out), ERR_OK);
    b.at[b.n - 3] = 0; /* the key's length: what follows is body then, but a key has a byte */
    ck_assert_int_eq(record_decode(RECORD_MESSAGE, buf_bytes(&b), &out), ERR_CORRUPT);
    buf_clear(&b);
    buf_put_varint(&b, 1 << 14); /* a tombstone without a key */
    for (int i = 0; i < 34; i++)
        buf_put_u8(&b, 0);
    ck_assert_int_eq(record_decode(RECORD_MESSAGE, buf_bytes(&b), &out), ERR_CORRUPT);
    buf_fini(&b);
}
END_TEST

static enum err decode_repeat(unsigned flags, uint64_t front, uint64_t sequence, uint64_t open)
{
    struct record out;
    struct buf b = BUF_EMPTY;
    static const char zeros[32 + 2];
    buf_put_varint(&b, 1 << 10 | flags);
    buf_put(&b, zeros, sizeof zeros); /* id, md5, both times */
    if (flags & 1 << 7)
        buf_put(&b, zeros, 16 + 4); /* an origin */
    buf_put_varint(&b, front);
    buf_put_varint(&b, UINT64_MAX);
    buf_put_varint(&b, sequence);
    buf_put_varint(&b, open);
    buf_put_u8(&b, 'x');
    enum err e = record_decode(RECORD_MESSAGE, buf_bytes(&b), &out);
    buf_fini(&b);
    return e;
}

START_TEST(a_key_that_no_front_gives_is_corrupt)
{
    ck_assert_int_eq(decode_repeat(0, 1, 0, 0), ERR_OK);
    ck_assert_int_eq(decode_repeat(0, RECORD_FRONT_MAX, 1023, 1023), ERR_OK);
    ck_assert_int_eq(decode_repeat(0, 0, 1, 0), ERR_CORRUPT);
    ck_assert_int_eq(decode_repeat(0, RECORD_FRONT_MAX + 1, 1, 0), ERR_CORRUPT);
    ck_assert_int_eq(decode_repeat(0, 1, (uint64_t)INT64_MAX, 0), ERR_CORRUPT);
    ck_assert_int_eq(decode_repeat(0, 1, 4, 5), ERR_CORRUPT);
    ck_assert_int_eq(decode_repeat(0, 1, 2000, 1024), ERR_CORRUPT);
    ck_assert_int_eq(decode_repeat(1 << 7, 1, 1, 0), ERR_CORRUPT); /* of a moved message */
}
END_TEST

START_TEST(reserved_types_and_unknown_flags_are_a_newer_format)
{
    struct record out;
    ck_assert_int_eq(record_decode(0, BYTES_OF("x"), &out), ERR_NEWER_FORMAT);
    ck_assert_int_eq(record_decode(RECORD_EMIT, BYTES_OF("x"), &out), ERR_NEWER_FORMAT);
    ck_assert_int_eq(record_decode(RECORD_CHECK, BYTES_OF("x"), &out), ERR_NEWER_FORMAT);
    ck_assert_int_eq(record_decode(RECORD_GAP, BYTES_OF("x"), &out), ERR_NEWER_FORMAT);
    ck_assert_int_eq(record_decode(16, BYTES_OF("x"), &out), ERR_NEWER_FORMAT);
    for (unsigned bit = 8; bit < 64; bit++) {
        if (bit == 10 || bit == 13 || bit == 14) /* repeat, key and tombstone */
            continue;
        struct buf b = BUF_EMPTY;
        buf_put_varint(&b, (uint64_t)1 << bit);
        ck_assert_int_eq(record_decode(RECORD_MESSAGE, buf_bytes(&b), &out), ERR_NEWER_FORMAT);
        buf_fini(&b);
    }
    ck_assert_int_eq(record_decode(RECORD_GROUP, BYTES_OF("\1\2\1\1\0"), &out), ERR_NEWER_FORMAT);
    ck_assert_int_eq(record_decode(RECORD_PURGE, BYTES_OF("\1\2\1"), &out), ERR_NEWER_FORMAT);
    ck_assert_int_eq(record_decode(RECORD_SIZES, BYTES_OF("\2\2\1\0\1"), &out), ERR_NEWER_FORMAT);
}
END_TEST

START_TEST(numbers_must_rise_and_runs_must_not_touch)
{
    struct record out;
    ck_assert_int_eq(record_decode(RECORD_DONE, BYTES_OF("\1\0\0"), &out), ERR_OK);
    ck_assert_int_eq(record_decode(RECORD_DONE, BYTES_OF("\1\0\0\1\0"), &out), ERR_OK);
    ck_assert_int_eq(record_decode(RECORD_DONE, BYTES_OF("\1\0\0\0\0"), &out), ERR_CORRUPT);
    ck_assert_int_eq(record_decode(RECORD_DONE, BYTES_OF("\1\0"), &out), ERR_CORRUPT);
    ck_assert_int_eq(record_decode(RECORD_DONE, BYTES_OF("\1"), &out), ERR_CORRUPT);
}
END_TEST

START_TEST(each_number_of_a_sizes_record_has_one_size)
{
    struct record out;
    ck_assert_int_eq(record_decode(RECORD_SIZES, BYTES_OF("\0\2\1\1\5\6"), &out), ERR_OK);
    ck_assert_int_eq(record_decode(RECORD_SIZES, BYTES_OF("\0\2\1\1\5"), &out), ERR_CORRUPT);
    ck_assert_int_eq(record_decode(RECORD_SIZES, BYTES_OF("\0\2\1\1\5\6\7"), &out), ERR_CORRUPT);
    ck_assert_int_eq(record_decode(RECORD_SIZES, BYTES_OF("\0\2\1\1\5\0"), &out), ERR_CORRUPT);
    ck_assert_int_eq(record_decode(RECORD_SIZES, BYTES_OF("\0\0"), &out), ERR_CORRUPT);
    ck_assert_int_eq(record_decode(RECORD_SIZES, BYTES_OF("\1\7\5\0"), &out), ERR_OK);
    ck_assert_uint_eq(out.sizes.live_bytes, 5);
}
END_TEST

START_TEST(a_message_counts_its_body_and_its_attributes)
{
    struct buf list = BUF_EMPTY;
    struct record_attribute a = {BYTES_OF("color"), BYTES_OF("String"), ATTRIBUTE_TEXT,
                                 BYTES_OF("red")};
    record_attribute_put(&list, &a);
    struct record_message m = {.body = BYTES_OF("body"), .trace = BYTES_OF("Root=1")};
    ck_assert_uint_eq(record_message_bytes(&m), 4);
    m.attributes = buf_bytes(&list);
    ck_assert_uint_eq(record_message_bytes(&m), 4 + 5 + 6 + 3);
    buf_fini(&list);
}
END_TEST

START_TEST(runs_come_back_as_they_were_put)
{
    struct record_runs runs;
    record_runs_init(&runs);
    static const uint64_t numbers[] = {0, 1, 2, 5, 7, 8};
    for (size_t i = 0; i < 6; i++)
        record_runs_put(&runs, numbers[i]);
    struct bytes left = record_runs_bytes(&runs);
    static const struct record_run want[] = {{0, 3}, {5, 1}, {7, 2}};
    struct record_run got;
    uint64_t end = 0;
    for (size_t i = 0; i < 3; i++) {
        ck_assert(record_runs_next(&left, &end, &got));
        ck_assert_uint_eq(got.first, want[i].first);
        ck_assert_uint_eq(got.count, want[i].count);
    }
    ck_assert(!record_runs_next(&left, &end, &got));
    record_runs_fini(&runs);
}
END_TEST

Suite *suite_new(void)
{
    Suite *suite = suite_create("record");
    TCase *all = tcase_create("record");
    tcase_set_timeout(all, 60);
    tcase_add_test(all, decoding_gives_back_what_was_encoded);
    tcase_add_test(all, no_changed_bytes_break_the_decoder);
    tcase_add_test(all, every_cut_of_a_control_record_is_corrupt);
    tcase_add_test(all, a_plain_message_costs_41_bytes_beside_its_body);
    tcase_add_test(all, a_tombstone_has_a_key_and_no_body);
    tcase_add_test(all, a_key_that_no_front_gives_is_corrupt);
    tcase_add_test(all, reserved_types_and_unknown_flags_are_a_newer_format);
    tcase_add_test(all, numbers_must_rise_and_runs_must_not_touch);
    tcase_add_test(all, each_number_of_a_sizes_record_has_one_size);
    tcase_add_test(all, a_message_counts_its_body_and_its_attributes);
    tcase_add_test(all, runs_come_back_as_they_were_put);
    suite_add_tcase(suite, all);
    return suite;
}
