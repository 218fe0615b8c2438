// SPDX-License-Identifier: Apache-2.0
/* The operator's log: one line an event on standard error, as text or as a JSON object. Written
 * once, in the room where the event is known. Bodies and receipts are never logged. */
#ifndef BASE_NOTE_H
#define BASE_NOTE_H

#include <stdbool.h>

enum note_level { NOTE_ERROR, NOTE_WARNING, NOTE_INFO, NOTE_DEBUG };

/* Lines above `level` are dropped. `json`: JSON lines instead of text. Before threads are born. */
void note_init(enum note_level level, bool json);

/* `room` is the writer's room. The text is printf's; control characters are escaped. */
void note(enum note_level level, const char *room, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
