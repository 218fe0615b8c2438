// SPDX-License-Identifier: Apache-2.0
/* In the end all that is there is taken out. */
#include "sim/cluster/world.h"

enum { LEASES_MS = 21000, ROUND_MS = 120, ROUNDS_MAX = 400, DRAIN_LEASE_MS = 60000 };

static void delete_received(struct world *w)
{
    for (size_t i = 0; i < w->messages_n; i++) {
        struct message *m = &w->messages[i];
        if (m->is_received && m->lease_until_ms > w->now_ms && m->deleted != FATE_OPEN &&
            m->deleted != FATE_OK)
            for (uint32_t id = 1;
                 id <= w->brokers_n && m->deleted != FATE_OPEN && m->deleted != FATE_OK; id++)
                client_delete(w, id, i);
    }
}

/* True: all partitions were looked at, and nothing is left. One whose copy is found to be rotten
 * only now has no leader for a while. */
static bool receive_round(struct world *w)
{
    size_t n = 0, served = 0;
    for (size_t part = 0; part < PARTS; part++) {
        n += client_receive(w, w->parts[part].key.leader, part == 2 ? 1 : 0, QUEUE_BATCH_MAX,
                            DRAIN_LEASE_MS);
        served += client_is_served(w, part) ? 1 : 0;
    }
    return n == 0 && served == PARTS;
}

void drain(struct world *w)
{
    unsigned empty = 0;
    run_until(w, w->now_ms + LEASES_MS);
    for (int round = 0; empty < 3 && w->broken[0] == '\0'; round++) {
        if (round == ROUNDS_MAX) {
            world_break(w, "H11: the drain does not end");
            return;
        }
        empty = receive_round(w) ? empty + 1 : 0;
        run_until(w, w->now_ms + ROUND_MS);
        delete_received(w);
        run_until(w, w->now_ms + ROUND_MS);
        client_sweep(w);
    }
    answers_end(w);
}
