// SPDX-License-Identifier: Apache-2.0
/* The payloads of records (partition/record.h), and the fold of whatever they say.
 *
 * Input: records, each a byte for its type, a byte for its length, and its payload; the type 0 ends
 * them, and what follows is choices for the steps on the state that they have made.
 * Contract: a payload is refused or decoded. What was decoded and encoded anew decodes to the same;
 * and any such record folds into any state, which can be saved and loaded. */
#include "fuzz/partition_walk.h"

static void check_attributes(const struct record_message *m, struct buf *list)
{
    struct bytes left = m->attributes;
    struct record_attribute a;
    buf_clear(list);
    while (record_attribute_next(&left, &a))
        record_attribute_put(list, &a);
    CHECK(left.n == 0);
}

/* Whatever the record: encoded anew and decoded, it has the same bytes again. */
static void check_codec(const struct record *r)
{
    struct buf once = BUF_EMPTY, twice = BUF_EMPTY, list = BUF_EMPTY;
    struct record again;
    record_encode(r, &once);
    CHECK(record_decode((uint8_t)r->type, buf_bytes(&once), &again) == ERR_OK);
    CHECK(again.type == r->type);
    record_encode(&again, &twice);
    CHECK(bytes_equal(buf_bytes(&once), buf_bytes(&twice)));
    if (r->type == RECORD_MESSAGE)
        check_attributes(&r->message, &list);
    buf_fini(&once);
    buf_fini(&twice);
    buf_fini(&list);
}

int LLVMFuzzerTestOneInput(const uint8_t *at, size_t n)
{
    struct cursor c = fuzz_input(at, n);
    struct partition *p = partition_new();
    for (uint8_t type; (type = cursor_u8(&c)) != 0;) {
        size_t length = cursor_u8(&c);
        struct bytes payload = cursor_bytes(&c, length < c.left ? length : c.left);
        struct record r;
        enum err e = record_decode(type, payload, &r);
        CHECK(e == ERR_OK || e == ERR_CORRUPT || e == ERR_NEWER_FORMAT);
        if (e != ERR_OK)
            continue;
        check_codec(&r);
        partition_apply(p, &r);
    }
    walk_save(p);
    walk_steps(p, &c);
    walk_save(p);
    partition_free(p);
    return 0;
}
