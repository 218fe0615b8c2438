// SPDX-License-Identifier: Apache-2.0
/* A broker among others: it registers in the catalogue, keeps a session, watches what exists and
 * tells the queue; one of the brokers is the controller and elects leaders.
 *
 * Keys, besides those of catalog.h; values are JSON (keys.h):
 *   ctl          {broker, session, url}, leased       the controller; made if absent
 *   b/<id>       {url, client_url, store, session, state, version}   the broker; id in decimal
 *   s/<id>       {session, store, leaving}, leased     it lives
 *   p/<tid>/<n>  the partition: members, leader, epoch, isr, incarnations, op  (replica/key.h)
 *   meta         {format, cluster_id, created}
 *
 * Threads: one for the catalogue's work and the controller, one that ticks the queue's replicas,
 * one each of the catalogue's session and watch, and those of the data side. */
#ifndef CLUSTER_CLUSTER_H
#define CLUSTER_CLUSTER_H

#include "base/clock.h"
#include "base/json_write.h"
#include "base/rng.h"
#include "catalog/catalog.h"
#include "peer/peer.h"
#include "queue/copies.h"

struct cluster;

struct cluster_options {
    struct catalog *catalog; /* etcd's; borrowed */
    const struct clock *clock;
    struct rng rng;
    uint32_t broker;          /* 1 to 65535 */
    const struct disk *disk;  /* of the data directory, for the last life's session; borrowed */
    bool replace;             /* --replace: the disk of this broker was replaced */
    int session_ttl_s;        /* 6 */
    const char *peer_address; /* to listen on, and what others are told: http://address:port */
    uint16_t peer_port;
    const char *peer_url;   /* NULL: made of the two above */
    const char *peer_from;  /* where connections to peers come from; NULL: anywhere */
    const char *client_url; /* of the front, told to others and to clients that ask */
    struct bytes key;       /* shared by the cluster's brokers */
    /* What else the listener serves; borrowed until cluster_free. */
    const struct peer_route *routes;
    size_t routes_n; /* at most CLUSTER_MORE_ROUTES */
};
enum { CLUSTER_MORE_ROUTES = 4 };

/* Learns which cluster the catalogue is (the first broker of all names it) and opens the listener;
 * nothing is asked or answered yet. ERR_IN_USE, ERR_INVALID: the address, or the id. ERR_CONFLICT:
 * the data directory is another cluster's or another broker's; one line in the log tells. The
 * catalogue's errors. */
enum err cluster_start(const struct cluster_options *o, struct cluster **out) MUST_USE;
/* For queue_options.links: valid from cluster_start on. */
const struct queue_links *cluster_links(struct cluster *c);
/* The queue is open: registers with its store's uuid (queue_store_uuid), lists the catalogue, tells
 * the queue of all topics and keys, then watches. ERR_IN_USE: the broker id runs elsewhere;
 * ERR_CONFLICT: another store is registered under it (--replace); ERR_CORRUPT; ERR_BUSY. One line
 * in the log says what and what to do. */
enum err cluster_join(struct cluster *c, struct queue *q) MUST_USE;
/* The number of the session with which this life has joined; those of the id's former lives are
 * lower. */
int64_t cluster_first_session(const struct cluster *c);
/* For calls to other brokers: there from cluster_start to cluster_leave. */
struct peer *cluster_peer(struct cluster *c);
/* Where a broker's peers reach it. False: it is not known. Any thread, leaf locks only. */
bool cluster_url(struct cluster *c, uint32_t broker, char url[PEER_URL_BYTES_MAX + 1]);
/* Nothing has come from it for so long that a call to it would hang: another leads soon, or it
 * comes back. Any thread, leaf locks only. */
bool cluster_is_silent(struct cluster *c, uint32_t broker);
/* Others lead what this broker led, and its session is revoked; it still asks and answers. */
void cluster_resign(struct cluster *c);
/* Resigns if it did not yet, and stops asking and answering. The queue is still open. */
void cluster_leave(struct cluster *c);
/* Once the queue is closed. Also without join and leave. */
void cluster_free(struct cluster *c);

struct cluster_broker {
    uint32_t id;
    bool is_live, is_controller, is_draining;
    char peer_url[PEER_URL_BYTES_MAX + 1];
    char client_url[PEER_URL_BYTES_MAX + 1];
};
/* All registered ones by id; at most room. */
size_t cluster_brokers(struct cluster *c, struct cluster_broker *out, size_t room);
/* All of it as one JSON object, the answer of GET /v1/cluster (api/openapi.yaml). Any thread. */
void cluster_write(struct cluster *c, struct json_writer *w);

#endif
