// SPDX-License-Identifier: Apache-2.0
#include "copies_fixture.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "catalog/partition_key.h"
#include "catalog/topic_json.h"
#include "lib/folder.h"
#include "queue/spread.h"

struct world world;

/* ---- what is on its way ---- */

enum kind { FETCH, SWAP, READ_KEY, SNAPSHOT, MOVE };

struct letter {
    struct letter *next;
    enum kind kind;
    uint32_t from, to;
    struct queue_copy_id of;
    struct replica_fetch fetch;
    struct replica_key key;
    uint64_t number; /* serial or epoch */
    bool parked;
    /* MOVE */
    struct queue_move move;
    struct buf message;
    void (*done)(void *arg, enum err e, uint32_t leader); /* NULL: nobody waits any more */
    void *arg;
    struct queue_wait wait;
};
static struct letter *letters, **letters_end = &letters;
static pthread_mutex_t letters_mutex = PTHREAD_MUTEX_INITIALIZER; /* queues may have threads */

static void append(struct letter *l)
{
    pthread_mutex_lock(&letters_mutex);
    l->next = NULL;
    *letters_end = l;
    letters_end = &l->next;
    pthread_mutex_unlock(&letters_mutex);
}

static struct letter *letter_new(struct broker *b, enum kind kind, const struct queue_copy_id *of)
{
    struct letter *l = mem_new(sizeof *l);
    l->kind = kind;
    l->from = b->id;
    l->of = *of;
    return l;
}

static void link_fetch(void *self, const struct queue_copy_id *of, uint32_t leader,
                       const struct replica_fetch *request)
{
    struct letter *l = letter_new(self, FETCH, of);
    l->to = leader;
    l->fetch = *request;
    append(l);
}

static void link_swap(void *self, const struct queue_copy_id *of, const struct replica_key *value)
{
    struct letter *l = letter_new(self, SWAP, of);
    l->key = *value;
    append(l);
}

static void link_read_key(void *self, const struct queue_copy_id *of, uint64_t serial)
{
    struct letter *l = letter_new(self, READ_KEY, of);
    l->number = serial;
    append(l);
}

static void link_snapshot(void *self, const struct queue_copy_id *of, uint32_t leader,
                          uint64_t epoch)
{
    struct letter *l = letter_new(self, SNAPSHOT, of);
    l->to = leader;
    l->number = epoch;
    append(l);
}

/* ---- moves ---- */

static struct letter *moves_kept; /* copies of what was sent, newest first */
static struct letter *moves_served;

static void letter_free(struct letter *l)
{
    buf_fini(&l->message);
    mem_free(l);
}

static struct letter *move_letter(uint32_t from, const struct queue_move *m)
{
    struct letter *l = mem_new(sizeof *l);
    l->kind = MOVE;
    l->from = from;
    l->to = m->broker;
    l->message = BUF_EMPTY;
    buf_put_bytes(&l->message, m->message);
    l->move = *m;
    l->move.message = buf_bytes(&l->message);
    memcpy(l->of.topic, m->topic, sizeof m->topic);
    l->of.partition = m->partition;
    return l;
}

static void mover_move(void *self, const struct queue_move *m,
                       void (*done)(void *arg, enum err e, uint32_t leader), void *arg)
{
    struct broker *b = self;
    struct letter *l = move_letter(b->id, m), *kept = move_letter(b->id, m);
    b->moves++;
    l->done = done;
    l->arg = arg;
    append(l);
    kept->next = moves_kept;
    moves_kept = kept;
}

static void move_tell(struct letter *l, enum err e, uint32_t leader)
{
    void (*done)(void *arg, enum err e, uint32_t leader) = l->done;
    l->done = NULL;
    if (done != NULL)
        done(l->arg, e, leader);
}

static void move_answer(struct letter *l, enum err e, uint32_t leader)
{
    if (world.loses_move_answers || (l->done != NULL && world.brokers[l->from].cut_off))
        move_tell(l, ERR_UNKNOWN, 0);
    else
        move_tell(l, e, leader);
    letter_free(l);
}

static void move_is_done(struct queue_wait *w)
{
    struct letter *l = w->self, **at = &moves_served;
    while (*at != l)
        at = &(*at)->next;
    *at = l->next;
    move_answer(l, w->err, 0);
}

static void deliver_move(struct letter *l)
{
    struct queue *q = world.brokers[l->to].q;
    struct queue_topic *t;
    if (q == NULL || world.brokers[l->to].cut_off || world.brokers[l->from].cut_off) {
        move_tell(l, ERR_UNKNOWN, 0);
        letter_free(l);
        return;
    }
    enum err e = queue_topic_find_id(q, l->move.topic, &t);
    if (e != ERR_OK) {
        move_answer(l, e, 0);
        return;
    }
    l->wait = (struct queue_wait){.ready = move_is_done, .self = l};
    l->next = moves_served;
    moves_served = l;
    e = queue_move_take(t, &l->move, &l->wait);
    uint32_t leader = e == ERR_NOT_LEADER ? queue_copy_leader(t, l->move.partition) : 0;
    if (!queue_wait_start(&l->wait)) {
        moves_served = l->next;
        move_answer(l, e != ERR_OK ? e : l->wait.err, leader);
    }
    queue_topic_give_back(t);
}

void world_replay_moves(uint32_t to)
{
    struct letter *all = moves_kept;
    moves_kept = NULL;
    while (all != NULL) {
        struct letter *l = all;
        all = l->next;
        l->to = to;
        append(l);
    }
    world_settle();
}

/* Before it dies nobody at it waits any more; after it has, nobody at others waits for it. */
static void moves_forget_source(uint32_t broker)
{
    for (struct letter *l = letters; l != NULL; l = l->next)
        if (l->kind == MOVE && (broker == 0 || l->from == broker))
            move_tell(l, ERR_STOPPING, 0);
    for (struct letter *l = moves_served; l != NULL; l = l->next)
        if (broker == 0 || l->from == broker)
            move_tell(l, ERR_STOPPING, 0);
}

static void moves_forget_target(uint32_t broker)
{
    for (struct letter **at = &moves_served; *at != NULL;) {
        struct letter *l = *at;
        if (l->to != broker) {
            at = &l->next;
            continue;
        }
        *at = l->next;
        move_tell(l, ERR_UNKNOWN, 0);
        letter_free(l);
    }
}

static void link_moved(void *self, const struct queue_copy_id *of)
{
    struct broker *b = self;
    pthread_mutex_lock(&letters_mutex);
    b->moved++;
    for (struct letter *l = letters; l != NULL; l = l->next)
        if (l->to == b->id && memcmp(l->of.topic, of->topic, sizeof of->topic) == 0 &&
            l->of.partition == of->partition)
            l->parked = false;
    pthread_mutex_unlock(&letters_mutex);
}

static void link_alarm(void *self, const struct queue_copy_id *of, enum replica_quarantine reason,
                       uint64_t offset)
{
    (void)of, (void)reason, (void)offset;
    ((struct broker *)self)->alarms++;
}

static enum err link_place(void *self, uint32_t partitions, uint32_t copies, uint32_t *members)
{
    uint32_t live[BROKERS], n = 0;
    (void)self;
    for (uint32_t i = 1; i <= BROKERS; i++)
        if (world.brokers[i].q != NULL)
            live[n++] = i;
    if (n < copies)
        return ERR_NEED;
    for (uint32_t i = 0; i < partitions; i++)
        for (uint32_t k = 0; k < copies; k++)
            members[i * copies + k] = live[(i + k) % n];
    return ERR_OK;
}

/* ---- the catalogue ---- */

static void key_name(const struct queue_copy_id *of, char name[CATALOG_KEY_BYTES_MAX + 1])
{
    catalog_key_partition(name, of->topic, of->partition);
}

static struct replica_key read_key(const struct queue_copy_id *of)
{
    char name[CATALOG_KEY_BYTES_MAX + 1];
    struct catalog_kv kv = {0};
    struct replica_key key;
    key_name(of, name);
    ck_assert_int_eq(catalog_get(world.catalog, name, &kv), ERR_OK);
    ck_assert_int_eq(catalog_partition_decode(kv.value, kv.mod_rev, &key), ERR_OK);
    catalog_kv_fini(&kv);
    return key;
}

static bool is_reached(uint32_t broker)
{
    return world.brokers[broker].q != NULL && !world.brokers[broker].cut_off;
}

static void tell_key(const struct queue_copy_id *of)
{
    struct replica_key key = read_key(of);
    for (uint32_t i = 1; i <= BROKERS; i++)
        if (is_reached(i))
            queue_copy_key(world.brokers[i].q, of, &key, 0);
}

static bool swap(const struct queue_copy_id *of, const struct replica_key *value, int64_t *version)
{
    char name[CATALOG_KEY_BYTES_MAX + 1];
    struct buf json = BUF_EMPTY;
    key_name(of, name);
    catalog_partition_encode(value, &json);
    struct catalog_cmp same = {name, CATALOG_MOD, value->version};
    struct catalog_op put = {.key = name, .value = buf_bytes(&json)};
    enum err e = catalog_txn(world.catalog, &same, 1, &put, 1, version);
    buf_fini(&json);
    ck_assert(e == ERR_OK || e == ERR_CONFLICT);
    return e == ERR_OK;
}

/* ---- delivery ---- */

static void deliver_fetch(struct letter *l, bool *parks)
{
    struct queue *leader = world.brokers[l->to].q, *follower = world.brokers[l->from].q;
    struct replica_answer answer;
    struct buf batches = BUF_EMPTY;
    uint64_t from = 0;
    bool has_batches = false, may_park = false;
    if (queue_copy_fetch(leader, &l->of, &l->fetch, &answer, &from, &has_batches, &may_park) !=
        ERR_OK)
        return;
    if (may_park && !has_batches) {
        *parks = true;
        return;
    }
    if (has_batches &&
        queue_copy_read(leader, &l->of, answer.epoch, from, 64 << 10, &batches) != ERR_OK)
        ck_assert_uint_eq(batches.n, 0);
    queue_copy_answer(follower, &l->of, l->to, &answer, buf_bytes(&batches));
    buf_fini(&batches);
}

static void deliver_snapshot(const struct letter *l)
{
    struct buf bytes = BUF_EMPTY;
    bool is_there =
        l->to != 0 && is_reached(l->to) &&
        queue_copy_snapshot_read(world.brokers[l->to].q, &l->of, l->number, &bytes) == ERR_OK;
    queue_copy_snapshot_put(world.brokers[l->from].q, &l->of, l->number,
                            is_there ? buf_bytes(&bytes) : BYTES_NONE);
    buf_fini(&bytes);
}

static void deliver_swap(const struct letter *l)
{
    int64_t version = 0;
    bool won = swap(&l->of, &l->key, &version);
    queue_copy_swapped(world.brokers[l->from].q, &l->of, l->key.op,
                       won ? REPLICA_SWAP_WON : REPLICA_SWAP_LOST, version);
    if (won)
        tell_key(&l->of);
}

/* False: it is kept until there is something new. */
static bool deliver(struct letter *l)
{
    struct broker *from = &world.brokers[l->from];
    bool parks = false;
    if (l->kind == MOVE) {
        deliver_move(l);
        return true;
    }
    if (from->q == NULL)
        return true;
    if (from->cut_off) {
        if (l->kind == SNAPSHOT)
            deliver_snapshot(&(struct letter){.from = l->from, .of = l->of, .number = l->number});
        if (l->kind == SWAP)
            queue_copy_swapped(from->q, &l->of, l->key.op, REPLICA_SWAP_UNKNOWN, 0);
        return true;
    }
    if (l->kind == FETCH && is_reached(l->to))
        deliver_fetch(l, &parks);
    else if (l->kind == SNAPSHOT)
        deliver_snapshot(l);
    else if (l->kind == SWAP)
        deliver_swap(l);
    else if (l->kind == READ_KEY) {
        struct replica_key key = read_key(&l->of);
        queue_copy_key(from->q, &l->of, &key, l->number);
    }
    return !parks;
}

static struct letter *next_letter(void)
{
    struct letter *found = NULL;
    pthread_mutex_lock(&letters_mutex);
    for (struct letter **at = &letters; *at != NULL; at = &(*at)->next) {
        struct letter *l = *at;
        if (l->parked || (l->kind == MOVE && world.holds_moves))
            continue;
        *at = l->next;
        if (letters_end == &l->next)
            letters_end = at;
        found = l;
        break;
    }
    pthread_mutex_unlock(&letters_mutex);
    return found;
}

static unsigned moved_at(uint32_t broker)
{
    pthread_mutex_lock(&letters_mutex);
    unsigned moved = world.brokers[broker].moved;
    pthread_mutex_unlock(&letters_mutex);
    return moved;
}

bool world_deliver(void)
{
    struct letter *l = next_letter();
    if (l == NULL)
        return false;
    /* What moves while it is looked at has moved for it too. */
    unsigned moved = moved_at(l->to);
    bool is_move = l->kind == MOVE; /* it goes on by itself */
    if (deliver(l)) {
        if (!is_move)
            mem_free(l);
    } else {
        l->parked = moved_at(l->to) == moved;
        append(l);
    }
    return true;
}

static void drop_letters(uint32_t broker)
{
    for (struct letter **at = &letters; *at != NULL;) {
        struct letter *l = *at;
        if (broker != 0 && l->from != broker && l->to != broker) {
            at = &l->next;
            continue;
        }
        *at = l->next;
        if (l->kind == MOVE)
            move_tell(l, ERR_UNKNOWN, 0);
        letter_free(l);
    }
    letters_end = &letters;
    while (*letters_end != NULL)
        letters_end = &(*letters_end)->next;
}

void world_settle(void)
{
    bool moves = true;
    for (int rounds = 0; moves; rounds++) {
        ck_assert_int_lt(rounds, 10000);
        moves = false;
        for (uint32_t i = 1; i <= BROKERS; i++) {
            struct queue *q = world.brokers[i].q;
            if (q == NULL)
                continue;
            queue_commit_all(q);
            while (queue_copy_work(q))
                moves = true;
        }
        moves = world_deliver() || moves;
    }
}

/* A parked request is answered after half a second, though there is nothing new. */
static void end_parking(void)
{
    struct letter *all = letters;
    letters = NULL;
    letters_end = &letters;
    while (all != NULL) {
        struct letter *l = all;
        struct replica_answer answer;
        uint64_t from;
        bool has_batches, may_park;
        all = l->next;
        l->next = NULL;
        if (!l->parked) {
            *letters_end = l;
            letters_end = &l->next;
            continue;
        }
        if (is_reached(l->to) && is_reached(l->from) &&
            queue_copy_fetch(world.brokers[l->to].q, &l->of, &l->fetch, &answer, &from,
                             &has_batches, &may_park) == ERR_OK)
            queue_copy_answer(world.brokers[l->from].q, &l->of, l->to, &answer, BYTES_NONE);
        mem_free(l);
    }
}

/* All that are reached hear of each topic's redrives. */
static void tell_redrives(void)
{
    struct catalog_kvs kvs = {0};
    ck_assert_int_eq(catalog_list(world.catalog, "r/", &kvs), ERR_OK);
    for (size_t i = 0; i < kvs.n; i++) {
        uint8_t topic[16];
        ck_assert(catalog_hex_read(kvs.at[i].key + 2, topic, sizeof topic));
        for (uint32_t k = 1; k <= BROKERS; k++)
            if (is_reached(k))
                queue_copy_redrives(world.brokers[k].q, topic, kvs.at[i].value, kvs.at[i].mod_rev);
    }
    catalog_kvs_fini(&kvs);
}

void world_pass(int64_t ms)
{
    for (; ms > 0; ms -= 100) {
        fake_clock_pass(&world.clock, 100);
        tell_redrives();
        if (ms % 500 == 0)
            end_parking();
        for (uint32_t i = 1; i <= BROKERS; i++)
            if (world.brokers[i].q != NULL) {
                queue_copy_tick(world.brokers[i].q);
                queue_housekeep(world.brokers[i].q);
            }
        world_settle();
    }
}

/* ---- brokers ---- */

static void tell_session(uint32_t id, bool is_live)
{
    for (uint32_t i = 1; i <= BROKERS; i++)
        if (world.brokers[i].q != NULL)
            queue_copy_session(world.brokers[i].q, id, is_live, false);
}

static void tell_topic(uint32_t id, struct bytes value, int64_t rev)
{
    struct queue *q = world.brokers[id].q;
    struct topic_config config;
    ck_assert_int_eq(topic_config_decode(value, &config), ERR_OK);
    if (world.hidden_from == id && strcmp(world.hidden, config.name) == 0) {
        topic_config_fini(&config);
        return;
    }
    struct replica_key *keys = mem_new_array(config.partitions, sizeof keys[0]);
    for (uint32_t i = 0; i < config.partitions; i++) {
        struct queue_copy_id of = {.partition = i};
        memcpy(of.topic, config.id, sizeof of.topic);
        keys[i] = read_key(&of);
    }
    ck_assert_int_eq(queue_copy_topic(q, &config, rev, keys), ERR_OK);
    mem_free(keys);
    topic_config_fini(&config);
}

static void tell_topics(uint32_t id)
{
    struct catalog_kvs kvs = {0};
    ck_assert_int_eq(catalog_list(world.catalog, "t/", &kvs), ERR_OK);
    for (size_t i = 0; i < kvs.n; i++)
        tell_topic(id, kvs.at[i].value, kvs.at[i].mod_rev);
    catalog_kvs_fini(&kvs);
}

void broker_start(uint32_t id)
{
    struct broker *b = &world.brokers[id];
    struct queue_options o = {
        .disk = fault_disk_of(b->disk),
        .catalog = world.catalog,
        .links = &b->links,
        .mover = &b->mover,
        .clock = &world.clock.clock,
        .rng = {.state = test_seed() + id + (uint64_t)world.clock.boot_ms},
        .fresh_secret = "a secret of thirty-two bytes....",
        .segment_bytes = (uint32_t)world.segment_bytes,
        .journal_bytes = 1 << 20,
    };
    ck_assert_int_eq(queue_open(&o, &b->q), ERR_OK);
    b->cut_off = false;
    tell_topics(id);
    for (uint32_t i = 1; i <= BROKERS; i++)
        queue_copy_session(b->q, i, is_reached(i), false);
    tell_session(id, true);
    world_settle();
}

void broker_die(uint32_t id, bool power_cut)
{
    struct broker *b = &world.brokers[id];
    moves_forget_source(id);
    queue_abandon(b->q);
    b->q = NULL;
    moves_forget_target(id);
    drop_letters(id);
    if (power_cut)
        fault_disk_power_cut(b->disk);
    else
        fault_disk_kill(b->disk);
    tell_session(id, false);
}

void broker_cut_off(uint32_t id, bool is_cut)
{
    world.brokers[id].cut_off = is_cut;
    drop_letters(id);
    for (uint32_t i = 1; i <= BROKERS; i++)
        if (world.brokers[i].q != NULL && i != id)
            queue_copy_session(world.brokers[i].q, id, !is_cut, false);
    if (!is_cut) {
        tell_topics(id);
        world_settle();
    }
}

void world_setup(void)
{
    char path[96];
    memset(&world, 0, sizeof world);
    folder_make(world.dir);
    snprintf(path, sizeof path, "%s/catalog.sqlite", world.dir);
    ck_assert_int_eq(catalog_open(path, &world.catalog), ERR_OK);
    fake_clock_init(&world.clock);
    arena_init(&world.arena, NULL, 0);
    world.segment_bytes = 64 << 10;
    for (uint32_t i = 1; i <= BROKERS; i++) {
        struct broker *b = &world.brokers[i];
        b->id = i;
        b->disk = fault_disk_new(test_seed() + i);
        b->mover = (struct queue_mover){b, mover_move};
        b->links = (struct queue_links){
            .self = b,
            .broker = i,
            .fetch = link_fetch,
            .swap = link_swap,
            .read_key = link_read_key,
            .snapshot = link_snapshot,
            .moved = link_moved,
            .alarm = link_alarm,
            .place = link_place,
        };
        broker_start(i);
    }
}

void world_teardown(void)
{
    moves_forget_source(0);
    for (uint32_t i = 1; i <= BROKERS; i++) {
        if (world.brokers[i].q != NULL)
            queue_close(world.brokers[i].q);
        fault_disk_free(world.brokers[i].disk);
    }
    drop_letters(0);
    while (moves_kept != NULL) {
        struct letter *next = moves_kept->next;
        letter_free(moves_kept);
        moves_kept = next;
    }
    catalog_close(world.catalog);
    arena_fini(&world.arena);
    folder_remove(world.dir);
}

/* ---- topics ---- */

struct queue_topic *topic_at(uint32_t broker, const char *name)
{
    struct queue_topic *t;
    ck_assert_ptr_nonnull(world.brokers[broker].q);
    ck_assert_int_eq(queue_topic_find(world.brokers[broker].q, bytes_of_text(name), &t), ERR_OK);
    return t;
}

static struct queue_copy_id id_of(const char *name, uint32_t partition)
{
    struct queue_copy_id of = {.partition = partition};
    for (uint32_t i = 1; i <= BROKERS; i++) {
        if (world.brokers[i].q == NULL)
            continue;
        struct queue_topic *t = topic_at(i, name);
        memcpy(of.topic, t->id.at, sizeof of.topic);
        queue_topic_give_back(t);
        return of;
    }
    ck_abort_msg("nobody is there");
    return of;
}

void make_topic(uint32_t by, const char *name, uint32_t partitions, uint32_t copies,
                uint32_t leader, void (*set)(struct topic_config *))
{
    struct queue_topic *t;
    struct topic_config config;
    topic_config_init(&config);
    snprintf(config.name, sizeof config.name, "%s", name);
    size_t n = strlen(name);
    config.fifo = n > 5 && strcmp(name + n - 5, ".fifo") == 0;
    config.partitions = partitions;
    config.copies = copies;
    if (set != NULL)
        set(&config);
    config.allow_single_copy = true; /* some tests want one, or a min_isr of one */
    ck_assert_int_eq(queue_topic_create(world.brokers[by].q, &config, &t), ERR_OK);
    queue_topic_give_back(t);
    topic_config_fini(&config);
    for (uint32_t i = 1; i <= BROKERS; i++)
        if (world.brokers[i].q != NULL)
            tell_topics(i);
    world_settle();
    if (leader != 0)
        elect(name, leader);
}

struct replica_key key_of(const char *name, uint32_t partition)
{
    struct queue_copy_id of = id_of(name, partition);
    return read_key(&of);
}

void elect_partition(const char *name, uint32_t partition, uint32_t leader)
{
    struct queue_copy_id of = id_of(name, partition);
    struct replica_key key = read_key(&of);
    int64_t version;
    const struct replica_member *m = replica_key_find(&key, leader);
    ck_assert(m != NULL && m->in_isr);
    key.leader = leader;
    key.epoch++;
    key.op = key.epoch;
    for (size_t k = 0; k < key.members_n; k++)
        if (!is_reached(key.members[k].broker) && replica_key_isr_size(&key) > key.min_isr)
            key.members[k].in_isr = false;
    ck_assert(swap(&of, &key, &version));
    tell_key(&of);
    world_settle();
}

void elect(const char *name, uint32_t leader)
{
    struct queue_topic *t = topic_at(leader, name);
    for (uint32_t i = 0; i < t->partitions_n; i++)
        elect_partition(name, i, leader);
    queue_topic_give_back(t);
}

struct replica_status status_of(uint32_t broker, const char *name, uint32_t partition)
{
    struct queue_copy_id of = id_of(name, partition);
    struct replica_status s;
    ck_assert_int_eq(queue_copy_look(world.brokers[broker].q, &of, &s), ERR_OK);
    return s;
}

uint64_t state_of(uint32_t broker, const char *name, uint32_t partition)
{
    struct queue_topic *t = topic_at(broker, name);
    struct queue_partition *p = &t->partitions[partition];
    lock_take(&p->lk);
    uint64_t hash = partition_hash(p->state);
    lock_give(&p->lk);
    queue_topic_give_back(t);
    return hash;
}
