// SPDX-License-Identifier: Apache-2.0
/* What the controller asks: how this broker's copies are. */
#include "base/mem.h"
#include "cluster/inside.h"
#include "peer/wire.h"

static void state_look(struct queue *q, const struct wire_partition *of,
                       struct wire_state_part *out)
{
    struct queue_copy_id id = {.partition = of->partition};
    memcpy(id.topic, of->topic, sizeof id.topic);
    *out = (struct wire_state_part){.of = *of};
    out->is_there = queue_copy_look(q, &id, &out->status) == ERR_OK;
}

void cluster_state_serve(void *self, struct http_request *r, uint32_t from)
{
    struct cluster *c = self;
    struct peer *p = atomic_load(&c->peer);
    struct queue *q = atomic_load(&c->queue);
    struct wire_partition *of;
    struct buf body = BUF_EMPTY;
    size_t n;
    (void)from;
    if (p == NULL || q == NULL) { /* not open yet: no answer is as good as none */
        http_reply(r, 503, NULL, 0, NULL);
        return;
    }
    if (wire_state_ask_decode(http_body(r), &of, &n) != ERR_OK) {
        peer_reply(p, r, 400, &body);
        return;
    }
    struct wire_state_part *parts = mem_new_array(n + 1, sizeof parts[0]);
    for (size_t i = 0; i < n; i++)
        state_look(q, &of[i], &parts[i]);
    wire_state_encode(parts, n, &body);
    peer_reply(p, r, 200, &body);
    mem_free(parts);
    mem_free(of);
}
