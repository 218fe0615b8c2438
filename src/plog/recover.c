// SPDX-License-Identifier: Apache-2.0
/* Opening a store that is there. First everything is read and checked, and nothing written; then
 * folders, segments and journal are brought to one state; then that state is synced and marked. */
#include "base/mem.h"
#include "base/note.h"
#include "plog/cut.h"
#include "plog/files.h"
#include "plog/format.h"
#include "plog/inside.h"
#include "plog/marks.h"
#include "plog/recover_log.h"

struct entry {
    uint8_t kind;
    struct plog_id id;
    uint64_t incarnation;
    struct bytes payload; /* the batch of an append */
};

struct recovery {
    struct plog *plog;
    struct journal_rounds rounds;
    struct plog_log **removed; /* in the order of removal; out of the table, one reference each */
    size_t removed_n;
    size_t removed_room;
    bool takes_away; /* some entry says that something is to go */
};

static enum err take_entry(struct cursor *c, struct entry *out)
{
    struct entry e = {.kind = cursor_u8(c)};
    cursor_bytes(c, 3);
    e.id.partition = cursor_u32(c);
    struct bytes topic = cursor_bytes(c, sizeof e.id.topic);
    if (topic.n == sizeof e.id.topic)
        memcpy(e.id.topic, topic.at, topic.n);
    e.incarnation = cursor_u64(c);
    e.payload = cursor_bytes(c, cursor_u32(c));
    if (c->bad)
        return ERR_CORRUPT;
    if (e.kind < ENTRY_APPEND || e.kind > ENTRY_BEGIN_ANEW)
        return ERR_NEWER_FORMAT;
    if ((e.kind == ENTRY_TRUNCATE && e.payload.n != ENTRY_TRUNCATE_BYTES) ||
        (e.kind == ENTRY_BEGIN_ANEW && e.payload.n != ENTRY_BEGIN_ANEW_BYTES))
        return ERR_CORRUPT;
    *out = e;
    return ERR_OK;
}

typedef enum err each_entry(struct recovery *r, const struct entry *e);

/* Calls `each` with every entry of every round above the marks, in order. */
static enum err walk(struct recovery *r, each_entry *each)
{
    struct buf b = BUF_EMPTY;
    enum err e = ERR_OK;
    for (size_t i = 0; e == ERR_OK && i < r->rounds.n; i++) {
        const struct journal_round *round = &r->rounds.at[i];
        uint32_t entries = 0;
        struct plog_stamp stamp;
        e = journal_read(r->plog, round, &b, &entries, &stamp);
        if (e != ERR_OK)
            break;
        struct cursor c =
            cursor_of((struct bytes){b.at + ROUND_HEADER_BYTES, b.n - ROUND_HEADER_BYTES});
        for (uint32_t k = 0; e == ERR_OK && k < entries; k++) {
            struct entry entry;
            e = take_entry(&c, &entry);
            if (e == ERR_OK)
                e = each(r, &entry);
        }
        if (e == ERR_OK && c.left > 0)
            e = ERR_CORRUPT;
        if (e == ERR_CORRUPT || e == ERR_NEWER_FORMAT)
            note(NOTE_ERROR, "plog", "journal/%08llu.wal, round at byte %llu: %s",
                 (unsigned long long)round->file->number, (unsigned long long)round->position,
                 err_text(e));
        r->plog->round = round->number;
        r->plog->stamp = stamp;
    }
    buf_fini(&b);
    return e;
}

static struct plog_log *find(struct plog *p, const struct entry *e)
{
    lock_take(&p->commit_lk);
    struct plog_log *l = log_find_locked(p, e->id);
    lock_give(&p->commit_lk);
    return l != NULL && l->incarnation == e->incarnation ? l : NULL;
}

static void remove_log(struct recovery *r, struct plog_log *l)
{
    struct plog *p = r->plog;
    lock_take(&p->commit_lk);
    log_take_out_locked(p, l);
    lock_give(&p->commit_lk);
    if (r->removed_n == r->removed_room) {
        r->removed_room = r->removed_room == 0 ? 8 : 2 * r->removed_room;
        r->removed = mem_resize(r->removed, r->removed_room * sizeof(struct plog_log *));
    }
    r->removed[r->removed_n++] = l;
    r->takes_away = true;
}

/* First walk: which logs there are. In memory only. */
static enum err apply_dir_entry(struct recovery *r, const struct entry *e)
{
    struct plog *p = r->plog;
    struct plog_log *same = find(p, e);
    if (e->kind == ENTRY_REMOVE && same != NULL)
        remove_log(r, same);
    if ((e->kind == ENTRY_TRUNCATE || e->kind == ENTRY_BEGIN_ANEW) && same != NULL) {
        r->takes_away = true;
        return e->kind == ENTRY_TRUNCATE ? cut_recover(same, e->payload)
                                         : anew_recover(same, e->payload);
    }
    if (e->kind != ENTRY_CREATE)
        return ERR_OK;
    lock_take(&p->commit_lk);
    bool taken = log_find_locked(p, e->id) != NULL;
    if (!taken)
        log_add_locked(p, log_new(p, e->id, e->incarnation));
    lock_give(&p->commit_lk);
    return taken ? ERR_CORRUPT : ERR_OK;
}

/* Second walk: what they hold. Before its last cut, all that stayed of a log was in its segments.
 */
static enum err apply_append(struct recovery *r, const struct entry *e)
{
    struct plog_log *l = find(r->plog, e);
    if (l != NULL && e->kind == ENTRY_TRUNCATE)
        l->cuts_ahead--;
    if (l == NULL || e->kind != ENTRY_APPEND || l->cuts_ahead > 0)
        return ERR_OK;
    return recover_log_append(l, e->payload);
}

static void take_marks(struct plog *p, const struct marks *m)
{
    lock_take(&p->commit_lk);
    p->next_incarnation = m->next_incarnation;
    p->round = m->round;
    p->marks_round = m->round;
    p->stamp = m->stamp;
    for (size_t i = 0; i < m->n; i++) {
        const struct mark *k = &m->at[i];
        struct plog_log *l = log_new(p, k->id, k->incarnation);
        l->marked = true;
        l->mark = k->end;
        l->mark_index_entries = k->index_entries;
        l->start_offset = k->start_offset;
        l->start_number = k->start_number;
        log_add_locked(p, l);
    }
    lock_give(&p->commit_lk);
}

static enum err make_folders(struct recovery *r)
{
    enum err e = r->takes_away ? journal_write_again(r->plog, &r->rounds) : ERR_OK;
    for (size_t i = 0; e == ERR_OK && i < r->removed_n; i++) {
        /* Where a log of the same name was made later, the removal had ended before that, synced;
         * what is there now belongs to the later one. */
        lock_take(&r->plog->commit_lk);
        bool made_again = log_find_locked(r->plog, r->removed[i]->id) != NULL;
        lock_give(&r->plog->commit_lk);
        if (!made_again)
            e = log_remove_dirs(r->removed[i]);
    }
    for (size_t i = 0; e == ERR_OK && i < r->plog->logs_n; i++) {
        struct plog_log *l = r->plog->logs[i];
        l->dir_dirty = !l->marked;
        if (!l->marked || l->begun_anew)
            e = log_make_dirs(l);
    }
    for (size_t i = 0; e == ERR_OK && i < r->plog->logs_n; i++)
        e = recover_log_open(r->plog->logs[i]);
    return e;
}

/* The logs end at their marks; what the journal holds comes behind that. */
static void set_ends(struct plog *p)
{
    for (size_t i = 0; i < p->logs_n; i++) {
        struct plog_log *l = p->logs[i];
        l->end = l->written.offset;
        l->end_number = l->written.number;
        atomic_store(&l->durable_number, l->end_number);
        atomic_store(&l->durable, l->end);
    }
}

static enum err bring_together(struct recovery *r)
{
    struct plog *p = r->plog;
    const struct disk *d = p->disk;
    /* A journal file's name may be in the page cache only, when the sync of its folder has failed;
     * no round may be trusted to a file that a power cut can take away. */
    enum err e = d->sync_dir(d->self, "journal");
    if (e == ERR_OK)
        e = walk(r, apply_dir_entry);
    if (e == ERR_OK)
        e = make_folders(r);
    if (e == ERR_OK) {
        set_ends(p);
        e = walk(r, apply_append);
    }
    if (e != ERR_OK)
        return e;
    /* Always: marks that were read may be in the page cache only, when their sync has failed, and
     * every journal file in use must begin a new lap, so that what a crash left half written behind
     * the last round is not found once new rounds follow. */
    return checkpoint_write(p, true);
}

/* It is made before store.json, so a store without it has lost it. */
static enum err check_folder(const struct disk *d)
{
    struct names names;
    enum err e = names_list(d, "t", &names);
    if (e == ERR_OK)
        names_fini(&names);
    else
        note(NOTE_ERROR, "plog", "the folder t: %s", err_text(e));
    return e == ERR_NOT_FOUND ? ERR_CORRUPT : e;
}

enum err recover_store(struct plog *p)
{
    struct marks marks = {0};
    struct recovery r = {.plog = p};
    enum err e = check_folder(p->disk);
    if (e == ERR_OK)
        e = marks_read(p->disk, &marks);
    if (e == ERR_OK) {
        take_marks(p, &marks);
        e = journal_open(p, marks.round, &r.rounds);
    }
    if (e == ERR_OK)
        e = bring_together(&r);
    for (size_t i = 0; i < r.removed_n; i++)
        log_unref(r.removed[i]);
    mem_free(r.removed);
    mem_free(r.rounds.at);
    marks_fini(&marks);
    return e;
}
