// SPDX-License-Identifier: Apache-2.0
#include "cluster/member.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/lock.h"
#include "base/note.h"
#include "cluster/file.h"

enum { PAUSE_MS = 100, TRIES_MAX = 5 };

/* Waits without a condition: for another process' lease to end. */
static void pause_ms(int64_t ms)
{
    struct lock lk;
    struct lock_signal never;
    lock_init(&lk, LOCK_RANK_CLUSTER);
    lock_signal_init(&never);
    lock_take(&lk);
    lock_signal_wait(&never, &lk, ms);
    lock_give(&lk);
    lock_signal_fini(&never);
    lock_fini(&lk);
}

/* ---- meta, and what the data directory says ---- */

static enum err meta_read(struct cluster_self *s, struct cluster_meta_key *out)
{
    struct catalog_kv kv = {.key = NULL};
    enum err e = catalog_get(s->catalog, "meta", &kv);
    if (e == ERR_OK)
        e = cluster_meta_key_decode(kv.value, out);
    catalog_kv_fini(&kv);
    return e;
}

static enum err meta_make(struct cluster_self *s, const char *fresh_id)
{
    struct cluster_meta_key meta = {.created_wall_ms = clock_wall_ms(s->clock)};
    struct buf json = BUF_EMPTY;
    (void)snprintf(meta.cluster_id, sizeof meta.cluster_id, "%s", fresh_id);
    cluster_meta_key_encode(&meta, &json);
    struct catalog_cmp absent = {"meta", CATALOG_MOD, 0};
    struct catalog_op put = {.key = "meta", .value = buf_bytes(&json)};
    enum err e = catalog_txn(s->catalog, &absent, 1, &put, 1, NULL);
    buf_fini(&json);
    return e == ERR_CONFLICT ? ERR_OK : e; /* somebody was faster: what is stored counts */
}

static enum err file_check(struct cluster_self *s, struct cluster_file *file, bool *has_file)
{
    enum err e = s->disk == NULL ? ERR_NOT_FOUND : cluster_file_read(s->disk, file);
    *has_file = e == ERR_OK;
    if (e == ERR_NOT_FOUND)
        return ERR_OK;
    if (e != ERR_OK) {
        note(NOTE_ERROR, "cluster", "%s: %s", CLUSTER_FILE_NAME, err_text(e));
        return e;
    }
    if (file->broker != s->broker) {
        note(NOTE_ERROR, "cluster",
             "this data directory is broker %" PRIu32 "'s: start it under that id, not as %" PRIu32,
             file->broker, s->broker);
        return ERR_CONFLICT;
    }
    return ERR_OK;
}

enum err cluster_self_meet(struct cluster_self *s, const char *fresh_id)
{
    struct cluster_file file;
    struct cluster_meta_key meta;
    bool has_file;
    enum err e = file_check(s, &file, &has_file);
    if (e != ERR_OK)
        return e;
    e = catalog_copy_check(s->catalog);
    if (e == ERR_CONFLICT)
        note(NOTE_ERROR, "cluster",
             "a single node's catalogue is being taken over into this cluster: start that node "
             "again with --etcd, so that it is finished");
    if (e != ERR_OK)
        return e;
    e = meta_read(s, &meta);
    if (e == ERR_NOT_FOUND && !has_file) {
        e = meta_make(s, fresh_id);
        if (e == ERR_OK)
            e = meta_read(s, &meta);
    } else if (e == ERR_NOT_FOUND) {
        note(NOTE_ERROR, "cluster",
             "the catalogue is empty, but this data directory belongs to cluster %s: restore the "
             "catalogue, or start with an empty directory",
             file.cluster_id);
        return ERR_CONFLICT;
    }
    if (e != ERR_OK) {
        note(NOTE_ERROR, "cluster", "meta: %s", err_text(e));
        return e;
    }
    if (has_file && strcmp(file.cluster_id, meta.cluster_id) != 0) {
        note(NOTE_ERROR, "cluster",
             "this data directory belongs to cluster %s, the catalogue is cluster %s's: check "
             "--cluster and the endpoints",
             file.cluster_id, meta.cluster_id);
        return ERR_CONFLICT;
    }
    memcpy(s->cluster_id, meta.cluster_id, sizeof s->cluster_id);
    return ERR_OK;
}

/* ---- who else has the id ---- */

struct registered {
    struct cluster_broker_key key;
    int64_t rev; /* of b/<id>; 0: there is none */
    struct cluster_session_key session;
    int64_t session_rev; /* of s/<id>; 0: there is none */
};

static enum err registered_read(struct cluster_self *s, struct registered *r)
{
    char name[CLUSTER_KEY_ROOM];
    struct catalog_kv kv = {.key = NULL};
    *r = (struct registered){.rev = 0};
    cluster_key_broker(name, s->broker);
    enum err e = catalog_get(s->catalog, name, &kv);
    if (e == ERR_OK)
        e = cluster_broker_key_decode(kv.value, &r->key);
    if (e != ERR_OK && e != ERR_NOT_FOUND)
        goto out;
    r->rev = kv.mod_rev;
    catalog_kv_fini(&kv);
    cluster_key_session(name, s->broker);
    e = catalog_get(s->catalog, name, &kv);
    if (e == ERR_OK)
        e = cluster_session_key_decode(kv.value, &r->session);
    if (e != ERR_OK && e != ERR_NOT_FOUND)
        goto out;
    r->session_rev = kv.mod_rev;
    e = ERR_OK;
out:
    if (e != ERR_OK)
        note(NOTE_ERROR, "cluster", "%s: %s", name, err_text(e));
    catalog_kv_fini(&kv);
    return e;
}

static enum err registered_check(struct cluster_self *s, const struct registered *r)
{
    if (r->rev == 0 || s->replace)
        return ERR_OK;
    if (strcmp(r->key.store, s->store) != 0) {
        note(NOTE_ERROR, "cluster",
             "broker %" PRIu32 " is registered with another data directory (%s): use its own, or "
             "--replace if it is lost",
             s->broker, r->key.store);
        return ERR_CONFLICT;
    }
    if (r->key.state == CLUSTER_BROKER_REMOVED) {
        note(NOTE_ERROR, "cluster",
             "broker %" PRIu32 " was removed from the cluster: start with an empty data directory "
             "and --replace to take it in again",
             s->broker);
        return ERR_CONFLICT;
    }
    return ERR_OK;
}

/* Waits for the session of somebody else under our id to end. */
static enum err session_wait_gone(struct cluster_self *s, struct registered *r)
{
    int64_t end_ms = clock_boot_ms(s->clock) + 2 * 1000 * (int64_t)s->ttl_s;
    while (r->session_rev != 0) {
        if (clock_boot_ms(s->clock) >= end_ms) {
            note(NOTE_ERROR, "cluster",
                 "broker %" PRIu32 " is running elsewhere (%s): stop it there, or use another id",
                 s->broker, r->key.url);
            return ERR_IN_USE;
        }
        pause_ms(PAUSE_MS);
        enum err e = registered_read(s, r);
        if (e != ERR_OK)
            return e;
    }
    return ERR_OK;
}

/* ---- registration ---- */

/* Our own previous life may be held alive by a lease that nobody renews any more. */
static enum err previous_end(struct cluster_self *s, struct registered *r, bool may_wait)
{
    struct cluster_file file;
    if (r->session_rev == 0)
        return ERR_OK;
    if (s->disk != NULL && strcmp(r->session.store, s->store) == 0 &&
        cluster_file_read(s->disk, &file) == ERR_OK && file.lease != 0 &&
        catalog_lease_revoke(s->catalog, file.lease) == ERR_OK) {
        enum err e = registered_read(s, r);
        if (e != ERR_OK)
            return e;
    }
    if (!may_wait && r->session_rev != 0)
        return ERR_BUSY;
    return session_wait_gone(s, r);
}

static enum err lease_keep(struct cluster_self *s)
{
    struct cluster_file file = {.broker = s->broker};
    if (s->disk == NULL)
        return ERR_OK;
    memcpy(file.cluster_id, s->cluster_id, sizeof file.cluster_id);
    file.lease = catalog_session_id(s->session);
    enum err e = cluster_file_write(s->disk, &file);
    if (e != ERR_OK)
        note(NOTE_ERROR, "cluster", "%s cannot be written: %s", CLUSTER_FILE_NAME, err_text(e));
    return e;
}

static enum err broker_put(struct cluster_self *s, const struct registered *r, int64_t *rev)
{
    char name[CLUSTER_KEY_ROOM];
    struct buf json = BUF_EMPTY;
    struct cluster_broker_key key = {.version = PEER_VERSION, .session = r->key.session + 1};
    key.state =
        s->replace && r->key.state == CLUSTER_BROKER_REMOVED ? CLUSTER_BROKER_ACTIVE : r->key.state;
    memcpy(key.url, s->url, sizeof key.url);
    memcpy(key.client_url, s->client_url, sizeof key.client_url);
    memcpy(key.store, s->store, sizeof key.store);
    cluster_key_broker(name, s->broker);
    cluster_broker_key_encode(&key, &json);
    struct catalog_cmp same = {name, CATALOG_MOD, r->rev};
    struct catalog_op put = {.key = name, .value = buf_bytes(&json)};
    enum err e = catalog_txn(s->catalog, &same, 1, &put, 1, rev);
    buf_fini(&json);
    if (e == ERR_OK)
        s->number = key.session;
    return e == ERR_CONFLICT ? ERR_EXISTS : e; /* somebody was faster */
}

/* Puts s/<id>, if it is at `rev` and, when broker_rev is not 0, the registration is still ours. */
static enum err session_put(struct cluster_self *s, int64_t rev, int64_t broker_rev,
                            bool is_leaving)
{
    char name[CLUSTER_KEY_ROOM], broker[CLUSTER_KEY_ROOM];
    struct buf json = BUF_EMPTY;
    struct cluster_session_key key = {
        .session = s->number, .is_leaving = is_leaving, .lease = catalog_session_id(s->session)};
    memcpy(key.store, s->store, sizeof key.store);
    cluster_key_session(name, s->broker);
    cluster_key_broker(broker, s->broker);
    cluster_session_key_encode(&key, &json);
    struct catalog_cmp cmps[2] = {{name, CATALOG_MOD, rev}, {broker, CATALOG_MOD, broker_rev}};
    struct catalog_op put = {.key = name, .value = buf_bytes(&json)};
    enum err e = catalog_txn_leased(s->catalog, s->session, cmps, broker_rev == 0 ? 1 : 2, &put, 1,
                                    &s->session_rev);
    buf_fini(&json);
    return e;
}

static enum err register_once(struct cluster_self *s, bool may_wait)
{
    struct registered r;
    int64_t rev = 0;
    enum err e = registered_read(s, &r);
    if (e == ERR_OK)
        e = registered_check(s, &r);
    if (e == ERR_OK)
        e = previous_end(s, &r, may_wait);
    if (e == ERR_OK)
        e = catalog_session_begin(s->catalog, s->ttl_s, s->lost, s->lost_self, &s->session);
    if (e != ERR_OK)
        return e;
    e = lease_keep(s);
    if (e == ERR_OK)
        e = broker_put(s, &r, &rev);
    if (e == ERR_OK)
        e = session_put(s, 0, rev, false);
    if (e != ERR_OK)
        cluster_self_forget(s);
    return e == ERR_CONFLICT ? ERR_EXISTS : e;
}

enum err cluster_self_register(struct cluster_self *s, bool may_wait)
{
    enum err e = ERR_EXISTS;
    for (int i = 0; i < TRIES_MAX && e == ERR_EXISTS; i++)
        e = register_once(s, may_wait);
    if (e == ERR_EXISTS)
        return ERR_IN_USE;
    if (e == ERR_OK) {
        s->replace = false; /* it is registered with this store now */
        note(NOTE_INFO, "cluster", "broker %" PRIu32 " is registered, session %" PRId64, s->broker,
             s->number);
    }
    return e;
}

void cluster_self_forget(struct cluster_self *s)
{
    if (s->session != NULL)
        catalog_session_end(s->session);
    s->session = NULL;
}

enum err cluster_self_resign(struct cluster_self *s)
{
    return s->session == NULL ? ERR_BUSY : session_put(s, s->session_rev, 0, true);
}
