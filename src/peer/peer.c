// SPDX-License-Identifier: Apache-2.0
#include "base/mem.h"
#include "base/note.h"
#include "peer/inside.h"

bool peer_may_note(struct peer *p, struct peer_quiet *q)
{
    long long now_ms = clock_boot_ms(p->clock);
    long long next_ms = atomic_load(&q->next_ms);
    return now_ms >= next_ms &&
           atomic_compare_exchange_strong(&q->next_ms, &next_ms, now_ms + 1000);
}

static bool options_ok(const struct peer_options *o)
{
    if (o->key.n < PEER_KEY_BYTES_MIN) {
        note(NOTE_ERROR, "peer", "the cluster's key is shorter than %d bytes", PEER_KEY_BYTES_MIN);
        return false;
    }
    if (o->broker == 0 || o->broker > PEER_BROKER_MAX ||
        !sign_cluster_ok(bytes_of_text(o->cluster))) {
        note(NOTE_ERROR, "peer",
             "a broker's id is 1 to %d, and a cluster's is %d printable "
             "characters at most",
             PEER_BROKER_MAX, PEER_CLUSTER_BYTES_MAX);
        return false;
    }
    return true;
}

static void peer_free(struct peer *p)
{
    seen_fini(&p->seen);
    lock_fini(&p->seen_lock);
    digest_hmac_fini(&p->key);
    mem_free(p->http_routes);
    mem_free(p->bounds);
    mem_free(p->from);
    mem_free(p->cluster);
    mem_free(p);
}

enum err peer_start(const struct peer_options *o, struct peer **out)
{
    if (!options_ok(o))
        return ERR_INVALID;
    struct rng rng = o->rng;
    struct peer *p = mem_new(sizeof *p);
    p->broker = o->broker;
    p->cluster = mem_copy_text(o->cluster);
    p->from = o->from == NULL ? NULL : mem_copy_text(o->from);
    p->clock = o->clock;
    digest_hmac_init(&p->key, o->key);
    lock_init(&p->seen_lock, LOCK_RANK_PEER);
    enum err e = client_start(p, rng_next(&rng));
    if (e == ERR_OK) {
        e = listener_start(p, o);
        if (e != ERR_OK)
            client_stop(p);
    }
    if (e != ERR_OK) {
        peer_free(p);
        return e;
    }
    *out = p;
    return ERR_OK;
}

void peer_stop(struct peer *p)
{
    client_drain(p);
    listener_stop(p);
    client_stop(p);
    peer_free(p);
}

uint16_t peer_port(const struct peer *p)
{
    return http_server_port(p->server);
}

unsigned peer_sockets_max(void)
{
    return listener_sockets_max() + CLIENT_CONNECTIONS_KEPT_MAX;
}
