// SPDX-License-Identifier: Apache-2.0
/* Lists inside records: runs of numbers and attributes (RECORDS.md, "Runs", "Attribute list"). */
#include "partition/codec.h"
#include "partition/record.h"

void record_runs_init(struct record_runs *r)
{
    *r = (struct record_runs){.bytes = BUF_EMPTY};
}

void record_runs_fini(struct record_runs *r)
{
    buf_fini(&r->bytes);
    record_runs_init(r);
}

static void close_run(struct record_runs *r)
{
    if (r->open.count == 0)
        return;
    buf_put_varint(&r->bytes, r->open.first - r->last_end);
    buf_put_varint(&r->bytes, r->open.count - 1);
    r->last_end = r->open.first + r->open.count;
    r->open = (struct record_run){0, 0};
}

void record_runs_put(struct record_runs *r, uint64_t number)
{
    CHECK(number < CODEC_NUMBER_MAX);
    if (r->open.count > 0 && number == r->open.first + r->open.count) {
        r->open.count++;
        return;
    }
    close_run(r);
    CHECK(r->last_end == 0 || number > r->last_end);
    r->open = (struct record_run){number, 1};
}

struct bytes record_runs_bytes(struct record_runs *r)
{
    close_run(r);
    return buf_bytes(&r->bytes);
}

bool record_runs_next(struct bytes *runs, uint64_t *previous_end, struct record_run *out)
{
    if (runs->n == 0)
        return false;
    struct cursor c = cursor_of(*runs);
    uint64_t gap = codec_number(&c);
    uint64_t more = codec_number(&c);
    if (c.bad || (gap == 0 && *previous_end != 0) || gap >= CODEC_NUMBER_MAX - *previous_end ||
        more >= CODEC_NUMBER_MAX - *previous_end - gap)
        return false;
    *out = (struct record_run){*previous_end + gap, more + 1};
    *previous_end = out->first + out->count;
    *runs = (struct bytes){c.at, c.left};
    return true;
}

void record_attribute_put(struct buf *list, const struct record_attribute *a)
{
    CHECK(a->name.n > 0 && a->name.n <= RECORD_ID_BYTES_MAX);
    CHECK(a->data_type.n > 0 && a->data_type.n <= RECORD_ID_BYTES_MAX);
    CHECK(a->kind == ATTRIBUTE_TEXT || a->kind == ATTRIBUTE_BINARY);
    buf_put_sized(list, a->name);
    buf_put_sized(list, a->data_type);
    buf_put_u8(list, (uint8_t)a->kind);
    buf_put_sized(list, a->value);
}

bool record_attribute_next(struct bytes *list, struct record_attribute *out)
{
    if (list->n == 0)
        return false;
    struct cursor c = cursor_of(*list);
    struct bytes name = codec_sized_upto(&c, RECORD_ID_BYTES_MAX);
    struct bytes data_type = codec_sized_upto(&c, RECORD_ID_BYTES_MAX);
    uint8_t kind = cursor_u8(&c);
    struct bytes value = cursor_sized(&c);
    if (c.bad || name.n == 0 || data_type.n == 0 ||
        (kind != ATTRIBUTE_TEXT && kind != ATTRIBUTE_BINARY))
        return false;
    *out = (struct record_attribute){name, data_type, (enum attribute_kind)kind, value};
    *list = (struct bytes){c.at, c.left};
    return true;
}
