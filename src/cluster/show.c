// SPDX-License-Identifier: Apache-2.0
/* The view as people see it: the answer of GET /v1/cluster. */
#include "cluster/inside.h"

static void put_number(struct json_writer *w, const char *key, uint64_t value)
{
    json_put_key(w, key);
    json_put_uint64(w, value);
}

static void put_broker(struct json_writer *w, const struct cluster_view *v,
                       const struct cluster_member *m)
{
    json_begin_object(w);
    put_number(w, "id", m->broker);
    json_put_key(w, "live");
    json_put_bool(w, m->is_live);
    json_put_key(w, "draining");
    json_put_bool(w, cluster_view_is_draining(v, m->broker));
    json_put_key(w, "peer_url");
    json_put_text(w, m->key.url);
    json_put_key(w, "client_url");
    json_put_text(w, m->key.client_url);
    json_end_object(w);
}

static void put_members(struct json_writer *w, const char *name, const struct replica_key *k,
                        bool in_isr_only)
{
    json_put_key(w, name);
    json_begin_array(w);
    for (size_t i = 0; i < k->members_n; i++)
        if (k->members[i].in_isr || !in_isr_only)
            json_put_uint64(w, k->members[i].broker);
    json_end_array(w);
}

static void put_partition(struct json_writer *w, const struct cluster_topic *t, uint32_t index)
{
    static const char *const states[] = {[REPLICA_KEY_OK] = "ok",
                                         [REPLICA_KEY_INCONSISTENT] = "inconsistent",
                                         [REPLICA_KEY_LOST] = "lost"};
    const struct replica_key *k = &t->partitions[index].key;
    json_begin_object(w);
    json_put_key(w, "topic");
    json_put_text(w, t->config.name);
    put_number(w, "partition", index);
    put_number(w, "leader", k->leader);
    put_number(w, "epoch", k->epoch);
    put_members(w, "isr", k, true);
    put_members(w, "members", k, false);
    put_number(w, "min_isr", k->min_isr);
    json_put_key(w, "state");
    json_put_text(w, states[k->state]);
    if (k->unclean_epoch > 0)
        put_number(w, "unclean_epoch", k->unclean_epoch);
    json_end_object(w);
}

void cluster_write(struct cluster *c, struct json_writer *w)
{
    json_begin_object(w);
    json_put_key(w, "cluster");
    json_put_text(w, c->self.cluster_id);
    put_number(w, "broker", c->broker);
    lock_take(&c->lk);
    const struct cluster_view *v = &c->view;
    put_number(w, "controller", v->is_ctl_known ? v->ctl.broker : 0);
    json_put_key(w, "brokers");
    json_begin_array(w);
    for (size_t i = 0; i < v->members_n; i++)
        if (v->members[i].is_known)
            put_broker(w, v, &v->members[i]);
    json_end_array(w);
    json_put_key(w, "partitions");
    json_begin_array(w);
    for (const struct cluster_topic *t = v->topics; t != NULL; t = t->next)
        for (uint32_t i = 0; t->is_known && i < t->partitions_n; i++)
            if (t->partitions[i].is_known)
                put_partition(w, t, i);
    json_end_array(w);
    lock_give(&c->lk);
    json_end_object(w);
}
