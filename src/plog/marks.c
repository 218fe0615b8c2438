// SPDX-License-Identifier: Apache-2.0
#include "plog/marks.h"

#include "base/mem.h"
#include "base/note.h"
#include "plog/files.h"
#include "plog/format.h"

enum { HEADER_BYTES = 80, MARK_BYTES = 80, FILE_BYTES_MAX = 1 << 30 };
_Static_assert(32 + STAMP_BYTES + 8 == HEADER_BYTES, "FORMAT.md, Marks");

enum err marks_write(const struct disk *d, const struct marks *m)
{
    struct buf b = BUF_EMPTY;
    buf_reserve(&b, HEADER_BYTES + m->n * MARK_BYTES);
    buf_put_u32(&b, 0); /* magic and CRC come last */
    buf_put_u32(&b, 0);
    buf_put_u32(&b, (uint32_t)(HEADER_BYTES + m->n * MARK_BYTES));
    buf_put_u32(&b, (uint32_t)m->n);
    buf_put_u64(&b, m->round);
    buf_put_u64(&b, m->next_incarnation);
    format_stamp_put(&b, &m->stamp);
    buf_put_u64(&b, 0);
    CHECK(b.n == HEADER_BYTES);
    for (size_t i = 0; i < m->n; i++) {
        const struct mark *k = &m->at[i];
        buf_put(&b, k->id.topic, sizeof k->id.topic);
        buf_put_u32(&b, k->id.partition);
        buf_put_u32(&b, k->index_entries);
        buf_put_u64(&b, k->incarnation);
        buf_put_u64(&b, k->end.offset);
        buf_put_u64(&b, k->end.number);
        buf_put_u64(&b, k->end.segment);
        buf_put_u64(&b, k->end.position);
        buf_put_u64(&b, k->start_offset);
        buf_put_u64(&b, k->start_number);
    }
    CHECK(b.n == HEADER_BYTES + m->n * MARK_BYTES);
    format_magic_store(b.at, 'M');
    format_crc_store(b.at, b.n, 0);
    struct bytes piece = buf_bytes(&b);
    enum err e = file_replace(d, ".", "marks", &piece, 1);
    buf_fini(&b);
    return e;
}

static void take_mark(struct cursor *c, struct mark *k)
{
    struct bytes topic = cursor_bytes(c, sizeof k->id.topic);
    if (topic.n == sizeof k->id.topic)
        memcpy(k->id.topic, topic.at, topic.n);
    k->id.partition = cursor_u32(c);
    k->index_entries = cursor_u32(c);
    k->incarnation = cursor_u64(c);
    k->end.offset = cursor_u64(c);
    k->end.number = cursor_u64(c);
    k->end.segment = cursor_u64(c);
    k->end.position = cursor_u64(c);
    k->start_offset = cursor_u64(c);
    k->start_number = cursor_u64(c);
}

/* What every mark that was written says; offsets and numbers as in batch_check. Position 0 says
 * that there is no segment yet, and whatever lies there is removed; then the log is empty. */
static bool is_sound(const struct mark *k)
{
    return (k->end.position == 0 ? k->end.offset == k->start_offset : k->end.offset > 0) &&
           k->end.offset <= UINT64_MAX / 2 && k->end.number <= UINT64_MAX / 2 &&
           k->start_offset <= k->end.offset && k->start_number <= k->end.number &&
           k->end.segment <= k->end.offset && k->end.number <= k->end.offset;
}

enum err marks_decode(struct bytes whole, struct marks *out)
{
    struct marks m = {0};
    enum err e = format_check(whole, 'M', 0);
    if (e != ERR_OK)
        return e;
    struct cursor c = cursor_of(whole);
    cursor_u64(&c);
    uint32_t bytes = cursor_u32(&c);
    m.n = cursor_u32(&c);
    if (bytes != whole.n || whole.n != HEADER_BYTES + m.n * MARK_BYTES)
        return ERR_CORRUPT;
    m.round = cursor_u64(&c);
    m.next_incarnation = cursor_u64(&c);
    m.stamp = format_stamp_take(&c);
    cursor_u64(&c);
    m.at = mem_new_array(m.n + 1, sizeof m.at[0]);
    bool sound = true;
    for (size_t i = 0; i < m.n; i++) {
        take_mark(&c, &m.at[i]);
        sound = sound && is_sound(&m.at[i]) &&
                (i == 0 || log_id_compare(&m.at[i - 1].id, &m.at[i].id) < 0);
    }
    CHECK(!c.bad);
    if (!sound) {
        marks_fini(&m);
        return ERR_CORRUPT;
    }
    *out = m;
    return ERR_OK;
}

enum err marks_read(const struct disk *d, struct marks *out)
{
    struct buf b = BUF_EMPTY;
    enum err e = file_read(d, "marks", FILE_BYTES_MAX, &b);
    if (e == ERR_OK)
        e = marks_decode(buf_bytes(&b), out);
    buf_fini(&b);
    if (e == ERR_NOT_FOUND || e == ERR_TOO_BIG)
        e = ERR_CORRUPT;
    if (e == ERR_CORRUPT)
        note(NOTE_ERROR, "plog", "the file marks is damaged or missing (byte 0)");
    else if (e == ERR_NEWER_FORMAT)
        note(NOTE_ERROR, "plog", "the file marks was written by a newer version");
    else if (e != ERR_OK)
        note(NOTE_ERROR, "plog", "the file marks: %s", err_text(e));
    return e;
}

void marks_fini(struct marks *m)
{
    mem_free(m->at);
    *m = (struct marks){0};
}
