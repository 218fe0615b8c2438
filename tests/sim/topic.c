// SPDX-License-Identifier: Apache-2.0
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/codec.h"
#include "base/mem.h"
#include "sim/sim.h"

enum { ID_DIGITS = 32 };

static const char setting_name[] = "setting";

static struct queue_topic *find(struct sim *s, uint32_t slot)
{
    struct queue_topic *t;
    if (queue_topic_find(s->q, bytes_of_text(s->plans[slot].name), &t) != ERR_OK)
        return NULL;
    return t;
}

/* Tells the history of a new incarnation. */
static void add(struct sim *s, const struct uuid *id, uint32_t slot)
{
    s->topics = mem_resize(s->topics, (s->topics_n + 1) * sizeof s->topics[0]);
    s->topics[s->topics_n].id = *id;
    s->topics[s->topics_n].slot = slot;
    s->slots[slot] = s->topics_n++;
    sim_put(s, (struct event){
                   .kind = EVENT_TOPIC, .topic = s->slots[slot], .policy = s->plans[slot].policy});
}

/* The incarnation of t; HISTORY_NONE: a new one. */
static uint32_t incarnation_of(const struct sim *s, struct queue_topic *t)
{
    for (uint32_t i = 0; i < s->topics_n; i++)
        if (memcmp(&s->topics[i].id, &t->id, sizeof t->id) == 0)
            return i;
    return HISTORY_NONE;
}

static void config_of(const struct sim_plan *p, const struct sim_plan *plans,
                      struct topic_config *config)
{
    topic_config_init(config);
    snprintf(config->name, sizeof config->name, "%s", p->name);
    config->fifo = p->policy.fifo;
    config->partitions = p->partitions;
    config->delay_ms = p->delay_ms;
    config->retention_ms = p->policy.retention_ms;
    config->dedup_per_group = p->policy.dedup_per_group;
    config->receives_max = p->policy.receives_max;
    if (p->policy.dead_slot != HISTORY_NONE)
        snprintf(config->dead_letter, sizeof config->dead_letter, "%s",
                 plans[p->policy.dead_slot].name);
}

/* When it fails, the next start may find the topic. */
void sim_topic_create(struct sim *s, uint32_t slot)
{
    struct topic_config config;
    struct queue_topic *t;
    if (s->slots[slot] != HISTORY_NONE)
        return;
    config_of(&s->plans[slot], s->plans, &config);
    enum err e = queue_topic_create(s->q, &config, &t);
    topic_config_fini(&config);
    if (e != ERR_OK)
        return;
    add(s, &t->id, slot);
    queue_topic_give_back(t);
}

/* A setting that nothing else looks at. */
static int64_t setting_of(const struct topic_config *c)
{
    for (size_t i = 0; i < c->tags_n; i++)
        if (strcmp(c->tags[i].name, setting_name) == 0)
            return strtoll(c->tags[i].value, NULL, 10);
    return 0;
}

static enum err change(void *arg, struct topic_config *c)
{
    char text[24];
    snprintf(text, sizeof text, "%" PRIu32, *(uint32_t *)arg);
    topic_tag_set(c, setting_name, text);
    return ERR_OK;
}

void sim_topic_change(struct sim *s, uint32_t slot)
{
    struct queue_topic *t = find(s, slot);
    if (t == NULL)
        return;
    uint32_t setting = ++s->next_setting;
    enum err e = queue_topic_change(t, change, &setting);
    /* Once one has failed, no later one is tried, so that at most one is in doubt. */
    if (e == ERR_OK || e == ERR_IO)
        sim_put(s,
                (struct event){
                    .kind = EVENT_CHANGE, .err = e, .topic = s->slots[slot], .until_ms = setting});
    queue_topic_give_back(t);
}

void sim_topic_delete(struct sim *s, uint32_t slot)
{
    struct queue_topic *t = find(s, slot);
    if (t == NULL)
        return;
    enum err e = queue_topic_delete(t);
    if (e == ERR_OK || e == ERR_IO) /* after all others nothing has happened */
        sim_put(s, (struct event){.kind = EVENT_GONE, .err = e, .topic = s->slots[slot]});
    if (e == ERR_OK)
        s->slots[slot] = HISTORY_NONE;
    queue_topic_give_back(t);
}

/* ---- what is there ---- */

void sim_topic_look(struct sim *s, uint32_t slot)
{
    struct queue_topic *t = find(s, slot);
    uint32_t before = s->slots[slot];
    if (t == NULL) {
        if (before != HISTORY_NONE)
            sim_put(s, (struct event){.kind = EVENT_MISSED, .topic = before});
        s->slots[slot] = HISTORY_NONE;
        return;
    }
    if (incarnation_of(s, t) == HISTORY_NONE)
        add(s, &t->id, slot);
    s->slots[slot] = incarnation_of(s, t);
    if (before != HISTORY_NONE && before != s->slots[slot])
        sim_put(s, (struct event){.kind = EVENT_MISSED, .topic = before});
    sim_put(s, (struct event){.kind = EVENT_FOUND,
                              .topic = s->slots[slot],
                              .until_ms = setting_of(queue_topic_config(t))});
    for (uint32_t i = 0; i < queue_partitions(t); i++) {
        struct queue_partition_info info;
        queue_partition_look(t, i, &info);
        if (info.closed)
            sim_put(s, (struct event){.kind = EVENT_CLOSED, .topic = s->slots[slot]});
    }
    queue_topic_give_back(t);
}

/* ---- strays ---- */

struct strays {
    struct sim *s;
    uint64_t n;          /* that belong to no topic */
    uint64_t keys, logs; /* that belong to one */
};

/* Whether a topic with this id is there. */
static bool is_there(struct sim *s, const char *hex)
{
    for (uint32_t slot = 0; slot < SIM_SLOTS; slot++) {
        char id[ID_DIGITS + 1];
        if (s->slots[slot] == HISTORY_NONE)
            continue;
        codec_hex_text((struct bytes){s->topics[s->slots[slot]].id.at, ID_DIGITS / 2}, id);
        if (strncmp(id, hex, ID_DIGITS) == 0)
            return true;
    }
    return false;
}

static void look_at_keys(struct strays *out)
{
    struct catalog_kvs kvs;
    enum err e = catalog_list(out->s->q->catalog, "", &kvs);
    if (e != ERR_OK) {
        out->n++;
        return;
    }
    for (size_t i = 0; i < kvs.n; i++) {
        const char *key = kvs.at[i].key, *id = key + 2;
        char named[ID_DIGITS + 1] = {0};
        if (key[0] == 'n' && kvs.at[i].value.n == ID_DIGITS)
            id = memcpy(named, kvs.at[i].value.at, ID_DIGITS);
        if (key[1] != '/' || strchr("ntgpr", key[0]) == NULL)
            continue;
        bool known = is_there(out->s, id);
        out->keys += known && key[0] != 'r'; /* not every topic has redrives */
        out->n += !known;
    }
    catalog_kvs_fini(&kvs);
}

static void look_at_log(void *arg, struct plog_log *log)
{
    struct strays *out = arg;
    struct plog_id id = plog_log_id(log);
    char hex[ID_DIGITS + 1];
    codec_hex_text((struct bytes){id.topic, sizeof id.topic}, hex);
    bool known = is_there(out->s, hex);
    out->logs += known;
    out->n += !known;
}

static void look_at_file(void *arg, const char *path, uint64_t bytes)
{
    struct strays *out = arg;
    (void)bytes;
    if (strncmp(path, "t/", 2) == 0)
        out->n += !is_there(out->s, path + 2);
}

void sim_strays(struct sim *s)
{
    struct strays found = {.s = s};
    uint64_t keys = 0, logs = 0;
    for (uint32_t slot = 0; slot < SIM_SLOTS; slot++) {
        if (s->slots[slot] == HISTORY_NONE)
            continue;
        keys += 3 + s->plans[slot].partitions; /* name, topic, group */
        logs += s->plans[slot].partitions;
    }
    look_at_keys(&found);
    plog_each(s->q->plog, look_at_log, &found);
    fault_disk_each(s->disk, look_at_file, &found);
    uint64_t missing = (found.keys < keys ? keys - found.keys : found.keys - keys) +
                       (found.logs < logs ? logs - found.logs : found.logs - logs);
    sim_put(s, (struct event){.kind = EVENT_STRAYS, .visible = found.n + missing});
}
