// SPDX-License-Identifier: Apache-2.0
/* Putting a cleaned segment in the place of those that it was made from (FORMAT.md, "Cleaned
 * segments"), by steps of which each leaves a state that a start understands. */
#include "base/mem.h"
#include "base/note.h"
#include "plog/clean.h"
#include "plog/files.h"
#include "plog/index.h"

enum { NAME_DIGITS = 20 };

char *clean_path(const struct plog_log *l, uint64_t name, uint64_t end, const char *more)
{
    struct buf b = BUF_EMPTY;
    buf_put_format(&b, "%s/%020llu-%020llu.clean%s", l->dir, (unsigned long long)name,
                   (unsigned long long)end, more);
    buf_put_u8(&b, 0);
    return b.at;
}

/* Removes the indexes of all that is replaced, and the segments behind the first, which the rename
 * will replace. */
static enum err remove_replaced(struct plog_log *l, uint64_t first, uint64_t end)
{
    const struct disk *d = l->plog->disk;
    struct names names;
    enum err e = names_list(d, l->dir, &names);
    if (e != ERR_OK)
        return e;
    for (size_t i = 0; e == ERR_OK && i < names.n; i++) {
        uint64_t name;
        bool index = names_number(names.at[i], NAME_DIGITS, ".index", &name);
        bool segment = !index && names_number(names.at[i], NAME_DIGITS, ".log", &name);
        if ((!index && !segment) || name >= end || name < first || (segment && name == first))
            continue;
        char *path = file_path(l->dir, names.at[i]);
        e = file_remove(d, path);
        mem_free(path);
    }
    names_fini(&names);
    return e;
}

/* Steps 3 and 4, from any point of them on. */
static enum err finish(struct plog_log *l, uint64_t first, uint64_t end)
{
    const struct disk *d = l->plog->disk;
    enum err e = remove_replaced(l, first, end);
    if (e == ERR_OK)
        e = d->sync_dir(d->self, l->dir);
    char *from = clean_path(l, first, end, ""), *to = log_path(l, first, "log");
    if (e == ERR_OK)
        e = d->rename(d->self, from, to);
    if (e == ERR_OK)
        e = d->sync_dir(d->self, l->dir);
    mem_free(from);
    mem_free(to);
    return e;
}

/* ---- at recovery ---- */

static bool is_clean_name(const char *name, uint64_t *first, uint64_t *end)
{
    char head[NAME_DIGITS + 1] = {0};
    if (strlen(name) <= NAME_DIGITS || name[NAME_DIGITS] != '-')
        return false;
    memcpy(head, name, NAME_DIGITS);
    return names_number(head, NAME_DIGITS, "", first) && strlen(name) > 2 * NAME_DIGITS &&
           names_number(name + NAME_DIGITS + 1, NAME_DIGITS, ".clean", end);
}

enum err swap_recover(struct plog_log *l, char *const *names, size_t n, bool *changed)
{
    const struct disk *d = l->plog->disk;
    *changed = false;
    for (size_t i = 0; i < n; i++) {
        uint64_t first, end;
        if (!is_clean_name(names[i], &first, &end))
            continue;
        if (*changed || first >= end || l->mark.position == 0 || end > l->mark.segment)
            return ERR_CORRUPT;
        /* The name may be in the page cache only, and then nothing may be removed on its word. */
        enum err e = d->sync_dir(d->self, l->dir);
        if (e == ERR_OK)
            e = finish(l, first, end);
        if (e != ERR_OK)
            return e;
        *changed = true;
    }
    return ERR_OK;
}

/* ---- while serving; all of it [keeper] ---- */

/* The sources are there, and their files are those that were read. */
static bool is_as_read_locked(struct plog_log *l, const struct swap *s, size_t *place)
{
    lock_check_held(&l->lk);
    *place = segment_list_find(&l->segments, s->sources[0].name);
    if (*place == SIZE_MAX || *place + s->sources_n >= l->segments.n)
        return false;
    for (size_t i = 0; i < s->sources_n; i++) {
        const struct segment *there = &l->segments.at[*place + i];
        if (there->name != s->sources[i].name || there->swap != s->sources[i].swap)
            return false;
    }
    return l->segments.at[*place + s->sources_n].name == s->end;
}

/* Whether the swap may begin; then no index is made again until it ends. */
static enum err begin(const struct swap *s)
{
    struct plog_log *l = s->log;
    size_t place;
    if (plog_failed(l->plog))
        return ERR_FAILED;
    if (!clean_log_is_there(l))
        return ERR_GONE;
    lock_take(&l->lk);
    enum err e = ERR_OK;
    if (!is_as_read_locked(l, s, &place))
        e = ERR_GONE;
    else if (l->index_rebuilding)
        e = ERR_BUSY;
    else
        l->index_rebuilding = true;
    lock_give(&l->lk);
    return e;
}

/* From now on readers open the new file. */
static void change_list(const struct swap *s)
{
    struct plog_log *l = s->log;
    size_t place;
    lock_take(&l->lk);
    CHECK(is_as_read_locked(l, s, &place)); /* only a keeper changes sealed segments */
    struct segment *first = &l->segments.at[place];
    mem_free(first->pending);
    first->pending = NULL;
    first->pending_n = first->pending_room = 0;
    first->number = s->segment.number;
    first->bytes = s->segment.bytes;
    first->stored = s->segment.stored;
    first->index_bad = true; /* the file is of the old bytes, or none */
    first->index_saved = INDEX_ASK;
    first->footer_saved = true;
    first->swap = ++l->swaps;
    first->clean_end = s->end;
    for (size_t i = 1; i < s->sources_n; i++)
        segment_list_drop(&l->segments, place + 1);
    lock_give(&l->lk);
    kept_drop(l);
}

static void end(const struct swap *s, bool renamed, bool indexed)
{
    struct plog_log *l = s->log;
    lock_take(&l->lk);
    size_t place = segment_list_find(&l->segments, s->segment.name);
    struct segment *first = &l->segments.at[place];
    if (renamed)
        first->clean_end = 0;
    if (indexed) {
        first->index_bad = false;
        first->index_saved = INDEX_ASK;
    }
    l->index_rebuilding = false;
    lock_give(&l->lk);
}

static void give_up_begin(struct plog_log *l)
{
    lock_take(&l->lk);
    l->index_rebuilding = false;
    lock_give(&l->lk);
}

/* The new file gets the name that counts. */
static enum err commit(const struct swap *s)
{
    struct plog_log *l = s->log;
    const struct disk *d = l->plog->disk;
    char *from = clean_path(l, s->segment.name, s->end, ".tmp");
    char *to = clean_path(l, s->segment.name, s->end, "");
    enum err e = d->rename(d->self, from, to);
    mem_free(from);
    mem_free(to);
    if (e == ERR_NO_SPACE)
        return e;
    if (e == ERR_OK)
        e = d->sync_dir(d->self, l->dir);
    return e == ERR_OK ? ERR_OK : ERR_FAILED;
}

static enum err run(const struct swap *s)
{
    struct plog_log *l = s->log;
    enum err e = begin(s);
    if (e != ERR_OK)
        return e;
    e = commit(s);
    if (e != ERR_OK) {
        give_up_begin(l);
        if (e != ERR_NO_SPACE)
            store_fail(l->plog, "cleaning a segment", ERR_IO);
        return e;
    }
    change_list(s);
    e = finish(l, s->segment.name, s->end);
    bool indexed = e == ERR_OK && index_write(l, &s->segment) == ERR_OK;
    end(s, e == ERR_OK, indexed);
    /* Which of the names the disk has is not known any more; the next start will find out. */
    if (e != ERR_OK)
        store_fail(l->plog, "putting a cleaned segment in place", e);
    return e == ERR_OK ? ERR_OK : ERR_FAILED;
}

enum err swap_run(const struct swap *s)
{
    lock_check_none_held();
    keeper_enter(s->log->plog);
    enum err e = run(s);
    keeper_leave(s->log->plog);
    return e;
}
