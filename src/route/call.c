// SPDX-License-Identifier: Apache-2.0
/* The caller's side of a hop: encode, post, decode. Whether it is tried again is the front's
 * affair; what must be right here is only the difference between "nothing was done" and "nobody
 * knows". */
#include "base/check.h"
#include "base/mem.h"
#include "route/inside.h"

enum { GIVE_BACK_MS = 5000 };

struct hopping {
    struct front_hop *hop;
};

/* The topic may not be known over there yet, and a broker that is stopping, or has not begun,
 * carries nothing out. Errors of a receive are the client's to hear. */
static enum err judge(const struct front_hop *hop, enum err e)
{
    if (e == ERR_OK || e == ERR_NOT_LEADER || e == ERR_UNKNOWN)
        return e;
    if (hop->kind != FRONT_RECEIVE || e == ERR_NOT_FOUND || e == ERR_STOPPING)
        return ERR_NOT_LEADER;
    return e;
}

/* Handlers that carry something out answer 200. What is not signed, like a refusal of the room
 * peer, is not believed (ERR_BUSY, ERR_PERMISSION). */
static enum err outcome(struct front_hop *hop, enum err e, int status, struct bytes body)
{
    enum err whole;
    if (e == ERR_REFUSED || (e == ERR_OK && status != 200))
        return ERR_NOT_LEADER;
    if (e != ERR_OK || route_hop_read(body, hop, &whole) != ERR_OK)
        return ERR_UNKNOWN;
    return judge(hop, whole);
}

static void on_answer(void *self, enum err e, int status, struct bytes body)
{
    struct hopping *h = self;
    struct front_hop *hop = h->hop;
    mem_free(h);
    hop->err = outcome(hop, e, status, body);
    hop->done(hop);
}

void route_start(void *self, struct front_hop *hop)
{
    struct route *r = self;
    char url[PEER_URL_BYTES_MAX + 1];
    int64_t left_ms = hop->deadline_boot_ms - clock_boot_ms(r->options.clock);
    bool entered =
        left_ms > 0 && r->options.url(r->options.self, hop->broker, url) && route_enter(r);
    if (!entered) {
        hop->err = ERR_NOT_LEADER;
        hop->done(hop);
        return;
    }
    struct buf body = BUF_EMPTY;
    struct hopping *h = mem_new(sizeof *h);
    h->hop = hop;
    route_hop_put(hop, (uint32_t)left_ms, &body);
    peer_post(r->peer, hop->broker, url, ROUTE_PATH_HOP, buf_bytes(&body), left_ms,
              (struct peer_call_done){on_answer, h});
    route_leave(r);
    buf_fini(&body);
}

/* Lost, the leases last until their deadlines. */
static void on_given_back(void *self, enum err e, int status, struct bytes body)
{
    (void)self, (void)e, (void)status, (void)body;
}

void route_give_back(void *self, uint32_t broker, const uint8_t topic[16],
                     const struct queue_received *received, size_t n)
{
    struct route *r = self;
    char url[PEER_URL_BYTES_MAX + 1];
    struct buf body = BUF_EMPTY;
    if (!r->options.url(r->options.self, broker, url) || !route_enter(r))
        return;
    route_give_back_put(topic, received, n, &body);
    peer_post(r->peer, broker, url, ROUTE_PATH_GIVE_BACK, buf_bytes(&body), GIVE_BACK_MS,
              (struct peer_call_done){on_given_back, NULL});
    route_leave(r);
    buf_fini(&body);
}
