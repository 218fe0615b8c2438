// SPDX-License-Identifier: Apache-2.0
#include "plog/index.h"

#include "base/crc32c.h"
#include "base/mem.h"
#include "base/note.h"
#include "plog/files.h"
#include "plog/format.h"
#include "plog/reader.h"

enum { UNIT_AT_CRC = 12, UNIT_AT_TAIL = 16, FOOTER_MARK = -1 };
_Static_assert(UNIT_AT_TAIL + 8 == INDEX_UNIT_BYTES, "FORMAT.md, Index");

static uint32_t seed_of(uint64_t name)
{
    unsigned char at[8];
    le_store_u64(at, name);
    return crc32c(0, at, sizeof at);
}

static uint32_t unit_crc(uint32_t seed, const unsigned char *unit)
{
    return crc32c(crc32c(seed, unit, UNIT_AT_CRC), unit + UNIT_AT_TAIL, 8);
}

static void entry_store(unsigned char *unit, uint32_t seed, const struct index_entry *e)
{
    le_store_u32(unit, e->offset);
    le_store_u32(unit + 4, e->number);
    le_store_u32(unit + 8, e->position);
    le_store_u64(unit + UNIT_AT_TAIL, (uint64_t)e->leader_ms);
    le_store_u32(unit + UNIT_AT_CRC, unit_crc(seed, unit));
}

void index_add_pending(struct segment *s, const struct batch_header *h, uint64_t position)
{
    if (s->pending_n == s->pending_room) {
        s->pending_room = s->pending_room == 0 ? 4 : 2 * s->pending_room;
        s->pending = mem_resize(s->pending, s->pending_room * sizeof s->pending[0]);
    }
    s->pending[s->pending_n++] = (struct index_entry){
        .offset = (uint32_t)(h->base_offset - s->name),
        .number = (uint32_t)(h->first_number - s->number),
        .position = (uint32_t)position,
        .leader_ms = h->leader_ms,
    };
}

/* An index file being searched. */
struct index_file {
    const struct disk *disk;
    int file;
    uint64_t name;
    uint64_t number;
    uint32_t seed;
    uint32_t entries;
};

static enum err read_unit(const struct index_file *f, uint64_t place, unsigned char *unit)
{
    size_t got;
    enum err e = f->disk->read(f->disk->self, f->file, unit, INDEX_UNIT_BYTES,
                               place * INDEX_UNIT_BYTES, &got);
    if (e != ERR_OK)
        return e;
    return got == INDEX_UNIT_BYTES ? ERR_OK : ERR_CORRUPT;
}

static enum err read_entry(const struct index_file *f, uint32_t place, struct index_entry *out)
{
    unsigned char unit[INDEX_UNIT_BYTES];
    enum err e = read_unit(f, (uint64_t)place + 1, unit);
    if (e != ERR_OK)
        return e;
    if (le_load_u32(unit + UNIT_AT_CRC) != unit_crc(f->seed, unit))
        return ERR_CORRUPT;
    *out = (struct index_entry){
        .offset = le_load_u32(unit),
        .number = le_load_u32(unit + 4),
        .position = le_load_u32(unit + 8),
        .leader_ms = (int64_t)le_load_u64(unit + UNIT_AT_TAIL),
    };
    return ERR_OK;
}

/* How many entries a sealed segment's index has, by its last unit. */
static enum err read_footer(struct index_file *f)
{
    uint64_t size;
    unsigned char unit[INDEX_UNIT_BYTES];
    enum err e = f->disk->size(f->disk->self, f->file, &size);
    if (e != ERR_OK)
        return e;
    uint64_t units = size / INDEX_UNIT_BYTES;
    if (units < 2 || size % INDEX_UNIT_BYTES != 0)
        return ERR_CORRUPT;
    e = read_unit(f, units - 1, unit);
    if (e != ERR_OK)
        return e;
    if (le_load_u32(unit) != (uint32_t)FOOTER_MARK || le_load_u32(unit + 4) != units - 2 ||
        le_load_u32(unit + UNIT_AT_CRC) != unit_crc(f->seed, unit))
        return ERR_CORRUPT;
    f->entries = (uint32_t)(units - 2);
    return ERR_OK;
}

static enum err index_open(struct plog_log *l, uint64_t name, uint32_t saved,
                           struct index_file *out)
{
    struct index_file f = {.disk = l->plog->disk, .name = name, .seed = seed_of(name)};
    char *path = log_path(l, name, "index");
    enum err e = f.disk->open(f.disk->self, path, DISK_READ, &f.file);
    mem_free(path);
    if (e != ERR_OK)
        return e;
    unsigned char unit[INDEX_UNIT_BYTES];
    e = read_unit(&f, 0, unit);
    if (e == ERR_OK)
        e = format_check((struct bytes){unit, sizeof unit}, 'I', 0);
    if (e == ERR_OK && le_load_u64(unit + 8) != name)
        e = ERR_CORRUPT;
    f.number = le_load_u64(unit + 16);
    f.entries = saved;
    if (e == ERR_OK && saved == INDEX_ASK)
        e = read_footer(&f);
    if (e != ERR_OK) {
        f.disk->close(f.disk->self, f.file);
        return e;
    }
    *out = f;
    return ERR_OK;
}

static uint64_t key_of(const struct index_entry *e, bool by_number)
{
    return by_number ? e->number : e->offset;
}

/* The position in the file's entries for a key relative to the segment's first. */
static enum err search_file(const struct index_file *f, uint64_t key, bool by_number,
                            uint64_t *position)
{
    uint32_t low = 0, high = f->entries; /* the first entry above key */
    uint64_t found = 0;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        struct index_entry entry;
        enum err e = read_entry(f, middle, &entry);
        if (e != ERR_OK)
            return e;
        if (key_of(&entry, by_number) <= key) {
            found = entry.position;
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    *position = found;
    return ERR_OK;
}

/* Searches the entries that wait in memory; false when the file must be asked. */
static bool search_pending(const struct segment *s, uint64_t key, bool by_number,
                           uint64_t *position)
{
    uint32_t low = 0, high = s->pending_n;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (key_of(&s->pending[middle], by_number) <= key)
            low = middle + 1;
        else
            high = middle;
    }
    if (low > 0)
        *position = s->pending[low - 1].position;
    return low > 0;
}

uint64_t index_find(struct plog_log *l, uint64_t name, uint64_t key, bool by_number)
{
    uint64_t position = 0;
    lock_take(&l->lk);
    size_t place = segment_list_find(&l->segments, name);
    if (place == SIZE_MAX || l->segments.at[place].name != name) {
        lock_give(&l->lk);
        return 0;
    }
    struct segment s = l->segments.at[place]; /* s.pending is read only under the lock */
    bool sealed = place + 1 < l->segments.n;
    bool known = !by_number || s.number != NUMBER_UNKNOWN;
    bool found = s.pending_n > 0 && known &&
                 search_pending(&s, key - (by_number ? s.number : name), by_number, &position);
    lock_give(&l->lk);
    if (found || s.index_saved == 0)
        return position;
    struct index_file f;
    enum err e = s.index_bad ? ERR_CORRUPT : index_open(l, name, s.index_saved, &f);
    if (e == ERR_OK) {
        e = search_file(&f, key - (by_number ? f.number : name), by_number, &position);
        f.disk->close(f.disk->self, f.file);
    }
    if (e == ERR_OK && position < s.bytes)
        return position;
    if (sealed && s.pending_n == 0)
        index_rebuild(l, name);
    return 0;
}

/* Writes header (when the file is new) and entries behind the ones that are there. */
static enum err write_entries(struct plog_log *l, const struct segment *s, int file,
                              const struct index_entry *entries, uint32_t n)
{
    const struct disk *d = l->plog->disk;
    struct buf b = BUF_EMPTY;
    unsigned char unit[INDEX_UNIT_BYTES] = {0};
    enum err e = ERR_OK;
    if (s->index_saved == 0) {
        format_magic_store((char *)unit, 'I');
        le_store_u64(unit + 8, s->name);
        le_store_u64(unit + 16, s->number);
        format_crc_store((char *)unit, sizeof unit, 0);
        buf_put(&b, unit, sizeof unit);
        e = d->truncate(d->self, file, 0);
    }
    uint32_t seed = seed_of(s->name);
    for (uint32_t i = 0; i < n; i++) {
        entry_store(unit, seed, &entries[i]);
        buf_put(&b, unit, sizeof unit);
    }
    uint64_t at = s->index_saved == 0 ? 0 : ((uint64_t)s->index_saved + 1) * INDEX_UNIT_BYTES;
    struct bytes piece = buf_bytes(&b);
    if (e == ERR_OK && piece.n > 0)
        e = d->write(d->self, file, &piece, 1, at);
    buf_fini(&b);
    return e;
}

/* The last unit: from now on the index is whole. */
static enum err write_footer(const struct disk *d, int file, uint64_t name, uint64_t bytes,
                             uint32_t entries)
{
    struct buf all = BUF_EMPTY;
    size_t n = (size_t)entries * INDEX_UNIT_BYTES, got = 0;
    buf_reserve(&all, n + 1);
    enum err e = d->read(d->self, file, all.at, n, INDEX_UNIT_BYTES, &got);
    if (e == ERR_OK && got != n)
        e = ERR_CORRUPT;
    unsigned char unit[INDEX_UNIT_BYTES];
    le_store_u32(unit, (uint32_t)FOOTER_MARK);
    le_store_u32(unit + 4, entries);
    le_store_u32(unit + 8, crc32c(0, all.at, got));
    le_store_u64(unit + UNIT_AT_TAIL, bytes);
    le_store_u32(unit + UNIT_AT_CRC, unit_crc(seed_of(name), unit));
    buf_fini(&all);
    struct bytes piece = {unit, sizeof unit};
    return e == ERR_OK
               ? d->write(d->self, file, &piece, 1, ((uint64_t)entries + 1) * INDEX_UNIT_BYTES)
               : e;
}

/* What becomes of a saved index: a footer behind its last entry, a sync of its own. */
struct save_how {
    bool seal;
    bool sync;
};

/* Saves what one segment has pending; `s` is a copy whose pending entries are the caller's. */
static enum err save_segment(struct plog_log *l, const struct segment *s, uint32_t n,
                             struct save_how how)
{
    const struct disk *d = l->plog->disk;
    char *path = log_path(l, s->name, "index");
    int file;
    enum err e = d->open(d->self, path, DISK_CREATE, &file);
    mem_free(path);
    if (e != ERR_OK)
        return e;
    e = write_entries(l, s, file, s->pending, n);
    if (e == ERR_OK && how.seal)
        e = write_footer(d, file, s->name, s->bytes, s->index_saved + n);
    if (e == ERR_OK && how.sync)
        e = d->sync(d->self, file);
    d->close(d->self, file);
    return e;
}

/* After the file has n more entries, those leave memory. */
static void forget_saved(struct plog_log *l, uint64_t name, uint32_t n, bool seal)
{
    lock_take(&l->lk);
    size_t place = segment_list_find(&l->segments, name);
    CHECK(place != SIZE_MAX && l->segments.at[place].name == name);
    struct segment *s = &l->segments.at[place];
    s->pending_n -= n;
    if (s->pending_n == 0) {
        mem_free(s->pending);
        s->pending = NULL;
        s->pending_room = 0;
    } else {
        memmove(s->pending, s->pending + n, s->pending_n * sizeof s->pending[0]);
    }
    if (!s->index_bad)
        s->index_saved += n;
    s->footer_saved = s->footer_saved || seal;
    l->dir_dirty = true;
    lock_give(&l->lk);
}

enum err index_save(struct plog_log *l, const struct tail *to, bool sync, uint32_t *entries)
{
    enum err e = ERR_OK;
    uint64_t from = 0;
    *entries = 0;
    for (bool more = true; more && e == ERR_OK;) {
        /* One segment a turn, because no lock may be held while its index is written. */
        struct segment s = {0};
        uint32_t n = 0;
        bool seal = false;
        more = false;
        lock_take(&l->lk);
        for (size_t i = 0; i < l->segments.n && !more; i++) {
            s = l->segments.at[i];
            if (s.name < from || s.name > to->segment || s.footer_saved)
                continue;
            seal = s.name < to->segment;
            while (n < s.pending_n && (seal || s.pending[n].position < to->position))
                n++;
            more = true;
        }
        if (more && n > 0) {
            struct index_entry *copy = mem_new_array(n, sizeof copy[0]);
            memcpy(copy, s.pending, n * sizeof copy[0]);
            s.pending = copy;
        } else {
            s.pending = NULL;
        }
        lock_give(&l->lk);
        if (!more)
            break;
        if ((n > 0 || seal) && !s.index_bad)
            e = save_segment(l, &s, n, (struct save_how){seal, sync});
        mem_free(s.pending);
        if (e == ERR_OK)
            forget_saved(l, s.name, n, seal);
        if (s.name == to->segment)
            *entries = s.index_bad ? 0 : s.index_saved + n;
        from = s.name + 1;
    }
    return e;
}

enum err index_cut(struct plog_log *l, struct segment *s, uint32_t entries)
{
    const struct disk *d = l->plog->disk;
    s->index_saved = entries;
    if (entries == 0 && l->cuts_ahead == 0)
        return ERR_OK; /* the next save begins the file anew */
    char *path = log_path(l, s->name, "index");
    if (entries == 0) { /* the log was cut, and it is the index of what was before */
        enum err e = file_remove(d, path);
        mem_free(path);
        l->dir_dirty = true;
        return e;
    }
    uint64_t size = 0, want = ((uint64_t)entries + 1) * INDEX_UNIT_BYTES;
    int file;
    enum err e = d->open(d->self, path, DISK_WRITE, &file);
    mem_free(path);
    if (e == ERR_OK) {
        e = d->size(d->self, file, &size);
        if (e == ERR_OK && size > want)
            e = d->truncate(d->self, file, want);
        d->close(d->self, file);
    }
    if (e == ERR_NOT_FOUND)
        e = ERR_OK;
    s->index_bad = size < want;
    return e;
}

/* Reads the whole segment for its entries. */
static enum err collect(struct plog_log *l, struct segment *s)
{
    struct batch_reader r;
    enum err e = batch_reader_open(&r, l, s->name, 0, 1 << 20);
    if (e != ERR_OK)
        return e;
    uint64_t last = 0;
    for (;;) {
        struct bytes batch;
        struct batch_header h;
        uint64_t position = r.position;
        e = batch_reader_next(&r, s->bytes, &batch, &h);
        if (e != ERR_OK)
            break;
        if (position == 0)
            s->number = h.first_number;
        if (position - last >= INDEX_STEP_BYTES) {
            index_add_pending(s, &h, position);
            last = position;
        }
    }
    batch_reader_close(&r);
    return e == ERR_NOT_FOUND ? ERR_OK : e;
}

enum err index_write(struct plog_log *l, const struct segment *s)
{
    return save_segment(l, s, s->pending_n, (struct save_how){.seal = true, .sync = true});
}

void index_collect(struct plog_log *l, uint64_t name)
{
    struct segment_view v;
    if (!segment_look(l, name, &v))
        return;
    struct segment s = {.name = name, .number = NUMBER_UNKNOWN, .bytes = v.bytes};
    enum err e = collect(l, &s);
    lock_take(&l->lk);
    size_t place = segment_list_find(&l->segments, name);
    CHECK(place != SIZE_MAX && l->segments.at[place].name == name);
    struct segment *last = &l->segments.at[place];
    if (e == ERR_OK) {
        mem_free(last->pending);
        last->number = s.number;
        last->pending = s.pending;
        last->pending_n = s.pending_n;
        last->pending_room = s.pending_room;
        s.pending = NULL;
    }
    lock_give(&l->lk);
    mem_free(s.pending);
}

void index_rebuild(struct plog_log *l, uint64_t name)
{
    lock_take(&l->lk);
    size_t place = segment_list_find(&l->segments, name);
    bool mine = place != SIZE_MAX && place + 1 < l->segments.n && !l->index_rebuilding &&
                l->segments.at[place].name == name;
    struct segment s = {.name = name, .bytes = mine ? l->segments.at[place].bytes : 0};
    l->index_rebuilding = l->index_rebuilding || mine;
    lock_give(&l->lk);
    if (!mine)
        return;
    enum err e = collect(l, &s);
    if (e == ERR_OK)
        e = save_segment(l, &s, s.pending_n, (struct save_how){.seal = true, .sync = true});
    lock_take(&l->lk);
    place = segment_list_find(&l->segments, name);
    if (e == ERR_OK && place != SIZE_MAX && l->segments.at[place].name == name) {
        l->segments.at[place].index_bad = false;
        l->segments.at[place].index_saved = INDEX_ASK;
        l->segments.at[place].footer_saved = true;
    }
    l->index_rebuilding = false;
    lock_give(&l->lk);
    lock_take(&l->plog->commit_lk); /* a cut may wait for that */
    lock_signal_all(&l->plog->commit_signal);
    lock_give(&l->plog->commit_lk);
    if (e == ERR_OK)
        note(NOTE_WARNING, "plog", "%s: the index of segment %020llu was bad and is made again",
             l->dir, (unsigned long long)name);
    mem_free(s.pending);
}
