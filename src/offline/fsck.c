// SPDX-License-Identifier: Apache-2.0
#include "offline/fsck.h"

#include <stdio.h>
#include <string.h>

#include "base/codec.h"
#include "base/json_write.h"
#include "base/mem.h"
#include "offline/check_catalog.h"
#include "offline/check_log.h"
#include "offline/findings.h"
#include "offline/store.h"
#include "plog/files.h"
#include "plog/inside.h"
#include "plog/store.h"

/* A broker that serves the directory changes files while they are read. What looks bad then is
 * looked at again, and believed when it looks bad each time. */
enum { ONLINE_TRIES = 4 };

static void check_store_file(const struct disk *d, struct findings *f)
{
    char uuid[STORE_UUID_BYTES + 1];
    struct buf b = BUF_EMPTY;
    enum err e = file_read(d, "store.json", STORE_BYTES_MAX, &b);
    if (e == ERR_OK)
        e = store_decode(buf_bytes(&b), uuid);
    if (e != ERR_OK)
        findings_fault(f, "store.json", e == ERR_NOT_FOUND ? FINDING_WHOLE : 0,
                       "the broker will not start; restore the file from a backup of the same "
                       "directory",
                       "%s", err_text(e));
    buf_fini(&b);
}

static bool is_known_name(const char *name)
{
    static const char *const known[] = {"lock",
                                        "store.json",
                                        "marks",
                                        "journal",
                                        "t",
                                        "catalog.sqlite",
                                        "catalog.sqlite-journal",
                                        "cluster.json"};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (strcmp(name, known[i]) == 0)
            return true;
    return false;
}

static void check_root(const struct disk *d, struct findings *f)
{
    struct names names = {0};
    bool folder = false;
    if (names_list(d, ".", &names) != ERR_OK)
        return;
    for (size_t i = 0; i < names.n; i++) {
        folder = folder || strcmp(names.at[i], "t") == 0;
        if (!is_known_name(names.at[i]))
            findings_remark(f, names.at[i], FINDING_WHOLE,
                            "nothing of leaselog, or left over from a crash; it means nothing");
    }
    names_fini(&names);
    if (!folder)
        findings_fault(f, "t", FINDING_WHOLE,
                       "the broker will not start; restore the directory from a backup",
                       "the folder of the logs is missing");
}

/* A folder that neither marks nor journal name is no log. */
static void check_topic_folder(const struct offline_store *s, const char *name, struct findings *f)
{
    struct plog_id id;
    struct names names = {0};
    char *dir = file_path("t", name);
    bool topic = codec_hex_decode(bytes_of_text(name), id.topic, sizeof id.topic) == ERR_OK;
    if (!topic || names_list(&s->disk, dir, &names) != ERR_OK)
        findings_remark(f, dir, FINDING_WHOLE, "no topic's folder");
    for (size_t i = 0; i < names.n; i++) {
        char *path = file_path(dir, names.at[i]);
        uint64_t partition;
        bool numbered = names_number(names.at[i], strlen(names.at[i]), "", &partition) &&
                        partition <= UINT32_MAX;
        id.partition = numbered ? (uint32_t)partition : 0;
        if (!numbered || offline_store_find(s, id) == NULL)
            findings_remark(f, path, FINDING_WHOLE,
                            "neither the marks nor the journal name such a log; it means nothing");
        mem_free(path);
    }
    names_fini(&names);
    mem_free(dir);
}

static void check_folders(const struct offline_store *s, struct findings *f)
{
    struct names names = {0};
    if (!s->marks_good || names_list(&s->disk, "t", &names) != ERR_OK)
        return;
    for (size_t i = 0; i < names.n; i++)
        check_topic_folder(s, names.at[i], f);
    names_fini(&names);
}

/* All that is about the whole directory. */
static void check_whole(const struct disk *d, const struct offline_args *args, struct findings *f,
                        struct offline_store *s)
{
    check_store_file(d, f);
    check_root(d, f);
    offline_store_read(d, f, s);
    check_folders(s, f);
    offline_check_catalog(args->dir, s, f);
}

/* The log as the store of now has it; a log that is gone meanwhile is not looked at. */
static void check_log_again(struct offline_check *c, const struct disk *d, struct plog_id id,
                            struct findings *f)
{
    struct findings quiet = {.no_remarks = true};
    struct offline_store now;
    offline_store_read(d, &quiet, &now);
    const struct offline_log *l = offline_store_find(&now, id);
    if (l != NULL)
        offline_check_log(c, &now, l, f);
    offline_store_fini(&now);
    findings_fini(&quiet);
}

static void check_logs(struct offline_check *c, const struct disk *d, const struct offline_store *s,
                       struct findings *f)
{
    for (size_t i = 0; i < s->logs_n; i++) {
        struct findings_place here = findings_here(f);
        offline_check_log(c, s, &s->logs[i], f);
        for (int tries = 1; c->online && f->faults > here.faults && tries < ONLINE_TRIES; tries++) {
            findings_back(f, here);
            check_log_again(c, d, s->logs[i].id, f);
        }
        findings_flush(f);
    }
}

static void print_end(const struct findings *f, const struct offline_check *c,
                      const struct offline_store *s, const struct offline_args *args)
{
    struct buf b = BUF_EMPTY;
    if (args->json) {
        struct json_writer w = json_writer_to(&b);
        json_begin_object(&w);
        json_put_key(&w, "kind");
        json_put_text(&w, "summary");
        const struct {
            const char *key;
            uint64_t n;
        } sums[] = {{"faults", f->faults},        {"remarks", f->remarks}, {"logs", s->logs_n},
                    {"batches", c->batches},      {"records", c->records}, {"bytes", c->bytes},
                    {"indexes_made", c->repaired}};
        for (size_t i = 0; i < sizeof sums / sizeof sums[0]; i++) {
            json_put_key(&w, sums[i].key);
            json_put_uint64(&w, sums[i].n);
        }
        json_end_object(&w);
        json_writer_done(&w);
    } else {
        buf_put_format(&b,
                       "%s: %zu faults, %zu remarks; read %zu logs, %llu batches, %llu records, "
                       "%llu bytes",
                       f->faults == 0 ? "clean" : "damaged", f->faults, f->remarks, s->logs_n,
                       (unsigned long long)c->batches, (unsigned long long)c->records,
                       (unsigned long long)c->bytes);
        if (c->repaired > 0)
            buf_put_format(&b, "; made %zu indexes again", c->repaired);
    }
    printf("%.*s\n", (int)b.n, b.at);
    buf_fini(&b);
}

static enum offline_exit check_all(const struct disk *d, const struct offline_args *args)
{
    struct findings f = {.json = args->json};
    struct offline_check c = {.online = args->online, .repair = args->repair};
    struct offline_store s;
    check_whole(d, args, &f, &s);
    for (int tries = 1; args->online && f.faults > 0 && tries < ONLINE_TRIES; tries++) {
        offline_store_fini(&s);
        findings_back(&f, (struct findings_place){0});
        check_whole(d, args, &f, &s);
    }
    findings_flush(&f);
    check_logs(&c, d, &s, &f);
    print_end(&f, &c, &s, args);
    enum offline_exit exit = f.faults == 0 ? OFFLINE_OK : OFFLINE_FAULTS;
    offline_store_fini(&s);
    findings_fini(&f);
    return exit;
}

/* The broker's own lock, so that neither writes or judges while the other writes. */
enum offline_exit offline_fsck(const struct disk *d, const struct offline_args *args)
{
    int file = -1;
    enum err e = args->online ? ERR_NOT_FOUND : d->open(d->self, "lock", DISK_READ, &file);
    if (e == ERR_OK)
        e = d->lock(d->self, file);
    enum offline_exit exit = OFFLINE_FAULTS;
    if (e == ERR_OK || e == ERR_NOT_FOUND) {
        exit = check_all(d, args);
    } else if (e == ERR_IN_USE) {
        fprintf(stderr, "leaselog: fsck: %s: %s\nStop the broker, or try: leaselog fsck --online\n",
                args->dir, err_text(e));
        exit = OFFLINE_IN_USE;
    } else {
        fprintf(stderr, "leaselog: fsck: %s/lock: %s\n", args->dir, err_text(e));
    }
    if (file >= 0)
        d->close(d->self, file);
    return exit;
}
