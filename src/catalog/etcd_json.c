// SPDX-License-Identifier: Apache-2.0
#include "catalog/etcd_json.h"

#include <stdio.h>
#include <string.h>

#include "base/codec.h"
#include "base/json_write.h"
#include "base/mem.h"
#include "catalog/topic_json.h"

/* ---- requests ---- */

static void put_key(struct json_writer *w, const char *member, struct bytes prefix,
                    struct bytes key)
{
    struct buf whole = BUF_EMPTY;
    buf_put_bytes(&whole, prefix);
    buf_put_bytes(&whole, key);
    json_put_key(w, member);
    json_put_base64(w, buf_bytes(&whole));
    buf_fini(&whole);
}

static void put_number(struct json_writer *w, const char *member, int64_t v)
{
    char text[24];
    snprintf(text, sizeof text, "%lld", (long long)v);
    json_put_key(w, member);
    json_put_text(w, text);
}

void etcd_put_get(struct buf *body, struct bytes key)
{
    struct json_writer w = json_writer_to(body);
    json_begin_object(&w);
    put_key(&w, "key", BYTES_NONE, key);
    json_end_object(&w);
    json_writer_done(&w);
}

/* etcd asks for an end. The first key behind all that begin with the prefix is the prefix with its
 * last byte raised; our prefixes end in ASCII, so there is such a byte. */
static void put_end(struct json_writer *w, struct bytes prefix)
{
    const uint8_t *at = prefix.at;
    CHECK(prefix.n > 0 && at[prefix.n - 1] < 0x7f);
    uint8_t last = (uint8_t)(at[prefix.n - 1] + 1);
    put_key(w, "range_end", (struct bytes){at, prefix.n - 1}, (struct bytes){&last, 1});
}

void etcd_put_list(struct buf *body, struct bytes prefix, struct bytes from, int64_t rev,
                   int64_t limit)
{
    struct json_writer w = json_writer_to(body);
    json_begin_object(&w);
    put_key(&w, "key", BYTES_NONE, from);
    put_end(&w, prefix);
    put_number(&w, "limit", limit);
    if (rev != 0)
        put_number(&w, "revision", rev);
    json_end_object(&w);
    json_writer_done(&w);
}

static void put_compare(struct json_writer *w, struct bytes prefix, const struct catalog_cmp *cmp)
{
    bool mod = cmp->what == CATALOG_MOD;
    json_begin_object(w);
    put_key(w, "key", prefix, bytes_of_text(cmp->key));
    json_put_key(w, "target");
    json_put_text(w, mod ? "MOD" : "CREATE");
    json_put_key(w, "result");
    json_put_text(w, "EQUAL");
    put_number(w, mod ? "mod_revision" : "create_revision", cmp->rev);
    json_end_object(w);
}

static void put_op(struct json_writer *w, struct bytes prefix, const struct catalog_op *op,
                   int64_t lease)
{
    json_begin_object(w);
    json_put_key(w, op->drop ? "request_delete_range" : "request_put");
    json_begin_object(w);
    put_key(w, "key", prefix, bytes_of_text(op->key));
    if (!op->drop)
        put_key(w, "value", BYTES_NONE, op->value);
    if (!op->drop && lease != 0)
        put_number(w, "lease", lease);
    json_end_object(w);
    json_end_object(w);
}

void etcd_put_txn(struct buf *body, struct bytes prefix, const struct catalog_cmp *cmps,
                  size_t cmps_n, const struct catalog_op *ops, size_t ops_n, int64_t lease)
{
    struct json_writer w = json_writer_to(body);
    json_begin_object(&w);
    json_put_key(&w, "compare");
    json_begin_array(&w);
    for (size_t i = 0; i < cmps_n; i++)
        put_compare(&w, prefix, &cmps[i]);
    json_end_array(&w);
    json_put_key(&w, "success");
    json_begin_array(&w);
    for (size_t i = 0; i < ops_n; i++)
        put_op(&w, prefix, &ops[i], lease);
    json_end_array(&w);
    json_end_object(&w);
    json_writer_done(&w);
}

static void put_one_number(struct buf *body, const char *member, int64_t v)
{
    struct json_writer w = json_writer_to(body);
    json_begin_object(&w);
    put_number(&w, member, v);
    json_end_object(&w);
    json_writer_done(&w);
}

void etcd_put_grant(struct buf *body, int64_t ttl_s)
{
    put_one_number(body, "TTL", ttl_s);
}

void etcd_put_lease(struct buf *body, int64_t id)
{
    put_one_number(body, "ID", id);
}

void etcd_put_watch(struct buf *body, struct bytes prefix, int64_t from)
{
    struct json_writer w = json_writer_to(body);
    json_begin_object(&w);
    json_put_key(&w, "create_request");
    json_begin_object(&w);
    put_key(&w, "key", BYTES_NONE, prefix);
    put_end(&w, prefix);
    put_number(&w, "start_revision", from);
    json_end_object(&w);
    json_end_object(&w);
    json_writer_done(&w);
}

void etcd_put_login(struct buf *body, const char *user, const char *password)
{
    struct json_writer w = json_writer_to(body);
    json_begin_object(&w);
    json_put_key(&w, "name");
    json_put_text(&w, user);
    json_put_key(&w, "password");
    json_put_text(&w, password);
    json_end_object(&w);
    json_writer_done(&w);
}

/* ---- answers ---- */

/* A 64-bit number as the gateway writes it; 0 where the member is left out. */
static bool take_number(const json_t *object, const char *member, int64_t *out)
{
    const json_t *v = json_object_get(object, member);
    *out = 0;
    return v == NULL || (json_is_string(v) &&
                         catalog_int64_read(json_string_value(v), INT64_MIN, INT64_MAX, out));
}

static bool take_revision(const json_t *root, int64_t *rev)
{
    return take_number(json_object_get(root, "header"), "revision", rev) && *rev > 0;
}

static enum err load(struct bytes json, json_t **out)
{
    json_t *root = json_loadb(json.at, json.n, 0, NULL);
    if (!json_is_object(root)) {
        json_decref(root);
        return ERR_CORRUPT;
    }
    *out = root;
    return ERR_OK;
}

/* Bytes in base64; none where the member is left out. */
static bool take_bytes(const json_t *object, const char *member, struct arena *arena,
                       struct bytes *out)
{
    const json_t *v = json_object_get(object, member);
    *out = BYTES_NONE;
    if (v == NULL)
        return true;
    if (!json_is_string(v))
        return false;
    struct bytes text = {json_string_value(v), json_string_length(v)};
    return codec_base64_decode(text, arena, out) == ERR_OK;
}

/* Key and value share one allocation, as catalog_kv_fini wants it. */
static bool take_kv(const json_t *object, struct bytes prefix, struct arena *arena,
                    struct catalog_kv *out)
{
    struct bytes key, value;
    if (!take_bytes(object, "key", arena, &key) || !take_bytes(object, "value", arena, &value) ||
        !take_number(object, "create_revision", &out->create_rev) ||
        !take_number(object, "mod_revision", &out->mod_rev) || !bytes_start_with(key, prefix))
        return false;
    key = (struct bytes){(const char *)key.at + prefix.n, key.n - prefix.n};
    if (key.n == 0 || key.n > CATALOG_KEY_BYTES_MAX || value.n > CATALOG_VALUE_BYTES_MAX ||
        memchr(key.at, '\0', key.n) != NULL)
        return false;
    char *at = mem_new(key.n + 1 + value.n);
    memcpy(at, key.at, key.n);
    if (value.n > 0)
        memcpy(at + key.n + 1, value.at, value.n);
    out->key = at;
    out->value = (struct bytes){at + key.n + 1, value.n};
    return true;
}

static bool take_kvs(const json_t *list, struct bytes prefix, struct catalog_kvs *out)
{
    size_t n = json_array_size(list); /* 0 when there is none */
    out->at = mem_new_array(n, sizeof *out->at);
    for (out->n = 0; out->n < n; out->n++) {
        struct arena arena;
        arena_init(&arena, NULL, 0);
        bool ok = take_kv(json_array_get(list, out->n), prefix, &arena, &out->at[out->n]);
        arena_fini(&arena);
        if (!ok)
            return false;
    }
    return true;
}

enum err etcd_take_range(struct bytes json, struct bytes prefix, struct etcd_range *out)
{
    json_t *root;
    struct etcd_range range = {.kvs = {NULL, 0}};
    enum err e = load(json, &root);
    if (e != ERR_OK)
        return e;
    const json_t *list = json_object_get(root, "kvs");
    range.more = json_is_true(json_object_get(root, "more"));
    bool ok = take_revision(root, &range.rev) && (list == NULL || json_is_array(list)) &&
              take_kvs(list, prefix, &range.kvs);
    json_decref(root);
    if (!ok) {
        catalog_kvs_fini(&range.kvs);
        return ERR_CORRUPT;
    }
    *out = range;
    return ERR_OK;
}

enum err etcd_take_txn(struct bytes json, int64_t *rev)
{
    json_t *root;
    int64_t at;
    enum err e = load(json, &root);
    if (e != ERR_OK)
        return e;
    bool won = json_is_true(json_object_get(root, "succeeded"));
    e = !take_revision(root, &at) ? ERR_CORRUPT : won ? ERR_OK : ERR_CONFLICT;
    json_decref(root);
    if (e == ERR_OK)
        *rev = at;
    return e;
}

enum err etcd_take_grant(struct bytes json, int64_t *id, int64_t *ttl_s)
{
    json_t *root;
    int64_t number, ttl;
    enum err e = load(json, &root);
    if (e != ERR_OK)
        return e;
    if (take_number(root, "ID", &number) && number != 0 && take_number(root, "TTL", &ttl) &&
        ttl > 0) {
        *id = number;
        *ttl_s = ttl;
    } else {
        e = ERR_CORRUPT;
    }
    json_decref(root);
    return e;
}

enum err etcd_take_alive(struct bytes json)
{
    json_t *root;
    int64_t id, ttl;
    enum err e = load(json, &root);
    if (e != ERR_OK)
        return e;
    const json_t *result = json_object_get(root, "result");
    if (!json_is_object(result) || !take_number(result, "ID", &id) || id == 0 ||
        !take_number(result, "TTL", &ttl))
        e = ERR_CORRUPT;
    else if (ttl <= 0)
        e = ERR_NOT_FOUND;
    json_decref(root);
    return e;
}

/* An event's kv is that of a read, but for a dropped key, which has a name and a revision only. */
static bool take_events(const json_t *list, struct bytes prefix, struct catalog_kvs *out)
{
    size_t n = json_array_size(list);
    out->at = mem_new_array(n, sizeof *out->at);
    for (out->n = 0; out->n < n; out->n++) {
        const json_t *event = json_array_get(list, out->n);
        const char *type = json_string_value(json_object_get(event, "type"));
        struct catalog_kv *kv = &out->at[out->n];
        struct arena arena;
        arena_init(&arena, NULL, 0);
        bool ok = take_kv(json_object_get(event, "kv"), prefix, &arena, kv);
        arena_fini(&arena);
        if (!ok)
            return false;
        if (type != NULL && strcmp(type, "DELETE") == 0)
            kv->value = BYTES_NONE;
        if (kv->mod_rev <= 0 || (out->n > 0 && kv->mod_rev < kv[-1].mod_rev)) {
            out->n++; /* so that it is freed */
            return false;
        }
    }
    return true;
}

static bool take_news(const json_t *root, struct bytes prefix, struct etcd_news *out)
{
    const json_t *error = json_object_get(root, "error"), *result = json_object_get(root, "result");
    const json_t *list = json_object_get(result, "events");
    if (error != NULL) {
        const char *said = json_string_value(json_object_get(error, "message"));
        snprintf(out->why, sizeof out->why, "%s", said != NULL ? said : "an error");
        out->ended = true;
        return true;
    }
    int64_t compact_rev;
    if (!json_is_object(result) || !take_number(result, "compact_revision", &compact_rev) ||
        (list != NULL && !json_is_array(list)) || !take_events(list, prefix, &out->kvs))
        return false;
    out->ended = json_is_true(json_object_get(result, "canceled")) || compact_rev != 0;
    const char *reason = json_string_value(json_object_get(result, "cancel_reason"));
    if (out->ended)
        snprintf(out->why, sizeof out->why, "%s",
                 reason != NULL     ? reason
                 : compact_rev != 0 ? "compacted"
                                    : "canceled");
    return true;
}

enum err etcd_take_news(struct bytes json, struct bytes prefix, struct etcd_news *out)
{
    json_t *root;
    struct etcd_news news = {.kvs = {NULL, 0}};
    enum err e = load(json, &root);
    if (e != ERR_OK)
        return e;
    bool ok = take_news(root, prefix, &news);
    json_decref(root);
    if (!ok) {
        catalog_kvs_fini(&news.kvs);
        return ERR_CORRUPT;
    }
    *out = news;
    return ERR_OK;
}

enum err etcd_take_token(struct bytes json, struct buf *token)
{
    json_t *root;
    enum err e = load(json, &root);
    if (e != ERR_OK)
        return e;
    const char *text = json_string_value(json_object_get(root, "token"));
    if (text != NULL && text[0] != '\0')
        buf_put(token, text, strlen(text) + 1);
    else
        e = ERR_CORRUPT;
    json_decref(root);
    return e;
}

void etcd_take_error(struct bytes json, char *text, size_t room)
{
    json_t *root;
    text[0] = '\0';
    if (load(json, &root) != ERR_OK)
        return;
    const char *said = json_string_value(json_object_get(root, "error"));
    if (said != NULL)
        snprintf(text, room, "%s", said);
    json_decref(root);
}
