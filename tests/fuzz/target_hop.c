// SPDX-License-Identifier: Apache-2.0
/* A request or an answer of another broker (route/wire.h).
 *
 * Input: a byte, then the bytes. 0: a request; 1 to 5: the answer to a hop of that kind, which
 * asked for three things; 6: the answer to a wait; 7: to a move. Contract: refused, or within the
 * bounds of queue.h; a request of a front's verb, written anew from what was read, is read as the
 * same. */
#include <string.h>

#include "fuzz/fuzz.h"
#include "route/wire.h"

enum { ASKED = 3 };

static bool writes_anew(const struct route_request *in)
{
    return in->kind <= ROUTE_RECEIVE || in->kind == ROUTE_MOVE;
}

static void anew(const struct route_request *in, struct arena *arena, struct buf *out)
{
    static const enum front_verb_kind kinds[] = {
        [ROUTE_SEND] = FRONT_SEND,   [ROUTE_CHANGE] = FRONT_CHANGE,   [ROUTE_PURGE] = FRONT_PURGE,
        [ROUTE_COUNT] = FRONT_COUNT, [ROUTE_RECEIVE] = FRONT_RECEIVE,
    };
    if (in->kind == ROUTE_MOVE) {
        route_move_put(&in->move, in->left_ms, out);
        return;
    }
    struct front_hop hop = {.kind = kinds[in->kind],
                            .strict = in->strict,
                            .group = in->group,
                            .receive = &in->receive,
                            .n = in->n,
                            .items = arena_get(arena, (in->n + 1) * sizeof *hop.items)};
    memcpy(hop.topic, in->topic, sizeof hop.topic);
    for (size_t i = 0; i < in->n; i++)
        hop.items[i] = &in->items[i];
    route_hop_put(&hop, in->left_ms, out);
}

static void bounds(const struct route_request *in)
{
    CHECK(in->kind >= ROUTE_SEND && in->kind <= ROUTE_MOVE);
    if (in->kind == ROUTE_MOVE)
        CHECK(in->move.age_ms >= 0 && in->move.message.n <= QUEUE_MOVE_MESSAGE_BYTES_MAX);
    if (in->kind == ROUTE_RECEIVE)
        CHECK(in->receive.max >= 1 && in->receive.max <= QUEUE_BATCH_MAX);
    if (in->kind == ROUTE_GIVE_BACK)
        CHECK(in->n >= 1 && in->n <= QUEUE_BATCH_MAX);
    for (size_t i = 0; in->kind == ROUTE_SEND && i < in->n; i++) {
        const struct queue_message *m = in->items[i].message;
        const struct queue_repeat *key = &in->items[i].repeat;
        CHECK(key->sequence < INT64_MAX && key->settled_below <= key->sequence);
        CHECK(key->sequence - key->settled_below < QUEUE_REPEAT_WINDOW);
        CHECK(in->n <= QUEUE_SEND_MAX && m->key.n <= QUEUE_KEY_BYTES_MAX);
        CHECK(m->group_id.n <= QUEUE_ID_BYTES_MAX && m->dedup_id.n <= QUEUE_ID_BYTES_MAX);
        CHECK(m->body.n <= QUEUE_BODY_BYTES_MAX);
        CHECK(m->tombstone ? m->body.n == 0 && m->key.n > 0 : m->body.n > 0);
        for (size_t k = 0; k < m->attributes_n; k++)
            CHECK(m->attributes[k].name.n > 0 && m->attributes[k].data_type.n > 0);
    }
}

static void request(struct bytes b, struct arena *arena)
{
    struct route_request in, again;
    struct buf once = BUF_EMPTY, twice = BUF_EMPTY;
    enum err e = route_request_read(b, arena, &in);
    CHECK(e == ERR_OK || e == ERR_CORRUPT);
    if (e != ERR_OK)
        return;
    bounds(&in);
    if (!writes_anew(&in))
        return;
    if (in.kind == ROUTE_RECEIVE)
        in.strict = false;
    anew(&in, arena, &once);
    CHECK(route_request_read(buf_bytes(&once), arena, &again) == ERR_OK);
    anew(&again, arena, &twice);
    CHECK(bytes_equal(buf_bytes(&once), buf_bytes(&twice)));
    buf_fini(&once);
    buf_fini(&twice);
}

static void answer(enum front_verb_kind kind, struct bytes b, struct arena *arena)
{
    struct front_item items[ASKED] = {0}, *at[ASKED] = {&items[0], &items[1], &items[2]};
    struct queue_receive receive = {.max = ASKED};
    struct queue_received received[QUEUE_BATCH_MAX];
    struct front_hop hop = {.kind = kind,
                            .items = at,
                            .n = ASKED,
                            .receive = &receive,
                            .arena = arena,
                            .received = received};
    enum err whole = ERR_OK, e = route_hop_read(b, &hop, &whole);
    CHECK(e == ERR_OK || e == ERR_CORRUPT);
    if (e == ERR_OK && whole == ERR_OK && kind == FRONT_RECEIVE)
        for (size_t i = 0; i < hop.received_n; i++)
            CHECK(strlen(received[i].receipt) <= QUEUE_RECEIPT_TEXT_MAX);
    CHECK(hop.received_n <= ASKED);
}

int LLVMFuzzerTestOneInput(const uint8_t *at, size_t n)
{
    struct cursor c = fuzz_input(at, n);
    size_t choice = fuzz_choice(&c, 8);
    struct arena arena;
    uint32_t ready;
    enum err whole;
    arena_init(&arena, NULL, 0);
    if (choice == 0)
        request(fuzz_rest(&c), &arena);
    else if (choice < 6)
        answer((enum front_verb_kind)(choice - 1), fuzz_rest(&c), &arena);
    else if (choice == 7 && route_move_answer_read(fuzz_rest(&c), &ready, &whole) == ERR_OK)
        CHECK(whole == ERR_NOT_LEADER || ready == 0);
    else if (choice == 6 && route_wait_read(fuzz_rest(&c), &ready, &whole) == ERR_OK)
        CHECK(whole == ERR_OK || ready == 0);
    arena_fini(&arena);
    return 0;
}
