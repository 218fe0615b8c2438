// SPDX-License-Identifier: Apache-2.0
/* The message that holds a partition's floor: the oldest that is not finished, below which all room
 * can be given back, and why it is still there. */
#include <string.h>

#include "base/bytes.h"
#include "queue/state.h"

enum { READ_AHEAD = 4096, LEASES_ASKED_MAX = 1000 };

/* One look, at one time. */
struct looking {
    struct partition_view view;
    struct partition_look look;
    bool there;
};

static struct looking look_at_floor(struct queue_partition *p)
{
    struct looking l = {.there = false};
    struct partition_group_info group;
    lock_take(&p->lk);
    l.view = partition_view_locked(p, queue_topic_config(p->topic));
    l.there = partition_group_find(p->state, GID_DEFAULT, &group) &&
              group.floor < l.view.committed_number &&
              partition_look_one(p->state, &l.view, GID_DEFAULT, group.floor, &l.look) == ERR_OK;
    lock_give(&p->lk);
    return l;
}

/* FIFO: another message of its group is leased. Of the first leases, and as far as their headers
 * are in the window, where those of a FIFO group lie. */
static bool is_behind_leased(struct queue_partition *p, const struct record_message *m,
                             int64_t now_ms)
{
    struct partition_lease_info leases[64];
    uint64_t hash = le_load_u64(m->group_hash.at), from = 0;
    bool behind = false;
    size_t n = 1;
    lock_take(&p->lk);
    for (size_t asked = 0; p->window != NULL && !behind && n > 0 && asked < LEASES_ASKED_MAX;
         asked += n) {
        n = partition_leases(p->state, GID_DEFAULT, now_ms, from, leases, 64);
        for (size_t i = 0; i < n; i++) {
            const struct partition_header *h = partition_window_find(p->window, leases[i].number);
            behind = behind || (h != NULL && h->group_hash == hash);
            from = leases[i].number + 1;
        }
    }
    lock_give(&p->lk);
    return behind;
}

static void fill(struct queue_partition *p, const struct looking *l, const struct record_message *m,
                 struct queue_oldest *out)
{
    *out = (struct queue_oldest){
        .there = true,
        .partition = p->index,
        .number = l->look.number,
        .sent_wall_ms = m->sent_wall_ms,
        .age_ms = l->view.now_ms > m->accepted_ms ? l->view.now_ms - m->accepted_ms : 0,
        .state = (enum queue_message_state)l->look.state,
    };
    memcpy(out->id, m->id.at, sizeof out->id);
    if (out->state == QUEUE_LEASED || out->state == QUEUE_DELAYED)
        out->left_ms = l->look.until_ms - l->view.now_ms;
    memcpy(out->holder, l->look.holder, l->look.holder_bytes);
    out->behind_leased =
        p->topic->fifo && out->state == QUEUE_READY && is_behind_leased(p, m, l->view.now_ms);
}

void queue_partition_oldest(struct queue_topic *t, uint32_t partition, struct queue_oldest *out)
{
    struct queue_partition *p = &t->partitions[partition];
    struct reader reader;
    struct record_message m;
    *out = (struct queue_oldest){.there = false};
    if (p->closed)
        return;
    struct looking l = look_at_floor(p);
    if (!l.there)
        return;
    reader_init(&reader);
    if (reader_get(&reader, p->log, l.look.number, READ_AHEAD, &m) == ERR_OK &&
        partition_look_settle(&l.look, &l.view, &m))
        fill(p, &l, &m, out);
    reader_fini(&reader);
}

void queue_topic_oldest(struct queue_topic *t, struct queue_oldest *out)
{
    *out = (struct queue_oldest){.there = false};
    for (uint32_t i = 0; i < t->partitions_n; i++) {
        struct queue_oldest one;
        queue_partition_oldest(t, i, &one);
        if (one.there && (!out->there || one.age_ms > out->age_ms))
            *out = one;
    }
}
