// SPDX-License-Identifier: Apache-2.0
/* One log as an object: its life, its folder, its place in the table. */
#include "base/mem.h"
#include "base/note.h"
#include "base/rng.h"
#include "plog/files.h"
#include "plog/inside.h"

struct plog_log *log_new(struct plog *p, struct plog_id id, uint64_t incarnation)
{
    static const char hex[] = "0123456789abcdef";
    struct plog_log *l = mem_new(sizeof *l);
    char topic[2 * sizeof id.topic + 1] = {0};
    for (size_t i = 0; i < sizeof id.topic; i++) {
        topic[2 * i] = hex[id.topic[i] >> 4];
        topic[2 * i + 1] = hex[id.topic[i] & 15];
    }
    struct buf dir = BUF_EMPTY;
    buf_put_format(&dir, "t/%s/%u", topic, id.partition);
    buf_put_u8(&dir, 0);
    l->plog = p;
    l->id = id;
    l->incarnation = incarnation;
    l->dir = dir.at;
    l->refs = 1;
    l->write_file = -1;
    STAILQ_INIT(&l->pending);
    lock_init(&l->lk, LOCK_RANK_SEGMENTS);
    return l;
}

uint64_t log_draw_incarnation(void)
{
    uint64_t drawn = 0;
    while (drawn == 0) {
        rng_secret(&drawn, sizeof drawn);
        drawn >>= 1; /* also as a signed number, as JSON has them */
    }
    return drawn;
}

static void log_free(struct plog_log *l)
{
    CHECK(l->write_file < 0 && l->ring.n == 0);
    segment_list_fini(&l->segments);
    lock_fini(&l->lk);
    mem_free(l->epochs);
    mem_free(l->damage);
    mem_free(l->dir);
    mem_free(l);
}

void log_unref_locked(struct plog_log *l)
{
    CHECK(l->refs > 0);
    if (--l->refs == 0)
        log_free(l);
}

void log_unref(struct plog_log *l)
{
    struct plog *p = l->plog;
    lock_take(&p->commit_lk);
    log_unref_locked(l);
    lock_give(&p->commit_lk);
}

int log_id_compare(const struct plog_id *a, const struct plog_id *b)
{
    int c = memcmp(a->topic, b->topic, sizeof a->topic);
    return c != 0 ? c : (a->partition > b->partition) - (a->partition < b->partition);
}

/* The place of the first log at or behind id. */
static size_t place_of(const struct plog *p, const struct plog_id *id)
{
    size_t low = 0, high = p->logs_n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (log_id_compare(&p->logs[middle]->id, id) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

struct plog_log *log_find_locked(struct plog *p, struct plog_id id)
{
    size_t place = place_of(p, &id);
    bool found = place < p->logs_n && log_id_compare(&p->logs[place]->id, &id) == 0;
    return found ? p->logs[place] : NULL;
}

void log_add_locked(struct plog *p, struct plog_log *l)
{
    size_t place = place_of(p, &l->id);
    CHECK(place == p->logs_n || log_id_compare(&p->logs[place]->id, &l->id) != 0);
    if (p->logs_n == p->logs_room) {
        p->logs_room = p->logs_room == 0 ? 16 : 2 * p->logs_room;
        p->logs = mem_resize(p->logs, p->logs_room * sizeof p->logs[0]);
    }
    memmove(p->logs + place + 1, p->logs + place, (p->logs_n - place) * sizeof p->logs[0]);
    p->logs[place] = l;
    p->logs_n++;
}

void log_take_out_locked(struct plog *p, struct plog_log *l)
{
    size_t place = place_of(p, &l->id);
    CHECK(place < p->logs_n && p->logs[place] == l);
    p->logs_n--;
    write_late_locked(l, false);
    atomic_fetch_sub(&p->late_bytes, atomic_exchange(&l->late_bytes, 0));
    memmove(p->logs + place, p->logs + place + 1, (p->logs_n - place) * sizeof p->logs[0]);
}

char *log_path(const struct plog_log *l, uint64_t name, const char *suffix)
{
    struct buf b = BUF_EMPTY;
    buf_put_format(&b, "%s/%020llu.%s", l->dir, (unsigned long long)name, suffix);
    buf_put_u8(&b, 0);
    return b.at;
}

/* The folder of the log's topic, freed with mem_free. */
static char *topic_dir(const struct plog_log *l)
{
    char *dir = mem_copy_text(l->dir);
    *strrchr(dir, '/') = '\0';
    return dir;
}

enum err log_make_dirs(struct plog_log *l)
{
    const struct disk *d = l->plog->disk;
    char *topic = topic_dir(l);
    enum err e = file_make_dir(d, topic);
    if (e == ERR_OK)
        e = file_make_dir(d, l->dir);
    mem_free(topic);
    return e;
}

enum err log_sync_dirs(struct plog_log *l)
{
    const struct disk *d = l->plog->disk;
    char *topic = topic_dir(l);
    /* From the top down: a folder's own name is safe before what is named in it. */
    enum err e = d->sync_dir(d->self, topic);
    if (e == ERR_OK)
        e = d->sync_dir(d->self, l->dir);
    mem_free(topic);
    return e;
}

enum err log_remove_dirs(struct plog_log *l)
{
    const struct disk *d = l->plog->disk;
    struct names names;
    char *topic = topic_dir(l);
    enum err e = names_list(d, l->dir, &names);
    if (e == ERR_OK) {
        for (size_t i = 0; e == ERR_OK && i < names.n; i++) {
            char *path = file_path(l->dir, names.at[i]);
            e = file_remove(d, path);
            mem_free(path);
        }
        names_fini(&names);
        if (e == ERR_OK)
            e = d->remove(d->self, l->dir);
        if (e == ERR_OK)
            e = d->sync_dir(d->self, topic);
    } else if (e == ERR_NOT_FOUND) {
        e = ERR_OK;
    }
    /* The topic's last partition takes the topic's folder with it. */
    if (e == ERR_OK) {
        e = d->remove(d->self, topic);
        if (e == ERR_OK)
            e = d->sync_dir(d->self, "t");
        else if (e == ERR_EXISTS || e == ERR_NOT_FOUND)
            e = ERR_OK;
    }
    mem_free(topic);
    return e;
}

void log_note_corrupt(struct plog_log *l, uint64_t segment, uint64_t position, enum err e)
{
    lock_take(&l->lk);
    bool first = !l->corrupt_noted;
    l->corrupt_noted = true;
    lock_give(&l->lk);
    if (first)
        note(NOTE_ERROR, "plog", "%s/%020llu.log at byte %llu: %s", l->dir,
             (unsigned long long)segment, (unsigned long long)position, err_text(e));
}

uint64_t log_swaps(struct plog_log *l)
{
    lock_take(&l->lk);
    uint64_t swaps = l->swaps;
    lock_give(&l->lk);
    return swaps;
}
