// SPDX-License-Identifier: Apache-2.0
#include "admin/admin.h"

#include <stdio.h>
#include <string.h>

#include "admin/answer.h"
#include "config.h"

void admin_refuse(struct http_request *r, int status, const char *detail)
{
    answer_problem(r, status, "The request was refused", detail);
}

static void live(void *self, struct http_request *r)
{
    (void)
        self; /* the loop answers, so it lives; nothing else is asked, lest one fault restart all */
    answer_json(r, 200, json_pack("{s:s}", "status", "ok"));
}

static void ready(void *self, struct http_request *r)
{
    struct admin *a = self;
    struct admin_query query;
    if (!answer_query(r, &query))
        return;
    bool disk = !queue_failed(a->queue), serving = !http_stopping(http_server_of(r));
    answer_json(r, disk && serving ? 200 : 503,
                json_pack("{s:s, s:{s:s, s:s, s:s}}", "status",
                          disk && serving ? "ready" : "not ready", "checks", "recovered", "ok",
                          "data_directory", disk ? "ok" : "failed: restart to clear", "serving",
                          serving ? "ok" : "stopping"));
}

static void about(void *self, struct http_request *r)
{
    struct admin *a = self;
    struct queue_stats s;
    queue_stats_read(a->queue, &s);
    struct http_counts c = http_server_counts(http_server_of(r));
    answer_json(
        r, 200,
        json_pack(
            "{s:s, s:s, s:{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:i, s:i, s:i}, s:{s:s}}", "name",
            "leaselog", "version", PACKAGE_VERSION, "stats", "messages_sent", (json_int_t)s.sent,
            "messages_received", (json_int_t)s.received, "messages_deleted", (json_int_t)s.deleted,
            "empty_receives", (json_int_t)s.empty_receives, "messages_moved", (json_int_t)s.moves,
            "commit_rounds", (json_int_t)s.rounds, "sync_average_us", (json_int_t)s.sync_average_us,
            "waiting_receivers", (int)s.polls, "connections", (int)c.connections, "parked_requests",
            (int)c.parked, "links", "topics", "/v1/topics"));
}

static json_t *counters_show(const struct queue_counters *c)
{
    return json_pack("{s:I, s:I, s:I, s:I}", "visible", (json_int_t)c->visible, "in_flight",
                     (json_int_t)c->in_flight, "delayed", (json_int_t)c->delayed, "moving",
                     (json_int_t)c->moving);
}

static json_t *topic_show(struct queue_topic *t)
{
    const struct topic_config *s = queue_topic_config(t);
    struct queue_counters c = {0};
    enum err e = queue_count(t, BYTES_NONE, &c);
    json_t *shown = json_pack(
        "{s:s, s:b, s:i, s:f, s:f, s:f, s:I}", "name", s->name, "fifo", s->fifo, "partitions",
        (int)s->partitions, "visibility_seconds", (double)s->visibility_ms / 1000, "delay_seconds",
        (double)s->delay_ms / 1000, "retention_seconds", (double)s->retention_ms / 1000,
        "message_bytes_max", (json_int_t)s->message_bytes_max);
    if (shown == NULL)
        return NULL;
    if (s->receives_max > 0)
        json_object_set_new(
            shown, "redrive",
            json_pack("{s:s, s:i}", "topic", s->dead_letter, "receives_max", (int)s->receives_max));
    if (e == ERR_OK)
        json_object_update_new(shown, counters_show(&c));
    else
        json_object_set_new(shown, "error", json_string(err_text(e)));
    return shown;
}

struct listing {
    json_t *topics;
    struct bytes after; /* the cursor: names up to it were shown already */
    int64_t left;
    char next[TOPIC_NAME_MAX + 1]; /* the last name shown when more remain, or "" */
};

static bool topic_list(void *arg, struct queue_topic *t)
{
    struct listing *l = arg;
    const char *name = queue_topic_config(t)->name;
    if (bytes_equal(bytes_of_text(name), l->after))
        return true;
    if (l->left == 0) {
        json_t *last = json_array_get(l->topics, json_array_size(l->topics) - 1);
        const char *shown = json_string_value(json_object_get(last, "name"));
        snprintf(l->next, sizeof l->next, "%s", shown == NULL ? "" : shown);
        return false;
    }
    l->left--;
    json_array_append_new(l->topics, topic_show(t));
    return true;
}

static void topics(void *self, struct http_request *r)
{
    struct admin *a = self;
    struct admin_query query;
    if (!answer_query(r, &query))
        return;
    struct listing l = {.topics = json_array(), .after = query.cursor, .left = query.limit};
    queue_topics_each(a->queue, query.prefix, query.cursor, topic_list, &l);
    json_t *shown = json_pack("{s:o}", "topics", l.topics);
    if (l.next[0] != '\0')
        json_object_set_new(shown, "next_cursor", json_string(l.next));
    answer_json(r, 200, shown);
}

static json_t *partition_show(struct queue_topic *t, uint32_t n)
{
    struct queue_partition_info p;
    queue_partition_look(t, n, &p);
    json_t *shown = json_pack(
        "{s:i, s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:o}", "partition", (int)n, "state",
        p.closed ? "damaged" : "ok", "start_offset", (json_int_t)p.start_offset, "durable_offset",
        (json_int_t)p.durable_offset, "end_offset", (json_int_t)p.end_offset, "start_number",
        (json_int_t)p.start_number, "next_number", (json_int_t)p.next_number, "segments",
        (json_int_t)p.segments, "bytes", (json_int_t)p.bytes, "floor", (json_int_t)p.floor,
        "counters", counters_show(&p.counters));
    if (shown != NULL && p.closed)
        json_object_set_new(shown, "detail", json_string(p.where));
    return shown;
}

static void partitions(struct queue_topic *t, struct http_request *r)
{
    json_t *list = json_array();
    for (uint32_t n = 0; n < queue_partitions(t); n++)
        json_array_append_new(list, partition_show(t, n));
    answer_json(r, 200, json_pack("{s:o}", "partitions", list));
}

static void leases(struct queue_topic *t, struct bytes group, struct http_request *r)
{
    enum { SHOWN_MAX = 1000 };
    struct admin_query query;
    if (!answer_query(r, &query))
        return;
    struct queue_counters c;
    if (queue_count(t, group, &c) == ERR_NOT_FOUND) {
        answer_problem(r, 404, "No such group", "the topic has no group of this name");
        return;
    }
    struct queue_lease_info *info = arena_get(http_arena(r), SHOWN_MAX * sizeof *info);
    size_t n = queue_leases(t, group, 0, 0, info, (size_t)query.limit);
    json_t *list = json_array();
    for (size_t i = 0; i < n; i++)
        json_array_append_new(
            list,
            json_pack("{s:i, s:I, s:i, s:f, s:s}", "partition", (int)info[i].partition, "number",
                      (json_int_t)info[i].number, "receive_count", (int)info[i].receive_count,
                      "left_seconds", (double)info[i].left_ms / 1000, "holder", info[i].holder));
    answer_json(r, 200, json_pack("{s:o}", "leases", list));
}

static struct bytes word_take(struct bytes *rest)
{
    const char *slash = rest->n == 0 ? NULL : memchr(rest->at, '/', rest->n);
    size_t n = slash == NULL ? rest->n : (size_t)(slash - (const char *)rest->at);
    size_t used = slash == NULL ? n : n + 1;
    struct bytes word = {rest->at, n};
    *rest = (struct bytes){(const char *)rest->at + used, rest->n - used};
    return word;
}

/* /v1/topics/NAME, …/partitions, …/groups, …/groups/GROUP, …/groups/GROUP/leases */
static void topic_part(struct queue_topic *t, struct bytes rest, struct http_request *r)
{
    struct bytes what = word_take(&rest), group = word_take(&rest), part = word_take(&rest);
    struct queue_counters c;
    if (what.n == 0) {
        answer_json(r, 200, topic_show(t));
    } else if (bytes_equal(what, BYTES_OF("partitions")) && group.n == 0) {
        partitions(t, r);
    } else if (bytes_equal(what, BYTES_OF("groups")) && group.n == 0) {
        json_t *list = json_array();
        if (queue_count(t, BYTES_NONE, &c) == ERR_OK) {
            json_t *shown = counters_show(&c);
            json_object_set_new(shown, "name", json_string("default"));
            json_array_append_new(list, shown);
        }
        answer_json(r, 200, json_pack("{s:o}", "groups", list));
    } else if (bytes_equal(what, BYTES_OF("groups")) && bytes_equal(part, BYTES_OF("leases"))) {
        leases(t, group, r);
    } else if (bytes_equal(what, BYTES_OF("groups")) && part.n == 0 &&
               queue_count(t, group, &c) == ERR_OK) {
        answer_json(r, 200, counters_show(&c));
    } else {
        answer_problem(r, 404, "Nothing here", "see /v1 for what there is");
    }
}

static void topic(void *self, struct http_request *r)
{
    struct admin *a = self;
    struct bytes path = http_path(r);
    size_t skip = strlen("/v1/topics/");
    struct bytes rest = {(const char *)path.at + skip, path.n - skip};
    struct bytes name = word_take(&rest);
    struct queue_topic *t;
    if (queue_topic_find(a->queue, name, &t) != ERR_OK) {
        answer_problem(r, 404, "No such topic", "there is no topic of this name; see /v1/topics");
        return;
    }
    topic_part(t, rest, r);
    queue_topic_give_back(t);
}

static void elsewhere(void *self, struct http_request *r)
{
    (void)self;
    answer_problem(r, 404, "Nothing here", "see GET /v1 for what there is");
}

size_t admin_routes(struct admin *a, struct http_route out[ADMIN_ROUTES_MAX])
{
    const struct http_route routes[] = {
        {HTTP_GET, "/livez", live, a},        {HTTP_GET, "/readyz", ready, a},
        {HTTP_GET, "/v1", about, a},          {HTTP_GET, "/v1/topics", topics, a},
        {HTTP_GET, "/v1/topics/*", topic, a}, {HTTP_OTHER, "/v1/*", elsewhere, a},
    };
    memcpy(out, routes, sizeof routes);
    return sizeof routes / sizeof routes[0];
}
