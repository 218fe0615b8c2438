// SPDX-License-Identifier: Apache-2.0
#include "rest/duration.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#include "base/check.h"

static bool digits_read(const char *at, size_t n, size_t n_max, int64_t *out)
{
    int64_t value = 0;
    if (n == 0 || n > n_max)
        return false;
    for (size_t i = 0; i < n; i++) {
        if (at[i] < '0' || at[i] > '9')
            return false;
        value = value * 10 + (at[i] - '0');
    }
    *out = value;
    return true;
}

bool rest_number_read(struct bytes text, int64_t *out)
{
    return digits_read(text.at, text.n, 18, out);
}

bool rest_duration_read(struct bytes text, int64_t *ms)
{
    static const struct {
        struct bytes name;
        int64_t ms;
    } units[] = {
        {{"ms", 2}, 1},      {{"s", 1}, 1000},     {{"m", 1}, 60000},
        {{"h", 1}, 3600000}, {{"d", 1}, 86400000},
    };
    const char *at = text.at;
    size_t digits = 0;
    int64_t value, unit = 1000;
    while (digits < text.n && at[digits] >= '0' && at[digits] <= '9')
        digits++;
    if (!digits_read(at, digits, REST_DIGITS_MAX, &value)) /* 10^12 days are no overflow yet */
        return false;
    if (digits < text.n) {
        struct bytes name = {at + digits, text.n - digits};
        unit = 0;
        for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
            if (bytes_equal(name, units[i].name))
                unit = units[i].ms;
        if (unit == 0)
            return false;
    }
    int64_t product;
    if (__builtin_mul_overflow(value, unit, &product))
        return false;
    *ms = product;
    return true;
}

void rest_time_text(int64_t wall_ms, char out[REST_TIME_ROOM])
{
    int64_t ms = wall_ms % 1000, s = wall_ms / 1000;
    if (ms < 0) {
        ms += 1000;
        s--;
    }
    time_t seconds = (time_t)s;
    struct tm tm;
    CHECK(gmtime_r(&seconds, &tm) != NULL);
    snprintf(out, REST_TIME_ROOM, "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ",
             (tm.tm_year + 1900) % 10000, (tm.tm_mon + 1) % 100, tm.tm_mday % 100, tm.tm_hour % 100,
             tm.tm_min % 100, tm.tm_sec % 100, (int)(ms % 1000));
}

void rest_put_time(struct json_writer *w, const char *key, int64_t wall_ms)
{
    char text[REST_TIME_ROOM];
    rest_time_text(wall_ms, text);
    json_put_key(w, key);
    json_put_text(w, text);
}

void rest_put_seconds(struct json_writer *w, const char *key, int64_t ms)
{
    char text[40];
    json_put_key(w, key);
    if (ms % 1000 == 0 || ms < 0) {
        json_put_int64(w, ms / 1000);
        return;
    }
    snprintf(text, sizeof text, "%" PRId64 ".%03d", ms / 1000, (int)(ms % 1000));
    json_put_raw(w, bytes_of_text(text));
}
