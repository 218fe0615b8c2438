// SPDX-License-Identifier: Apache-2.0
#include "rest/settings.h"

#include <stdio.h>
#include <string.h>

#include "base/check.h"
#include "base/utf8.h"
#include "rest/query.h"

enum { TAG_NAME_MAX = 128, TAG_VALUE_MAX = 256, MEMBERS_ROOM = 500 };

static const struct {
    const char *name;
    enum rest_kind kind;
    int64_t min, max;
} rows[REST_SETTINGS_N] = {
#define SETTING(name, kind, min, max) {#name, REST_##kind, min, max},
#include "rest.def"
};

bool rest_topic_name_is_fifo(struct bytes name)
{
    return name.n >= 5 && memcmp((const char *)name.at + name.n - 5, ".fifo", 5) == 0;
}

bool rest_topic_name_valid(struct bytes name)
{
    const char *at = name.at;
    size_t n = rest_topic_name_is_fifo(name) ? name.n - 5 : name.n;
    if (n == 0 || name.n > TOPIC_NAME_MAX)
        return false;
    for (size_t i = 0; i < n; i++) {
        char c = at[i];
        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
              c == '_' || c == '-'))
            return false;
    }
    return true;
}

/* ---- reading ---- */

struct reading {
    struct json json;
    struct arena *arena;
    struct rest_settings *out;
    struct rest_fault *fault;
};

/* One of two words: 0 or 1. */
static bool read_choice(struct reading *r, const struct rest_place *at, const char *const words[2],
                        int64_t *value)
{
    struct bytes text = BYTES_NONE;
    if (!rest_body_text(&r->json, at, 0, 64, &text, r->fault))
        return false;
    *value = bytes_equal(text, bytes_of_text(words[1]));
    if (text.at == NULL || *value == 1 || bytes_equal(text, bytes_of_text(words[0])))
        return true;
    return rest_body_fault(r->fault, REST_PROBLEM_INVALID_BODY, at, "must be %s or %s", words[0],
                           words[1]);
}

static bool read_when_full(struct reading *r, const struct rest_place *at, int64_t *value)
{
    struct bytes text = BYTES_NONE;
    enum topic_when_full way = TOPIC_FULL_REJECT;
    if (!rest_body_text(&r->json, at, 0, 64, &text, r->fault))
        return false;
    if (text.at != NULL && !topic_when_full_read(text, &way))
        return rest_body_fault(r->fault, REST_PROBLEM_INVALID_BODY, at,
                               "must be reject, drop_oldest or dead_letter");
    *value = way;
    return true;
}

static bool read_target(struct reading *r, const struct rest_place *at)
{
    struct bytes name = BYTES_NONE;
    if (!rest_body_text(&r->json, at, 1, TOPIC_NAME_MAX, &name, r->fault))
        return false;
    if (name.at != NULL && !rest_topic_name_valid(name))
        return rest_body_fault(r->fault, REST_PROBLEM_INVALID_BODY, at,
                               "must be the name of a topic");
    r->out->target = arena_copy(r->arena, name).at;
    return true;
}

static bool read_redrive(struct reading *r, const struct rest_place *up)
{
    struct bytes key;
    if (!rest_body_object(&r->json, up, r->fault))
        return false;
    while (json_next_member(&r->json, &key)) {
        const struct rest_place at = {up, key, 0};
        bool is_target = bytes_equal(key, BYTES_OF("topic"));
        struct rest_setting *s = is_target ? &r->out->target_given : &r->out->receives_max;
        if (!is_target && !bytes_equal(key, BYTES_OF("receives_max")))
            return rest_body_unknown(&at, "topic, receives_max", r->fault);
        s->given = true;
        s->null = json_read_null(&r->json);
        if (s->null)
            continue;
        if (!(is_target
                  ? read_target(r, &at)
                  : rest_body_number(&r->json, &at, 1, TOPIC_RECEIVES_MAX, &s->value, r->fault)))
            return false;
    }
    return true;
}

/* Values come out of the catalogue as C strings, so there is no U+0000 in them. */
static bool tag_text(struct reading *r, struct bytes text, const char **out)
{
    *out = arena_copy(r->arena, text).at;
    return utf8_first_forbidden(text) == text.n;
}

static bool read_tags(struct reading *r, const struct rest_place *up)
{
    struct bytes key, value = BYTES_NONE;
    if (!rest_body_object(&r->json, up, r->fault))
        return false;
    r->out->tags = arena_zeros(r->arena, 2 * TOPIC_TAGS_MAX * sizeof *r->out->tags);
    while (json_next_member(&r->json, &key)) {
        const struct rest_place at = {up, key, 0};
        struct rest_tag *tag = &r->out->tags[r->out->tags_n];
        if (r->out->tags_n == 2 * TOPIC_TAGS_MAX)
            return rest_body_fault(r->fault, REST_PROBLEM_INVALID_BODY, up,
                                   "must have at most %d members", TOPIC_TAGS_MAX);
        if (key.n == 0 || key.n > TAG_NAME_MAX || !tag_text(r, key, &tag->name))
            return rest_body_fault(r->fault, REST_PROBLEM_INVALID_BODY, &at,
                                   "a tag's name has 1 to %d bytes and no control characters",
                                   TAG_NAME_MAX);
        r->out->tags_n++;
        if (json_read_null(&r->json))
            continue;
        if (!rest_body_text(&r->json, &at, 0, TAG_VALUE_MAX, &value, r->fault))
            return false;
        if (!tag_text(r, value, &tag->value))
            return rest_body_fault(r->fault, REST_PROBLEM_INVALID_BODY, &at,
                                   "a tag has no control characters");
    }
    return true;
}

static const char *const scopes[2] = {"topic", "group"}, *const cleanups[2] = {"delete", "compact"};

static bool read_value(struct reading *r, unsigned id, bool seconds, const struct rest_place *at)
{
    struct rest_setting *s = &r->out->values[id];
    bool flag = false;
    if (s->given) /* as text under one name, in seconds under the other */
        return rest_body_fault(r->fault, REST_PROBLEM_INVALID_BODY, at,
                               "%s and %s_seconds are one setting: give one of them", rows[id].name,
                               rows[id].name);
    s->given = true;
    s->null = json_read_null(&r->json);
    if (s->null)
        return true;
    switch (rows[id].kind) {
    case REST_NUMBER:
        return rest_body_number(&r->json, at, rows[id].min, rows[id].max, &s->value, r->fault);
    case REST_DURATION:
        return (seconds ? rest_body_seconds : rest_body_duration)(
            &r->json, at, rows[id].min, rows[id].max, &s->value, r->fault);
    case REST_FLAG:
        if (!rest_body_flag(&r->json, at, &flag, r->fault))
            return false;
        s->value = flag;
        return true;
    case REST_CHOICE:
        if (id == REST_SETTING_when_full)
            return read_when_full(r, at, &s->value);
        return read_choice(r, at, id == REST_SETTING_cleanup ? cleanups : scopes, &s->value);
    case REST_OBJECT:
        return id == REST_SETTING_redrive ? read_redrive(r, at) : read_tags(r, at);
    case REST_TEXT:
        break;
    }
    CHECK(false);
    return false;
}

static bool refuse_unknown(struct reading *r, const struct rest_place *at)
{
    char known[MEMBERS_ROOM] = "";
    size_t n = 0;
    for (unsigned i = 0; i < REST_SETTINGS_N && n < sizeof known; i++)
        n +=
            (size_t)snprintf(known + n, sizeof known - n, "%s%s", i == 0 ? "" : ", ", rows[i].name);
    return rest_body_unknown(at, known, r->fault);
}

static bool read_member(struct reading *r, struct bytes key)
{
    static const char *const ignored[] = {"name",  "version", "created_at", "modified_at",
                                          "stats", "usage",   "oldest"};
    const struct rest_place at = {NULL, key, 0};
    for (size_t i = 0; i < sizeof ignored / sizeof ignored[0]; i++)
        if (bytes_equal(key, bytes_of_text(ignored[i]))) {
            (void)json_skip(&r->json);
            return true;
        }
    for (unsigned id = 0; id < REST_SETTINGS_N; id++) {
        struct bytes name = bytes_of_text(rows[id].name), more = BYTES_OF("_seconds");
        if (bytes_equal(key, name))
            return read_value(r, id, false, &at);
        if (rows[id].kind == REST_DURATION && key.n == name.n + more.n &&
            bytes_start_with(key, name) &&
            memcmp((const char *)key.at + name.n, more.at, more.n) == 0)
            return read_value(r, id, true, &at);
    }
    return refuse_unknown(r, &at);
}

bool rest_settings_read(struct bytes body, struct arena *arena, struct rest_settings *out,
                        struct rest_fault *f)
{
    struct reading r = {.arena = arena, .out = out, .fault = f};
    struct bytes key;
    memset(out, 0, sizeof *out);
    if (body.n == 0)
        return true;
    json_init(&r.json, body, arena);
    bool fine = rest_body_object(&r.json, NULL, f);
    while (fine && json_next_member(&r.json, &key))
        fine = read_member(&r, key);
    return rest_body_finish(&r.json, fine, f);
}

/* ---- applying ---- */

static const struct rest_place *place_of(enum rest_setting_id id, struct rest_place *room)
{
    *room = (struct rest_place){NULL, bytes_of_text(rows[id].name), 0};
    return room;
}

/* What a setting becomes; false: it stays. */
static bool becomes(const struct rest_setting *s, bool patch, int64_t preset, int64_t *value)
{
    if (s->given && !s->null)
        *value = s->value;
    else if (s->given || !patch)
        *value = preset;
    else
        return false;
    return true;
}

static bool apply_fixed(const struct rest_settings *s, bool fresh, struct topic_config *t,
                        struct rest_fault *f)
{
    const struct rest_setting *fifo = &s->values[REST_SETTING_fifo];
    const struct rest_setting *partitions = &s->values[REST_SETTING_partitions];
    struct rest_place at;
    bool by_name = rest_topic_name_is_fifo(bytes_of_text(t->name));
    if (fresh) {
        t->fifo = by_name;
        if (partitions->given && !partitions->null)
            t->partitions = (uint32_t)partitions->value;
    } else if (partitions->given && !partitions->null &&
               partitions->value != (int64_t)t->partitions) {
        return rest_body_fault(f, REST_PROBLEM_IMMUTABLE, place_of(REST_SETTING_partitions, &at),
                               "the topic has %u partitions, which is fixed", t->partitions);
    }
    if (!fifo->given || fifo->null || (fifo->value != 0) == t->fifo)
        return true;
    if (!fresh)
        return rest_body_fault(f, REST_PROBLEM_IMMUTABLE, place_of(REST_SETTING_fifo, &at),
                               "the topic is %sFIFO, which is fixed", t->fifo ? "" : "not ");
    return rest_body_fault(f, REST_PROBLEM_INVALID_BODY, place_of(REST_SETTING_fifo, &at),
                           "a topic is FIFO exactly when its name ends in .fifo");
}

/* A setting of copies that is fixed: what is there may be said again. */
static bool refuse_other(const struct rest_settings *s, enum rest_setting_id id, uint32_t now,
                         struct rest_fault *f)
{
    const struct rest_setting *given = &s->values[id];
    struct rest_place at;
    if (!given->given || given->null || given->value == (int64_t)now)
        return true;
    return rest_body_fault(f, REST_PROBLEM_IMMUTABLE, place_of(id, &at), "it is %u, which is fixed",
                           now);
}

/* Whether there are brokers enough, and whether one copy is meant, is the queue's to judge. */
static bool apply_copies(const struct rest_settings *s, bool fresh, struct topic_config *t,
                         struct rest_fault *f)
{
    const struct rest_setting *allow = &s->values[REST_SETTING_allow_single_copy];
    struct rest_place at;
    int64_t copies, min_isr;
    /* On one node, and of a topic that was made on one, nothing is stored: it has one copy. */
    uint32_t copies_now = t->copies == 0 ? 1 : t->copies;
    uint32_t min_now = t->min_isr == 0 ? 1 : t->min_isr;
    if (!fresh) {
        bool refused =
            allow->given && !allow->null && allow->value == 0 && t->copies != 0 && min_now == 1;
        if (refused)
            return rest_body_fault(f, REST_PROBLEM_IMMUTABLE,
                                   place_of(REST_SETTING_allow_single_copy, &at),
                                   "the topic was made with it, which is fixed");
        return refuse_other(s, REST_SETTING_copies, copies_now, f) &&
               refuse_other(s, REST_SETTING_min_isr, min_now, f);
    }
    (void)becomes(&s->values[REST_SETTING_copies], false, 0, &copies);
    (void)becomes(&s->values[REST_SETTING_min_isr], false, 0, &min_isr);
    t->copies = (uint32_t)copies;
    t->min_isr = (uint32_t)min_isr;
    t->allow_single_copy = allow->given && !allow->null && allow->value != 0;
    if (copies == 0)
        copies = TOPIC_COPIES_DEFAULT;
    if (min_isr > copies)
        return rest_body_fault(f, REST_PROBLEM_INVALID_BODY, place_of(REST_SETTING_min_isr, &at),
                               "must be at most the number of copies, which is %d", (int)copies);
    return true;
}

/* A compact topic is a log: it is not FIFO, and there is nothing to delay or to redrive. */
static bool apply_compact(const struct rest_settings *s, bool patch, bool fresh,
                          struct topic_config *t, struct rest_fault *f)
{
    const struct rest_setting *cleanup = &s->values[REST_SETTING_cleanup];
    const struct rest_setting *retention = &s->values[REST_SETTING_delete_retention];
    const struct rest_setting *delay = &s->values[REST_SETTING_delay];
    const struct rest_setting *redrive = &s->values[REST_SETTING_redrive];
    struct rest_place at;
    bool given = cleanup->given && !cleanup->null;
    if (fresh)
        t->compact = given && cleanup->value == 1;
    else if (given && (cleanup->value == 1) != t->compact)
        return rest_body_fault(f, REST_PROBLEM_IMMUTABLE, place_of(REST_SETTING_cleanup, &at),
                               "the topic is %scompact, which is fixed", t->compact ? "" : "not ");
    if (t->compact && t->fifo)
        return rest_body_fault(f, REST_PROBLEM_INVALID_BODY, place_of(REST_SETTING_cleanup, &at),
                               "a FIFO topic is never compact");
    if (!t->compact && retention->given && !retention->null)
        return rest_body_fault(f, REST_PROBLEM_INVALID_BODY,
                               place_of(REST_SETTING_delete_retention, &at),
                               "only compact topics have this");
    if (t->compact && delay->given && !delay->null && delay->value > 0)
        return rest_body_fault(f, REST_PROBLEM_INVALID_BODY, place_of(REST_SETTING_delay, &at),
                               "a compact topic has no delay");
    if (t->compact && redrive->given && !redrive->null)
        return rest_body_fault(f, REST_PROBLEM_INVALID_BODY, place_of(REST_SETTING_redrive, &at),
                               "a compact topic has no dead letters");
    (void)becomes(retention, patch, TOPIC_DELETE_RETENTION_MS, &t->delete_retention_ms);
    return true;
}

static bool apply_fifo_only(const struct rest_settings *s, bool patch, struct topic_config *t,
                            struct rest_fault *f)
{
    const struct rest_setting *dedup = &s->values[REST_SETTING_content_deduplication];
    const struct rest_setting *scope = &s->values[REST_SETTING_deduplication_scope];
    struct rest_place at;
    int64_t value;
    if (!t->fifo) {
        if (dedup->given && !dedup->null && dedup->value != 0)
            return rest_body_fault(f, REST_PROBLEM_INVALID_BODY,
                                   place_of(REST_SETTING_content_deduplication, &at),
                                   "only FIFO topics have this");
        if (scope->given && !scope->null)
            return rest_body_fault(f, REST_PROBLEM_INVALID_BODY,
                                   place_of(REST_SETTING_deduplication_scope, &at),
                                   "only FIFO topics have this");
        return true;
    }
    if (becomes(dedup, patch, 0, &value))
        t->content_dedup = value != 0;
    if (becomes(scope, patch, 0, &value)) {
        /* SQS allows throughput a group only with deduplication a group. */
        if (value == 0)
            topic_attribute_set(t, "FifoThroughputLimit", NULL);
        t->dedup_per_group = value != 0;
    }
    return true;
}

static bool apply_redrive(const struct rest_settings *s, bool patch, struct topic_config *t,
                          struct rest_fault *f)
{
    const struct rest_setting *redrive = &s->values[REST_SETTING_redrive];
    struct rest_place at;
    if (!redrive->given && patch)
        return true;
    if (!redrive->given || redrive->null || !patch) {
        t->receives_max = 0;
        t->dead_letter[0] = 0;
    }
    if (!redrive->given || redrive->null)
        return true;
    if (s->target_given.given)
        snprintf(t->dead_letter, sizeof t->dead_letter, "%s",
                 s->target_given.null ? "" : s->target);
    if (s->receives_max.given)
        t->receives_max = s->receives_max.null ? 0 : (uint32_t)s->receives_max.value;
    if (t->dead_letter[0] == 0 || t->receives_max == 0)
        return rest_body_fault(f, REST_PROBLEM_INVALID_BODY, place_of(REST_SETTING_redrive, &at),
                               "must have both topic and receives_max (1 to %d), or be null",
                               TOPIC_RECEIVES_MAX);
    if (strcmp(t->dead_letter, t->name) == 0)
        return rest_body_fault(f, REST_PROBLEM_INVALID_BODY, place_of(REST_SETTING_redrive, &at),
                               "a topic cannot be its own dead-letter topic");
    return true;
}

static bool tag_named(const struct rest_settings *s, const char *name)
{
    for (size_t i = 0; i < s->tags_n; i++)
        if (strcmp(s->tags[i].name, name) == 0)
            return true;
    return false;
}

/* Tags that stay keep their places, so that the same settings have the same stored form. */
static bool apply_tags(const struct rest_settings *s, bool patch, struct topic_config *t,
                       struct rest_fault *f)
{
    const struct rest_setting *tags = &s->values[REST_SETTING_tags];
    struct rest_place at;
    if (!tags->given && patch)
        return true;
    for (size_t i = 0; i < t->tags_n;) {
        if ((patch && !tags->null) || tag_named(s, t->tags[i].name))
            i++;
        else
            topic_tag_set(t, t->tags[i].name, NULL);
    }
    for (size_t i = 0; i < s->tags_n; i++)
        topic_tag_set(t, s->tags[i].name, s->tags[i].value);
    if (t->tags_n > TOPIC_TAGS_MAX)
        return rest_body_fault(f, REST_PROBLEM_INVALID_BODY, place_of(REST_SETTING_tags, &at),
                               "must have at most %d members", TOPIC_TAGS_MAX);
    return true;
}

static bool apply_limits(const struct rest_settings *s, bool patch, struct topic_config *t,
                         struct rest_fault *f)
{
    struct rest_place at;
    int64_t value;
    if (becomes(&s->values[REST_SETTING_retention_bytes], patch, 0, &value))
        t->retention_bytes = value;
    if (becomes(&s->values[REST_SETTING_max_bytes], patch, 0, &value))
        t->max_bytes = value;
    if (becomes(&s->values[REST_SETTING_max_messages], patch, 0, &value))
        t->max_messages = value;
    if (becomes(&s->values[REST_SETTING_when_full], patch, TOPIC_FULL_REJECT, &value))
        t->when_full = (enum topic_when_full)value;
    /* SQS may take the target away; then sends are refused, and other changes are not. */
    bool touched =
        !patch || s->values[REST_SETTING_when_full].given || s->values[REST_SETTING_redrive].given;
    if (t->compact && (t->retention_bytes > 0 || t->max_bytes > 0 || t->max_messages > 0))
        return rest_body_fault(f, REST_PROBLEM_INVALID_BODY, place_of(REST_SETTING_cleanup, &at),
                               "a compact topic has no limits: its keys are its limit");
    if (touched && t->when_full == TOPIC_FULL_DEAD_LETTER && t->receives_max == 0)
        return rest_body_fault(f, REST_PROBLEM_INVALID_BODY, place_of(REST_SETTING_when_full, &at),
                               "dead_letter needs redrive, which says where messages go");
    return true;
}

bool rest_settings_apply(const struct rest_settings *s, bool patch, bool fresh,
                         struct topic_config *t, struct rest_fault *f)
{
    struct topic_config preset;
    int64_t value;
    topic_config_init(&preset);
    if (!apply_fixed(s, fresh, t, f) || !apply_copies(s, fresh, t, f) ||
        !apply_compact(s, patch, fresh, t, f) || !apply_fifo_only(s, patch, t, f) ||
        !apply_redrive(s, patch, t, f) || !apply_tags(s, patch, t, f) ||
        !apply_limits(s, patch, t, f))
        return false;
    if (becomes(&s->values[REST_SETTING_visibility], patch, preset.visibility_ms, &value))
        t->visibility_ms = value;
    if (becomes(&s->values[REST_SETTING_delay], patch, preset.delay_ms, &value))
        t->delay_ms = value;
    if (becomes(&s->values[REST_SETTING_retention], patch, preset.retention_ms, &value))
        t->retention_ms = value;
    if (becomes(&s->values[REST_SETTING_receive_wait], patch, preset.receive_wait_ms, &value))
        t->receive_wait_ms = value;
    if (becomes(&s->values[REST_SETTING_message_bytes_max], patch,
                (int64_t)preset.message_bytes_max, &value))
        t->message_bytes_max = (uint32_t)value;
    return true;
}
