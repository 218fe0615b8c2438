// SPDX-License-Identifier: Apache-2.0
#include "sim/sim.h"

static void woken(struct queue_poll *p)
{
    CONTAINER_OF(p, struct sim_poll, poll)->woken = true;
}

/* Refused, it would be answered: only one that was told of nothing waits. */
static bool looks(struct sim *s, struct sim_poll *p, size_t *n)
{
    *n = sim_receive(s, p->topic, p->incarnation, false);
    return *n == 0 && (s->receive_err == ERR_OK || s->receive_err == ERR_OVER_LIMIT);
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
    size_t n;
    if (!looks(s, p, &n))
        sim_poll_end(s, p, n == 0);
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
        bool waits;
        size_t n;
        do {
            waits = looks(s, p, &n);
        } while (waits && queue_poll_again(&p->poll));
        if (!waits)
            sim_poll_end(s, p, n == 0);
    }
    return any;
}
