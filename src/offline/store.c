// SPDX-License-Identifier: Apache-2.0
#include "offline/store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/codec.h"
#include "base/mem.h"
#include "plog/files.h"
#include "plog/inside.h"

enum { MARKS_BYTES_MAX = 1 << 30, TOPIC_DIGITS = 32 };

void offline_log_dir(struct plog_id id, char dir[OFFLINE_DIR_ROOM])
{
    char hex[2 * sizeof id.topic + 1];
    codec_hex_text((struct bytes){id.topic, sizeof id.topic}, hex);
    snprintf(dir, OFFLINE_DIR_ROOM, "t/%s/%u", hex, (unsigned)id.partition);
}

static struct offline_log *put_log(struct offline_store *s, struct plog_id id, uint64_t incarnation)
{
    s->logs = mem_resize(s->logs, (s->logs_n + 1) * sizeof s->logs[0]);
    struct offline_log *l = &s->logs[s->logs_n++];
    *l = (struct offline_log){.id = id, .incarnation = incarnation};
    offline_log_dir(id, l->dir);
    return l;
}

static struct offline_log *find(const struct offline_store *s, struct plog_id id)
{
    for (size_t i = 0; i < s->logs_n; i++)
        if (log_id_compare(&s->logs[i].id, &id) == 0)
            return &s->logs[i];
    return NULL;
}

const struct offline_log *offline_store_find(const struct offline_store *s, struct plog_id id)
{
    return find(s, id);
}

static void read_marks(struct offline_store *s, struct findings *f)
{
    static const char todo[] = "the broker will not start; restore the directory from a backup";
    struct buf b = BUF_EMPTY;
    enum err e = file_read(&s->disk, "marks", MARKS_BYTES_MAX, &b);
    if (e == ERR_OK)
        e = marks_decode(buf_bytes(&b), &s->marks);
    s->marks_good = e == ERR_OK;
    if (e != ERR_OK)
        findings_fault(f, "marks", e == ERR_NOT_FOUND ? FINDING_WHOLE : 0, todo, "%s", err_text(e));
    buf_fini(&b);
    for (size_t i = 0; i < s->marks.n; i++) {
        const struct mark *m = &s->marks.at[i];
        if (i > 0 && log_id_compare(&s->marks.at[i - 1].id, &m->id) >= 0)
            findings_fault(f, "marks", 80 + 80 * i, todo, "the marks are not in order");
        struct offline_log *l = put_log(s, m->id, m->incarnation);
        l->marked = true;
        l->mark = *m;
    }
}

static void put_append(struct offline_store *s, const struct offline_entry *e, size_t round,
                       size_t *room)
{
    if (s->appends_n == *room) {
        *room = *room == 0 ? 64 : 2 * *room;
        s->appends = mem_resize(s->appends, *room * sizeof s->appends[0]);
    }
    s->appends[s->appends_n++] = (struct offline_append){
        .id = e->id,
        .incarnation = e->incarnation,
        .round = round,
        .batch_at = e->batch_at,
        .bytes = (uint32_t)e->batch.n,
    };
}

/* Before a cut, all that stayed of the log was in its segments. */
static void drop_appends(struct offline_store *s, const struct offline_log *l)
{
    size_t n = 0;
    for (size_t i = 0; i < s->appends_n; i++)
        if (log_id_compare(&s->appends[i].id, &l->id) != 0 ||
            s->appends[i].incarnation != l->incarnation)
            s->appends[n++] = s->appends[i];
    s->appends_n = n;
}

/* As plog/cut.c and plog/anew.c. */
static void take_cut(struct offline_store *s, struct offline_log *l, const char *at)
{
    drop_appends(s, l);
    struct tail to = {le_load_u64(at), le_load_u64(at + 8), le_load_u64(at + 16),
                      le_load_u64(at + 24)};
    l->mark.end = to;
    l->mark.index_entries = 0;
    if (to.position == 0) {
        l->mark.start_offset = to.offset;
        l->mark.start_number = to.number;
    }
    l->cut = true;
    l->begun_anew = false;
}

static void take_beginning(struct offline_log *l, const char *at)
{
    uint64_t start = le_load_u64(at + 8), number = le_load_u64(at + 16);
    l->incarnation = le_load_u64(at);
    l->mark.end = (struct tail){start, number, start, 0};
    l->mark.index_entries = 0;
    l->mark.start_offset = start;
    l->mark.start_number = number;
    l->cut = false;
    l->begun_anew = true;
}

/* What a start does with an entry (plog/recover.c), as far as it concerns which logs there are. */
static void take_entry(struct offline_store *s, const struct offline_entry *e, size_t round,
                       size_t *room, struct findings *f)
{
    if (e->kind == ENTRY_APPEND) {
        put_append(s, e, round, room);
        return;
    }
    struct offline_log *l = find(s, e->id);
    if (e->kind == ENTRY_REMOVE && l != NULL && l->incarnation == e->incarnation) {
        size_t place = (size_t)(l - s->logs);
        memmove(l, l + 1, (s->logs_n - place - 1) * sizeof *l);
        s->logs_n--;
    } else if (e->kind == ENTRY_TRUNCATE || e->kind == ENTRY_BEGIN_ANEW) {
        if (l == NULL || l->incarnation != e->incarnation)
            return;
        if (e->kind == ENTRY_TRUNCATE)
            take_cut(s, l, e->batch.at);
        else
            take_beginning(l, e->batch.at);
    } else if (e->kind == ENTRY_CREATE && l == NULL) {
        put_log(s, e->id, e->incarnation);
    } else if (e->kind == ENTRY_CREATE) {
        char *path = offline_journal_path(s->journal.rounds[round].file);
        findings_fault(f, path, s->journal.rounds[round].position,
                       "the broker will not start; restore the directory from a backup",
                       "%s is made although it is there", l->dir);
        mem_free(path);
    }
}

static void read_entries(struct offline_store *s, struct findings *f)
{
    struct buf b = BUF_EMPTY;
    size_t room = 0;
    for (size_t i = 0; i < s->journal.rounds_n; i++) {
        const struct offline_round *r = &s->journal.rounds[i];
        size_t place = 0;
        uint32_t taken = 0;
        struct offline_entry entry;
        enum err e = offline_journal_round(&s->disk, &s->journal, r, &b);
        while (e == ERR_OK &&
               (e = offline_entry_next(buf_bytes(&b), &place, &taken, &entry)) == ERR_OK)
            take_entry(s, &entry, i, &room, f);
        if (e == ERR_NOT_FOUND)
            continue;
        char *path = offline_journal_path(r->file);
        findings_fault(f, path, r->position,
                       "the broker will not start; use a newer version or "
                       "restore the directory from a backup",
                       "entry %u of round %llu: %s", (unsigned)taken, (unsigned long long)r->number,
                       err_text(e));
        mem_free(path);
        break;
    }
    buf_fini(&b);
}

/* Without marks every folder is a log of which all counts that is there. */
static void read_folders(struct offline_store *s)
{
    struct names topics = {0};
    if (names_list(&s->disk, "t", &topics) != ERR_OK)
        return;
    for (size_t i = 0; i < topics.n; i++) {
        struct plog_id id;
        struct names partitions = {0};
        if (codec_hex_decode(bytes_of_text(topics.at[i]), id.topic, sizeof id.topic) != ERR_OK)
            continue;
        char *dir = file_path("t", topics.at[i]);
        if (names_list(&s->disk, dir, &partitions) == ERR_OK)
            for (size_t k = 0; k < partitions.n; k++) {
                uint64_t partition;
                if (!names_number(partitions.at[k], strlen(partitions.at[k]), "", &partition) ||
                    partition > UINT32_MAX)
                    continue;
                id.partition = (uint32_t)partition;
                if (find(s, id) == NULL)
                    put_log(s, id, 0)->unknown = true;
            }
        names_fini(&partitions);
        mem_free(dir);
    }
    names_fini(&topics);
}

static int compare_logs(const void *a, const void *b)
{
    const struct offline_log *one = a, *other = b;
    return log_id_compare(&one->id, &other->id);
}

static int compare_appends(const void *a, const void *b)
{
    const struct offline_append *one = a, *other = b;
    int c = log_id_compare(&one->id, &other->id);
    if (c == 0)
        c = (one->incarnation > other->incarnation) - (one->incarnation < other->incarnation);
    if (c == 0)
        c = (one->round > other->round) - (one->round < other->round);
    return c != 0 ? c : (one->batch_at > other->batch_at) - (one->batch_at < other->batch_at);
}

void offline_store_read(const struct disk *d, struct findings *f, struct offline_store *out)
{
    struct offline_store s = {.disk = *d};
    read_marks(&s, f);
    offline_journal_read(d, s.marks.round, f, &s.journal);
    if (s.marks_good)
        read_entries(&s, f);
    else
        read_folders(&s);
    if (s.logs_n > 0)
        qsort(s.logs, s.logs_n, sizeof s.logs[0], compare_logs);
    if (s.appends_n > 0)
        qsort(s.appends, s.appends_n, sizeof s.appends[0], compare_appends);
    *out = s;
}

void offline_store_fini(struct offline_store *s)
{
    marks_fini(&s->marks);
    offline_journal_fini(&s->journal);
    mem_free(s->logs);
    mem_free(s->appends);
    *s = (struct offline_store){0};
}

const struct offline_append *offline_store_appends(const struct offline_store *s,
                                                   const struct offline_log *l, size_t *n)
{
    struct offline_append key = {.id = l->id, .incarnation = l->incarnation};
    size_t low = 0, high = s->appends_n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (compare_appends(&s->appends[middle], &key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    size_t end = low;
    while (end < s->appends_n && log_id_compare(&s->appends[end].id, &l->id) == 0 &&
           s->appends[end].incarnation == l->incarnation)
        end++;
    *n = end - low;
    return s->appends + low;
}

char *offline_append_where(const struct offline_store *s, const struct offline_append *a,
                           uint64_t *at)
{
    const struct offline_round *r = &s->journal.rounds[a->round];
    *at = r->position + a->batch_at;
    return offline_journal_path(r->file);
}

enum err offline_append_read(struct offline_append_reader *r, const struct offline_append *a,
                             struct bytes *batch)
{
    const struct offline_store *s = r->store;
    if (r->have != a->round) {
        r->have = SIZE_MAX;
        enum err e =
            offline_journal_round(&s->disk, &s->journal, &s->journal.rounds[a->round], &r->round);
        if (e != ERR_OK)
            return e;
        r->have = a->round;
    }
    *batch = (struct bytes){r->round.at + a->batch_at, a->bytes};
    return ERR_OK;
}

void offline_append_reader_fini(struct offline_append_reader *r)
{
    buf_fini(&r->round);
}
