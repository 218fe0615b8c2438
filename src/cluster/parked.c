// SPDX-License-Identifier: Apache-2.0
#include "cluster/parked.h"

#include "base/hash.h"
#include "base/mem.h"

/* A partition that somebody waits for. */
struct parked_place {
    struct queue_copy_id id; /* the key */
    LIST_HEAD(, parked_part) parts;
    UT_hash_handle hh;
};

_Static_assert(sizeof(struct queue_copy_id) == 20, "hashed as bytes: it has no padding");

void parked_init(struct parked *p)
{
    lock_init(&p->lock, LOCK_RANK_PARKED);
    p->places = NULL;
    TAILQ_INIT(&p->fetches);
    p->fetches_n = p->parts_n = 0;
}

void parked_fini(struct parked *p)
{
    CHECK(p->places == NULL && TAILQ_EMPTY(&p->fetches));
    lock_fini(&p->lock);
}

static struct parked_place *place_find_locked(struct parked *p, const struct queue_copy_id *of)
{
    struct parked_place *place;
    HASH_FIND(hh, p->places, of, sizeof *of, place);
    return place;
}

static void part_put_locked(struct parked *p, struct parked_part *part,
                            const struct wire_partition *of)
{
    struct queue_copy_id id;
    memcpy(id.topic, of->topic, sizeof id.topic);
    id.partition = of->partition;
    struct parked_place *place = place_find_locked(p, &id);
    if (place == NULL) {
        place = mem_new(sizeof *place);
        place->id = id;
        HASH_ADD(hh, p->places, id, sizeof place->id, place);
    }
    part->place = place;
    LIST_INSERT_HEAD(&place->parts, part, link);
}

void parked_register(struct parked *p, struct parked_fetch *f)
{
    lock_take(&p->lock);
    for (size_t i = 0; i < f->fetch.parts_n; i++)
        part_put_locked(p, &f->parts[i], &f->fetch.parts[i].of);
    TAILQ_INSERT_TAIL(&p->fetches, f, link);
    p->fetches_n++;
    p->parts_n += f->fetch.parts_n;
    f->is_registered = true;
    lock_give(&p->lock);
}

static void part_remove_locked(struct parked *p, struct parked_part *part)
{
    struct parked_place *place = part->place;
    LIST_REMOVE(part, link);
    if (LIST_EMPTY(&place->parts)) {
        HASH_DEL(p->places, place);
        mem_free(place);
    }
}

void parked_unregister(struct parked *p, struct parked_fetch *f)
{
    lock_take(&p->lock);
    if (f->is_registered) {
        for (size_t i = 0; i < f->fetch.parts_n; i++)
            part_remove_locked(p, &f->parts[i]);
        TAILQ_REMOVE(&p->fetches, f, link);
        p->fetches_n--;
        p->parts_n -= f->fetch.parts_n;
        f->is_registered = false;
    }
    lock_give(&p->lock);
}

static void wake_locked(struct parked_fetch *f)
{
    if (!f->is_woken)
        http_wake(f->request);
    f->is_woken = true;
}

void parked_moved(struct parked *p, const struct queue_copy_id *of)
{
    struct parked_part *part;
    lock_take(&p->lock);
    struct parked_place *place = place_find_locked(p, of);
    if (place != NULL) {
        LIST_FOREACH(part, &place->parts, link)
        {
            part->has_moved = true;
            wake_locked(part->fetch);
        }
    }
    lock_give(&p->lock);
}

void parked_take_moved(struct parked *p, struct parked_fetch *f)
{
    lock_take(&p->lock);
    for (size_t i = 0; i < f->fetch.parts_n; i++) {
        f->parts[i].needs_look = f->parts[i].has_moved;
        f->parts[i].has_moved = false;
    }
    f->is_woken = false;
    lock_give(&p->lock);
}

struct cluster_serve_counts parked_counts(struct parked *p)
{
    lock_take(&p->lock);
    struct cluster_serve_counts c = {p->fetches_n, p->parts_n, HASH_COUNT(p->places)};
    lock_give(&p->lock);
    return c;
}
