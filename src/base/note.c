// SPDX-License-Identifier: Apache-2.0
#include "base/note.h"

#include <stdarg.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

static enum note_level level_max = NOTE_INFO;
static bool as_json;

void note_init(enum note_level level, bool json)
{
    level_max = level;
    as_json = json;
}

static const char *level_word(enum note_level level)
{
    static const char *const words[] = {"error", "warning", "info", "debug"};
    return words[level];
}

/* Control characters and, for JSON, quotes and backslashes become \u00XX, so that a line stays one
 * line. */
static int escape(char *out, int room, const char *text)
{
    int n = 0;
    for (; *text != '\0' && n < room - 7; text++) {
        unsigned char c = (unsigned char)*text;
        if (c < 0x20 || c == 0x7f || (as_json && (c == '"' || c == '\\')))
            n += snprintf(out + n, (size_t)(room - n), "\\u%04x", c);
        else
            out[n++] = (char)c;
    }
    out[n] = '\0';
    return n;
}

void note(enum note_level level, const char *room, const char *format, ...)
{
    if (level > level_max)
        return;
    char text[1024], safe[2048], line[2304], time_text[32];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    escape(safe, sizeof safe, text);
    struct timespec now;
    struct tm utc;
    clock_gettime(CLOCK_REALTIME, &now);
    gmtime_r(&now.tv_sec, &utc);
    strftime(time_text, sizeof time_text, "%Y-%m-%dT%H:%M:%S", &utc);
    int n = snprintf(line, sizeof line,
                     as_json ? "{\"time\":\"%s.%03ldZ\",\"level\":\"%s\",\"component\":\"%s\","
                               "\"msg\":\"%s\"}\n"
                             : "%s.%03ldZ %s %s: %s\n",
                     time_text, now.tv_nsec / 1000000, level_word(level), room, safe);
    ssize_t wrote = write(STDERR_FILENO, line, (size_t)n); /* one write: lines never mix */
    (void)wrote;
}
