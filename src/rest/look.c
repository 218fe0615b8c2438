// SPDX-License-Identifier: Apache-2.0
/* Groups and partitions as they are now, and purge. What reads the disk runs on the catalogue
 * thread. */
#include "base/check.h"
#include "rest/put.h"

enum { SEGMENTS_AT_A_TIME = 256 };

/* ---- groups ---- */

static void put_group(struct json_writer *w, const struct queue_group_info *g)
{
    json_begin_object(w);
    json_put_key(w, "name");
    json_put_text(w, "default");
    rest_put_counters(w, &g->counters);
    json_put_key(w, "waiting_receivers");
    json_put_int64(w, g->waiting);
    if (g->oldest_sent_wall_ms > 0)
        rest_put_time(w, "oldest_sent_at", g->oldest_sent_wall_ms);
    json_end_object(w);
}

struct group {
    struct queue_group_info info;
    struct front_sum sum; /* among several brokers: of all leaders */
};

/* A compact topic has none. */
static void group_work(struct rest_call *c)
{
    if (c->config->compact)
        return;
    struct group *g = c->state;
    enum err e = queue_group_look(c->topic, BYTES_NONE, &g->info);
    if (e != ERR_OK)
        rest_fault_of_err(&c->fault, e);
}

static void group_reply(struct rest_call *c)
{
    bool list = c->match.operation == REST_list_groups;
    const struct group *g = c->state;
    struct buf body = BUF_EMPTY;
    struct json_writer w = json_writer_to(&body);
    if (c->fault.problem != REST_PROBLEM_NONE) {
        rest_reply_fault(c);
        return;
    }
    if (list) {
        json_begin_object(&w);
        json_put_key(&w, "groups");
        json_begin_array(&w);
    }
    if (!c->config->compact)
        put_group(&w, &g->info);
    if (list) {
        json_end_array(&w);
        json_end_object(&w);
    }
    rest_reply_json(c, &w);
}

static void group_counted(struct rest_call *c)
{
    struct group *g = c->state;
    g->info.counters = g->sum.counters;
    if (g->sum.err != ERR_OK)
        rest_fault_of_err(&c->fault, g->sum.err);
    group_reply(c);
}

static void group_count(struct rest_call *c)
{
    struct group *g = c->state;
    if (c->config->compact || c->fault.problem != REST_PROBLEM_NONE)
        group_reply(c);
    else
        rest_call_count(c, BYTES_NONE, &g->sum, group_counted);
}

void rest_do_list_groups(struct rest_call *c)
{
    c->state = arena_zeros(c->arena, sizeof(struct group));
    rest_call_run(c, group_work, c->call.links == NULL ? group_reply : group_count);
}

void rest_do_get_group(struct rest_call *c)
{
    rest_do_list_groups(c);
}

/* ---- partitions ---- */

/* The answer is written by the job: each partition is asked for in turn. */
struct logs {
    struct buf body;
    struct json_writer w;
};

static enum err put_segments(struct json_writer *w, struct rest_call *c, uint32_t partition)
{
    struct queue_segment_info *s = arena_get(c->arena, SEGMENTS_AT_A_TIME * sizeof *s);
    uint64_t from = 0;
    size_t n;
    json_put_key(w, "segment_list");
    json_begin_array(w);
    enum err e;
    do {
        e = queue_segments(c->topic, partition, from, s, SEGMENTS_AT_A_TIME, &n);
        for (size_t i = 0; e == ERR_OK && i < n; i++) {
            json_begin_object(w);
            json_put_key(w, "base_offset");
            json_put_uint64(w, s[i].base_offset);
            json_put_key(w, "first_number");
            json_put_uint64(w, s[i].first_number);
            json_put_key(w, "bytes");
            json_put_uint64(w, s[i].bytes);
            json_put_key(w, "bytes_live");
            json_put_uint64(w, s[i].bytes_live);
            json_put_key(w, "sealed");
            json_put_bool(w, s[i].sealed);
            json_end_object(w);
            from = s[i].base_offset + 1;
        }
    } while (e == ERR_OK && n == SEGMENTS_AT_A_TIME);
    json_end_array(w);
    return e;
}

static enum err put_partition(struct json_writer *w, struct rest_call *c, uint32_t index,
                              bool segments)
{
    struct queue_partition_info p;
    struct queue_oldest oldest;
    queue_partition_look(c->topic, index, &p);
    json_begin_object(w);
    rest_put_number(w, "partition", index);
    json_put_key(w, "state");
    json_put_text(w, p.closed ? "damaged" : "ok");
    if (p.closed) {
        json_put_key(w, "detail");
        json_put_text(w, p.where);
        json_end_object(w);
        return ERR_OK;
    }
    enum err e = ERR_OK;
    rest_put_number(w, "start_offset", p.start_offset);
    rest_put_number(w, "durable_offset", p.durable_offset);
    rest_put_number(w, "end_offset", p.end_offset);
    rest_put_number(w, "start_number", p.start_number);
    rest_put_number(w, "next_number", p.next_number);
    rest_put_number(w, "floor", p.floor);
    json_put_key(w, "counters");
    json_begin_object(w);
    rest_put_counters(w, &p.counters);
    json_end_object(w);
    rest_put_number(w, "segments", p.segments);
    rest_put_number(w, "bytes", p.bytes);
    rest_put_usage(w, &p.live, p.bytes);
    queue_partition_oldest(c->topic, index, &oldest);
    rest_put_oldest(w, &oldest);
    if (segments)
        e = put_segments(w, c, index);
    json_end_object(w);
    return e;
}

static void partitions_work(struct rest_call *c)
{
    struct logs *l = c->state;
    bool list = c->match.operation == REST_list_partitions;
    int64_t only = 0;
    enum err e = ERR_OK;
    if (!list &&
        (!rest_number_read(c->match.last, &only) || only >= (int64_t)queue_partitions(c->topic))) {
        rest_fault_set(&c->fault, REST_PROBLEM_PARTITION_NOT_FOUND,
                       "the topic has partitions 0 to %u", queue_partitions(c->topic) - 1);
        return;
    }
    l->w = json_writer_to(&l->body);
    if (list) {
        json_begin_object(&l->w);
        json_put_key(&l->w, "partitions");
        json_begin_array(&l->w);
        for (uint32_t i = 0; e == ERR_OK && i < queue_partitions(c->topic); i++)
            e = put_partition(&l->w, c, i, false);
    } else {
        e = put_partition(&l->w, c, (uint32_t)only, true);
    }
    if (e != ERR_OK) {
        rest_fault_of_err(&c->fault, e);
        return;
    }
    if (list) {
        json_end_array(&l->w);
        json_end_object(&l->w);
    }
}

static void partitions_reply(struct rest_call *c)
{
    struct logs *l = c->state;
    if (c->fault.problem != REST_PROBLEM_NONE)
        rest_reply_fault(c);
    else
        rest_reply_json(c, &l->w);
}

static void partitions_cleanup(struct front_call *call)
{
    struct logs *l = rest_call_of(call)->state;
    buf_fini(&l->body);
}

void rest_do_list_partitions(struct rest_call *c)
{
    c->state = arena_zeros(c->arena, sizeof(struct logs));
    c->call.cleanup = partitions_cleanup;
    rest_call_run(c, partitions_work, partitions_reply);
}

void rest_do_get_partition(struct rest_call *c)
{
    rest_do_list_partitions(c);
}

/* ---- purge ---- */

static void purge_reply(struct rest_call *c)
{
    const struct front_sum *sum = c->state;
    const struct queue_counters *n = &sum->counters; /* of a dry run */
    struct buf body = BUF_EMPTY;
    struct json_writer w = json_writer_to(&body);
    if (sum->err != ERR_OK) {
        rest_reply_err(c, sum->err);
        return;
    }
    json_begin_object(&w);
    json_put_key(&w, "messages");
    json_put_uint64(&w, sum->finished + n->visible + n->in_flight + n->delayed + n->moving);
    json_end_object(&w);
    rest_reply_json(c, &w);
}

void rest_do_purge_topic(struct rest_call *c)
{
    struct bytes group = rest_query_get(&c->query, "group")->text;
    struct front_sum *sum = arena_zeros(c->arena, sizeof *sum);
    c->state = sum;
    if (!rest_group_known(c, group)) {
        rest_reply_fault(c);
        return;
    }
    if (rest_query_get(&c->query, "dry_run")->number == 1)
        rest_call_count(c, group, sum, purge_reply);
    else
        rest_call_purge(c, group, sum, purge_reply);
}
