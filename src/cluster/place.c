// SPDX-License-Identifier: Apache-2.0
#include "cluster/place.h"

#include "base/mem.h"

struct load {
    uint32_t broker;
    uint64_t copies, firsts; /* that it has, and of them those that it should lead */
    bool is_taken;           /* for the partition at hand */
};

static struct load *load_of(struct load *loads, size_t n, uint32_t broker)
{
    for (size_t i = 0; i < n; i++)
        if (loads[i].broker == broker)
            return &loads[i];
    return NULL;
}

static void count(const struct cluster_view *v, struct load *loads, size_t n)
{
    for (const struct cluster_topic *t = v->topics; t != NULL; t = t->next)
        for (uint32_t i = 0; i < t->partitions_n; i++) {
            const struct replica_key *k = &t->partitions[i].key;
            if (!t->partitions[i].is_known)
                continue;
            for (size_t m = 0; m < k->members_n; m++) {
                struct load *l = load_of(loads, n, k->members[m].broker);
                if (l == NULL)
                    continue;
                l->copies++;
                l->firsts += m == 0;
            }
        }
}

/* The least loaded one that this partition does not have yet. */
static struct load *lightest(struct load *loads, size_t n, bool is_first)
{
    struct load *best = NULL;
    for (size_t i = 0; i < n; i++) {
        struct load *l = &loads[i];
        if (l->is_taken)
            continue;
        bool is_lighter = best == NULL || l->copies < best->copies;
        if (best != NULL && is_first && l->firsts != best->firsts)
            is_lighter = l->firsts < best->firsts;
        if (is_lighter)
            best = l;
    }
    return best;
}

enum err cluster_place(const struct cluster_view *v, uint32_t partitions, uint32_t copies,
                       uint32_t *members)
{
    size_t n = 0;
    if (copies == 0 || copies > REPLICA_MEMBERS_MAX)
        return ERR_INVALID;
    struct load *loads = mem_new_array(v->members_n + 1, sizeof loads[0]);
    for (size_t i = 0; i < v->members_n; i++)
        if (v->members[i].is_live && !cluster_view_is_draining(v, v->members[i].broker))
            loads[n++].broker = v->members[i].broker;
    if (n < copies) {
        mem_free(loads);
        return ERR_NEED;
    }
    count(v, loads, n);
    for (uint32_t p = 0; p < partitions; p++) {
        for (uint32_t k = 0; k < copies; k++) {
            struct load *l = lightest(loads, n, k == 0);
            members[p * copies + k] = l->broker;
            l->is_taken = true;
            l->copies++;
            l->firsts += k == 0;
        }
        for (size_t i = 0; i < n; i++)
            loads[i].is_taken = false;
    }
    mem_free(loads);
    return ERR_OK;
}
