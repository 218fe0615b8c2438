// SPDX-License-Identifier: Apache-2.0
/* Reading messages back from the log, without any lock. */
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
