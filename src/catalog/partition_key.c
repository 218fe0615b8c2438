// SPDX-License-Identifier: Apache-2.0
#include "catalog/partition_key.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "catalog/topic.h"
#include "catalog/topic_json.h"

enum { FORMAT_ALONE = 1, FORMAT_COPIES = 2, HEX_ROOM = 17, DECIMAL_ROOM = 12 };

static const char *const states[] = {"ok", "inconsistent", "lost"};

static void hex_of(uint64_t v, char out[HEX_ROOM])
{
    (void)snprintf(out, HEX_ROOM, "%016" PRIx64, v);
}

static bool hex_read(const char *text, uint64_t *out)
{
    uint8_t raw[8];
    if (text == NULL || !catalog_hex_read(text, raw, sizeof raw))
        return false;
    *out = 0;
    for (size_t i = 0; i < sizeof raw; i++)
        *out = *out << 8 | raw[i];
    return true;
}

void catalog_partition_encode(const struct replica_key *k, struct buf *json)
{
    char hex[HEX_ROOM], broker[DECIMAL_ROOM];
    json_t *replicas = json_array(), *isr = json_array(), *inc = json_object();
    CHECK(k->epoch <= INT64_MAX && k->state <= REPLICA_KEY_LOST);
    for (size_t i = 0; i < k->members_n; i++) {
        const struct replica_member *m = &k->members[i];
        CHECK(json_array_append_new(replicas, json_integer(m->broker)) == 0);
        if (m->in_isr)
            CHECK(json_array_append_new(isr, json_integer(m->broker)) == 0);
        if (m->incarnation == 0)
            continue;
        hex_of(m->incarnation, hex);
        (void)snprintf(broker, sizeof broker, "%" PRIu32, m->broker);
        CHECK(json_object_set_new(inc, broker, json_string(hex)) == 0);
    }
    hex_of(k->op, hex);
    json_t *root = json_pack("{s:i, s:o, s:I, s:o, s:o, s:o, s:i, s:s, s:s}", "format",
                             FORMAT_COPIES, "replicas", replicas, "leader", (json_int_t)k->leader,
                             "epoch", catalog_json_int64((int64_t)k->epoch), "isr", isr, "inc", inc,
                             "min_isr", (int)k->min_isr, "state", states[k->state], "op", hex);
    CHECK(root != NULL && k->unclean_epoch <= k->epoch && k->wish_epoch <= k->epoch);
    if (k->wish_epoch > 0)
        CHECK(json_object_set_new(root, "wish_epoch", catalog_json_int64((int64_t)k->wish_epoch)) ==
              0);
    if (k->unclean_epoch > 0)
        CHECK(json_object_set_new(root, "unclean_epoch",
                                  catalog_json_int64((int64_t)k->unclean_epoch)) == 0);
    catalog_json_store(root, json);
}

/* Whatever is not byte for byte what partition_config_encode writes is no value of format 1. */
static enum err alone_read(json_t *root, struct bytes json, struct replica_key *k)
{
    int64_t epoch;
    const char *text = json_string_value(json_object_get(root, "epoch"));
    json_int_t leader = json_integer_value(json_object_get(root, "leader"));
    if (text == NULL || !catalog_int64_read(text, 0, CATALOG_EPOCH_MAX, &epoch) || leader < 1 ||
        leader > UINT32_MAX)
        return ERR_CORRUPT;
    struct buf same = BUF_EMPTY;
    partition_config_encode((uint32_t)leader, (uint64_t)epoch, &same);
    bool is_same = bytes_equal(buf_bytes(&same), json);
    buf_fini(&same);
    if (!is_same)
        return ERR_CORRUPT;
    k->epoch = (uint64_t)epoch;
    k->leader = epoch == 0 ? 0 : (uint32_t)leader; /* nobody leads in epoch 0 */
    k->min_isr = 1;
    k->members_n = 1;
    k->members[0] = (struct replica_member){.broker = (uint32_t)leader, .in_isr = true};
    return ERR_OK;
}

static bool broker_read(const json_t *v, uint32_t *out)
{
    json_int_t id = json_integer_value(v);
    if (!json_is_integer(v) || id < 1 || id > UINT32_MAX)
        return false;
    *out = (uint32_t)id;
    return true;
}

static bool members_read(const json_t *replicas, struct replica_key *k)
{
    size_t n = json_array_size(replicas);
    if (n == 0 || n > REPLICA_MEMBERS_MAX)
        return false;
    for (size_t i = 0; i < n; i++) {
        if (!broker_read(json_array_get(replicas, i), &k->members[i].broker))
            return false;
        for (size_t j = 0; j < i; j++)
            if (k->members[j].broker == k->members[i].broker)
                return false;
    }
    k->members_n = n;
    return true;
}

static struct replica_member *member_of(struct replica_key *k, uint32_t broker)
{
    for (size_t i = 0; i < k->members_n; i++)
        if (k->members[i].broker == broker)
            return &k->members[i];
    return NULL;
}

static bool isr_read(const json_t *isr, struct replica_key *k)
{
    uint32_t broker;
    for (size_t i = 0; i < json_array_size(isr); i++) {
        if (!broker_read(json_array_get(isr, i), &broker))
            return false;
        struct replica_member *m = member_of(k, broker);
        if (m == NULL || m->in_isr)
            return false;
        m->in_isr = true;
    }
    return json_is_array(isr);
}

static bool incarnations_read(json_t *inc, struct replica_key *k)
{
    size_t found = 0;
    for (size_t i = 0; i < k->members_n; i++) {
        char broker[DECIMAL_ROOM];
        (void)snprintf(broker, sizeof broker, "%" PRIu32, k->members[i].broker);
        const json_t *one = json_object_get(inc, broker);
        if (one == NULL)
            continue;
        if (!hex_read(json_string_value(one), &k->members[i].incarnation) ||
            k->members[i].incarnation == 0)
            return false;
        found++;
    }
    return json_is_object(inc) && found == json_object_size(inc);
}

static bool state_read(const char *text, enum replica_key_state *out)
{
    for (size_t i = 0; i < sizeof states / sizeof states[0]; i++)
        if (strcmp(states[i], text) == 0) {
            *out = (enum replica_key_state)i;
            return true;
        }
    return false;
}

static enum err copies_read(json_t *root, struct replica_key *k)
{
    json_t *replicas, *isr, *inc;
    json_int_t leader, min_isr;
    const char *epoch_text, *state, *op, *unclean_text = "0", *wish_text = "0";
    int format;
    int64_t epoch, unclean, wish;
    if (json_unpack_ex(root, NULL, JSON_STRICT,
                       "{s:i, s:o, s:I, s:s, s:o, s:o, s:I, s:s, s:s, s?:s, s?:s}", "format",
                       &format, "replicas", &replicas, "leader", &leader, "epoch", &epoch_text,
                       "isr", &isr, "inc", &inc, "min_isr", &min_isr, "state", &state, "op", &op,
                       "unclean_epoch", &unclean_text, "wish_epoch", &wish_text) != 0)
        return ERR_CORRUPT;
    if (!catalog_int64_read(epoch_text, 0, CATALOG_EPOCH_MAX, &epoch) || leader < 0 ||
        leader > UINT32_MAX || min_isr < 1 || min_isr > REPLICA_MEMBERS_MAX ||
        !members_read(replicas, k) || !isr_read(isr, k) || !incarnations_read(inc, k) ||
        !state_read(state, &k->state) || !hex_read(op, &k->op))
        return ERR_CORRUPT;
    if (!catalog_int64_read(unclean_text, 0, epoch, &unclean) ||
        !catalog_int64_read(wish_text, 0, epoch, &wish))
        return ERR_CORRUPT;
    k->epoch = (uint64_t)epoch;
    k->unclean_epoch = (uint64_t)unclean;
    k->wish_epoch = (uint64_t)wish;
    k->leader = (uint32_t)leader;
    k->min_isr = (uint32_t)min_isr;
    if (k->leader != 0 && (k->epoch == 0 || member_of(k, k->leader) == NULL))
        return ERR_CORRUPT;
    return ERR_OK;
}

enum err catalog_partition_decode(struct bytes json, int64_t version, struct replica_key *out)
{
    json_t *root;
    struct replica_key k = {.version = version};
    enum err e = catalog_json_load_upto(json, FORMAT_COPIES, &root);
    if (e != ERR_OK)
        return e;
    bool is_alone = json_integer_value(json_object_get(root, "format")) == FORMAT_ALONE;
    e = is_alone ? alone_read(root, json, &k) : copies_read(root, &k);
    json_decref(root);
    if (e == ERR_OK)
        *out = k;
    return e;
}
