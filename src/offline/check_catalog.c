// SPDX-License-Identifier: Apache-2.0
#include "offline/check_catalog.h"

#include <stdio.h>
#include <string.h>

#include "base/codec.h"
#include "base/mem.h"
#include "offline/topics.h"

static const char file_name[] = "catalog.sqlite";
static const char restore[] = "restore catalog.sqlite from a backup of the same directory";

struct check {
    struct findings *findings;
    const struct offline_store *store;
    struct catalog_kvs kvs; /* all */
    struct offline_topics topics;
    bool unreadable; /* some topics' values are */
};

static void say_integrity(void *self, const char *fault)
{
    findings_fault(self, file_name, FINDING_WHOLE, restore, "SQLite: %s", fault);
}

static const struct catalog_kv *find(const struct check *c, const char *key)
{
    for (size_t i = 0; i < c->kvs.n; i++)
        if (strcmp(c->kvs.at[i].key, key) == 0)
            return &c->kvs.at[i];
    return NULL;
}

static void check_values(struct check *c)
{
    for (size_t i = 0; i < c->kvs.n; i++) {
        const struct catalog_kv *kv = &c->kvs.at[i];
        enum err e = catalog_value_check(kv->key, kv->value);
        if (e == ERR_NOT_FOUND)
            findings_remark(c->findings, file_name, FINDING_WHOLE,
                            "key %s is of no kind that this version knows", kv->key);
        else if (e != ERR_OK)
            findings_fault(c->findings, file_name, FINDING_WHOLE,
                           e == ERR_NEWER_FORMAT ? "use the version that wrote it" : restore,
                           "the value of key %s: %s", kv->key, err_text(e));
        bool topic = strncmp(kv->key, "t/", 2) == 0;
        c->unreadable = c->unreadable || (topic && e != ERR_OK);
        if (topic)
            offline_topics_put(&c->topics, kv);
    }
    static const char *const needed[] = {"k/epoch", "k/receipt", "k/ids"};
    for (size_t i = 0; i < sizeof needed / sizeof needed[0] && c->store->logs_n > 0; i++)
        if (find(c, needed[i]) == NULL)
            findings_fault(c->findings, file_name, FINDING_WHOLE, restore, "key %s is missing",
                           needed[i]);
}

static void need_key(const struct check *c, const char *key, const char *topic)
{
    if (find(c, key) == NULL)
        findings_fault(c->findings, file_name, FINDING_WHOLE, restore, "topic %s has no key %s",
                       topic, key);
}

/* The keys that each topic must have: one transaction makes and drops them. */
static void check_topic(const struct check *c, const struct topic_config *t)
{
    char key[CATALOG_KEY_BYTES_MAX + 1], id[2 * sizeof t->id + 1];
    codec_hex_text((struct bytes){t->id, sizeof t->id}, id);
    catalog_key_topic(key, t->id);
    need_key(c, key, t->name);
    catalog_key_group(key, t->id, "default");
    need_key(c, key, t->name);
    for (uint32_t i = 0; i < t->partitions; i++) {
        catalog_key_partition(key, t->id, i);
        need_key(c, key, t->name);
    }
    catalog_key_name(key, t->name);
    const struct catalog_kv *name = find(c, key);
    bool ours = name != NULL && bytes_equal(name->value, bytes_of_text(id));
    if (t->state != TOPIC_DELETING && !ours)
        findings_fault(c->findings, file_name, FINDING_WHOLE, restore,
                       "topic %s (t/%s) is not the one that key %s names", t->name, id, key);
    if (t->state == TOPIC_DELETING)
        findings_remark(c->findings, file_name, FINDING_WHOLE,
                        "topic %s is being deleted; the next start ends that", t->name);
    if (t->state == TOPIC_CREATING)
        findings_remark(c->findings, file_name, FINDING_WHOLE,
                        "topic %s is being made; the next start ends that", t->name);
}

/* Keys of names, groups and partitions must belong to a topic. */
static void check_owners(const struct check *c)
{
    for (size_t i = 0; i < c->kvs.n; i++) {
        const struct catalog_kv *kv = &c->kvs.at[i];
        uint8_t id[16];
        bool name = strncmp(kv->key, "n/", 2) == 0;
        bool part = strncmp(kv->key, "g/", 2) == 0 || strncmp(kv->key, "p/", 2) == 0;
        struct bytes hex = name ? kv->value : (struct bytes){kv->key + 2, 32};
        if ((!name && !part) || (part && strlen(kv->key) < 34) ||
            codec_hex_decode(hex, id, sizeof id) != ERR_OK)
            continue;
        if (offline_topics_find(&c->topics, id) == NULL && !c->unreadable)
            findings_fault(c->findings, file_name, FINDING_WHOLE, restore,
                           "key %s is that of a topic that is not there", kv->key);
    }
}

static void check_logs(const struct check *c)
{
    const struct offline_store *s = c->store;
    for (size_t i = 0; i < s->logs_n; i++) {
        const struct offline_log *l = &s->logs[i];
        const struct topic_config *t = offline_topics_find(&c->topics, l->id.topic);
        if ((t == NULL && !c->unreadable) || (t != NULL && l->id.partition >= t->partitions))
            findings_fault(c->findings, l->dir, FINDING_WHOLE,
                           "keep it and put back its catalogue: this one is older, or another's",
                           "the log belongs to no topic of the catalogue");
    }
    for (size_t i = 0; i < c->topics.n && s->marks_good; i++) {
        const struct topic_config *t = &c->topics.at[i];
        struct plog_id id;
        memcpy(id.topic, t->id, sizeof id.topic);
        for (id.partition = 0; id.partition < t->partitions; id.partition++) {
            char dir[OFFLINE_DIR_ROOM];
            offline_log_dir(id, dir);
            if (t->state == TOPIC_READY && offline_store_find(s, id) == NULL)
                findings_fault(
                    c->findings, dir, FINDING_WHOLE, "restore the directory from a backup",
                    "partition %u of topic %s has no log", (unsigned)id.partition, t->name);
        }
    }
}

static void check_open(struct check *c, struct catalog *catalog)
{
    enum err e = catalog_integrity(catalog, say_integrity, c->findings);
    if (e == ERR_OK)
        e = catalog_list(catalog, "", &c->kvs);
    if (e != ERR_OK) {
        findings_fault(c->findings, file_name, FINDING_WHOLE, restore, "%s", err_text(e));
        return;
    }
    check_values(c);
    for (size_t i = 0; i < c->topics.n; i++)
        check_topic(c, &c->topics.at[i]);
    check_owners(c);
    check_logs(c);
    offline_topics_fini(&c->topics);
    catalog_kvs_fini(&c->kvs);
}

void offline_check_catalog(const char *dir, const struct offline_store *s, struct findings *f)
{
    struct check c = {.findings = f, .store = s};
    struct catalog *catalog;
    char *path = offline_catalog_path(dir);
    enum err e = catalog_open_to_read(path, &catalog);
    if (e == ERR_OK) {
        check_open(&c, catalog);
        catalog_close(catalog);
    } else if (e == ERR_BUSY) {
        findings_remark(f, file_name, FINDING_WHOLE,
                        "a transaction was cut short, and the next start rolls it back; until then "
                        "the catalogue is not checked");
    } else if (e != ERR_NOT_FOUND || s->logs_n > 0) {
        findings_fault(f, file_name, FINDING_WHOLE, restore, "%s", err_text(e));
    }
    mem_free(path);
}
