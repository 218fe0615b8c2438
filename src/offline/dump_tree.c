// SPDX-License-Identifier: Apache-2.0
/* The directory as a whole: one line a thing. */
#include <inttypes.h>
#include <stdio.h>

#include "base/codec.h"
#include "base/json_write.h"
#include "base/mem.h"
#include "offline/dump.h"
#include "offline/dump_record.h"
#include "offline/log_files.h"
#include "offline/topics.h"

/* A line being made: words, then name-value pairs. */
struct line {
    bool json;
    struct buf out;
    struct json_writer w;
};

static void line_begin(struct line *l, bool json, const char *kind, const char *name)
{
    *l = (struct line){.json = json};
    if (!json) {
        buf_put_format(&l->out, "%s%s%s:", kind, name[0] == '\0' ? "" : " ", name);
        return;
    }
    l->w = json_writer_to(&l->out);
    json_begin_object(&l->w);
    json_put_key(&l->w, "kind");
    json_put_text(&l->w, kind);
    json_put_key(&l->w, "name");
    json_put_text(&l->w, name);
}

static void line_number(struct line *l, const char *key, uint64_t v)
{
    if (!l->json) {
        buf_put_format(&l->out, " %s %" PRIu64, key, v);
        return;
    }
    json_put_key(&l->w, key);
    json_put_uint64(&l->w, v);
}

static void line_text(struct line *l, const char *key, const char *v)
{
    if (!l->json) {
        buf_put_format(&l->out, " %s %s", key, v);
        return;
    }
    json_put_key(&l->w, key);
    json_put_text(&l->w, v);
}

static void line_end(struct line *l)
{
    if (l->json) {
        json_end_object(&l->w);
        json_writer_done(&l->w);
    }
    printf("%.*s\n", (int)l->out.n, l->out.at);
    buf_fini(&l->out);
}

static void dump_marks(const struct offline_store *s, bool json)
{
    struct line l;
    struct buf wall = BUF_EMPTY;
    if (!s->marks_good)
        return;
    dump_wall_time(&wall, s->marks.stamp.wall_ms);
    buf_put_u8(&wall, 0);
    line_begin(&l, json, "marks", "");
    line_number(&l, "round", s->marks.round);
    line_number(&l, "logs", s->marks.n);
    line_number(&l, "next_incarnation", s->marks.next_incarnation);
    line_text(&l, "written", wall.at);
    line_end(&l);
    buf_fini(&wall);
}

static void dump_journal(const struct offline_store *s, bool json)
{
    for (size_t i = 0; i < s->journal.files_n; i++) {
        const struct offline_journal_file *f = &s->journal.files[i];
        struct line l;
        char *path = offline_journal_path(f->number);
        line_begin(&l, json, "journal", path);
        line_number(&l, "bytes", f->bytes);
        line_text(&l, "state", !f->good ? "damaged" : f->in_use ? "in use" : "free");
        line_number(&l, "lap", f->lap);
        line_number(&l, "rounds", f->rounds);
        line_number(&l, "first_round", f->first);
        line_number(&l, "last_round", f->last);
        line_number(&l, "end", f->in_use ? f->stop : 0);
        line_end(&l);
        mem_free(path);
    }
}

static void dump_topics(const struct offline_topics *topics, bool json)
{
    static const char *const states[] = {
        [TOPIC_CREATING] = "creating", [TOPIC_READY] = "ready", [TOPIC_DELETING] = "deleting"};
    for (size_t i = 0; i < topics->n; i++) {
        const struct topic_config *t = &topics->at[i];
        char id[2 * sizeof t->id + 1];
        struct line l;
        codec_hex_text((struct bytes){t->id, sizeof t->id}, id);
        line_begin(&l, json, "topic", t->name);
        line_text(&l, "id", id);
        line_text(&l, "state", states[t->state]);
        line_number(&l, "partitions", t->partitions);
        line_text(&l, "cleanup", t->compact ? "compact" : "delete");
        line_end(&l);
    }
}

static uint64_t size_of(const struct disk *d, const char *path)
{
    int file;
    uint64_t bytes = 0;
    if (d->open(d->self, path, DISK_READ, &file) != ERR_OK)
        return 0;
    if (d->size(d->self, file, &bytes) != ERR_OK)
        bytes = 0;
    d->close(d->self, file);
    return bytes;
}

static bool dump_files(const struct disk *d, const struct offline_log *log, bool json)
{
    static const char *const kinds[] = {"segment", "index", "snapshot",   "anew",
                                        "salvage", "copy",  "unfinished", "other"};
    struct offline_files files;
    enum err e = offline_files_list(d, log->dir, &files);
    if (e == ERR_NOT_FOUND && !log->marked)
        return true; /* the journal has made it, and a crash came before its folder */
    if (e != ERR_OK) {
        fflush(stdout);
        fprintf(stderr, "leaselog: dump: %s: %s\n", log->dir, err_text(e));
        return false;
    }
    for (size_t i = 0; i < files.n; i++) {
        struct line l;
        line_begin(&l, json, kinds[files.at[i].kind], files.at[i].path);
        line_number(&l, "bytes", size_of(d, files.at[i].path));
        if (files.at[i].kind < FILE_SALVAGE)
            line_number(&l, "offset", files.at[i].name);
        line_end(&l);
    }
    offline_files_fini(&files);
    return true;
}

static bool dump_log(const struct disk *d, const struct offline_store *s,
                     const struct offline_log *log, const struct topic_config *t, bool json)
{
    struct line l;
    size_t appends;
    const struct mark *m = &log->mark;
    offline_store_appends(s, log, &appends);
    line_begin(&l, json, "log", log->dir);
    line_text(&l, "topic", t != NULL ? t->name : "?");
    line_number(&l, "partition", log->id.partition);
    line_number(&l, "incarnation", log->incarnation);
    line_number(&l, "start_offset", m->start_offset);
    line_number(&l, "start_number", m->start_number);
    line_number(&l, "mark_offset", m->end.offset);
    line_number(&l, "mark_number", m->end.number);
    line_number(&l, "mark_segment", m->end.segment);
    line_number(&l, "mark_position", m->end.position);
    line_number(&l, "index_entries", m->index_entries);
    line_number(&l, "batches_in_journal", appends);
    line_end(&l);
    return dump_files(d, log, json);
}

bool offline_dump_tree(const struct disk *d, const struct offline_args *args,
                       const struct offline_store *s)
{
    struct offline_topics topics = {0};
    bool all = s->marks_good;
    enum err e = offline_topics_read(args->dir, &topics);
    if (e != ERR_OK)
        fprintf(stderr, "leaselog: dump: %s/catalog.sqlite: %s\n", args->dir, err_text(e));
    dump_marks(s, args->json);
    dump_journal(s, args->json);
    dump_topics(&topics, args->json);
    for (size_t i = 0; i < s->logs_n; i++) {
        const struct topic_config *t = offline_topics_find(&topics, s->logs[i].id.topic);
        all = dump_log(d, s, &s->logs[i], t, args->json) && all;
    }
    offline_topics_fini(&topics);
    return all && e == ERR_OK;
}
