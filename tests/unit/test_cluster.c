// SPDX-License-Identifier: Apache-2.0
/* Brokers of one process, with one catalogue between them and a double of the queue each: who may
 * join, what the queue is told, what becomes of its changes, and who leads when one is gone. */
#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/lock.h"
#include "base/mem.h"
#include "base/note.h"
#include "catalog/engine.h"
#include "catalog/partition_key.h"
#include "cluster/admin.h"
#include "cluster/file.h"
#include "cluster/inside.h"
#include "cluster_told.h"
#include "lib/fault_disk.h"
#include "lib/folder.h"
#include "lib/runner.h"

enum { BROKERS = 3, PARTITIONS = TOLD_PARTITIONS_MAX, AWAIT_MS = 8000 };

/* ---- the world ---- */

static char folder[FOLDER_PATH_ROOM];
static struct catalog *catalog;
static struct clock sys;
static struct queue queues[BROKERS + 1];
static struct cluster *clusters[BROKERS + 1];
static struct fault_disk *disks[BROKERS + 1];

#define AWAIT(condition)                                                                           \
    do {                                                                                           \
        struct timespec end;                                                                       \
        int late = 0;                                                                              \
        clock_gettime(CLOCK_REALTIME, &end);                                                       \
        end.tv_sec += AWAIT_MS / 1000;                                                             \
        pthread_mutex_lock(&told_mutex);                                                           \
        while (!(condition) && late == 0)                                                          \
            late = pthread_cond_timedwait(&told_changed, &told_mutex, &end);                       \
        bool is_so = (condition);                                                                  \
        pthread_mutex_unlock(&told_mutex);                                                         \
        ck_assert_msg(is_so, "not in time: %s", #condition);                                       \
    } while (0)

static enum err broker_open(uint32_t b, bool replace)
{
    struct cluster_options o = {.catalog = catalog,
                                .clock = &sys,
                                .rng = {test_seed() + b},
                                .broker = b,
                                .disk = fault_disk_of(disks[b]),
                                .replace = replace,
                                .session_ttl_s = 1,
                                .peer_address = "127.0.0.1",
                                .client_url = "http://front",
                                .key = BYTES_OF("0123456789abcdef")};
    enum err e = cluster_start(&o, &clusters[b]);
    if (e == ERR_OK)
        e = cluster_join(clusters[b], &queues[b]);
    if (e != ERR_OK && clusters[b] != NULL) {
        cluster_free(clusters[b]);
        clusters[b] = NULL;
    }
    return e;
}

static void broker_close(uint32_t b, bool is_planned)
{
    if (is_planned)
        cluster_leave(clusters[b]);
    else
        cluster_abandon(clusters[b]);
    cluster_free(clusters[b]);
    clusters[b] = NULL;
}

static void setup(void)
{
    char path[FOLDER_PATH_ROOM + 20];
    note_init(NOTE_ERROR, false);
    folder_make(folder);
    snprintf(path, sizeof path, "%s/catalog.sqlite", folder);
    ck_assert_int_eq(catalog_open(path, &catalog), ERR_OK);
    sys = clock_system();
    memset(queues, 0, sizeof queues);
    for (uint32_t b = 1; b <= BROKERS; b++) {
        queues[b].incarnation = b; /* so that it is known who asks */
        queues[b].last_epoch = 1;
        snprintf(queues[b].uuid, sizeof queues[b].uuid, "store-%u", (unsigned)b);
        disks[b] = fault_disk_new(b);
    }
}

static void teardown(void)
{
    for (uint32_t b = 1; b <= BROKERS; b++) {
        if (clusters[b] != NULL)
            broker_close(b, false);
        fault_disk_free(disks[b]);
    }
    catalog_close(catalog);
    folder_remove(folder);
}

static void put(const char *key, struct bytes value)
{
    struct catalog_op op = {.key = key, .value = value};
    ck_assert_int_eq(catalog_txn(catalog, NULL, 0, &op, 1, NULL), ERR_OK);
}

/* As the queue would, when a client makes a topic: all copies are in sync. */
static void topic_make(uint32_t partitions, uint32_t copies)
{
    char key[CATALOG_KEY_BYTES_MAX + 1];
    struct buf json = BUF_EMPTY;
    uint32_t members[PARTITIONS * BROKERS];
    struct topic_config t;
    const struct queue_links *links = cluster_links(clusters[1]);
    ck_assert_int_eq(links->place(links->self, partitions, copies, members), ERR_OK);
    for (uint32_t p = 0; p < partitions; p++) {
        struct replica_key k = {.min_isr = copies > 1 ? 2 : 1, .members_n = copies};
        for (uint32_t m = 0; m < copies; m++) {
            uint32_t broker = members[p * copies + m];
            k.members[m] = (struct replica_member){broker, true, broker};
        }
        catalog_key_partition(key, told_topic, p);
        buf_clear(&json);
        catalog_partition_encode(&k, &json);
        put(key, buf_bytes(&json));
    }
    topic_config_init(&t);
    memcpy(t.id, told_topic, sizeof told_topic);
    snprintf(t.name, sizeof t.name, "orders");
    t.partitions = partitions;
    t.state = TOPIC_READY;
    buf_clear(&json);
    topic_config_encode(&t, &json);
    catalog_key_topic(key, told_topic);
    put(key, buf_bytes(&json));
    buf_fini(&json);
    topic_config_fini(&t);
}

static bool all_led_by_others(const struct queue *q, uint32_t partitions, uint32_t than)
{
    for (uint32_t p = 0; p < partitions; p++)
        if (q->keys[p].leader == 0 || q->keys[p].leader == than)
            return false;
    return q->has_topic;
}

static void all_open(void)
{
    for (uint32_t b = 1; b <= BROKERS; b++)
        ck_assert_int_eq(broker_open(b, false), ERR_OK);
    for (uint32_t b = 1; b <= BROKERS; b++)
        AWAIT(queues[b].sessions[1] == 2 && queues[b].sessions[2] == 2 &&
              queues[b].sessions[3] == 2);
}

static uint32_t controller_of(struct cluster *c)
{
    struct cluster_broker brokers[BROKERS];
    size_t n = cluster_brokers(c, brokers, BROKERS);
    for (size_t i = 0; i < n; i++)
        if (brokers[i].is_controller)
            return brokers[i].id;
    return 0;
}

/* ---- tests ---- */

START_TEST(a_new_topic_gets_leaders_and_every_queue_hears_of_it)
{
    all_open();
    topic_make(PARTITIONS, BROKERS);
    for (uint32_t b = 1; b <= BROKERS; b++)
        AWAIT(all_led_by_others(&queues[b], PARTITIONS, UINT32_MAX));
    AWAIT(queues[1].ticks > 2);
    struct cluster_broker brokers[8];
    ck_assert_uint_eq(cluster_brokers(clusters[2], brokers, 8), 3);
    ck_assert(brokers[0].id == 1 && brokers[0].is_live);
    ck_assert_int_eq(brokers[0].is_controller + brokers[1].is_controller + brokers[2].is_controller,
                     1);
    ck_assert(!brokers[2].is_draining);
    ck_assert_str_eq(brokers[1].client_url, "http://front");
    char url[PEER_URL_BYTES_MAX + 1];
    ck_assert(cluster_url(clusters[1], 3, url) && !cluster_url(clusters[1], 4, url));
    ck_assert_str_eq(url, brokers[2].peer_url);
}
END_TEST

START_TEST(when_the_controller_dies_another_one_elects_for_what_it_led)
{
    all_open();
    topic_make(PARTITIONS, BROKERS);
    AWAIT(all_led_by_others(&queues[2], PARTITIONS, UINT32_MAX));
    broker_close(1, false);
    AWAIT(all_led_by_others(&queues[2], PARTITIONS, 1));
    AWAIT(all_led_by_others(&queues[3], PARTITIONS, 1));
    /* Keys are told to it besides, so these may come first. */
    AWAIT(controller_of(clusters[2]) != 1);
    for (uint32_t p = 0; p < PARTITIONS; p++)
        ck_assert_uint_le(queues[2].keys[p].epoch, 2);
}
END_TEST

START_TEST(who_leaves_in_peace_leads_nothing_when_it_goes)
{
    all_open();
    topic_make(PARTITIONS, BROKERS);
    AWAIT(all_led_by_others(&queues[2], PARTITIONS, UINT32_MAX));
    cluster_leave(clusters[1]);
    struct catalog_kv kv;
    for (uint32_t p = 0; p < PARTITIONS; p++) {
        char key[CATALOG_KEY_BYTES_MAX + 1];
        struct replica_key k;
        catalog_key_partition(key, told_topic, p);
        ck_assert_int_eq(catalog_get(catalog, key, &kv), ERR_OK);
        ck_assert_int_eq(catalog_partition_decode(kv.value, kv.mod_rev, &k), ERR_OK);
        catalog_kv_fini(&kv);
        ck_assert_uint_ne(k.leader, 1);
        ck_assert_uint_eq(replica_key_isr_size(&k), 3);
    }
    ck_assert_int_eq(catalog_get(catalog, "s/1", &kv), ERR_NOT_FOUND);
    AWAIT(queues[3].sessions[1] == 1);
    /* What the queue still says is taken note of, and goes no further. */
    struct queue_copy_id of = {.partition = 0};
    const struct queue_links *links = cluster_links(clusters[1]);
    links->read_key(links->self, &of, 1);
    broker_close(1, false);
}
END_TEST

START_TEST(a_change_by_the_queue_wins_or_loses_and_it_is_told)
{
    ck_assert_int_eq(broker_open(1, false), ERR_OK);
    ck_assert_int_eq(broker_open(2, false), ERR_OK);
    ck_assert_int_eq(broker_open(3, false), ERR_OK);
    AWAIT(queues[1].sessions[3] == 2);
    topic_make(1, BROKERS);
    AWAIT(queues[1].keys[0].leader != 0);
    struct queue_copy_id of = {.partition = 0};
    memcpy(of.topic, told_topic, sizeof of.topic);
    const struct queue_links *links = cluster_links(clusters[1]);
    links->read_key(links->self, &of, 77);
    AWAIT(queues[1].serial == 77 && queues[1].read_version == queues[1].keys[0].version);
    struct replica_key next = queues[1].keys[0];
    replica_key_put_in_isr(&next, next.leader == 2 ? 3 : 2, false);
    next.op = 5;
    links->swap(links->self, &of, &next);
    AWAIT(queues[1].swapped_op == 5);
    ck_assert_int_eq(queues[1].outcome, REPLICA_SWAP_WON);
    int64_t version = queues[1].swapped_version;
    ck_assert_int_gt(version, next.version);
    AWAIT(queues[2].keys[0].version == version && queues[2].keys[0].op == 5);
    next.op = 6;
    links->swap(links->self, &of, &next);
    AWAIT(queues[1].swapped_op == 6);
    ck_assert_int_eq(queues[1].outcome, REPLICA_SWAP_LOST);
    for (uint64_t i = 0; i < 20; i++) /* many are answered by one list */
        links->read_key(links->self, &of, 100 + i);
    AWAIT(queues[1].serial == 119 && queues[1].read_version == version);
}
END_TEST

START_TEST(a_topic_that_could_not_be_taken_up_is_told_again_and_its_end_is_told)
{
    all_open();
    queues[2].refusals = 1;
    topic_make(2, BROKERS);
    AWAIT(queues[1].has_topic && queues[2].has_topic && queues[3].has_topic);
    char key[CATALOG_KEY_BYTES_MAX + 1];
    catalog_key_redrives(key, told_topic);
    struct catalog_op put = {.key = key, .value = BYTES_OF("redrives")};
    ck_assert_int_eq(catalog_txn(catalog, NULL, 0, &put, 1, NULL), ERR_OK);
    AWAIT(queues[1].redrives_told && queues[2].redrives_told && queues[3].redrives_told);
    catalog_key_topic(key, told_topic);
    struct catalog_op drop = {.key = key, .drop = 1};
    ck_assert(!queues[2].is_gone);
    ck_assert_int_eq(catalog_txn(catalog, NULL, 0, &drop, 1, NULL), ERR_OK);
    AWAIT(queues[1].is_gone && queues[2].is_gone && queues[3].is_gone);
}
END_TEST

START_TEST(a_lost_session_is_followed_by_another_under_the_next_number)
{
    all_open();
    cluster_abandon(clusters[3]); /* its s/3 has vanished with it */
    AWAIT(queues[1].sessions[3] == 1);
    clusters[2]->self.lost(clusters[2]);
    AWAIT(queues[1].sessions[2] == 2);
    struct catalog_kv kv;
    struct cluster_session_key s = {.session = 0};
    for (int i = 1; i < 50 && s.session != 2; i++) {
        AWAIT(queues[1].ticks > i);
        if (catalog_get(catalog, "s/2", &kv) != ERR_OK)
            continue;
        ck_assert_int_eq(cluster_session_key_decode(kv.value, &s), ERR_OK);
        catalog_kv_fini(&kv);
    }
    ck_assert_int_eq(s.session, 2);
}
END_TEST

static int64_t session_of(uint32_t b)
{
    char name[CLUSTER_KEY_ROOM];
    struct catalog_kv kv;
    struct cluster_session_key s;
    cluster_key_session(name, b);
    if (catalog_get(catalog, name, &kv) != ERR_OK)
        return 0;
    ck_assert_int_eq(cluster_session_key_decode(kv.value, &s), ERR_OK);
    catalog_kv_fini(&kv);
    return s.session;
}

/* One that is registered and has a session, and nothing else; the caller ends it. */
static struct catalog_session *registered_make(uint32_t b, const char *url, bool is_controller)
{
    char broker[CLUSTER_KEY_ROOM], name[CLUSTER_KEY_ROOM];
    struct catalog_session *session;
    struct cluster_broker_key key = {
        .session = 1, .store = "x", .version = 1, .state = CLUSTER_BROKER_DRAINING};
    struct cluster_session_key s = {.session = 1, .store = "x"};
    struct cluster_ctl_key ctl = {.broker = b, .session = 1};
    struct buf json[3] = {BUF_EMPTY, BUF_EMPTY, BUF_EMPTY};
    ck_assert_int_eq(catalog_session_begin(catalog, 60, NULL, NULL, &session), ERR_OK);
    snprintf(key.url, sizeof key.url, "%s", url);
    s.lease = catalog_session_id(session);
    cluster_broker_key_encode(&key, &json[0]);
    cluster_session_key_encode(&s, &json[1]);
    cluster_ctl_key_encode(&ctl, &json[2]);
    cluster_key_broker(broker, b);
    cluster_key_session(name, b);
    put(broker, buf_bytes(&json[0]));
    struct catalog_op ops[2] = {{.key = name, .value = buf_bytes(&json[1])},
                                {.key = "ctl", .value = buf_bytes(&json[2])}};
    ck_assert_int_eq(
        catalog_txn_leased(catalog, session, NULL, 0, ops, is_controller ? 2 : 1, NULL), ERR_OK);
    for (int i = 0; i < 3; i++)
        buf_fini(&json[i]);
    return session;
}

/* A port of loopback that is taken; connections to it wait for ever once somebody listens. */
static int port_take(char url[64])
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t n = sizeof a;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_eq(bind(fd, (struct sockaddr *)&a, n), 0);
    getsockname(fd, (struct sockaddr *)&a, &n);
    snprintf(url, 64, "http://127.0.0.1:%u", ntohs(a.sin_port));
    return fd;
}

START_TEST(a_dead_controller_is_replaced_at_once_and_who_is_silent_somewhat_later)
{
    char dead_url[64], slow_url[64];
    int dead = port_take(dead_url), slow = port_take(slow_url);
    ck_assert_int_eq(listen(slow, 8), 0);
    /* As if killed: the leases stand for a minute. */
    struct catalog_session *of_dead = registered_make(4, dead_url, true);
    struct catalog_session *of_slow = registered_make(5, slow_url, false);
    all_open();
    cluster_suspect_add(clusters[2], CLUSTER_WORK_LOST, 5, CLUSTER_KNOCK_SILENT);
    AWAIT(queues[2].sessions[4] == 1);
    topic_make(PARTITIONS, BROKERS);
    AWAIT(all_led_by_others(&queues[2], PARTITIONS, 4));
    cluster_suspect_add(clusters[2], CLUSTER_WORK_LOST, 5, CLUSTER_KNOCK_SILENT);
    int ticks = queues[2].ticks;
    AWAIT(queues[2].ticks > ticks + 3);
    ck_assert_int_eq(session_of(4), 0);
    ck_assert_int_eq(session_of(5), 1);
    ck_assert(!cluster_is_silent(clusters[2], 5));
    AWAIT(queues[2].sessions[5] == 1); /* the three that are left are a majority of five */
    ck_assert(cluster_is_silent(clusters[2], 5) && !cluster_is_silent(clusters[2], 3));
    catalog_session_end(of_dead);
    catalog_session_end(of_slow);
    close(dead);
    close(slow);
}
END_TEST

START_TEST(who_lives_and_finds_its_session_ended_registers_anew)
{
    struct catalog_kv kv;
    struct cluster_session_key s;
    all_open();
    ck_assert_int_eq(catalog_get(catalog, "s/2", &kv), ERR_OK);
    ck_assert_int_eq(cluster_session_key_decode(kv.value, &s), ERR_OK);
    catalog_kv_fini(&kv);
    ck_assert(s.session == 1 && s.lease != 0);
    ck_assert_int_eq(catalog_lease_revoke(catalog, s.lease), ERR_OK);
    for (int i = 1; i < 50 && session_of(2) != 2; i++)
        AWAIT(queues[1].ticks > i);
    ck_assert_int_eq(session_of(2), 2);
    AWAIT(queues[1].sessions[2] == 2);
}
END_TEST

START_TEST(another_store_under_a_known_id_is_let_in_only_when_told_that_the_disk_was_replaced)
{
    ck_assert_int_eq(broker_open(1, false), ERR_OK);
    broker_close(1, true);
    fault_disk_delete(disks[1], CLUSTER_FILE_NAME);
    snprintf(queues[1].uuid, sizeof queues[1].uuid, "another");
    note_init(NOTE_ERROR, false);
    ck_assert_int_eq(broker_open(1, false), ERR_CONFLICT);
    struct catalog_kv kv;
    struct cluster_broker_key b;
    ck_assert_int_eq(catalog_get(catalog, "b/1", &kv), ERR_OK);
    ck_assert_int_eq(cluster_broker_key_decode(kv.value, &b), ERR_OK);
    catalog_kv_fini(&kv);
    ck_assert_str_eq(b.store, "store-1");
    ck_assert_int_eq(broker_open(1, true), ERR_OK);
    broker_close(1, false);
    ck_assert_int_eq(broker_open(1, false), ERR_OK);
}
END_TEST

/* Sessions' times pass quickly here. */
static int64_t fast_ms(void *self)
{
    struct clock real = clock_system();
    (void)self;
    return 20 * clock_boot_ms(&real);
}

static const struct catalog_engine *real;
static bool has_intruded;

/* Between the two halves of a registration somebody else takes the id. */
static void run_after_intruder(struct catalog *c, struct catalog_txn *first)
{
    struct catalog_op op = {
        .key = "b/1",
        .value = BYTES_OF("{\"format\":1,\"url\":\"http://x:1\",\"client_url\":\"\",\"store\":"
                          "\"other\",\"session\":\"9\",\"state\":\"active\",\"version\":1}")};
    struct catalog_txn other = {.ops = &op, .ops_n = 1};
    if (!has_intruded && first->ops_n > 0 && strcmp(first->ops[0].key, "s/1") == 0) {
        has_intruded = true;
        real->run(c, &other);
        ck_assert_int_eq(other.err, ERR_OK);
    }
    real->run(c, first);
}

START_TEST(an_id_that_another_takes_during_the_registration_is_not_lived_under)
{
    struct catalog_engine engine;
    struct catalog_kv kv;
    real = catalog->engine;
    engine = *real;
    engine.run = run_after_intruder;
    catalog->engine = &engine;
    ck_assert_int_eq(broker_open(1, false), ERR_CONFLICT);
    ck_assert(has_intruded);
    ck_assert_int_eq(catalog_get(catalog, "s/1", &kv), ERR_NOT_FOUND);
    catalog->engine = real;
}
END_TEST

START_TEST(an_id_that_lives_elsewhere_is_left_alone)
{
    sys.boot_ms = fast_ms;
    struct cluster_session_key s = {.session = 9, .store = "elsewhere"};
    struct buf json = BUF_EMPTY;
    cluster_session_key_encode(&s, &json);
    put("s/2", buf_bytes(&json));
    buf_fini(&json);
    ck_assert_int_eq(broker_open(2, false), ERR_IN_USE); /* after two sessions' time */
    struct catalog_kv kv;
    ck_assert_int_eq(catalog_get(catalog, "b/2", &kv), ERR_NOT_FOUND);
}
END_TEST

START_TEST(a_directory_of_another_cluster_or_broker_is_refused)
{
    struct cluster_file f = {.cluster_id = "other", .broker = 1}, again;
    ck_assert_int_eq(cluster_file_write(fault_disk_of(disks[1]), &f), ERR_OK);
    ck_assert_int_eq(broker_open(1, false), ERR_CONFLICT); /* the catalogue is empty */
    ck_assert_int_eq(broker_open(2, false), ERR_OK);
    ck_assert_int_eq(broker_open(1, false), ERR_CONFLICT);
    f.broker = 3;
    ck_assert_int_eq(cluster_file_write(fault_disk_of(disks[1]), &f), ERR_OK);
    ck_assert_int_eq(broker_open(1, false), ERR_CONFLICT);
    struct catalog_kv kv;
    ck_assert_int_eq(catalog_get(catalog, "b/1", &kv), ERR_NOT_FOUND);
    ck_assert_int_eq(cluster_file_read(fault_disk_of(disks[2]), &again), ERR_OK);
    ck_assert(again.broker == 2 && again.lease == catalog_session_id(clusters[2]->self.session));
    fault_disk_plant(disks[1], CLUSTER_FILE_NAME, BYTES_OF("{\"format\":1}"));
    ck_assert_int_eq(broker_open(1, false), ERR_CORRUPT);
}
END_TEST

START_TEST(a_catalogue_that_is_not_ours_any_more_is_not_believed)
{
    all_open();
    topic_make(1, BROKERS);
    AWAIT(queues[2].has_topic);
    put("meta", BYTES_OF("{\"format\":1,\"cluster_id\":\"other\",\"created\":\"1\"}"));
    ck_assert_int_eq(cluster_list(clusters[2]), ERR_CONFLICT);
    ck_assert(!queues[2].is_gone);
}
END_TEST

static struct queue_copy_id partition_0(void)
{
    struct queue_copy_id of = {.partition = 0};
    memcpy(of.topic, told_topic, sizeof of.topic);
    return of;
}

static struct replica_key key_stored(void)
{
    char key[CATALOG_KEY_BYTES_MAX + 1];
    struct catalog_kv kv;
    struct replica_key k;
    catalog_key_partition(key, told_topic, 0);
    ck_assert_int_eq(catalog_get(catalog, key, &kv), ERR_OK);
    ck_assert_int_eq(catalog_partition_decode(kv.value, kv.mod_rev, &k), ERR_OK);
    catalog_kv_fini(&kv);
    return k;
}

/* Played without threads and without a watch, so that the controller cannot have heard of it. */
START_TEST(a_controller_whose_term_is_over_changes_nothing)
{
    struct cluster_options o = {.catalog = catalog,
                                .clock = &sys,
                                .rng = {test_seed()},
                                .broker = 1,
                                .disk = fault_disk_of(disks[1]),
                                .session_ttl_s = 1,
                                .peer_address = "127.0.0.1",
                                .key = BYTES_OF("0123456789abcdef")};
    struct catalog_op drop = {.key = "ctl", .drop = 1};
    ck_assert_int_eq(cluster_start(&o, &clusters[1]), ERR_OK);
    ck_assert_int_eq(cluster_enter(clusters[1], &queues[1]), ERR_OK);
    struct cluster *c = clusters[1];
    while (!c->reigns)
        ck_assert(cluster_turn(c, true));
    topic_make(1, 1);
    ck_assert_int_eq(cluster_list(c), ERR_OK);
    cluster_tell(c);
    ck_assert_int_eq(catalog_txn(catalog, NULL, 0, &drop, 1, NULL), ERR_OK);
    put("ctl", BYTES_OF("{\"format\":1,\"broker\":2,\"session\":\"1\",\"url\":\"\"}"));
    while (c->reigns && key_stored().epoch == 0)
        ck_assert(cluster_turn(c, true));
    ck_assert_uint_eq(key_stored().epoch, 0);
}
END_TEST

/* ---- what operators ask for ---- */

START_TEST(a_lead_goes_to_a_member_in_sync_that_an_operator_names)
{
    char why[CLUSTER_WHY_ROOM] = "";
    struct queue_copy_id of = partition_0();
    all_open();
    ck_assert_int_eq(cluster_move_leader(clusters[1], &of, 1, why), ERR_NOT_FOUND);
    topic_make(1, BROKERS);
    AWAIT(queues[1].keys[0].leader != 0);
    uint32_t next = queues[1].keys[0].leader == 3 ? 2 : 3;
    int64_t version = key_stored().version;
    ck_assert_int_eq(cluster_move_leader(clusters[1], &of, 9, why), ERR_CONFLICT);
    ck_assert_str_eq(why, "broker 9 has no copy of the partition");
    ck_assert_int_eq(key_stored().version, version);
    ck_assert_int_eq(cluster_move_leader(clusters[1], &of, next, why), ERR_OK);
    AWAIT(queues[1].keys[0].leader == next && queues[2].keys[0].leader == next);
    struct replica_key k = key_stored();
    ck_assert(k.epoch == 2 && k.members[0].broker == next && replica_key_isr_size(&k) == 3);
    version = k.version;
    ck_assert_int_eq(cluster_move_leader(clusters[2], &of, next, why), ERR_OK); /* it is so */
    replica_key_put_in_isr(&k, next == 3 ? 2 : 3, false);
    const struct queue_links *links = cluster_links(clusters[1]);
    links->swap(links->self, &of, &k);
    AWAIT(queues[1].swapped_version > version);
    ck_assert_int_eq(cluster_move_leader(clusters[1], &of, next == 3 ? 2 : 3, why), ERR_CONFLICT);
    ck_assert_ptr_nonnull(strstr(why, "not in sync"));
}
END_TEST

/* All members say that they lack what is committed, so nobody leads. */
static void all_lose(void)
{
    char key[CATALOG_KEY_BYTES_MAX + 1];
    struct buf json = BUF_EMPTY;
    struct replica_key k = key_stored();
    k.state = REPLICA_KEY_INCONSISTENT;
    k.leader = 0;
    k.epoch++;
    catalog_partition_encode(&k, &json);
    catalog_key_partition(key, told_topic, 0);
    put(key, buf_bytes(&json));
    buf_fini(&json);
}

START_TEST(an_operator_may_accept_a_loss_and_the_epoch_is_above_all_that_are_known)
{
    char why[CLUSTER_WHY_ROOM] = "";
    struct queue_copy_id of = partition_0();
    all_open();
    topic_make(1, BROKERS);
    AWAIT(queues[1].keys[0].leader != 0);
    int64_t version = key_stored().version;
    ck_assert_int_eq(cluster_recover(clusters[1], &of, 3, why), ERR_CONFLICT);
    ck_assert_ptr_nonnull(strstr(why, "nothing is lost"));
    ck_assert_int_eq(key_stored().version, version);
    all_lose();
    queues[2].last_epoch = 40;
    ck_assert_int_eq(cluster_recover(clusters[1], &of, 9, why), ERR_CONFLICT);
    ck_assert_int_eq(cluster_recover(clusters[1], &of, 3, why), ERR_OK);
    struct replica_key k = key_stored();
    ck_assert(k.epoch == 41 && k.unclean_epoch == 41 && k.leader == 3);
    ck_assert(k.state == REPLICA_KEY_OK && replica_key_isr_size(&k) == 1);
    for (size_t i = 0; i < k.members_n; i++) { /* the others begin anew */
        bool is_chosen = k.members[i].broker == 3;
        ck_assert_int_eq(k.members[i].in_isr, is_chosen);
        ck_assert_uint_eq(k.members[i].incarnation, is_chosen ? 3 : 0);
    }
}
END_TEST

/* A server that stops does not wait for its jobs. */
START_TEST(what_an_operator_asks_of_a_broker_that_has_left_comes_to_nothing)
{
    char why[CLUSTER_WHY_ROOM] = "";
    struct queue_copy_id of = partition_0();
    all_open();
    topic_make(1, BROKERS);
    AWAIT(queues[1].keys[0].leader != 0);
    cluster_leave(clusters[1]);
    all_lose();
    int64_t version = key_stored().version;
    ck_assert_int_eq(cluster_recover(clusters[1], &of, 3, why), ERR_CONFLICT);
    ck_assert_str_eq(why, "broker 3 did not say how its copy is");
    ck_assert_int_eq(key_stored().version, version);
}
END_TEST

START_TEST(an_epoch_that_there_cannot_be_is_not_believed)
{
    static const uint64_t epochs[] = {UINT64_MAX, INT64_MAX, INT64_MAX - 1};
    char why[CLUSTER_WHY_ROOM] = "";
    struct queue_copy_id of = partition_0();
    all_open();
    topic_make(1, BROKERS);
    AWAIT(queues[1].keys[0].leader != 0);
    all_lose();
    int64_t version = key_stored().version;
    for (size_t i = 0; i < sizeof epochs / sizeof epochs[0]; i++) {
        queues[2].last_epoch = epochs[i];
        ck_assert_int_eq(cluster_recover(clusters[1], &of, 3, why), ERR_CONFLICT);
        ck_assert_str_eq(why, "broker 2 names an epoch that there cannot be");
    }
    ck_assert_int_eq(key_stored().version, version);
}
END_TEST

Suite *suite_new(void)
{
    Suite *s = suite_create("cluster");
    TCase *tc = tcase_create("cluster");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_set_timeout(tc, 30);
    tcase_add_test(tc, a_new_topic_gets_leaders_and_every_queue_hears_of_it);
    tcase_add_test(tc, when_the_controller_dies_another_one_elects_for_what_it_led);
    tcase_add_test(tc, who_leaves_in_peace_leads_nothing_when_it_goes);
    tcase_add_test(tc, a_change_by_the_queue_wins_or_loses_and_it_is_told);
    tcase_add_test(tc, a_topic_that_could_not_be_taken_up_is_told_again_and_its_end_is_told);
    tcase_add_test(tc, a_lost_session_is_followed_by_another_under_the_next_number);
    tcase_add_test(tc, a_dead_controller_is_replaced_at_once_and_who_is_silent_somewhat_later);
    tcase_add_test(tc, who_lives_and_finds_its_session_ended_registers_anew);
    tcase_add_test(
        tc, another_store_under_a_known_id_is_let_in_only_when_told_that_the_disk_was_replaced);
    tcase_add_test(tc, an_id_that_another_takes_during_the_registration_is_not_lived_under);
    tcase_add_test(tc, an_id_that_lives_elsewhere_is_left_alone);
    tcase_add_test(tc, a_directory_of_another_cluster_or_broker_is_refused);
    tcase_add_test(tc, a_catalogue_that_is_not_ours_any_more_is_not_believed);
    tcase_add_test(tc, a_controller_whose_term_is_over_changes_nothing);
    tcase_add_test(tc, a_lead_goes_to_a_member_in_sync_that_an_operator_names);
    tcase_add_test(tc, an_operator_may_accept_a_loss_and_the_epoch_is_above_all_that_are_known);
    tcase_add_test(tc, what_an_operator_asks_of_a_broker_that_has_left_comes_to_nothing);
    tcase_add_test(tc, an_epoch_that_there_cannot_be_is_not_believed);
    suite_add_tcase(s, tc);
    return s;
}
