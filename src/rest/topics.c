// SPDX-License-Identifier: Apache-2.0
/* Topics: list, show, make, change, delete. The version of a topic's settings is its ETag. */
#include <stdio.h>

#include "base/check.h"
#include "front/rules.h"
#include "rest/etag.h"
#include "rest/put.h"
#include "rest/settings.h"

struct topic_work {
    bool patch;
    bool made;
    struct rest_settings settings;
    struct rest_conditions conditions;
    /* of the change that is under way */
    struct rest_call *call;
};

/* ---- showing ---- */

static void put_redrive_and_tags(struct json_writer *w, const struct topic_config *t)
{
    if (t->receives_max > 0) {
        json_put_key(w, "redrive");
        json_begin_object(w);
        json_put_key(w, "topic");
        json_put_text(w, t->dead_letter);
        json_put_key(w, "receives_max");
        json_put_int64(w, t->receives_max);
        json_end_object(w);
    }
    if (t->tags_n == 0)
        return;
    json_put_key(w, "tags");
    json_begin_object(w);
    for (size_t i = 0; i < t->tags_n; i++) {
        json_put_key(w, t->tags[i].name);
        json_put_text(w, t->tags[i].value);
    }
    json_end_object(w);
}

static void put_warnings(struct json_writer *w, unsigned warnings)
{
    if (warnings == 0)
        return;
    json_put_key(w, "warnings");
    json_begin_array(w);
    if (warnings & QUEUE_WARNING_DEAD_LETTER_RETENTION)
        json_put_text(w, "dead_letter_retention");
    if (warnings & QUEUE_WARNING_DEDUPLICATION_WINDOW)
        json_put_text(w, "deduplication_window");
    if (warnings & QUEUE_WARNING_DEAD_LETTER_MISSING)
        json_put_text(w, "dead_letter_missing");
    json_end_array(w);
}

static void put_limit(struct json_writer *w, const char *key, int64_t limit)
{
    if (limit == 0)
        return;
    json_put_key(w, key);
    json_put_int64(w, limit);
}

static void put_limits(struct json_writer *w, const struct topic_config *t)
{
    put_limit(w, "retention_bytes", t->retention_bytes);
    put_limit(w, "max_bytes", t->max_bytes);
    put_limit(w, "max_messages", t->max_messages);
    if (t->max_bytes == 0 && t->max_messages == 0 && t->when_full == TOPIC_FULL_REJECT)
        return;
    json_put_key(w, "when_full");
    json_put_text(w, topic_when_full_name(t->when_full));
}

/* What a topic holds. */
struct contents {
    struct queue_oldest oldest;
    struct front_sum sum; /* among several brokers: of all leaders */
};

/* `contents` NULL: they were not looked for. What only this broker holds is not the topic's when
 * there are others, and is left out. */
static void put_topic(struct json_writer *w, struct queue_topic *topic, bool alone,
                      const struct contents *contents)
{
    int64_t version;
    const struct topic_config *t = queue_topic_config_version(topic, &version);
    char text[REST_ETAG_ROOM];
    struct queue_counters counters;
    rest_version_text(version, text);
    json_begin_object(w);
    json_put_key(w, "name");
    json_put_text(w, t->name);
    json_put_key(w, "fifo");
    json_put_bool(w, t->fifo);
    json_put_key(w, "partitions");
    json_put_int64(w, t->partitions);
    put_limit(w, "copies", t->copies);
    put_limit(w, "min_isr", t->min_isr);
    json_put_key(w, "version");
    json_put_text(w, text);
    rest_put_time(w, "created_at", t->created_wall_ms);
    rest_put_time(w, "modified_at", t->modified_wall_ms);
    rest_put_seconds(w, "visibility_seconds", t->visibility_ms);
    rest_put_seconds(w, "delay_seconds", t->delay_ms);
    rest_put_seconds(w, "retention_seconds", t->retention_ms);
    rest_put_seconds(w, "receive_wait_seconds", t->receive_wait_ms);
    json_put_key(w, "message_bytes_max");
    json_put_int64(w, t->message_bytes_max);
    if (t->fifo) {
        json_put_key(w, "content_deduplication");
        json_put_bool(w, t->content_dedup);
        json_put_key(w, "deduplication_scope");
        json_put_text(w, t->dedup_per_group ? "group" : "topic");
    }
    put_limits(w, t);
    json_put_key(w, "cleanup");
    json_put_text(w, t->compact ? "compact" : "delete");
    if (t->compact)
        rest_put_seconds(w, "delete_retention_seconds", t->delete_retention_ms);
    put_redrive_and_tags(w, t);
    bool counted = alone ? queue_count(topic, BYTES_NONE, &counters) == ERR_OK : contents != NULL;
    if (counted && !alone)
        counters = contents->sum.counters;
    if (counted) {
        json_put_key(w, "stats");
        json_begin_object(w);
        rest_put_counters(w, &counters);
        put_warnings(w, queue_topic_warnings(topic));
        json_end_object(w);
    }
    const struct queue_live live = queue_topic_live(topic);
    if (alone)
        rest_put_usage(w, &live, queue_topic_disk_bytes(topic));
    if (alone && contents != NULL)
        rest_put_oldest(w, &contents->oldest);
    json_end_object(w);
}

static void reply_topic(struct rest_call *c, int status, const struct contents *contents)
{
    int64_t version;
    const struct topic_config *t = queue_topic_config_version(c->topic, &version);
    char etag[REST_ETAG_ROOM], location[128];
    rest_etag_text(version, etag);
    snprintf(location, sizeof location, "/v1/topics/%s", t->name);
    const struct http_answer_header headers[] = {{"ETag", etag}, {"Location", location}};
    struct buf body = BUF_EMPTY;
    struct json_writer w = json_writer_to(&body);
    put_topic(&w, c->topic, c->call.links == NULL, contents);
    json_writer_done(&w);
    rest_answer_json(c->http, status, headers, status == 201 ? 2 : 1, &body);
}

/* ---- list and get ---- */

struct listing {
    struct json_writer *w;
    bool alone;
    int64_t left;
    char next[TOPIC_NAME_MAX + 1]; /* the first name that was not shown, or "" */
};

static bool list_one(void *arg, struct queue_topic *t)
{
    struct listing *l = arg;
    if (l->left == 0) {
        snprintf(l->next, sizeof l->next, "%s", queue_topic_config(t)->name);
        return false;
    }
    l->left--;
    put_topic(l->w, t, l->alone, NULL);
    return true;
}

void rest_do_list_topics(struct rest_call *c)
{
    struct buf body = BUF_EMPTY;
    struct json_writer w = json_writer_to(&body);
    struct listing l = {.w = &w,
                        .alone = c->call.links == NULL,
                        .left = rest_query_get(&c->query, "limit")->number};
    json_begin_object(&w);
    json_put_key(&w, "topics");
    json_begin_array(&w);
    queue_topics_each(c->front->queue, rest_query_get(&c->query, "prefix")->text,
                      rest_query_get(&c->query, "cursor")->text, list_one, &l);
    json_end_array(&w);
    rest_reply_page(c, &w, l.next);
}

static void oldest_work(struct rest_call *c)
{
    struct contents *contents = c->state;
    queue_topic_oldest(c->topic, &contents->oldest);
}

static void oldest_reply(struct rest_call *c)
{
    if (c->fault.problem != REST_PROBLEM_NONE)
        rest_reply_fault(c);
    else
        reply_topic(c, 200, c->state);
}

static void counted_reply(struct rest_call *c)
{
    const struct contents *contents = c->state;
    if (contents->sum.err != ERR_OK)
        rest_reply_err(c, contents->sum.err);
    else
        reply_topic(c, 200, contents);
}

void rest_do_get_topic(struct rest_call *c)
{
    int64_t version;
    struct rest_conditions conditions;
    char etag[REST_ETAG_ROOM];
    rest_conditions_read(c->http, &conditions);
    (void)queue_topic_config_version(c->topic, &version);
    if (conditions.none_match.n > 0 && rest_etag_matches(conditions.none_match, version)) {
        rest_etag_text(version, etag);
        const struct http_answer_header header = {"ETag", etag};
        rest_answer_none(c->http, 304, &header, 1);
        return;
    }
    struct contents *contents = arena_zeros(c->arena, sizeof *contents);
    c->state = contents;
    if (c->call.links == NULL)
        rest_call_run(c, oldest_work, oldest_reply);
    else
        rest_call_count(c, BYTES_NONE, &contents->sum, counted_reply);
}

/* ---- making and changing, on the catalogue thread ---- */

/* The target exists, is of the same kind, and its RedriveAllowPolicy lets this topic in. */
static bool check_target(struct rest_call *c, const struct topic_config *t)
{
    static const struct rest_place at = {NULL, {"redrive", 7}, 0};
    struct queue_topic *target;
    if (t->receives_max == 0)
        return true;
    enum err e = queue_topic_find(c->front->queue, bytes_of_text(t->dead_letter), &target);
    if (e != ERR_OK)
        return rest_body_fault(&c->fault, REST_PROBLEM_INVALID_BODY, &at, "there is no topic %s",
                               t->dead_letter);
    const struct topic_config *there = queue_topic_config(target);
    bool same = there->fifo == t->fifo, compact = there->compact;
    bool allowed = front_redrive_allowed(topic_attribute_get(there, "RedriveAllowPolicy"),
                                         bytes_of_text(t->name));
    queue_topic_give_back(target);
    if (!same)
        return rest_body_fault(&c->fault, REST_PROBLEM_INVALID_BODY, &at,
                               "the dead-letter topic of a %s topic must be %s",
                               t->fifo ? "FIFO" : "standard", t->fifo ? "FIFO" : "standard");
    if (compact)
        return rest_body_fault(&c->fault, REST_PROBLEM_INVALID_BODY, &at,
                               "%s is compact, and takes no dead letters", t->dead_letter);
    if (!allowed)
        return rest_body_fault(&c->fault, REST_PROBLEM_INVALID_BODY, &at,
                               "the RedriveAllowPolicy of %s does not let this topic in",
                               t->dead_letter);
    return true;
}

static bool same_settings(const struct topic_config *a, const struct topic_config *b)
{
    struct buf left = BUF_EMPTY, right = BUF_EMPTY;
    topic_config_encode(a, &left);
    topic_config_encode(b, &right);
    bool same = bytes_equal(buf_bytes(&left), buf_bytes(&right));
    buf_fini(&left);
    buf_fini(&right);
    return same;
}

/* ERR_DUPLICATE: nothing would change, so the version stays. ERR_INVALID: see the fault. */
static enum err change(void *arg, struct topic_config *settings)
{
    struct topic_work *work = arg;
    struct rest_call *c = work->call;
    struct topic_config before;
    topic_config_copy(&before, settings);
    bool fine = rest_settings_apply(&work->settings, work->patch, false, settings, &c->fault) &&
                check_target(c, settings);
    bool same = fine && same_settings(&before, settings);
    topic_config_fini(&before);
    return !fine ? ERR_INVALID : same ? ERR_DUPLICATE : ERR_OK;
}

static void refuse_condition(struct rest_call *c, const char *why)
{
    rest_fault_set(&c->fault, REST_PROBLEM_PRECONDITION_FAILED, "%s", why);
}

static void replace(struct rest_call *c, struct topic_work *work)
{
    int64_t version;
    (void)queue_topic_config_version(c->topic, &version);
    bool conditional = work->conditions.match.n > 0;
    if (work->conditions.none_match.n > 0 &&
        rest_etag_matches(work->conditions.none_match, version)) {
        refuse_condition(c, "the topic is there");
        return;
    }
    if (conditional && !rest_etag_matches(work->conditions.match, version)) {
        refuse_condition(c, "the topic has another version");
        return;
    }
    enum err e = queue_topic_change_if(c->topic, conditional ? version : 0, change, work);
    if (e == ERR_OK || e == ERR_DUPLICATE || c->fault.problem != REST_PROBLEM_NONE)
        return;
    if (e == ERR_CONFLICT && conditional)
        refuse_condition(c, "the topic has another version by now");
    else if (e == ERR_NOT_FOUND)
        rest_fault_set(&c->fault, REST_PROBLEM_TOPIC_NOT_FOUND, "the topic was deleted meanwhile");
    else
        rest_fault_of_err(&c->fault, e);
}

static void make(struct rest_call *c, struct topic_work *work)
{
    static const struct rest_place copies_at = {NULL, {"copies", 6}, 0};
    struct topic_config want;
    enum err e = ERR_OK;
    topic_config_init(&want);
    snprintf(want.name, sizeof want.name, "%s", (const char *)c->match.topic.at);
    if (work->conditions.match.n > 0)
        refuse_condition(c, "there is no such topic");
    else if (rest_settings_apply(&work->settings, false, true, &want, &c->fault) &&
             check_target(c, &want))
        e = queue_topic_create(c->front->queue, &want, &c->topic);
    topic_config_fini(&want);
    if (e == ERR_EXISTS)
        rest_fault_set(&c->fault, REST_PROBLEM_CONFLICT,
                       "a topic of this name is being made or deleted at this moment");
    else if (e == ERR_FULL)
        rest_fault_set(&c->fault, REST_PROBLEM_TOO_MANY_TOPICS, "%s", err_text(e));
    else if (e == ERR_SINGLE_COPY || e == ERR_ALONE)
        rest_body_fault(&c->fault, REST_PROBLEM_INVALID_BODY, &copies_at, "%s", err_text(e));
    else if (e != ERR_OK)
        rest_fault_of_err(&c->fault, e);
    work->made = e == ERR_OK && c->fault.problem == REST_PROBLEM_NONE;
}

/* No other job of this name runs meanwhile, so between the look and the making nobody else makes
 * it.
 */
static void put_work(struct rest_call *c)
{
    enum err e = rest_call_topic_find(c);
    if (e == ERR_OK)
        replace(c, c->state);
    else if (e == ERR_NOT_FOUND)
        make(c, c->state);
    else
        rest_fault_of_err(&c->fault, e);
}

static void patch_work(struct rest_call *c)
{
    replace(c, c->state);
}

static void changed(struct rest_call *c)
{
    const struct topic_work *work = c->state;
    if (c->fault.problem != REST_PROBLEM_NONE)
        rest_reply_fault(c);
    else
        reply_topic(c, work->made ? 201 : 200, NULL);
}

static struct topic_work *work_new(struct rest_call *c, bool patch)
{
    struct topic_work *work = arena_zeros(c->arena, sizeof *work);
    work->patch = patch;
    work->call = c;
    c->state = work;
    rest_conditions_read(c->http, &work->conditions);
    return work;
}

void rest_do_put_topic(struct rest_call *c)
{
    struct topic_work *work = work_new(c, false);
    if (!rest_topic_name_valid(c->match.topic))
        rest_fault_set(&c->fault, REST_PROBLEM_INVALID_PATH,
                       "a topic's name has 1 to %d letters, digits, '-' and '_'; that of a FIFO "
                       "topic ends in .fifo, which counts",
                       TOPIC_NAME_MAX);
    else
        (void)!rest_settings_read(http_body(c->http), c->arena, &work->settings, &c->fault);
    if (c->fault.problem != REST_PROBLEM_NONE) {
        rest_reply_fault(c);
        return;
    }
    c->call.job.beside = queue_job_beside(c->match.topic);
    rest_call_run(c, put_work, changed);
}

void rest_do_patch_topic(struct rest_call *c)
{
    struct topic_work *work = work_new(c, true);
    if (http_body(c->http).n == 0)
        rest_body_fault(&c->fault, REST_PROBLEM_INVALID_BODY, NULL, "must be an object");
    else
        (void)!rest_settings_read(http_body(c->http), c->arena, &work->settings, &c->fault);
    if (c->fault.problem != REST_PROBLEM_NONE)
        rest_reply_fault(c);
    else
        rest_call_run(c, patch_work, changed);
}

/* ---- deleting ---- */

static void delete_work(struct rest_call *c)
{
    struct topic_work *work = c->state;
    int64_t version = 0;
    enum err e = rest_call_topic_find(c);
    bool conditional = work->conditions.match.n > 0;
    if (e == ERR_OK) {
        if (conditional) {
            (void)queue_topic_config_version(c->topic, &version);
            if (!rest_etag_matches(work->conditions.match, version)) {
                refuse_condition(c, "the topic has another version");
                return;
            }
        }
        e = queue_topic_delete_if(c->topic, version);
        if (e == ERR_CONFLICT && conditional)
            refuse_condition(c, "the topic has another version by now");
        else if (e != ERR_OK && e != ERR_NOT_FOUND)
            rest_fault_of_err(&c->fault, e);
    } else if (e != ERR_NOT_FOUND) {
        rest_fault_of_err(&c->fault, e);
    } else if (conditional) {
        refuse_condition(c, "there is no such topic");
    } else if (rest_query_get(&c->query, "must_exist")->number == 1) {
        rest_fault_set(&c->fault, REST_PROBLEM_TOPIC_NOT_FOUND, "there is no topic of this name");
    }
}

void rest_do_delete_topic(struct rest_call *c)
{
    (void)work_new(c, false);
    rest_call_run(c, delete_work, rest_reply_fault_or_none);
}
