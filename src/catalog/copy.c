// SPDX-License-Identifier: Apache-2.0
/* Taking over one catalogue into another, empty one: a single node's file into a cluster's etcd.
 *
 * `k/copy` in the target is made first and says from where, so that a copy that was cut short is
 * taken up again by its own source only. What is still to be done is found by comparing the two
 * lists, so there is no progress to be written down, and a source that has changed in between is
 * copied as it is now. `meta`, by which a cluster knows itself, comes in the last transaction. */
#include <string.h>

#include "base/digest.h"
#include "base/mem.h"
#include "base/note.h"
#include "catalog/catalog.h"
#include "catalog/topic_json.h"

static const char marker_key[] = "k/copy", meta_key[] = "meta";

enum {
    OPS_MAX = 120,           /* of one transaction; etcd takes 128 */
    BYTES_MAX = 1024 * 1024, /* likewise; etcd takes 1.5 MiB */
};

struct marker {
    char source[DIGEST_SHA256_HEX_ROOM];
    bool is_done;
    int64_t rev;
};

struct copying {
    struct catalog *to;
    struct marker marker;
    struct catalog_op ops[OPS_MAX]; /* keys and values are lent by the lists */
    size_t ops_n, ops_bytes;
    size_t changes; /* carried out */
};

/* ---- the marker ---- */

static void marker_encode(const struct marker *m, struct buf *json)
{
    catalog_json_store(json_pack("{s:i, s:s, s:s}", "format", CATALOG_JSON_FORMAT, "source",
                                 m->source, "state", m->is_done ? "done" : "copying"),
                       json);
}

static enum err marker_decode(struct bytes json, struct marker *out)
{
    json_t *root;
    const char *source, *state;
    int format;
    uint8_t raw[DIGEST_SHA256_BYTES];
    enum err e = catalog_json_load(json, &root);
    if (e != ERR_OK)
        return e;
    if (json_unpack_ex(root, NULL, JSON_STRICT, "{s:i, s:s, s:s}", "format", &format, "source",
                       &source, "state", &state) == 0 &&
        catalog_hex_read(source, raw, sizeof raw) &&
        (strcmp(state, "done") == 0 || strcmp(state, "copying") == 0)) {
        catalog_hex_write(out->source, raw, sizeof raw);
        out->is_done = state[0] == 'd';
    } else {
        e = ERR_CORRUPT;
    }
    json_decref(root);
    return e;
}

enum err catalog_copy_marker_check(struct bytes json)
{
    struct marker m;
    return marker_decode(json, &m);
}

/* A node is known by the key of its ids, which is made once and never changes; the target need not
 * know the key to know the node. */
static enum err source_of(struct catalog *from, char hex[DIGEST_SHA256_HEX_ROOM])
{
    struct catalog_kv kv;
    struct buf named = BUF_EMPTY;
    enum err e = catalog_get(from, "k/ids", &kv);
    if (e != ERR_OK)
        return e;
    buf_put_text(&named, "leaselog copy ");
    buf_put_bytes(&named, kv.value);
    digest_sha256_hex(buf_bytes(&named), hex);
    buf_fini(&named);
    catalog_kv_fini(&kv);
    return ERR_OK;
}

/* ---- transactions ---- */

/* Nobody else may have begun to live here. */
static enum err txn(struct copying *c, const struct catalog_op *ops, size_t n, int64_t *rev)
{
    struct catalog_cmp cmps[] = {{marker_key, CATALOG_MOD, c->marker.rev},
                                 {meta_key, CATALOG_CREATED, 0}};
    return catalog_txn(c->to, cmps, 2, ops, n, rev);
}

static enum err flush(struct copying *c)
{
    if (c->ops_n == 0)
        return ERR_OK;
    enum err e = txn(c, c->ops, c->ops_n, NULL);
    c->changes += c->ops_n;
    c->ops_n = c->ops_bytes = 0;
    return e;
}

static enum err add(struct copying *c, struct catalog_op op)
{
    size_t bytes = strlen(op.key) + op.value.n;
    enum err e = ERR_OK;
    if (c->ops_n == OPS_MAX || (c->ops_n > 0 && c->ops_bytes + bytes > BYTES_MAX))
        e = flush(c);
    c->ops[c->ops_n++] = op;
    c->ops_bytes += bytes;
    return e;
}

/* Sets the marker, with `meta` beside it when there is one. */
static enum err mark(struct copying *c, bool is_done, const struct catalog_kv *meta)
{
    struct buf json = BUF_EMPTY;
    struct marker m = c->marker;
    m.is_done = is_done;
    marker_encode(&m, &json);
    struct catalog_op ops[2] = {{.key = marker_key, .value = buf_bytes(&json)}};
    if (meta != NULL)
        ops[1] = (struct catalog_op){.key = meta_key, .value = meta->value};
    enum err e = txn(c, ops, meta != NULL ? 2 : 1, &c->marker.rev);
    buf_fini(&json);
    return e;
}

/* ---- what is to be done ---- */

/* Of one process or one node only: the count of starts, what is leased, what a broker says of
 * itself, and where this catalogue in turn was copied from. */
static bool stays_behind(const char *key)
{
    return strcmp(key, "k/epoch") == 0 || strcmp(key, "ctl") == 0 || strcmp(key, marker_key) == 0 ||
           strncmp(key, "s/", 2) == 0 || strncmp(key, "b/", 2) == 0;
}

static const struct catalog_kv *find(const struct catalog_kvs *kvs, const char *key)
{
    for (size_t i = 0; i < kvs->n; i++)
        if (strcmp(kvs->at[i].key, key) == 0)
            return &kvs->at[i];
    return NULL;
}

/* ERR_CONFLICT: the target holds what was not copied from this source. */
static enum err target_judge(struct copying *c, const struct catalog_kvs *there, bool *begun)
{
    const struct catalog_kv *kv = find(there, marker_key);
    struct marker m = c->marker;
    *begun = kv != NULL;
    if (kv == NULL)
        return there->n == 0 ? ERR_OK : ERR_CONFLICT;
    enum err e = marker_decode(kv->value, &m);
    if (e != ERR_OK)
        return e;
    if (strcmp(m.source, c->marker.source) != 0)
        return ERR_CONFLICT;
    c->marker.is_done = m.is_done;
    c->marker.rev = kv->mod_rev;
    if (m.is_done)
        return ERR_OK;
    for (size_t i = 0; i < there->n; i++) /* a broker has begun to live here */
        if (strcmp(there->at[i].key, meta_key) == 0 ||
            (&there->at[i] != kv && stays_behind(there->at[i].key)))
            return ERR_CONFLICT;
    return ERR_OK;
}

/* Both lists are in byte order. */
static enum err make_equal(struct copying *c, const struct catalog_kvs *have,
                           const struct catalog_kvs *there)
{
    enum err e = ERR_OK;
    size_t h = 0, t = 0;
    while ((h < have->n || t < there->n) && e == ERR_OK) {
        const struct catalog_kv *a = h < have->n ? &have->at[h] : NULL;
        const struct catalog_kv *b = t < there->n ? &there->at[t] : NULL;
        int order = a == NULL ? 1 : b == NULL ? -1 : strcmp(a->key, b->key);
        bool copied = order <= 0 && !stays_behind(a->key) && strcmp(a->key, meta_key) != 0;
        if (copied && (order < 0 || !bytes_equal(a->value, b->value)))
            e = add(c, (struct catalog_op){.key = a->key, .value = a->value});
        else if (order > 0 && strcmp(b->key, marker_key) != 0)
            e = add(c, (struct catalog_op){.key = b->key, .drop = 1});
        h += order <= 0;
        t += order >= 0;
    }
    return e == ERR_OK ? flush(c) : e;
}

static enum err copy(struct copying *c, const struct catalog_kvs *have,
                     const struct catalog_kvs *there)
{
    bool begun;
    enum err e = target_judge(c, there, &begun);
    if (e != ERR_OK || c->marker.is_done)
        return e;
    if (!begun)
        e = mark(c, false, NULL);
    if (e == ERR_OK)
        e = make_equal(c, have, there);
    if (e == ERR_OK)
        e = mark(c, true, find(have, meta_key));
    if (e == ERR_OK)
        note(NOTE_INFO, "catalog", "the catalogue is taken over: %zu keys, %zu changes in this run",
             have->n, c->changes);
    return e;
}

enum err catalog_copy(struct catalog *from, struct catalog *to)
{
    struct catalog_kvs have = {NULL, 0}, there = {NULL, 0};
    struct copying *c = mem_new(sizeof *c);
    c->to = to;
    enum err e = source_of(from, c->marker.source);
    if (e == ERR_OK)
        e = catalog_list(from, "", &have);
    if (e == ERR_OK)
        e = catalog_list(to, "", &there);
    if (e == ERR_OK)
        e = copy(c, &have, &there);
    catalog_kvs_fini(&have);
    catalog_kvs_fini(&there);
    mem_free(c);
    return e;
}

enum err catalog_copy_judge(struct catalog *from, struct catalog *to)
{
    struct catalog_kvs there = {NULL, 0};
    struct copying *c = mem_new(sizeof *c);
    bool begun;
    enum err e = source_of(from, c->marker.source);
    if (e == ERR_OK)
        e = catalog_list(to, "", &there);
    if (e == ERR_OK)
        e = target_judge(c, &there, &begun);
    catalog_kvs_fini(&there);
    mem_free(c);
    return e;
}

enum err catalog_copy_check(struct catalog *c)
{
    struct catalog_kv kv;
    struct marker m = {.is_done = true};
    enum err e = catalog_get(c, marker_key, &kv);
    if (e == ERR_NOT_FOUND)
        return ERR_OK;
    if (e != ERR_OK)
        return e;
    e = marker_decode(kv.value, &m);
    catalog_kv_fini(&kv);
    return e != ERR_OK ? e : m.is_done ? ERR_OK : ERR_CONFLICT;
}
