// SPDX-License-Identifier: Apache-2.0
/* The operator's log for targets: it stands in for base/note.c, keeps the newest error, and prints
 * nothing, for damaged input would print a line a time. */
#include <stdarg.h>
#include <stdio.h>

#include "base/note.h"
#include "fuzz/fuzz.h"

static char newest[1024];

void note_init(enum note_level level, bool json)
{
    (void)level;
    (void)json;
}

void note(enum note_level level, const char *room, const char *format, ...)
{
    (void)room;
    va_list args;
    if (level != NOTE_ERROR)
        return;
    va_start(args, format);
    vsnprintf(newest, sizeof newest, format, args);
    va_end(args);
}

const char *fuzz_error_noted(void)
{
    return newest;
}

void fuzz_notes_clear(void)
{
    newest[0] = '\0';
}
