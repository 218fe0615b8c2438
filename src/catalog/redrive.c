// SPDX-License-Identifier: Apache-2.0
#include "catalog/redrive.h"

#include <string.h>

#include "catalog/topic_json.h"

static const char *const state_names[] = {"running", "cancelling", "cancelled", "completed",
                                          "failed"};
static const char *const failure_names[] = {"", "no_target", "no_source"};

enum { STATES_N = 5, FAILURES_N = 3 };

static json_t *number_of(uint64_t v)
{
    CHECK(v <= INT64_MAX);
    return catalog_json_int64((int64_t)v);
}

static json_t *encode_one(const struct redrive_config *r)
{
    char id[33], target_id[33];
    catalog_hex_write(id, r->id, sizeof r->id);
    catalog_hex_write(target_id, r->target_id, sizeof r->target_id);
    json_t *ends = json_array();
    for (uint32_t i = 0; i < r->ends_n; i++)
        CHECK(json_array_append_new(ends, number_of(r->ends[i])) == 0);
    return json_pack("{s:s, s:s, s:s, s:s, s:s, s:I, s:o, s:o, s:o, s:o}", "id", id, "state",
                     state_names[r->state], "failure", failure_names[r->failure], "target",
                     r->target, "target_id", target_id, "per_second_max",
                     (json_int_t)r->per_second_max, "started_wall_ms",
                     catalog_json_int64(r->started_wall_ms), "to_move", number_of(r->to_move),
                     "moved", number_of(r->moved), "ends", ends);
}

void redrives_config_encode(const struct redrives_config *r, struct buf *json)
{
    json_t *list = json_array();
    for (size_t i = 0; i < r->n; i++)
        CHECK(json_array_append_new(list, encode_one(&r->at[i])) == 0);
    catalog_json_store(json_pack("{s:i, s:o}", "format", CATALOG_JSON_FORMAT, "redrives", list),
                       json);
}

/* The word's place among n names; n: it is none of them. */
static unsigned word_of(const char *word, const char *const *names, unsigned n)
{
    unsigned i = 0;
    while (i < n && strcmp(word, names[i]) != 0)
        i++;
    return i;
}

static bool read_number(const char *text, uint64_t *out)
{
    int64_t v;
    if (!catalog_int64_read(text, 0, INT64_MAX, &v))
        return false;
    *out = (uint64_t)v;
    return true;
}

static bool read_ends(const json_t *ends, struct redrive_config *r)
{
    size_t i, n = json_array_size(ends);
    const json_t *end;
    if (!json_is_array(ends) || n > TOPIC_PARTITIONS_MAX)
        return false;
    r->ends_n = (uint32_t)n;
    json_array_foreach(ends, i, end)
    {
        if (!json_is_string(end) || !read_number(json_string_value(end), &r->ends[i]))
            return false;
    }
    return true;
}

static bool decode_one(json_t *json, struct redrive_config *r)
{
    const char *id, *state, *failure, *target, *target_id, *started, *to_move, *moved;
    json_int_t per_second_max;
    json_t *ends;
    memset(r, 0, sizeof *r);
    if (json_unpack_ex(json, NULL, JSON_STRICT,
                       "{s:s, s:s, s:s, s:s, s:s, s:I, s:s, s:s, s:s, s:o}", "id", &id, "state",
                       &state, "failure", &failure, "target", &target, "target_id", &target_id,
                       "per_second_max", &per_second_max, "started_wall_ms", &started, "to_move",
                       &to_move, "moved", &moved, "ends", &ends) != 0)
        return false;
    unsigned state_at = word_of(state, state_names, STATES_N);
    unsigned failure_at = word_of(failure, failure_names, FAILURES_N);
    if (state_at == STATES_N || failure_at == FAILURES_N || strlen(target) > TOPIC_NAME_MAX ||
        per_second_max < 0 || per_second_max > UINT32_MAX)
        return false;
    r->state = (enum redrive_state)state_at;
    r->failure = (enum redrive_failure)failure_at;
    memcpy(r->target, target, strlen(target) + 1);
    r->per_second_max = (uint32_t)per_second_max;
    return catalog_hex_read(id, r->id, sizeof r->id) &&
           catalog_hex_read(target_id, r->target_id, sizeof r->target_id) &&
           catalog_int64_read(started, INT64_MIN, INT64_MAX, &r->started_wall_ms) &&
           read_number(to_move, &r->to_move) && read_number(moved, &r->moved) && read_ends(ends, r);
}

enum err redrives_config_decode(struct bytes json, struct redrives_config *out)
{
    json_t *root, *list = NULL;
    int format;
    enum err e = catalog_json_load(json, &root);
    if (e != ERR_OK)
        return e;
    bool fine = json_unpack_ex(root, NULL, JSON_STRICT, "{s:i, s:o}", "format", &format, "redrives",
                               &list) == 0 &&
                json_is_array(list) && json_array_size(list) <= REDRIVES_MAX;
    size_t n = fine ? json_array_size(list) : 0;
    for (size_t i = 0; i < n && fine; i++)
        fine = decode_one(json_array_get(list, i), &out->at[i]);
    out->n = n;
    json_decref(root);
    return fine ? ERR_OK : ERR_CORRUPT;
}
