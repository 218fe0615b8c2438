// SPDX-License-Identifier: Apache-2.0
#include "rest/problem.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/check.h"
#include "base/utf8.h"

enum { DETAIL_MAX = 400 };

static const struct rest_problem_row table[REST_PROBLEMS_N] = {
#define PROBLEM(id, name, status, title, advice)                                                   \
    [REST_PROBLEM_##id] = {name, status, title, advice},
#include "problems.def"
#undef PROBLEM
};

const struct rest_problem_row *rest_problem_row(enum rest_problem p)
{
    CHECK(p > REST_PROBLEM_NONE && p < REST_PROBLEMS_N);
    return &table[p];
}

enum rest_problem rest_problem_named(struct bytes name)
{
    for (unsigned p = REST_PROBLEM_NONE + 1; p < REST_PROBLEMS_N; p++)
        if (bytes_equal(name, bytes_of_text(table[p].name)))
            return (enum rest_problem)p;
    return REST_PROBLEM_NONE;
}

/* A copy that is fit for JSON, whatever the client sent. */
static const char *text_keep(struct arena *arena, const char *text)
{
    struct bytes copy = arena_copy(arena, bytes_of_text(text));
    char *at = (char *)(uintptr_t)copy.at; /* ours: just copied */
    if (!utf8_valid(copy))
        for (size_t i = 0; i < copy.n; i++)
            if ((unsigned char)at[i] >= 0x80)
                at[i] = '?';
    return at;
}

static bool set(struct rest_fault *f, enum rest_problem p, const char *kind, const char *place,
                const char *format, va_list args) __attribute__((format(printf, 5, 0)));

static bool set(struct rest_fault *f, enum rest_problem p, const char *kind, const char *place,
                const char *format, va_list args)
{
    char text[DETAIL_MAX];
    vsnprintf(text, sizeof text, format, args);
    f->problem = p;
    f->kind = kind;
    f->place = place == NULL ? NULL : text_keep(f->arena, place);
    f->detail = text_keep(f->arena, text);
    return false;
}

bool rest_fault_set(struct rest_fault *f, enum rest_problem p, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    (void)set(f, p, NULL, NULL, format, args);
    va_end(args);
    return false;
}

bool rest_fault_at(struct rest_fault *f, enum rest_problem p, const char *kind, const char *place,
                   const char *format, ...)
{
    va_list args;
    va_start(args, format);
    (void)set(f, p, kind, place, format, args);
    va_end(args);
    return false;
}

bool rest_fault_of_err(struct rest_fault *f, enum err e)
{
    enum rest_problem p = REST_PROBLEM_INTERNAL;
    switch ((int)e) {
    case ERR_NOT_FOUND:
        p = REST_PROBLEM_TOPIC_NOT_FOUND;
        break;
    case ERR_CONFLICT:
        p = REST_PROBLEM_CONFLICT;
        break;
    case ERR_LOG_ONLY:
        p = REST_PROBLEM_COMPACT_TOPIC;
        break;
    case ERR_OVER_LIMIT:
        p = REST_PROBLEM_TOO_MANY_LEASED;
        break;
    case ERR_TOO_BIG:
        p = REST_PROBLEM_MESSAGE_TOO_BIG;
        break;
    case ERR_BUSY:
        p = REST_PROBLEM_OVERLOADED;
        break;
    case ERR_TOPIC_FULL:
        p = REST_PROBLEM_TOPIC_FULL;
        break;
    case ERR_NO_SPACE:
        p = REST_PROBLEM_DISK_FULL;
        break;
    case ERR_IO:
    case ERR_FAILED:
        p = REST_PROBLEM_DATA_DIRECTORY_FAILED;
        break;
    case ERR_CLOSED:
    case ERR_CORRUPT:
        p = REST_PROBLEM_PARTITION_DAMAGED;
        break;
    case ERR_STOPPING:
    case ERR_NOT_LEADER:
    case ERR_NOT_READY:
    case ERR_NOT_ENOUGH:
    case ERR_TOO_FEW_BROKERS:
    case ERR_UNKNOWN:
        p = REST_PROBLEM_UNAVAILABLE;
        break;
    default:
        break;
    }
    return rest_fault_set(f, p, "%s", err_text(e));
}

void rest_problem_put(struct json_writer *w, const struct rest_fault *f, const char *request_id)
{
    const struct rest_problem_row *row = rest_problem_row(f->problem);
    char type[80];
    snprintf(type, sizeof type, "/problems/%s", row->name);
    json_begin_object(w);
    json_put_key(w, "type");
    json_put_text(w, type);
    json_put_key(w, "title");
    json_put_text(w, row->title);
    json_put_key(w, "status");
    json_put_int64(w, row->status);
    json_put_key(w, "detail");
    json_put_text(w, f->detail);
    json_put_key(w, "instance");
    json_put_text(w, request_id);
    if (f->kind != NULL) {
        json_put_key(w, "errors");
        json_begin_array(w);
        json_begin_object(w);
        json_put_key(w, f->kind);
        json_put_text(w, f->place);
        json_put_key(w, "detail");
        json_put_text(w, f->detail);
        json_end_object(w);
        json_end_array(w);
    }
    json_end_object(w);
}
