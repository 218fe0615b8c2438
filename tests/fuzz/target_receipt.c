// SPDX-License-Identifier: Apache-2.0
/* Receipts as clients send them back (queue/receipt.c).
 *
 * Input: a byte says what follows.
 *   0: a text, as a client may send it. It is refused.
 *   1: edits to a receipt of ours: a place, a byte to put there, and so on; a byte 0 cuts the
 *      text there. What comes of it is refused, unless it is the text that we wrote.
 *   2: what a receipt says. Written and read, it says the same; and under the key before, too.
 *   3: what a receipt says, and a key that is not ours. It is refused. */
#include "fuzz/fuzz.h"
#include "queue/state.h"

static const struct receipt ours = {
    .topic = {{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}},
    .partition = 7,
    .lease = {.gid = 1, .generation = 2, .number = 345, .id = {6, 789}},
};

static void broker_init(struct queue *q, const char *key, const char *previous)
{
    digest_hmac_init(&q->receipt_key, bytes_of_text(key));
    digest_hmac_init(&q->receipt_key_previous, bytes_of_text(previous));
}

static struct receipt receipt_take(struct cursor *c)
{
    struct receipt r = {.partition = cursor_u32(c) & UINT16_MAX};
    r.lease.gid = cursor_u32(c);
    r.lease.generation = cursor_u64(c);
    r.lease.number = cursor_u64(c);
    r.lease.id = (struct lease_id){cursor_u64(c), cursor_u64(c)};
    struct bytes topic = cursor_bytes(c, sizeof r.topic.at);
    if (topic.n == sizeof r.topic.at)
        memcpy(r.topic.at, topic.at, topic.n);
    return r;
}

static void check_same(const struct receipt *a, const struct receipt *b)
{
    CHECK(memcmp(&a->topic, &b->topic, sizeof a->topic) == 0 && a->partition == b->partition);
    CHECK(a->lease.gid == b->lease.gid && a->lease.generation == b->lease.generation);
    CHECK(a->lease.number == b->lease.number && a->lease.id.epoch == b->lease.id.epoch);
    CHECK(a->lease.id.counter == b->lease.id.counter);
}

static void edit(const struct queue *q, struct cursor *c)
{
    char sound[QUEUE_RECEIPT_TEXT_MAX + 1], text[QUEUE_RECEIPT_TEXT_MAX + 1];
    struct receipt got;
    receipt_write(q, &ours, sound);
    memcpy(text, sound, sizeof text);
    size_t n = strlen(text);
    while (c->left >= 2 && n > 0) {
        size_t place = cursor_u8(c) % n;
        text[place] = (char)cursor_u8(c);
        n = text[place] == '\0' ? place : n;
    }
    struct bytes edited = {text, n};
    bool same = bytes_equal(edited, bytes_of_text(sound));
    CHECK(receipt_read(q, edited, &got) == (same ? ERR_OK : ERR_INVALID));
    if (same)
        check_same(&got, &ours);
}

static void write_and_read(const struct queue *q, struct cursor *c)
{
    char text[QUEUE_RECEIPT_TEXT_MAX + 1], again[QUEUE_RECEIPT_TEXT_MAX + 1];
    struct receipt r = receipt_take(c), got;
    receipt_write(q, &r, text);
    CHECK(receipt_read(q, bytes_of_text(text), &got) == ERR_OK);
    check_same(&got, &r);
    receipt_write(q, &got, again);
    CHECK(strcmp(text, again) == 0);
    static struct queue later;
    broker_init(&later, "a newer key", "the key");
    CHECK(receipt_read(&later, bytes_of_text(text), &got) == ERR_OK);
    check_same(&got, &r);
}

int LLVMFuzzerTestOneInput(const uint8_t *at, size_t n)
{
    static struct queue q, forger;
    struct cursor c = fuzz_input(at, n);
    struct receipt got;
    broker_init(&q, "the key", "the key before");
    size_t kind = fuzz_choice(&c, 4);
    if (kind == 0) {
        CHECK(receipt_read(&q, fuzz_rest(&c), &got) == ERR_INVALID);
    } else if (kind == 1) {
        edit(&q, &c);
    } else if (kind == 2) {
        write_and_read(&q, &c);
    } else {
        char text[QUEUE_RECEIPT_TEXT_MAX + 1];
        struct receipt r = receipt_take(&c);
        struct bytes key = fuzz_rest(&c);
        broker_init(&forger, "", "");
        digest_hmac_init(&forger.receipt_key, key);
        receipt_write(&forger, &r, text);
        while (key.n > 0 && ((const char *)key.at)[key.n - 1] == '\0')
            key.n--; /* HMAC fills a short key up with zeros, so these make no other key */
        bool known =
            bytes_equal(key, BYTES_OF("the key")) || bytes_equal(key, BYTES_OF("the key before"));
        CHECK(known || receipt_read(&q, bytes_of_text(text), &got) == ERR_INVALID);
    }
    return 0;
}
