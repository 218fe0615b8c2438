// SPDX-License-Identifier: Apache-2.0
#include "rest/route.h"

#include <stdio.h>

#include "base/check.h"
#include "base/utf8.h"

static const struct {
    enum http_method method;
    const char *template;
} routes[REST_OPERATIONS_N] = {
#define ROUTE(method, template, operation) [REST_##operation] = {HTTP_##method, template},
#include "rest.def"
};

/* The methods in the order in which Allow lists them. */
static const struct {
    enum http_method method;
    const char *name;
} methods[] = {
    {HTTP_GET, "GET, HEAD"}, {HTTP_POST, "POST"},     {HTTP_PUT, "PUT"},
    {HTTP_PATCH, "PATCH"},   {HTTP_DELETE, "DELETE"},
};

/* In the table's order: those of one operation stand together. */
static const struct rest_param params[] = {
#define PARAM(operation, name, kind, min, max, preset, choices)                                    \
    {#name, REST_##kind, min, max, preset, choices},
#include "rest.def"
};
static const enum rest_operation owners[] = {
#define PARAM(operation, name, kind, min, max, preset, choices) REST_##operation,
#include "rest.def"
};
enum { PARAMS_N = sizeof params / sizeof params[0] };

static bool segment_read(struct bytes raw, struct arena *arena, struct bytes *out,
                         struct rest_fault *f)
{
    if (raw.n == 0)
        return rest_fault_set(f, REST_PROBLEM_NOT_FOUND, "the path has an empty segment");
    if (!rest_percent_decode(raw, false, arena, out))
        return rest_fault_set(f, REST_PROBLEM_INVALID_PATH, "a percent escape is broken");
    if (bytes_equal(*out, BYTES_OF(".")) || bytes_equal(*out, BYTES_OF("..")))
        return rest_fault_set(f, REST_PROBLEM_NOT_FOUND, "no name is '.' or '..'");
    if (memchr(out->at, '/', out->n) != NULL)
        return rest_fault_set(f, REST_PROBLEM_INVALID_PATH, "no name has a slash in it");
    bool control = false;
    for (size_t i = 0; i < out->n; i++)
        control = control || ((const unsigned char *)out->at)[i] < ' ';
    if (control || utf8_first_forbidden(*out) != out->n)
        return rest_fault_set(f, REST_PROBLEM_INVALID_PATH,
                              "names are UTF-8 without control characters");
    return true;
}

bool rest_path_read(struct bytes raw, struct arena *arena, struct rest_path *out,
                    struct rest_fault *f)
{
    out->n = 0;
    CHECK(raw.n > 0 && ((const char *)raw.at)[0] == '/');
    for (;;) {
        raw = (struct bytes){(const char *)raw.at + 1, raw.n - 1};
        const char *slash = raw.n == 0 ? NULL : memchr(raw.at, '/', raw.n);
        size_t n = slash == NULL ? raw.n : (size_t)(slash - (const char *)raw.at);
        if (out->n == REST_SEGMENTS_MAX)
            return rest_fault_set(f, REST_PROBLEM_NOT_FOUND, "no path is as long as this");
        if (!segment_read((struct bytes){raw.at, n}, arena, &out->segments[out->n++], f))
            return false;
        if (slash == NULL)
            return true;
        raw = (struct bytes){slash, raw.n - n};
    }
}

static void keep(const char *name, size_t n, struct bytes value, struct rest_match *m)
{
    struct bytes word = {name, n};
    if (bytes_equal(word, BYTES_OF("{topic}")))
        m->topic = value;
    else if (bytes_equal(word, BYTES_OF("{group}")))
        m->group = value;
    else
        m->last = value;
}

/* No two templates of one method fit the same path, so the table's order says nothing. */
static bool matches(const char *template, const struct rest_path *path, struct rest_match *m)
{
    const char *at = template;
    size_t i = 0;
    while (*at == '/') {
        size_t n = strcspn(++at, "/");
        if (i == path->n)
            return false;
        struct bytes got = path->segments[i++];
        if (at[0] == '{')
            keep(at, n, got, m);
        else if (!bytes_equal(got, (struct bytes){at, n}))
            return false;
        at += n;
    }
    return i == path->n;
}

enum rest_found rest_route_find(enum http_method method, const struct rest_path *path,
                                struct rest_match *out)
{
    enum http_method wanted = method == HTTP_HEAD ? HTTP_GET : method;
    bool there[sizeof methods / sizeof methods[0]] = {false};
    enum rest_found found = REST_NO_PATH;
    for (unsigned o = 0; o < REST_OPERATIONS_N; o++) {
        struct rest_match m = {.operation = (enum rest_operation)o};
        if (!matches(routes[o].template, path, &m))
            continue;
        for (size_t i = 0; i < sizeof methods / sizeof methods[0]; i++)
            there[i] = there[i] || methods[i].method == routes[o].method;
        if (found == REST_NO_PATH)
            found = REST_NO_METHOD;
        if (routes[o].method == wanted) {
            *out = m;
            found = REST_FOUND;
        }
    }
    size_t n = 0;
    for (size_t i = 0; i < sizeof methods / sizeof methods[0]; i++)
        if (there[i])
            n += (size_t)snprintf(out->allow + n, sizeof out->allow - n, "%s, ", methods[i].name);
    snprintf(out->allow + n, sizeof out->allow - n, "OPTIONS");
    return found;
}

const struct rest_param *rest_route_params(enum rest_operation o, size_t *n)
{
    size_t first = 0, end;
    while (first < PARAMS_N && owners[first] != o)
        first++;
    for (end = first; end < PARAMS_N && owners[end] == o; end++)
        continue;
    *n = end - first;
    CHECK(*n <= REST_PARAMS_MAX);
    return &params[first < PARAMS_N ? first : 0];
}
