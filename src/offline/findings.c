// SPDX-License-Identifier: Apache-2.0
#include "offline/findings.h"

#include <stdio.h>

#include "base/json_write.h"
#include "base/utf8.h"

enum { SHOWN_MAX = 10000 }; /* faults and remarks that are printed; all are counted */

void findings_fini(struct findings *f)
{
    buf_fini(&f->lines);
}

static void put_json(struct findings *f, const char *kind, const char *file, uint64_t at,
                     const char *what, const char *todo)
{
    struct json_writer w = json_writer_to(&f->lines);
    json_begin_object(&w);
    json_put_key(&w, "kind");
    json_put_text(&w, kind);
    json_put_key(&w, "file");
    json_put_text(&w, file);
    json_put_key(&w, "byte");
    if (at == FINDING_WHOLE)
        json_put_null(&w);
    else
        json_put_uint64(&w, at);
    json_put_key(&w, "what");
    json_put_text(&w, what);
    json_put_key(&w, "todo");
    json_put_text(&w, todo);
    json_end_object(&w);
    json_writer_done(&w);
}

/* Names of files and topics come from the disk: what cannot be printed is shown as ?, so that a
 * line stays one line. */
static void make_printable(char *text)
{
    bool valid = utf8_valid(bytes_of_text(text));
    for (; *text != '\0'; text++) {
        unsigned char c = (unsigned char)*text;
        if (c < 0x20 || c == 0x7f || (c >= 0x80 && !valid))
            *text = '?';
    }
}

static void put(struct findings *f, const char *kind, const char *file, uint64_t at,
                const char *todo, const char *format, va_list args)
    __attribute__((format(printf, 6, 0)));

static void put(struct findings *f, const char *kind, const char *file, uint64_t at,
                const char *todo, const char *format, va_list args)
{
    char what[1024], name[512];
    if (f->faults + f->remarks > SHOWN_MAX)
        return;
    vsnprintf(what, sizeof what, format, args);
    snprintf(name, sizeof name, "%s", file);
    make_printable(what);
    make_printable(name);
    if (f->json)
        put_json(f, kind, name, at, what, todo);
    else if (at == FINDING_WHOLE)
        buf_put_format(&f->lines, "%s: %s: %s", kind, name, what);
    else
        buf_put_format(&f->lines, "%s: %s, byte %llu: %s", kind, name, (unsigned long long)at,
                       what);
    if (!f->json && todo[0] != '\0')
        buf_put_format(&f->lines, "; %s", todo);
    buf_put_u8(&f->lines, '\n');
}

void findings_fault(struct findings *f, const char *file, uint64_t at, const char *todo,
                    const char *format, ...)
{
    va_list args;
    va_start(args, format);
    f->faults++;
    put(f, "fault", file, at, todo, format, args);
    va_end(args);
}

void findings_remark(struct findings *f, const char *file, uint64_t at, const char *format, ...)
{
    va_list args;
    if (f->no_remarks)
        return;
    va_start(args, format);
    f->remarks++;
    put(f, "remark", file, at, "", format, args);
    va_end(args);
}

struct findings_place findings_here(const struct findings *f)
{
    return (struct findings_place){f->faults, f->remarks, f->lines.n};
}

void findings_back(struct findings *f, struct findings_place place)
{
    CHECK(place.lines_n <= f->lines.n);
    f->faults = place.faults;
    f->remarks = place.remarks;
    f->lines.n = place.lines_n;
}

void findings_flush(struct findings *f)
{
    if (f->lines.n > 0)
        fwrite(f->lines.at, 1, f->lines.n, stdout);
    buf_clear(&f->lines);
}
