// SPDX-License-Identifier: Apache-2.0
/* Reading messages back from the log, without any lock. */
#include <string.h>

#include "queue/state.h"

void reader_init(struct reader *r)
{
    r->open = false;
}

void reader_fini(struct reader *r)
{
    if (r->open)
        plog_cursor_close(&r->cursor);
    r->open = false;
}

enum err reader_get(struct reader *r, struct plog_log *log, uint64_t number, size_t read_ahead,
                    struct record_message *out)
{
    enum err e;
    if (r->open && r->next != number)
        reader_fini(r);
    if (!r->open) {
        e = plog_cursor_at_number(log, number, read_ahead, &r->cursor);
        if (e != ERR_OK)
            return e;
        r->open = true;
    }
    struct plog_entry entry;
    do {
        e = plog_cursor_next(&r->cursor, &entry);
    } while (e == ERR_OK && (entry.type != RECORD_MESSAGE || entry.number < number));
    if (e != ERR_OK || entry.number > number) {
        reader_fini(r);
        return e == ERR_OK ? ERR_GONE : e;
    }
    struct record record;
    e = record_decode(entry.type, entry.payload, &record);
    if (e != ERR_OK)
        return e;
    r->next = number + 1;
    *out = record.message;
    return ERR_OK;
}

static void attributes_decode(struct bytes list, struct arena *arena, struct queue_received *out)
{
    struct bytes left = list;
    struct record_attribute a;
    size_t n = 0;
    while (record_attribute_next(&left, &a))
        n++;
    if (n == 0)
        return;
    struct queue_attribute *at = arena_zeros(arena, n * sizeof *at);
    left = arena_copy(arena, list);
    for (size_t i = 0; i < n && record_attribute_next(&left, &a); i++)
        at[i] = (struct queue_attribute){
            .name = a.name,
            .data_type = a.data_type,
            .binary = a.kind == ATTRIBUTE_BINARY,
            .value = a.value,
        };
    out->attributes = at;
    out->attributes_n = n;
}

static struct bytes keep(struct arena *arena, struct bytes b)
{
    return b.n == 0 ? BYTES_NONE : arena_copy(arena, b);
}

void message_copy_out(const struct record_message *m, struct arena *arena,
                      struct queue_received *out)
{
    memset(out, 0, sizeof *out);
    memcpy(out->id, m->id.at, sizeof out->id);
    out->body = keep(arena, m->body);
    memcpy(out->body_md5, m->body_md5, sizeof out->body_md5);
    attributes_decode(m->attributes, arena, out);
    out->trace = keep(arena, m->trace);
    out->sent_wall_ms = m->sent_wall_ms;
    out->group_id = keep(arena, m->group_id);
    out->dedup_id = keep(arena, m->dedup_id);
    out->key = keep(arena, m->key);
    out->tombstone = m->tombstone;
    if (m->moved)
        out->origin = keep(arena, m->origin.name);
}
