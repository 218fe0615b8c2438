// SPDX-License-Identifier: Apache-2.0
/* The small words of base: bytes, buffers, heap, checksum, arena. */
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/crc32c.h"
#include "base/heap.h"
#include "base/rng.h"
#include "lib/runner.h"

START_TEST(crc32c_matches_the_vectors_of_rfc_3720)
{
    unsigned char at[32];
    memset(at, 0, sizeof at);
    ck_assert_uint_eq(crc32c(0, at, 32), 0x8a9136aa);
    memset(at, 0xff, sizeof at);
    ck_assert_uint_eq(crc32c(0, at, 32), 0x62a8ab43);
    for (unsigned i = 0; i < 32; i++)
        at[i] = (unsigned char)i;
    ck_assert_uint_eq(crc32c(0, at, 32), 0x46dd794e);
    ck_assert_uint_eq(crc32c(0, "123456789", 9), 0xe3069283);
}
END_TEST

START_TEST(both_crc32c_ways_agree_on_any_length_and_split)
{
    struct rng rng = {.state = test_seed()};
    unsigned char at[1500];
    for (int round = 0; round < 1000; round++) {
        rng_fill(&rng, at, sizeof at);
        size_t n = rng_below(&rng, sizeof at), cut = rng_below(&rng, n + 1);
        uint32_t whole = crc32c(7, at, n);
        ck_assert_uint_eq(whole, crc32c_portable(7, at, n));
        ck_assert_uint_eq(whole, crc32c(crc32c(7, at, cut), at + cut, n - cut));
    }
}
END_TEST

START_TEST(a_cursor_reads_back_what_a_buf_holds)
{
    static const uint64_t edge[] = {0, 1, 127, 128, 16383, 16384, UINT32_MAX, UINT64_MAX};
    struct buf b = BUF_EMPTY;
    for (size_t i = 0; i < sizeof edge / sizeof edge[0]; i++) {
        size_t before = b.n;
        buf_put_varint(&b, edge[i]);
        ck_assert_uint_eq(b.n - before, varint_bytes(edge[i]));
    }
    buf_put_u16(&b, 0xbeef);
    buf_put_u32(&b, 0xdeadbeef);
    buf_put_u64(&b, 0x0123456789abcdef);
    buf_put_sized(&b, BYTES_OF("text"));
    struct cursor c = cursor_of(buf_bytes(&b));
    for (size_t i = 0; i < sizeof edge / sizeof edge[0]; i++)
        ck_assert_uint_eq(cursor_varint(&c), edge[i]);
    ck_assert_uint_eq(cursor_u16(&c), 0xbeef);
    ck_assert_uint_eq(cursor_u32(&c), 0xdeadbeef);
    ck_assert_uint_eq(cursor_u64(&c), 0x0123456789abcdef);
    ck_assert(bytes_equal(cursor_sized(&c), BYTES_OF("text")));
    ck_assert(!c.bad);
    ck_assert_uint_eq(c.left, 0);
    cursor_u8(&c);
    ck_assert(c.bad);
    buf_fini(&b);
}
END_TEST

START_TEST(a_varint_over_64_bits_and_a_length_past_the_end_are_bad)
{
    struct cursor c = cursor_of(BYTES_OF("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02"));
    cursor_varint(&c);
    ck_assert(c.bad);
    c = cursor_of(BYTES_OF("\x05"
                           "abc"));
    cursor_sized(&c);
    ck_assert(c.bad);
}
END_TEST

START_TEST(a_heap_gives_its_elements_in_order_after_any_removals)
{
    enum { N = 200 };
    struct rng rng = {.state = test_seed()};
    struct heap_node node[N];
    struct heap h;
    heap_init(&h);
    memset(node, 0, sizeof node);
    for (unsigned i = 0; i < N; i++) {
        node[i] = (struct heap_node){.key = (int64_t)rng_below(&rng, 50), .tie = i};
        heap_put(&h, &node[i]);
    }
    for (unsigned i = 0; i < N; i += 3)
        heap_remove(&h, &node[i]);
    for (unsigned i = 1; i < N; i += 3)
        heap_rekey(&h, &node[i], (int64_t)rng_below(&rng, 50));
    size_t seen = 0;
    int64_t last_key = -1;
    uint64_t last_tie = 0;
    for (struct heap_node *f; (f = heap_first(&h)) != NULL; seen++) {
        ck_assert(f->key > last_key || (f->key == last_key && f->tie > last_tie));
        last_key = f->key;
        last_tie = f->tie;
        heap_remove(&h, f);
    }
    ck_assert_uint_eq(seen, N - (N + 2) / 3);
    heap_fini(&h);
}
END_TEST

START_TEST(a_piece_of_no_bytes_is_a_place_all_the_same)
{
    struct arena a;
    arena_init(&a, NULL, 0);
    ck_assert_ptr_nonnull(arena_get(&a, 0));
    ck_assert_ptr_nonnull(arena_copy(&a, BYTES_NONE).at);
    arena_fini(&a);
}
END_TEST

START_TEST(an_arena_gives_aligned_pieces_that_do_not_overlap)
{
    char first[100];
    struct arena a;
    arena_init(&a, first + 1, sizeof first - 1);
    unsigned char *piece[100];
    for (size_t i = 0; i < 100; i++) {
        piece[i] = arena_get(&a, i * 40);
        ck_assert_uint_eq((uintptr_t)piece[i] % 16, 0);
        memset(piece[i], (int)i, i * 40);
    }
    for (size_t i = 0; i < 100; i++)
        for (size_t k = 0; k < i * 40; k++)
            ck_assert_uint_eq(piece[i][k], i);
    arena_fini(&a);
}
END_TEST

Suite *suite_new(void)
{
    Suite *s = suite_create("base");
    TCase *tc = tcase_create("base");
    tcase_add_test(tc, crc32c_matches_the_vectors_of_rfc_3720);
    tcase_add_test(tc, both_crc32c_ways_agree_on_any_length_and_split);
    tcase_add_test(tc, a_cursor_reads_back_what_a_buf_holds);
    tcase_add_test(tc, a_varint_over_64_bits_and_a_length_past_the_end_are_bad);
    tcase_add_test(tc, a_heap_gives_its_elements_in_order_after_any_removals);
    tcase_add_test(tc, a_piece_of_no_bytes_is_a_place_all_the_same);
    tcase_add_test(tc, an_arena_gives_aligned_pieces_that_do_not_overlap);
    suite_add_tcase(s, tc);
    return s;
}
