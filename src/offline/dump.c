// SPDX-License-Identifier: Apache-2.0
#include "offline/dump.h"

#include <stdio.h>
#include <string.h>

#include "base/codec.h"
#include "base/mem.h"
#include "offline/batches.h"
#include "offline/dump_record.h"
#include "offline/log_files.h"
#include "offline/topics.h"
#include "plog/files.h"

enum { STORE_TRIES = 8, LOG_TRIES = 8, PRINT_BYTES = 64 << 10 };

struct dump {
    const struct disk *disk;
    const struct offline_args *args;
    struct offline_store store;
    struct plog_id id;
    uint64_t next; /* the offset that is to be printed next */
    uint64_t left; /* records */
    struct buf out;
    bool bad; /* something could not be read */
};

/* Marks and journal that fit together: a checkpoint in between would leave a gap between them. */
static void read_store(const struct disk *d, struct offline_store *s, bool *bad)
{
    for (int tries = 1;; tries++) {
        struct findings f = {.no_remarks = true};
        offline_store_read(d, &f, s);
        bool good = f.faults == 0;
        if (!good && tries == STORE_TRIES)
            fprintf(stderr,
                    "%.*sleaselog: marks or journal are damaged (leaselog fsck tells more)\n",
                    (int)f.lines.n, f.lines.n == 0 ? "" : f.lines.at);
        findings_fini(&f);
        if (good || tries == STORE_TRIES) {
            *bad = *bad || !good;
            return;
        }
        offline_store_fini(s);
    }
}

static void print(struct dump *d, size_t enough)
{
    if (d->out.n < enough)
        return;
    fwrite(d->out.at, 1, d->out.n, stdout);
    buf_clear(&d->out);
}

static void put_records(struct dump *d, struct bytes batch, const struct batch_header *h)
{
    struct dump_place at = {h->base_offset, h->first_number, h->epoch};
    struct cursor c = cursor_of(batch);
    cursor_bytes(&c, BATCH_HEADER_BYTES);
    for (; at.offset < batch_end(h) && d->left > 0; at.offset++) {
        uint8_t type = 0;
        struct bytes payload;
        struct record r;
        enum err e = batch_record(&c, &type, &payload);
        if (e == ERR_OK)
            e = record_decode(type, payload, &r);
        if (at.offset >= d->next) {
            if (e != ERR_OK)
                dump_unreadable(&d->out, &at, type, e, d->args->json);
            else if (d->args->json)
                dump_record_json(&d->out, &at, &r, d->args->bodies);
            else
                dump_record_words(&d->out, &at, &r, d->args->bodies);
            d->bad = d->bad || e != ERR_OK;
            d->next = at.offset + 1;
            d->left--;
        }
        at.number += type == RECORD_TYPE_MESSAGE;
        print(d, PRINT_BYTES);
    }
}

static void put_batch(struct dump *d, struct bytes batch, const struct batch_header *h)
{
    if (batch_end(h) <= d->next || d->left == 0)
        return;
    if (!h->gap) {
        put_records(d, batch, h);
        return;
    }
    dump_gap(&d->out, h, d->args->json);
    d->next = batch_end(h);
    d->left--;
}

/* The segment that holds d->next, or the first one behind it. */
static const struct offline_file *choose(const struct dump *d, const struct offline_log *l,
                                         const struct offline_files *files)
{
    const struct offline_file *found = NULL;
    for (size_t i = 0; i < files->n; i++) {
        const struct offline_file *f = &files->at[i];
        if (f->kind != FILE_SEGMENT || (!l->unknown && f->name > l->mark.end.segment))
            continue;
        if (found == NULL || f->name <= d->next)
            found = f;
    }
    return found;
}

/* Prints what one segment holds from d->next on. ERR_NOT_FOUND: the file is gone. */
static enum err dump_segment(struct dump *d, const struct offline_log *l,
                             const struct offline_file *file)
{
    struct buf b = BUF_EMPTY;
    enum err e = file_read(d->disk, file->path, SIZE_MAX / 2, &b);
    if (e != ERR_OK)
        return e;
    struct offline_batches scan = {.bytes = buf_bytes(&b)};
    if (!l->unknown && file->name == l->mark.end.segment && scan.bytes.n > l->mark.end.position)
        scan.bytes.n = l->mark.end.position;
    struct bytes batch;
    struct batch_header h;
    uint64_t at;
    while (d->left > 0 && (e = offline_batches_next(&scan, &at, &batch, &h)) != ERR_NOT_FOUND) {
        if (e == ERR_OK) {
            put_batch(d, batch, &h);
            continue;
        }
        print(d, 0);
        fprintf(stderr, "leaselog: %s, byte %llu: no good batch up to byte %llu: %s\n", file->path,
                (unsigned long long)at, (unsigned long long)scan.position, err_text(e));
        d->bad = true;
    }
    buf_fini(&b);
    return ERR_OK;
}

/* All segments below the mark. */
static enum err dump_segments(struct dump *d, const struct offline_log *l)
{
    enum err e = ERR_OK;
    uint64_t last = UINT64_MAX; /* the segment that was printed last */
    while (e == ERR_OK && d->left > 0 && (l->unknown || d->next < l->mark.end.offset)) {
        struct offline_files files;
        e = offline_files_list(d->disk, l->dir, &files);
        if (e != ERR_OK)
            return e;
        const struct offline_file *file = choose(d, l, &files);
        /* Where a segment ends in bad bytes, the one behind it goes on. */
        if (file != NULL && file->name == last) {
            const struct offline_file *behind = NULL;
            for (size_t i = 0; i < files.n && behind == NULL; i++)
                if (files.at[i].kind == FILE_SEGMENT && files.at[i].name > last &&
                    (l->unknown || files.at[i].name <= l->mark.end.segment))
                    behind = &files.at[i];
            file = behind;
        }
        if (file == NULL) {
            offline_files_fini(&files);
            break;
        }
        last = file->name;
        e = dump_segment(d, l, file);
        offline_files_fini(&files);
    }
    return e;
}

/* What the journal holds behind the mark. */
static enum err dump_journal(struct dump *d, const struct offline_log *l)
{
    struct offline_append_reader r = OFFLINE_APPEND_READER(&d->store);
    size_t n;
    const struct offline_append *a = offline_store_appends(&d->store, l, &n);
    enum err e = ERR_OK;
    for (size_t i = 0; e == ERR_OK && i < n && d->left > 0; i++) {
        struct bytes batch;
        struct batch_header h;
        e = offline_append_read(&r, &a[i], &batch);
        if (e == ERR_OK)
            e = batch_check(batch, &h);
        if (e == ERR_OK)
            put_batch(d, batch, &h);
    }
    offline_append_reader_fini(&r);
    return e;
}

static enum offline_exit dump_log(struct dump *d)
{
    enum err e = ERR_OK;
    for (int tries = 0; tries < LOG_TRIES; tries++) {
        read_store(d->disk, &d->store, &d->bad);
        const struct offline_log *l = offline_store_find(&d->store, d->id);
        if (l == NULL) {
            fprintf(stderr, "leaselog: dump: there is no such log\n");
            offline_store_fini(&d->store);
            return OFFLINE_NOT_FOUND;
        }
        e = dump_segments(d, l);
        if (e == ERR_OK)
            e = dump_journal(d, l);
        if (e == ERR_OK && d->store.journal.torn && d->left > 0)
            fprintf(stderr, "leaselog: the journal's last round is being written, or a crash cut "
                            "it short; it is not shown\n");
        offline_store_fini(&d->store);
        if (e == ERR_OK)
            break;
    }
    print(d, 0);
    if (e != ERR_OK)
        fprintf(stderr, "leaselog: dump: at offset %llu: %s\n", (unsigned long long)d->next,
                err_text(e));
    return e != ERR_OK || d->bad ? OFFLINE_FAULTS : OFFLINE_OK;
}

/* A topic's id stands for itself, so that a log can be shown without a catalogue. */
static bool find_topic(const struct offline_args *args, uint8_t id[16])
{
    struct offline_topics topics = {0};
    if (codec_hex_decode(bytes_of_text(args->topic), id, 16) == ERR_OK)
        return true;
    enum err e = offline_topics_read(args->dir, &topics);
    if (e != ERR_OK)
        fprintf(stderr,
                "leaselog: dump: %s/catalog.sqlite: %s\nA topic may be named by its id too, "
                "the 32 digits of its folder below %s/t\n",
                args->dir, err_text(e), args->dir);
    const struct topic_config *t = offline_topics_named(&topics, args->topic);
    if (e == ERR_OK && t == NULL)
        fprintf(stderr, "leaselog: dump: there is no topic '%s'\n", args->topic);
    if (t != NULL)
        memcpy(id, t->id, sizeof t->id);
    offline_topics_fini(&topics);
    return t != NULL;
}

enum offline_exit offline_dump(const struct disk *disk, const struct offline_args *args)
{
    struct dump d = {.disk = disk, .args = args, .next = args->from, .left = args->limit};
    if (args->topic == NULL) {
        read_store(disk, &d.store, &d.bad);
        bool all = offline_dump_tree(disk, args, &d.store);
        offline_store_fini(&d.store);
        return all && !d.bad ? OFFLINE_OK : OFFLINE_FAULTS;
    }
    d.id.partition = args->partition;
    if (!find_topic(args, d.id.topic))
        return OFFLINE_NOT_FOUND;
    enum offline_exit exit = dump_log(&d);
    buf_fini(&d.out);
    return exit;
}
