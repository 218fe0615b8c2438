// SPDX-License-Identifier: Apache-2.0
#include "sim/sim.h"

static void woken(struct queue_poll *p)
{
    CONTAINER_OF(p, struct sim_poll, poll)->woken = true;
}

/* As a front does it: registers, looks, and waits only when there was nothing. */
void sim_poll_start(struct sim *s, uint32_t slot)
{
    struct sim_poll *p = NULL;
    struct queue_topic *t;
    for (int i = 0; i < SIM_POLLS && p == NULL; i++)
        if (s->polls[i].topic == NULL)
            p = &s->polls[i];
    if (p == NULL || queue_topic_find(s->q, bytes_of_text(s->plans[slot].name), &t) != ERR_OK)
        return;
    memset(p, 0, sizeof *p);
    if (queue_poll_start(t, BYTES_NONE, &p->poll, woken) != ERR_OK) {
        queue_topic_give_back(t);
        return;
    }
    p->topic = t;
    p->incarnation = s->slots[slot];
    if (sim_receive(s, t, p->incarnation, false) > 0)
        sim_poll_end(s, p, false);
}

void sim_poll_end(struct sim *s, struct sim_poll *p, bool passes_on)
{
    (void)s;
    queue_poll_end(&p->poll, passes_on);
    queue_topic_give_back(p->topic);
    p->topic = NULL;
}

void sim_polls_end(struct sim *s)
{
    for (int i = 0; i < SIM_POLLS; i++)
        if (s->polls[i].topic != NULL)
            sim_poll_end(s, &s->polls[i], false);
}

bool sim_polls_serve(struct sim *s)
{
    bool any = false;
    for (int i = 0; i < SIM_POLLS; i++) {
        struct sim_poll *p = &s->polls[i];
        if (p->topic == NULL || !p->woken)
            continue;
        any = true;
        p->woken = false;
        if (topic_check(p->topic) != ERR_OK || sim_chance(s, 10)) {
            sim_poll_end(s, p, true); /* its peer has gone */
            continue;
        }
        bool ends = false;
        do {
            ends = sim_receive(s, p->topic, p->incarnation, false) > 0;
        } while (!ends && queue_poll_again(&p->poll));
        if (ends)
            sim_poll_end(s, p, false);
    }
    return any;
}
