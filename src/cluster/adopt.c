// SPDX-License-Identifier: Apache-2.0
#include "cluster/adopt.h"

#include <inttypes.h>
#include <string.h>

#include "base/codec.h"
#include "base/note.h"
#include "cluster/file.h"
#include "queue/hand_over.h"

bool cluster_directory_is_alone(const struct disk *d)
{
    struct cluster_file file;
    enum err e = cluster_file_read(d, &file);
    if (e == ERR_NOT_FOUND)
        return true;
    if (e == ERR_OK)
        note(NOTE_ERROR, "cluster",
             "this data directory is broker %" PRIu32 "'s of cluster %s: start it with --etcd and "
             "--broker-id %" PRIu32,
             file.broker, file.cluster_id, file.broker);
    else
        note(NOTE_ERROR, "cluster", "%s: %s", CLUSTER_FILE_NAME, err_text(e));
    return false;
}

static enum err is_there(const struct disk *d, const char *path, bool *is_so)
{
    int file;
    enum err e = d->open(d->self, path, DISK_READ, &file);
    *is_so = e == ERR_OK;
    if (e == ERR_OK)
        d->close(d->self, file);
    return e == ERR_NOT_FOUND ? ERR_OK : e;
}

/* Which cluster it will be: as it was said before a crash, or a new one. */
static enum err file_make(const struct disk *d, uint32_t broker, struct rng *rng,
                          struct cluster_file *file)
{
    char id[CODEC_UUID_ROOM];
    enum err e = cluster_file_read(d, file);
    if (e == ERR_OK && file->broker != broker) {
        note(NOTE_ERROR, "cluster",
             "this data directory is broker %" PRIu32 "'s, not %" PRIu32 "'s", file->broker,
             broker);
        return ERR_CONFLICT;
    }
    if (e != ERR_NOT_FOUND)
        return e;
    *file = (struct cluster_file){.broker = broker};
    codec_uuid(rng, id);
    memcpy(file->cluster_id, id, strlen(id));
    return cluster_file_write(d, file);
}

static enum err hand_over(struct queue *q, const struct queue_options *node, uint32_t broker,
                          struct catalog *to, struct rng *rng)
{
    struct cluster_file file;
    struct buf json = BUF_EMPTY;
    enum err e = queue_hand_over_check(q, to);
    if (e == ERR_OK)
        e = file_make(node->disk, broker, rng, &file);
    if (e != ERR_OK)
        return e;
    struct cluster_meta_key meta = {.created_wall_ms = clock_wall_ms(node->clock)};
    memcpy(meta.cluster_id, file.cluster_id, sizeof meta.cluster_id);
    cluster_meta_key_encode(&meta, &json);
    e = queue_hand_over(q, broker, buf_bytes(&json), to);
    buf_fini(&json);
    if (e != ERR_OK)
        note(NOTE_ERROR, "cluster",
             "the node's catalogue could not be taken over: %s; start again with --etcd",
             err_text(e));
    return e;
}

enum err cluster_adopt(const struct queue_options *node, uint32_t broker, struct catalog *to,
                       struct rng *rng)
{
    const struct disk *d = node->disk;
    struct queue *q;
    bool is_node;
    enum err e = is_there(d, CLUSTER_NODE_CATALOG, &is_node);
    if (e != ERR_OK || !is_node)
        return e;
    e = queue_open(node, &q);
    if (e != ERR_OK)
        return e;
    e = hand_over(q, node, broker, to, rng);
    queue_close(q);
    if (e == ERR_OK)
        e = d->rename(d->self, CLUSTER_NODE_CATALOG, CLUSTER_NODE_CATALOG_OLD);
    if (e == ERR_OK)
        e = d->sync_dir(d->self, ".");
    if (e == ERR_OK)
        note(NOTE_INFO, "cluster",
             "this node is the first broker of a cluster now; its own catalogue is kept as %s",
             CLUSTER_NODE_CATALOG_OLD);
    return e;
}
