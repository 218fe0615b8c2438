// SPDX-License-Identifier: Apache-2.0
/* What the REST front reads: paths, query parameters, settings, attributes, conditions.
 *
 * Input: a byte says what, the next is a choice among its kind, the rest is the text.
 * Contract: it is refused with a problem that says where (in UTF-8), or what was read keeps the
 * bounds of api/rest.def, and messages and settings made of it can be stored. */
#include <stdio.h>

#include "base/utf8.h"
#include "fuzz/fuzz.h"
#include "fuzz/message_walk.h"
#include "rest/etag.h"
#include "rest/lease.h"
#include "rest/message.h"
#include "rest/route.h"
#include "rest/settings.h"

/* A refusal can be shown. */
static void check_fault(const struct rest_fault *f, bool fine)
{
    struct buf body = BUF_EMPTY;
    struct json_writer w = json_writer_to(&body);
    CHECK(fine == (f->problem == REST_PROBLEM_NONE));
    if (!fine) {
        rest_problem_put(&w, f, "id");
        json_writer_done(&w);
        CHECK(utf8_valid(buf_bytes(&body)));
    }
    buf_fini(&body);
}

static void read_path(size_t choice, struct bytes text, struct arena *arena)
{
    struct rest_fault f = {.arena = arena};
    struct rest_path path;
    struct rest_match match;
    struct buf raw = BUF_EMPTY;
    buf_put_u8(&raw, '/');
    buf_put_bytes(&raw, text);
    bool fine = rest_path_read(buf_bytes(&raw), arena, &path, &f);
    check_fault(&f, fine);
    if (fine) {
        CHECK(path.n > 0 && path.n <= REST_SEGMENTS_MAX);
        for (size_t i = 0; i < path.n; i++)
            CHECK(path.segments[i].n > 0 && utf8_valid(path.segments[i]));
        enum http_method method = (enum http_method)(choice % (HTTP_OTHER + 1));
        if (rest_route_find(method, &path, &match) == REST_FOUND)
            CHECK(match.operation < REST_OPERATIONS_N);
    }
    buf_fini(&raw);
}

static void check_value(const struct rest_param *p, const struct rest_value *v)
{
    int64_t unit = p->kind == REST_DURATION ? 1000 : 1;
    CHECK(!v->given || v->there);
    if (!v->there)
        return;
    if (p->kind == REST_NUMBER || p->kind == REST_DURATION)
        CHECK(v->number >= p->min * unit && v->number <= p->max * unit);
    if (p->kind == REST_TEXT && v->given)
        CHECK((int64_t)v->text.n >= p->min && (int64_t)v->text.n <= p->max);
}

static void read_query(size_t choice, struct bytes text, struct arena *arena)
{
    struct rest_fault f = {.arena = arena};
    struct rest_query q;
    size_t n;
    const struct rest_param *params =
        rest_route_params((enum rest_operation)(choice % REST_OPERATIONS_N), &n);
    bool fine = rest_query_read(text, params, n, arena, &q, &f);
    check_fault(&f, fine);
    for (size_t i = 0; fine && i < n; i++)
        check_value(&params[i], rest_query_get(&q, params[i].name));
    rest_query_pretty(text);
}

static void read_settings(size_t choice, struct bytes text, struct arena *arena)
{
    struct rest_fault f = {.arena = arena};
    struct rest_settings s;
    struct topic_config t;
    topic_config_init(&t);
    snprintf(t.name, sizeof t.name, choice % 2 == 0 ? "q" : "q.fifo");
    t.fifo = choice % 2 == 1;
    t.partitions = 1;
    bool fine = rest_settings_read(text, arena, &s, &f);
    check_fault(&f, fine);
    if (fine) {
        fine = rest_settings_apply(&s, choice & 2, choice & 4, &t, &f);
        check_fault(&f, fine);
    }
    if (fine)
        walk_topic(&t);
    topic_config_fini(&t);
}

static bool read_message(struct json *j, struct arena *arena, struct rest_message *m,
                         struct rest_fault *f)
{
    const struct rest_place body_at = {NULL, BYTES_OF("body"), 0};
    const struct rest_place attributes_at = {NULL, BYTES_OF("attributes"), 0};
    const struct rest_place delay_at = {NULL, BYTES_OF("delay"), 0};
    struct bytes key;
    bool fine = rest_body_object(j, NULL, f);
    while (fine && json_next_member(j, &key)) {
        if (bytes_equal(key, BYTES_OF("body")))
            fine = rest_body_text(j, &body_at, 1, QUEUE_BODY_BYTES_MAX, &m->body, f);
        else if (bytes_equal(key, BYTES_OF("body_base64")))
            fine = rest_body_base64(j, &body_at, arena, &m->body, f);
        else if (bytes_equal(key, BYTES_OF("attributes")))
            fine = rest_attributes_read(j, &attributes_at, arena, &m->attributes, f);
        else if (bytes_equal(key, BYTES_OF("group_id")))
            fine = rest_body_text(j, &body_at, 1, QUEUE_ID_BYTES_MAX, &m->group_id, f);
        else if (bytes_equal(key, BYTES_OF("dedup_id")))
            fine = rest_body_text(j, &body_at, 1, QUEUE_ID_BYTES_MAX, &m->dedup_id, f);
        else if (bytes_equal(key, BYTES_OF("delay")))
            fine = (m->delay_given = rest_body_duration(j, &delay_at, 0, TOPIC_DELAY_MS_MAX / 1000,
                                                        &m->delay_ms, f));
        else
            fine = rest_body_unknown(&body_at, "a message's members", f);
    }
    return rest_body_finish(j, fine, f);
}

static void make_message(size_t choice, struct bytes text, struct arena *arena)
{
    struct rest_fault f = {.arena = arena};
    struct rest_message m = {.trace = BYTES_NONE};
    struct queue_message made;
    struct topic_config t;
    struct json j;
    json_init(&j, text, arena);
    topic_config_init(&t);
    t.fifo = choice % 2 == 1;
    t.content_dedup = choice & 2;
    bool fine = read_message(&j, arena, &m, &f);
    check_fault(&f, fine);
    if (fine) {
        fine = rest_message_make(&t, &m, (struct rest_blame){NULL, choice & 4}, arena, &made, &f);
        check_fault(&f, fine);
    }
    if (fine)
        walk_message(&made, &t);
    topic_config_fini(&t);
}

static void read_small(size_t choice, struct bytes text, struct arena *arena)
{
    int64_t number;
    struct bytes decoded, again;
    struct buf coded = BUF_EMPTY;
    if (rest_duration_read(text, &number))
        CHECK(number >= 0);
    if (rest_number_read(text, &number))
        CHECK(number >= 0 && text.n <= 18);
    rest_etag_matches(text, (int64_t)choice);
    rest_accept_raw(text);
    rest_topic_name_valid(text);
    if (rest_percent_decode(text, choice % 2 == 1, arena, &decoded)) {
        rest_percent_put(&coded, decoded);
        CHECK(rest_percent_decode(buf_bytes(&coded), false, arena, &again));
        CHECK(bytes_equal(decoded, again));
    }
    buf_fini(&coded);
}

int LLVMFuzzerTestOneInput(const uint8_t *at, size_t n)
{
    static void (*const kinds[])(size_t, struct bytes, struct arena *) = {
        read_path, read_query, read_settings, make_message, read_small,
    };
    struct cursor c = fuzz_input(at, n);
    struct arena arena;
    arena_init(&arena, NULL, 0);
    size_t kind = fuzz_choice(&c, sizeof kinds / sizeof kinds[0]);
    size_t choice = fuzz_choice(&c, 256);
    kinds[kind](choice, fuzz_rest(&c), &arena);
    arena_fini(&arena);
    return 0;
}
