// SPDX-License-Identifier: Apache-2.0
#include "lib/fault_disk.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/rng.h"

enum { SECTOR_BYTES = 512, LOST, KEPT, SOME, BEGIN, WAYS };

struct node {
    bool folder;
    bool gone; /* a folder whose removal is safe: what was named in it is gone too */
    struct buf now;
    struct buf safe;
    unsigned char *dirty; /* one flag a sector */
    size_t dirty_n;
    size_t same_bytes; /* up to there `now` and `safe` differ in dirty sectors only */
    struct handle *locked_by;
    struct node *next;
};

struct name {
    char *path;
    struct node *now;
    struct node *safe;
    struct node *home; /* the folder in which `safe` is named; NULL: the root */
};

/* A change of names in one folder that is not synced: `path` becomes `node` (NULL: goes), and
 * `gone` goes with it when it is a rename. */
struct change {
    char *folder;
    char *path;
    char *gone;
    struct node *node;
    struct node *home;
    bool dead; /* its folder itself is gone for good */
};

struct handle {
    struct node *node;
};

struct fault_disk {
    struct disk disk;
    pthread_mutex_t mutex;
    struct rng rng;
    struct name *names; /* by path */
    size_t names_n;
    struct change *changes;
    size_t changes_n;
    struct node *nodes; /* all there ever were */
    struct handle *handles[4096];
    uint64_t operations;
    uint64_t fail_at;
    enum err fail_with;
    bool fail_later;
    bool failed;
    uint64_t capacity;
    uint64_t used;
};

static struct name *find(struct fault_disk *f, const char *path, bool make)
{
    size_t low = 0, high = f->names_n;
    while (low < high) {
        size_t middle = (low + high) / 2;
        int c = strcmp(f->names[middle].path, path);
        if (c == 0)
            return &f->names[middle];
        if (c < 0)
            low = middle + 1;
        else
            high = middle;
    }
    if (!make)
        return NULL;
    f->names = mem_resize(f->names, (f->names_n + 1) * sizeof f->names[0]);
    memmove(f->names + low + 1, f->names + low, (f->names_n - low) * sizeof f->names[0]);
    f->names_n++;
    f->names[low] = (struct name){.path = mem_copy_text(path)};
    return &f->names[low];
}

static char *folder_of(const char *path)
{
    char *folder = mem_copy_text(path);
    char *slash = strrchr(folder, '/');
    if (slash == NULL)
        folder[0] = '\0';
    else
        *slash = '\0';
    return folder;
}

static const char *folder_name(const char *path)
{
    return strcmp(path, ".") == 0 ? "" : path;
}

static bool is_folder(struct fault_disk *f, const char *path)
{
    struct name *n = find(f, path, false);
    return path[0] == '\0' || (n != NULL && n->now != NULL && n->now->folder);
}

static struct node *node_new(struct fault_disk *f, bool folder)
{
    struct node *node = mem_new(sizeof *node);
    node->folder = folder;
    node->next = f->nodes;
    f->nodes = node;
    return node;
}

static void change(struct fault_disk *f, const char *path, struct node *node, const char *gone)
{
    char *folder = folder_of(path);
    struct name *home = find(f, folder, false);
    f->changes = mem_resize(f->changes, (f->changes_n + 1) * sizeof f->changes[0]);
    f->changes[f->changes_n++] = (struct change){
        .folder = folder,
        .home = home == NULL ? NULL : home->now,
        .path = mem_copy_text(path),
        .gone = gone == NULL ? NULL : mem_copy_text(gone),
        .node = node,
    };
    find(f, path, true)->now = node;
    if (gone != NULL)
        find(f, gone, true)->now = NULL;
}

static bool is_under(const char *path, const char *folder)
{
    size_t n = strlen(folder);
    return strncmp(path, folder, n) == 0 && path[n] == '/';
}

/* The i-th change becomes safe. A folder that is gone takes with it what was named in it, synced or
 * not; what is named in another folder that was made under the same name stays. */
static void change_apply(struct fault_disk *f, size_t i)
{
    struct change *c = &f->changes[i];
    struct name *n = find(f, c->path, true);
    if (c->dead)
        return;
    if (c->node == NULL && n->safe != NULL && n->safe->folder) {
        n->safe->gone = true;
        for (size_t k = 0; k < f->names_n;
             k++) { /* in order of paths: folders before their names */
            struct name *m = &f->names[k];
            if (!is_under(m->path, c->path) || m->safe == NULL || m->home == NULL || !m->home->gone)
                continue;
            m->safe->gone = m->safe->folder;
            m->safe = NULL;
        }
        for (size_t k = 0; k < f->changes_n; k++) {
            struct node *home = f->changes[k].home;
            f->changes[k].dead = f->changes[k].dead || (home != NULL && home->gone);
        }
    }
    n->home = c->home;
    n->safe = c->node;
    if (c->gone != NULL)
        find(f, c->gone, true)->safe = NULL;
}

static void change_fini(struct change *c)
{
    mem_free(c->folder);
    mem_free(c->path);
    mem_free(c->gone);
}

/* Counts an operation; an error is to be answered. The caller holds the mutex. */
static enum err step(struct fault_disk *f)
{
    if (f->failed && f->fail_later)
        return f->fail_with;
    if (f->operations++ == f->fail_at) {
        f->failed = true;
        return f->fail_with;
    }
    return ERR_OK;
}

static enum err off(const struct fault_disk *f)
{
    return f->failed && f->fail_later ? f->fail_with : ERR_OK;
}

static enum err fault_open(void *self, const char *path, enum disk_open_how how, int *file)
{
    struct fault_disk *f = self;
    pthread_mutex_lock(&f->mutex);
    enum err e = how == DISK_READ ? off(f) : step(f);
    struct name *n = find(f, path, false);
    struct node *node = n == NULL ? NULL : n->now;
    char *folder = folder_of(path);
    if (e == ERR_OK && node != NULL && (how == DISK_CREATE_NEW || node->folder))
        e = how == DISK_CREATE_NEW ? ERR_EXISTS : ERR_IO;
    if (e == ERR_OK && node == NULL) {
        if ((how == DISK_READ || how == DISK_WRITE) || !is_folder(f, folder)) {
            e = ERR_NOT_FOUND;
        } else {
            node = node_new(f, false);
            change(f, path, node, NULL);
        }
    }
    mem_free(folder);
    if (e == ERR_OK) {
        int fd = 0;
        while (f->handles[fd] != NULL)
            CHECK(++fd < 4096);
        f->handles[fd] = mem_new(sizeof(struct handle));
        f->handles[fd]->node = node;
        *file = fd;
    }
    pthread_mutex_unlock(&f->mutex);
    return e;
}

static void close_locked(struct fault_disk *f, int file)
{
    struct handle *h = f->handles[file];
    if (h == NULL)
        return;
    if (h->node->locked_by == h)
        h->node->locked_by = NULL;
    mem_free(h);
    f->handles[file] = NULL;
}

static void fault_close(void *self, int file)
{
    struct fault_disk *f = self;
    pthread_mutex_lock(&f->mutex);
    close_locked(f, file);
    pthread_mutex_unlock(&f->mutex);
}

static enum err fault_read(void *self, int file, void *at, size_t n, uint64_t offset, size_t *got)
{
    struct fault_disk *f = self;
    pthread_mutex_lock(&f->mutex);
    enum err e = off(f);
    if (e == ERR_OK) {
        const struct buf *b = &f->handles[file]->node->now;
        size_t have = offset >= b->n ? 0 : b->n - (size_t)offset;
        *got = have < n ? have : n;
        if (*got > 0)
            memcpy(at, b->at + offset, *got);
    }
    pthread_mutex_unlock(&f->mutex);
    return e;
}

static void resize(struct fault_disk *f, struct node *node, size_t size)
{
    size_t old = node->now.n;
    if (size > old) {
        buf_reserve(&node->now, size - old);
        memset(node->now.at + old, 0, size - old);
    }
    f->used += size - old;
    node->now.n = size;
    if (size < node->same_bytes)
        node->same_bytes = size;
    size_t sectors = size / SECTOR_BYTES + 1;
    if (sectors > node->dirty_n) {
        node->dirty = mem_resize(node->dirty, sectors);
        memset(node->dirty + node->dirty_n, 0, sectors - node->dirty_n);
        node->dirty_n = sectors;
    }
}

static void put(struct fault_disk *f, struct node *node, struct bytes b, uint64_t offset)
{
    if (b.n == 0)
        return;
    if (offset + b.n > node->now.n)
        resize(f, node, (size_t)offset + b.n);
    memcpy(node->now.at + offset, b.at, b.n);
    memset(node->dirty + offset / SECTOR_BYTES, 1,
           (offset + b.n - 1) / SECTOR_BYTES - offset / SECTOR_BYTES + 1);
}

static enum err fault_write(void *self, int file, const struct bytes *pieces, size_t pieces_n,
                            uint64_t offset)
{
    struct fault_disk *f = self;
    pthread_mutex_lock(&f->mutex);
    bool was_off = off(f) != ERR_OK;
    enum err e = step(f);
    struct node *node = f->handles[file]->node;
    uint64_t all = 0;
    for (size_t i = 0; i < pieces_n; i++)
        all += pieces[i].n;
    if (e == ERR_OK && offset + all > node->now.n &&
        f->used + (offset + all - node->now.n) > f->capacity)
        e = ERR_NO_SPACE;
    uint64_t left = e == ERR_OK ? all : was_off ? 0 : rng_below(&f->rng, all + 1);
    if (e == ERR_NO_SPACE && f->used + left > f->capacity)
        left = 0;
    if (left < all) {
        /* A sector is written or not. */
        uint64_t stop = (offset + left) / SECTOR_BYTES * SECTOR_BYTES;
        left = stop > offset ? stop - offset : 0;
    }
    for (size_t i = 0; i < pieces_n && left > 0; i++) {
        size_t n = pieces[i].n < left ? pieces[i].n : (size_t)left;
        put(f, node, (struct bytes){pieces[i].at, n}, offset);
        offset += n;
        left -= n;
    }
    pthread_mutex_unlock(&f->mutex);
    return e;
}

static unsigned char *next_dirty(const struct node *node, size_t from)
{
    return from >= node->dirty_n ? NULL : memchr(node->dirty + from, 1, node->dirty_n - from);
}

/* Copies what was written since the last time: a journal's file is mostly zeros, and is synced with
 * each round. */
static void make_safe(struct node *node)
{
    struct buf *safe = &node->safe;
    const struct buf *now = &node->now;
    size_t same = node->same_bytes;
    unsigned char *dirty;
    for (size_t i = 0; (dirty = next_dirty(node, i)) != NULL; i++) {
        i = (size_t)(dirty - node->dirty);
        *dirty = 0;
        size_t from = i * SECTOR_BYTES,
               to = from + SECTOR_BYTES < same ? from + SECTOR_BYTES : same;
        if (from < to)
            memcpy(safe->at + from, now->at + from, to - from);
    }
    safe->n = same;
    buf_put(safe, now->at + same, now->n - same);
    node->same_bytes = now->n;
}

/* The same where `now` was changed by others than put() and resize(). */
static void make_all_safe(struct node *node)
{
    if (node->dirty_n > 0)
        memset(node->dirty, 0, node->dirty_n);
    node->same_bytes = 0;
    make_safe(node);
}

static enum err fault_sync(void *self, int file)
{
    struct fault_disk *f = self;
    pthread_mutex_lock(&f->mutex);
    enum err e = step(f);
    if (e == ERR_OK)
        make_safe(f->handles[file]->node);
    pthread_mutex_unlock(&f->mutex);
    return e;
}

static enum err fault_truncate(void *self, int file, uint64_t size)
{
    struct fault_disk *f = self;
    pthread_mutex_lock(&f->mutex);
    enum err e = step(f);
    if (e == ERR_OK)
        resize(f, f->handles[file]->node, (size_t)size);
    pthread_mutex_unlock(&f->mutex);
    return e;
}

static enum err fault_size(void *self, int file, uint64_t *size)
{
    struct fault_disk *f = self;
    pthread_mutex_lock(&f->mutex);
    enum err e = off(f);
    if (e == ERR_OK)
        *size = f->handles[file]->node->now.n;
    pthread_mutex_unlock(&f->mutex);
    return e;
}

static enum err fault_rename(void *self, const char *from, const char *to)
{
    struct fault_disk *f = self;
    pthread_mutex_lock(&f->mutex);
    enum err e = step(f);
    struct name *n = find(f, from, false);
    if (e == ERR_OK && (n == NULL || n->now == NULL))
        e = ERR_NOT_FOUND;
    if (e == ERR_OK)
        change(f, to, n->now, from);
    pthread_mutex_unlock(&f->mutex);
    return e;
}

static bool has_children(struct fault_disk *f, const char *path)
{
    size_t n = strlen(path);
    for (size_t i = 0; i < f->names_n; i++) {
        const struct name *m = &f->names[i];
        if (m->now != NULL && strncmp(m->path, path, n) == 0 && m->path[n] == '/')
            return true;
    }
    return false;
}

static enum err fault_remove(void *self, const char *path)
{
    struct fault_disk *f = self;
    pthread_mutex_lock(&f->mutex);
    enum err e = step(f);
    struct name *n = find(f, path, false);
    if (e == ERR_OK && (n == NULL || n->now == NULL))
        e = ERR_NOT_FOUND;
    if (e == ERR_OK && n->now->folder && has_children(f, path))
        e = ERR_EXISTS;
    if (e == ERR_OK) {
        f->used -= n->now->now.n;
        change(f, path, NULL, NULL);
    }
    pthread_mutex_unlock(&f->mutex);
    return e;
}

static enum err fault_make_dir(void *self, const char *path)
{
    struct fault_disk *f = self;
    pthread_mutex_lock(&f->mutex);
    enum err e = step(f);
    char *folder = folder_of(path);
    if (e == ERR_OK && !is_folder(f, folder))
        e = ERR_NOT_FOUND;
    struct name *n = find(f, path, false);
    if (e == ERR_OK && n != NULL && n->now != NULL)
        e = ERR_EXISTS;
    if (e == ERR_OK)
        change(f, path, node_new(f, true), NULL);
    mem_free(folder);
    pthread_mutex_unlock(&f->mutex);
    return e;
}

static enum err fault_sync_dir(void *self, const char *path)
{
    struct fault_disk *f = self;
    pthread_mutex_lock(&f->mutex);
    enum err e = step(f);
    if (e == ERR_OK && !is_folder(f, folder_name(path)))
        e = ERR_NOT_FOUND;
    size_t kept = 0;
    for (size_t i = 0; e == ERR_OK && i < f->changes_n; i++)
        if (strcmp(f->changes[i].folder, folder_name(path)) == 0)
            change_apply(f, i);
    for (size_t i = 0; e == ERR_OK && i < f->changes_n; i++) {
        if (f->changes[i].dead || strcmp(f->changes[i].folder, folder_name(path)) == 0)
            change_fini(&f->changes[i]);
        else
            f->changes[kept++] = f->changes[i];
    }
    if (e == ERR_OK)
        f->changes_n = kept;
    pthread_mutex_unlock(&f->mutex);
    return e;
}

static enum err fault_list(void *self, const char *path, void (*each)(void *arg, const char *name),
                           void *arg)
{
    struct fault_disk *f = self;
    char **found = NULL;
    size_t n = 0;
    pthread_mutex_lock(&f->mutex);
    enum err e = off(f);
    if (e == ERR_OK && !is_folder(f, folder_name(path)))
        e = ERR_NOT_FOUND;
    for (size_t i = 0; e == ERR_OK && i < f->names_n; i++) {
        char *folder = folder_of(f->names[i].path);
        if (f->names[i].now != NULL && strcmp(folder, folder_name(path)) == 0) {
            const char *slash = strrchr(f->names[i].path, '/');
            found = mem_resize(found, (n + 1) * sizeof(char *));
            found[n++] = mem_copy_text(slash == NULL ? f->names[i].path : slash + 1);
        }
        mem_free(folder);
    }
    pthread_mutex_unlock(&f->mutex);
    for (size_t i = 0; i < n; i++) {
        each(arg, found[i]);
        mem_free(found[i]);
    }
    mem_free(found);
    return e;
}

static enum err fault_lock(void *self, int file)
{
    struct fault_disk *f = self;
    pthread_mutex_lock(&f->mutex);
    enum err e = off(f);
    struct handle *h = f->handles[file];
    if (e == ERR_OK && h->node->locked_by != NULL && h->node->locked_by != h)
        e = ERR_IN_USE;
    if (e == ERR_OK)
        h->node->locked_by = h;
    pthread_mutex_unlock(&f->mutex);
    return e;
}

static enum err fault_free_bytes(void *self, uint64_t *free_bytes)
{
    struct fault_disk *f = self;
    pthread_mutex_lock(&f->mutex);
    *free_bytes = f->capacity - f->used;
    pthread_mutex_unlock(&f->mutex);
    return ERR_OK;
}

static enum err fault_total_bytes(void *self, uint64_t *total_bytes)
{
    struct fault_disk *f = self;
    *total_bytes = f->capacity;
    return ERR_OK;
}

static enum err fault_sync_all(void *self)
{
    struct fault_disk *f = self;
    pthread_mutex_lock(&f->mutex);
    enum err e = step(f);
    if (e == ERR_OK) {
        for (size_t i = 0; i < f->changes_n; i++)
            change_apply(f, i);
        for (size_t i = 0; i < f->changes_n; i++)
            change_fini(&f->changes[i]);
        f->changes_n = 0;
        for (struct node *node = f->nodes; node != NULL; node = node->next)
            make_safe(node);
    }
    pthread_mutex_unlock(&f->mutex);
    return e;
}

struct fault_disk *fault_disk_new(uint64_t seed)
{
    struct fault_disk *f = mem_new(sizeof *f);
    f->rng.state = seed;
    f->fail_at = UINT64_MAX;
    f->capacity = UINT64_MAX / 2;
    pthread_mutex_init(&f->mutex, NULL);
    f->disk = (struct disk){f,
                            fault_open,
                            fault_close,
                            fault_read,
                            fault_write,
                            fault_sync,
                            fault_truncate,
                            fault_size,
                            fault_rename,
                            fault_remove,
                            fault_make_dir,
                            fault_sync_dir,
                            fault_list,
                            fault_lock,
                            fault_free_bytes,
                            fault_total_bytes,
                            fault_sync_all};
    return f;
}

void fault_disk_free(struct fault_disk *f)
{
    fault_disk_kill(f);
    for (size_t i = 0; i < f->changes_n; i++)
        change_fini(&f->changes[i]);
    for (struct node *node = f->nodes, *next; node != NULL; node = next) {
        next = node->next;
        buf_fini(&node->now);
        buf_fini(&node->safe);
        mem_free(node->dirty);
        mem_free(node);
    }
    for (size_t i = 0; i < f->names_n; i++)
        mem_free(f->names[i].path);
    mem_free(f->names);
    mem_free(f->changes);
    pthread_mutex_destroy(&f->mutex);
    mem_free(f);
}

const struct disk *fault_disk_of(struct fault_disk *f)
{
    return &f->disk;
}

uint64_t fault_disk_operations(const struct fault_disk *f)
{
    return f->operations;
}

void fault_disk_fail_in(struct fault_disk *f, uint64_t n, enum err e, bool and_all_later)
{
    f->fail_at = f->operations + n;
    f->fail_with = e;
    f->fail_later = and_all_later;
    f->failed = false;
}

void fault_disk_fail_never(struct fault_disk *f)
{
    f->fail_at = UINT64_MAX;
    f->failed = false;
}

bool fault_disk_has_failed(const struct fault_disk *f)
{
    return f->failed;
}

void fault_disk_capacity(struct fault_disk *f, uint64_t bytes)
{
    f->capacity = bytes;
}

void fault_disk_kill(struct fault_disk *f)
{
    for (int i = 0; i < 4096; i++)
        close_locked(f, i);
}

/* One of: nothing unsynced survives, all, any sectors, the first sectors. */
static void cut_node(struct fault_disk *f, struct node *node)
{
    uint64_t way = rng_below(&f->rng, WAYS - LOST), stop = rng_below(&f->rng, node->dirty_n + 1);
    struct buf left = BUF_EMPTY;
    buf_put(&left, node->safe.at, node->safe.n);
    if (node->now.n < left.n && (way + LOST == KEPT || rng_below(&f->rng, 2) == 0))
        left.n = node->now.n;
    for (size_t i = 0; i < node->dirty_n; i++) {
        size_t from = i * SECTOR_BYTES, to = from + SECTOR_BYTES;
        bool keep = way + LOST == KEPT || (way + LOST == SOME && rng_below(&f->rng, 2) == 0) ||
                    (way + LOST == BEGIN && i < stop);
        if (!node->dirty[i] || !keep || from >= node->now.n)
            continue;
        if (to > node->now.n)
            to = node->now.n;
        if (to > left.n) {
            buf_reserve(&left, to - left.n);
            memset(left.at + left.n, 0, to - left.n);
            left.n = to;
        }
        memcpy(left.at + from, node->now.at + from, to - from);
    }
    buf_fini(&node->now);
    node->now = left;
    size_t size = left.n;
    node->now.n = size;
    if (size / SECTOR_BYTES + 1 > node->dirty_n) {
        node->dirty_n = size / SECTOR_BYTES + 1;
        node->dirty = mem_resize(node->dirty, node->dirty_n);
    }
    make_all_safe(node);
}

void fault_disk_power_cut(struct fault_disk *f)
{
    fault_disk_kill(f);
    fault_disk_fail_never(f);
    bool in_order = rng_below(&f->rng, 2) == 0;
    size_t stop = (size_t)rng_below(&f->rng, f->changes_n + 1);
    for (size_t i = 0; i < f->changes_n; i++)
        if (in_order ? i < stop : rng_below(&f->rng, 2) == 0)
            change_apply(f, i);
    for (size_t i = 0; i < f->changes_n; i++)
        change_fini(&f->changes[i]);
    f->changes_n = 0;
    for (struct node *node = f->nodes; node != NULL; node = node->next)
        if (!node->folder)
            cut_node(f, node);
    f->used = 0;
    /* By path, so a folder comes before what is in it. */
    for (size_t i = 0; i < f->names_n; i++) {
        struct name *n = &f->names[i];
        char *folder = folder_of(n->path);
        n->now = is_folder(f, folder) ? n->safe : NULL;
        n->safe = n->now;
        mem_free(folder);
        f->used += n->now == NULL ? 0 : n->now->now.n;
    }
}

void fault_disk_each(struct fault_disk *f,
                     void (*each)(void *arg, const char *path, uint64_t bytes), void *arg)
{
    for (size_t i = 0; i < f->names_n; i++)
        if (f->names[i].now != NULL && !f->names[i].now->folder)
            each(arg, f->names[i].path, f->names[i].now->now.n);
}

struct bytes fault_disk_bytes(struct fault_disk *f, const char *path)
{
    struct name *n = find(f, path, false);
    return n == NULL || n->now == NULL ? BYTES_NONE : buf_bytes(&n->now->now);
}

void fault_disk_plant(struct fault_disk *f, const char *path, struct bytes bytes)
{
    struct name *n = find(f, path, true);
    if (n->now == NULL)
        n->now = n->safe = node_new(f, false);
    resize(f, n->now, 0);
    put(f, n->now, bytes, 0);
    make_safe(n->now);
}

void fault_disk_flip(struct fault_disk *f, const char *path, uint64_t byte, unsigned bit)
{
    struct node *node = find(f, path, false)->now;
    CHECK(byte < node->now.n);
    node->now.at[byte] = (char)(node->now.at[byte] ^ (1 << bit));
    make_all_safe(node);
}

void fault_disk_delete(struct fault_disk *f, const char *path)
{
    struct name *n = find(f, path, false);
    n->now = n->safe = NULL;
}
