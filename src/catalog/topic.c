// SPDX-License-Identifier: Apache-2.0
#include "catalog/topic.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "catalog/topic_json.h"

static const char *const state_names[] = {"creating", "ready", "deleting"};
static const char *const when_full_names[TOPIC_FULL_WAYS] = {"reject", "drop_oldest",
                                                             "dead_letter"};

const char *topic_when_full_name(enum topic_when_full way)
{
    CHECK(way < TOPIC_FULL_WAYS);
    return when_full_names[way];
}

bool topic_when_full_read(struct bytes name, enum topic_when_full *way)
{
    for (unsigned i = 0; i < TOPIC_FULL_WAYS; i++)
        if (bytes_equal(name, bytes_of_text(when_full_names[i]))) {
            *way = (enum topic_when_full)i;
            return true;
        }
    return false;
}

/* ---- attributes and tags: lists without doubles, in the order in which they were set ---- */

struct list {
    struct topic_attribute **at;
    size_t *n;
};

static struct topic_attribute *list_find(struct list l, const char *name)
{
    for (size_t i = 0; i < *l.n; i++)
        if (strcmp((*l.at)[i].name, name) == 0)
            return &(*l.at)[i];
    return NULL;
}

static void list_remove(struct list l, const char *name)
{
    struct topic_attribute *found = list_find(l, name);
    if (found == NULL)
        return;
    mem_free(found->name);
    mem_free(found->value);
    size_t behind = (size_t)(*l.at + *l.n - (found + 1));
    memmove(found, found + 1, behind * sizeof *found);
    --*l.n;
}

static void list_set(struct list l, const char *name, const char *value)
{
    struct topic_attribute *found = list_find(l, name);
    char *copy = mem_copy_text(value); /* before the old one goes: value may be it */
    if (found != NULL) {
        mem_free(found->value);
        found->value = copy;
        return;
    }
    *l.at = mem_resize(*l.at, (*l.n + 1) * sizeof **l.at);
    (*l.at)[(*l.n)++] = (struct topic_attribute){mem_copy_text(name), copy};
}

static void list_fini(struct list l)
{
    for (size_t i = 0; i < *l.n; i++) {
        mem_free((*l.at)[i].name);
        mem_free((*l.at)[i].value);
    }
    mem_free(*l.at);
    *l.at = NULL;
    *l.n = 0;
}

static struct list attributes_of(struct topic_config *t)
{
    return (struct list){&t->attributes, &t->attributes_n};
}

static struct list tags_of(struct topic_config *t)
{
    return (struct list){&t->tags, &t->tags_n};
}

/* ---- the struct ---- */

void topic_config_init(struct topic_config *t)
{
    *t = (struct topic_config){
        .state = TOPIC_CREATING,
        .partitions = 1,
        .retention_ms = 345600000, /* 4 days */
        .visibility_ms = 30000,
        .message_bytes_max = TOPIC_MESSAGE_BYTES_MAX,
        .delete_retention_ms = TOPIC_DELETE_RETENTION_MS,
    };
}

void topic_config_fini(struct topic_config *t)
{
    list_fini(attributes_of(t));
    list_fini(tags_of(t));
}

void topic_config_copy(struct topic_config *to, const struct topic_config *from)
{
    CHECK(to != from);
    *to = *from;
    to->attributes = to->tags = NULL;
    to->attributes_n = to->tags_n = 0;
    for (size_t i = 0; i < from->attributes_n; i++)
        list_set(attributes_of(to), from->attributes[i].name, from->attributes[i].value);
    for (size_t i = 0; i < from->tags_n; i++)
        list_set(tags_of(to), from->tags[i].name, from->tags[i].value);
}

const char *topic_attribute_get(const struct topic_config *t, const char *name)
{
    for (size_t i = 0; i < t->attributes_n; i++)
        if (strcmp(t->attributes[i].name, name) == 0)
            return t->attributes[i].value;
    return NULL;
}

void topic_attribute_set(struct topic_config *t, const char *name, const char *value)
{
    if (value == NULL || value[0] == '\0')
        list_remove(attributes_of(t), name);
    else
        list_set(attributes_of(t), name, value);
}

void topic_tag_set(struct topic_config *t, const char *name, const char *value)
{
    if (value == NULL)
        list_remove(tags_of(t), name);
    else
        list_set(tags_of(t), name, value);
}

/* ---- JSON of a topic ---- */

static json_t *list_encode(const struct topic_attribute *at, size_t n)
{
    json_t *object = json_object();
    for (size_t i = 0; i < n; i++)
        CHECK(json_object_set_new(object, at[i].name, json_string(at[i].value)) == 0);
    return object;
}

static bool has_limits(const struct topic_config *t)
{
    return t->retention_bytes != 0 || t->max_bytes != 0 || t->max_messages != 0 ||
           t->when_full != TOPIC_FULL_REJECT;
}

static bool has_copies(const struct topic_config *t)
{
    return t->copies != 0 || t->min_isr != 0;
}

static void limits_encode(const struct topic_config *t, json_t *root)
{
    json_t *limits = json_pack(
        "{s:o, s:o, s:o, s:s}", "retention_bytes", catalog_json_int64(t->retention_bytes),
        "max_bytes", catalog_json_int64(t->max_bytes), "max_messages",
        catalog_json_int64(t->max_messages), "when_full", topic_when_full_name(t->when_full));
    CHECK(json_object_update(root, limits) == 0);
    json_decref(limits);
}

static void compact_encode(const struct topic_config *t, json_t *root)
{
    json_t *retention = catalog_json_int64(t->delete_retention_ms);
    CHECK(json_object_set_new(root, "cleanup", json_string("compact")) == 0);
    CHECK(json_object_set_new(root, "delete_retention_ms", retention) == 0);
}

/* Only a topic that needs the newer format has it, so that an older broker reads all others. */
void topic_config_encode(const struct topic_config *t, struct buf *json)
{
    char id[33];
    bool newer = has_limits(t) || t->compact || has_copies(t);
    catalog_hex_write(id, t->id, sizeof t->id);
    json_t *root = json_pack(
        "{s:i, s:s, s:s, s:s, s:b, s:I, s:o, s:o, s:o, s:o, s:o, s:o, s:I, s:b, s:b, s:I, s:s,"
        " s:o, s:o}",
        "format", newer ? CATALOG_JSON_FORMAT_TOPIC : CATALOG_JSON_FORMAT, "id", id, "name",
        t->name, "state", state_names[t->state], "fifo", (int)t->fifo, "partitions",
        (json_int_t)t->partitions, "created_wall_ms", catalog_json_int64(t->created_wall_ms),
        "modified_wall_ms", catalog_json_int64(t->modified_wall_ms), "delay_ms",
        catalog_json_int64(t->delay_ms), "retention_ms", catalog_json_int64(t->retention_ms),
        "visibility_ms", catalog_json_int64(t->visibility_ms), "receive_wait_ms",
        catalog_json_int64(t->receive_wait_ms), "message_bytes_max",
        (json_int_t)t->message_bytes_max, "content_dedup", (int)t->content_dedup, "dedup_per_group",
        (int)t->dedup_per_group, "receives_max", (json_int_t)t->receives_max, "dead_letter",
        t->dead_letter, "attributes", list_encode(t->attributes, t->attributes_n), "tags",
        list_encode(t->tags, t->tags_n));
    CHECK(root != NULL); /* no memory, or text that is not UTF-8, which callers keep out */
    if (has_limits(t))
        limits_encode(t, root);
    if (t->compact)
        compact_encode(t, root);
    if (has_copies(t)) {
        CHECK(json_object_set_new(root, "copies", json_integer(t->copies)) == 0);
        CHECK(json_object_set_new(root, "min_isr", json_integer(t->min_isr)) == 0);
    }
    catalog_json_store(root, json);
}

/* What json_unpack lends of a topic before its bounds are checked; valid while the root lives. */
struct topic_parts {
    const char *id, *name, *state, *created, *modified, *delay, *retention, *visibility, *wait;
    const char *dead_letter;
    /* NULL: not given. */
    const char *retention_bytes, *max_bytes, *max_messages, *when_full;
    const char *cleanup, *delete_retention;
    json_int_t partitions, message_bytes_max, receives_max;
    json_int_t copies, min_isr; /* -1: not given */
    json_t *attributes, *tags;
    int format, fifo, content_dedup, dedup_per_group;
};

static bool topic_parts_read(json_t *root, struct topic_parts *p)
{
    p->cleanup = p->delete_retention = NULL;
    p->copies = p->min_isr = -1;
    return json_unpack_ex(
               root, NULL, JSON_STRICT,
               "{s:i, s:s, s:s, s:s, s:b, s:I, s:s, s:s, s:s, s:s, s:s, s:s, s:I, s:b, s:b, s:I,"
               " s:s, s:o, s:o, s?:s, s?:s, s?:s, s?:s, s?:s, s?:s, s?:I, s?:I}",
               "format", &p->format, "id", &p->id, "name", &p->name, "state", &p->state, "fifo",
               &p->fifo, "partitions", &p->partitions, "created_wall_ms", &p->created,
               "modified_wall_ms", &p->modified, "delay_ms", &p->delay, "retention_ms",
               &p->retention, "visibility_ms", &p->visibility, "receive_wait_ms", &p->wait,
               "message_bytes_max", &p->message_bytes_max, "content_dedup", &p->content_dedup,
               "dedup_per_group", &p->dedup_per_group, "receives_max", &p->receives_max,
               "dead_letter", &p->dead_letter, "attributes", &p->attributes, "tags", &p->tags,
               "retention_bytes", &p->retention_bytes, "max_bytes", &p->max_bytes, "max_messages",
               &p->max_messages, "when_full", &p->when_full, "cleanup", &p->cleanup,
               "delete_retention_ms", &p->delete_retention, "copies", &p->copies, "min_isr",
               &p->min_isr) == 0;
}

/* All four members, or none. */
static bool limits_read(const struct topic_parts *p, struct topic_config *t)
{
    if (p->retention_bytes == NULL)
        return p->max_bytes == NULL && p->max_messages == NULL && p->when_full == NULL;
    return p->max_bytes != NULL && p->max_messages != NULL && p->when_full != NULL &&
           catalog_int64_read(p->retention_bytes, 0, TOPIC_LIMIT_MAX, &t->retention_bytes) &&
           catalog_int64_read(p->max_bytes, 0, TOPIC_LIMIT_MAX, &t->max_bytes) &&
           catalog_int64_read(p->max_messages, 0, TOPIC_LIMIT_MAX, &t->max_messages) &&
           topic_when_full_read(bytes_of_text(p->when_full), &t->when_full);
}

/* What format 2 added stands in topics of that format, and in none of the one before. */
static bool format_fits(const struct topic_parts *p)
{
    bool has_more = p->retention_bytes != NULL || p->cleanup != NULL || p->copies >= 0;
    return has_more == (p->format == CATALOG_JSON_FORMAT_TOPIC);
}

/* Copies a topic's name. A name goes into keys and paths, so a slash in it would be a breach. */
static bool name_read(const char *text, char name[TOPIC_NAME_MAX + 1])
{
    size_t n = strlen(text);
    if (n == 0 || n > TOPIC_NAME_MAX ||
        strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.") != n)
        return false;
    memcpy(name, text, n + 1);
    return true;
}

static bool state_read(const char *text, enum topic_state *state)
{
    for (size_t i = 0; i < sizeof state_names / sizeof state_names[0]; i++)
        if (strcmp(text, state_names[i]) == 0) {
            *state = (enum topic_state)i;
            return true;
        }
    return false;
}

static bool list_read(json_t *object, size_t n_max, struct list l)
{
    const char *name;
    json_t *value;
    if (!json_is_object(object) || json_object_size(object) > n_max)
        return false;
    json_object_foreach(object, name, value)
    {
        if (name[0] == '\0' || !json_is_string(value))
            return false;
        list_set(l, name, json_string_value(value));
    }
    return true;
}

static bool number_read(json_int_t v, json_int_t min, json_int_t max, uint32_t *out)
{
    if (v < min || v > max)
        return false;
    *out = (uint32_t)v;
    return true;
}

/* Both members, or none. */
static bool compact_read(const struct topic_parts *p, struct topic_config *t)
{
    if (p->cleanup == NULL)
        return p->delete_retention == NULL;
    t->compact = true;
    return strcmp(p->cleanup, "compact") == 0 && !t->fifo && p->delete_retention != NULL &&
           catalog_int64_read(p->delete_retention, 0, TOPIC_DELETE_RETENTION_MS_MAX,
                              &t->delete_retention_ms);
}

/* Both members, or none. */
static bool copies_read(const struct topic_parts *p, struct topic_config *t)
{
    if (p->copies < 0)
        return p->copies == -1 && p->min_isr == -1;
    return number_read(p->copies, 0, TOPIC_COPIES_MAX, &t->copies) &&
           number_read(p->min_isr, 0, p->copies == 0 ? TOPIC_COPIES_MAX : p->copies, &t->min_isr);
}

/* The bounds of times and sizes are SQS's: a front that allows more must raise the format. */
static bool topic_read(const struct topic_parts *p, struct topic_config *t)
{
    bool redrive = p->receives_max != 0;
    t->fifo = p->fifo != 0;
    t->content_dedup = p->content_dedup != 0;
    t->dedup_per_group = p->dedup_per_group != 0;
    return catalog_hex_read(p->id, t->id, sizeof t->id) && name_read(p->name, t->name) &&
           state_read(p->state, &t->state) &&
           number_read(p->partitions, 1, TOPIC_PARTITIONS_MAX, &t->partitions) &&
           catalog_int64_read(p->created, 0, INT64_MAX, &t->created_wall_ms) &&
           catalog_int64_read(p->modified, 0, INT64_MAX, &t->modified_wall_ms) &&
           catalog_int64_read(p->delay, 0, TOPIC_DELAY_MS_MAX, &t->delay_ms) &&
           catalog_int64_read(p->retention, TOPIC_RETENTION_MS_MIN, TOPIC_RETENTION_MS_MAX,
                              &t->retention_ms) &&
           catalog_int64_read(p->visibility, 0, TOPIC_VISIBILITY_MS_MAX, &t->visibility_ms) &&
           catalog_int64_read(p->wait, 0, TOPIC_WAIT_MS_MAX, &t->receive_wait_ms) &&
           number_read(p->message_bytes_max, TOPIC_MESSAGE_BYTES_MIN, TOPIC_MESSAGE_BYTES_MAX,
                       &t->message_bytes_max) &&
           number_read(p->receives_max, 0, TOPIC_RECEIVES_MAX, &t->receives_max) &&
           (redrive ? name_read(p->dead_letter, t->dead_letter) : p->dead_letter[0] == '\0') &&
           format_fits(p) && limits_read(p, t) && compact_read(p, t) && copies_read(p, t) &&
           list_read(p->attributes, TOPIC_ATTRIBUTES_MAX, attributes_of(t)) &&
           list_read(p->tags, TOPIC_TAGS_MAX, tags_of(t));
}

enum err topic_config_decode(struct bytes json, struct topic_config *out)
{
    json_t *root;
    struct topic_parts parts = {0};
    struct topic_config t;
    enum err e = catalog_json_load_upto(json, CATALOG_JSON_FORMAT_TOPIC, &root);
    if (e != ERR_OK)
        return e;
    topic_config_init(&t);
    if (topic_parts_read(root, &parts) && topic_read(&parts, &t)) {
        *out = t;
    } else {
        topic_config_fini(&t);
        e = ERR_CORRUPT;
    }
    json_decref(root);
    return e;
}

/* ---- JSON of groups and partitions ---- */

void group_config_encode(const struct group_config *g, struct buf *json)
{
    CHECK(g->generation <= INT64_MAX);
    catalog_json_store(json_pack("{s:i, s:I, s:o, s:b}", "format", CATALOG_JSON_FORMAT, "gid",
                                 (json_int_t)g->gid, "generation",
                                 catalog_json_int64((int64_t)g->generation), "dropped",
                                 (int)g->dropped),
                       json);
}

enum err group_config_decode(struct bytes json, struct group_config *out)
{
    json_t *root;
    json_int_t gid;
    const char *generation_text;
    int format, dropped;
    int64_t generation;
    struct group_config g;
    enum err e = catalog_json_load(json, &root);
    if (e != ERR_OK)
        return e;
    if (json_unpack_ex(root, NULL, JSON_STRICT, "{s:i, s:I, s:s, s:b}", "format", &format, "gid",
                       &gid, "generation", &generation_text, "dropped", &dropped) == 0 &&
        number_read(gid, 0, UINT32_MAX, &g.gid) &&
        catalog_int64_read(generation_text, 0, INT64_MAX, &generation)) {
        g.generation = (uint64_t)generation;
        g.dropped = dropped != 0;
        *out = g;
    } else {
        e = ERR_CORRUPT;
    }
    json_decref(root);
    return e;
}

void partition_config_encode(uint32_t broker, uint64_t epoch, struct buf *json)
{
    json_int_t id = broker;
    CHECK(epoch <= INT64_MAX);
    catalog_json_store(json_pack("{s:i, s:[I], s:I, s:o, s:[I], s:{}, s:[], s:[], s:s, s:s}",
                                 "format", CATALOG_JSON_FORMAT, "replicas", id, "leader", id,
                                 "epoch", catalog_json_int64((int64_t)epoch), "isr", id, "inc",
                                 "adding", "removing", "state", "ok", "op", "0"),
                       json);
}

/* ---- keys ---- */

void catalog_key_name(char *key, const char *topic_name)
{
    CHECK(strlen(topic_name) <= TOPIC_NAME_MAX);
    (void)snprintf(key, CATALOG_KEY_BYTES_MAX + 1, "n/%s", topic_name);
}

void catalog_key_topic(char *key, const uint8_t topic[16])
{
    char id[33];
    catalog_hex_write(id, topic, 16);
    (void)snprintf(key, CATALOG_KEY_BYTES_MAX + 1, "t/%s", id);
}

void catalog_key_group(char *key, const uint8_t topic[16], const char *group)
{
    char id[33];
    CHECK(strlen(group) <= TOPIC_NAME_MAX);
    catalog_hex_write(id, topic, 16);
    (void)snprintf(key, CATALOG_KEY_BYTES_MAX + 1, "g/%s/%s", id, group);
}

void catalog_key_partition(char *key, const uint8_t topic[16], uint32_t partition)
{
    char id[33];
    catalog_hex_write(id, topic, 16);
    (void)snprintf(key, CATALOG_KEY_BYTES_MAX + 1, "p/%s/%lu", id, (unsigned long)partition);
}

void catalog_key_redrives(char *key, const uint8_t topic[16])
{
    char id[33];
    catalog_hex_write(id, topic, 16);
    (void)snprintf(key, CATALOG_KEY_BYTES_MAX + 1, "r/%s", id);
}
