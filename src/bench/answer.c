// SPDX-License-Identifier: Apache-2.0
#include "bench/answer.h"

#include <string.h>
#include <strings.h>

/* What the header fields say, gathered line by line. */
struct fields {
    bool length_known;
    size_t body_bytes;
    bool close, keep_alive;
};

static enum err fault(enum err e, const char *sentence, const char **why)
{
    *why = sentence;
    return e;
}

/* "HTTP/1.1 200 OK"; the reason may be missing, as may the blank before it. */
static enum err status_line(const char *at, size_t n, struct bench_answer *out, const char **why)
{
    if (n < 12 || memcmp(at, "HTTP/1.", 7) != 0 || (at[7] != '0' && at[7] != '1') || at[8] != ' ' ||
        (n > 12 && at[12] != ' '))
        return fault(ERR_CORRUPT, "the answer does not begin as HTTP/1.1 does", why);
    int status = 0;
    for (size_t i = 9; i < 12; i++) {
        if (at[i] < '0' || at[i] > '9')
            return fault(ERR_CORRUPT, "the answer's status is no number", why);
        status = 10 * status + (at[i] - '0');
    }
    if (status < 200)
        return fault(ERR_CORRUPT, "an interim answer, or one with no valid status", why);
    out->status = status;
    out->closes = at[7] == '0';
    return ERR_OK;
}

static enum err length_field(const char *at, size_t n, size_t body_bytes_max, struct fields *f,
                             const char **why)
{
    size_t length = 0;
    if (f->length_known || n == 0)
        return fault(ERR_CORRUPT, "a Content-Length that is empty, or a second one", why);
    for (size_t i = 0; i < n; i++) {
        if (at[i] < '0' || at[i] > '9')
            return fault(ERR_CORRUPT, "a Content-Length that is no number", why);
        length = 10 * length + (size_t)(at[i] - '0');
        if (length > body_bytes_max)
            return fault(ERR_TOO_BIG, "the answer's body is larger than any that was asked for",
                         why);
    }
    f->length_known = true;
    f->body_bytes = length;
    return ERR_OK;
}

static bool is_word(const char *at, size_t n, const char *word)
{
    return n == strlen(word) && strncasecmp(at, word, n) == 0;
}

/* The words of a Connection field. */
static void connection_field(const char *at, size_t n, struct fields *f)
{
    while (n > 0) {
        const char *comma = memchr(at, ',', n);
        size_t span = comma == NULL ? n : (size_t)(comma - at), word = span;
        const char *first = at;
        while (word > 0 && (*first == ' ' || *first == '\t')) {
            first++;
            word--;
        }
        while (word > 0 && (first[word - 1] == ' ' || first[word - 1] == '\t'))
            word--;
        f->close = f->close || is_word(first, word, "close");
        f->keep_alive = f->keep_alive || is_word(first, word, "keep-alive");
        span += comma != NULL;
        at += span;
        n -= span;
    }
}

/* One line "Name: value", without its end. */
static enum err field_line(const char *at, size_t n, size_t body_bytes_max, struct fields *f,
                           const char **why)
{
    const char *colon = memchr(at, ':', n);
    if (colon == NULL || colon == at || at[0] == ' ' || at[0] == '\t' || colon[-1] == ' ' ||
        colon[-1] == '\t')
        return fault(ERR_CORRUPT, "a header line that has no name", why);
    size_t name_n = (size_t)(colon - at), value_n = n - name_n - 1;
    const char *value = colon + 1;
    while (value_n > 0 && (*value == ' ' || *value == '\t')) {
        value++;
        value_n--;
    }
    while (value_n > 0 && (value[value_n - 1] == ' ' || value[value_n - 1] == '\t'))
        value_n--;
    if (is_word(at, name_n, "Content-Length"))
        return length_field(value, value_n, body_bytes_max, f, why);
    if (is_word(at, name_n, "Transfer-Encoding"))
        return fault(ERR_CORRUPT, "the answer's body is chunked, which is not read here", why);
    if (is_word(at, name_n, "Connection"))
        connection_field(value, value_n, f);
    return ERR_OK;
}

/* The next line, which ends in CR LF; neither stands in it, nor a NUL. False: there is none. */
static bool line_next(const char **at, const char *end, const char **line, size_t *n)
{
    const char *lf = memchr(*at, '\n', (size_t)(end - *at));
    if (lf == NULL || lf == *at || lf[-1] != '\r')
        return false;
    *line = *at;
    *n = (size_t)(lf - 1 - *at);
    *at = lf + 1;
    return memchr(*line, '\r', *n) == NULL && memchr(*line, '\0', *n) == NULL;
}

enum err bench_answer_read(struct bytes in, size_t body_bytes_max, struct bench_answer *out,
                           const char **why)
{
    struct bench_answer a = {0};
    struct fields f = {0};
    const char *at = in.at, *line;
    size_t within = in.n < BENCH_ANSWER_HEAD_MAX ? in.n : BENCH_ANSWER_HEAD_MAX, n;
    const char *end = within == 0 ? NULL : memmem(at, within, "\r\n\r\n", 4);
    if (end == NULL)
        return in.n < BENCH_ANSWER_HEAD_MAX
                   ? ERR_NEED
                   : fault(ERR_TOO_BIG, "the answer's headers are longer than 16 KiB", why);
    end += 2; /* the last line's end belongs to it */
    a.head_bytes = (size_t)(end + 2 - at);
    if (!line_next(&at, end, &line, &n))
        return fault(ERR_CORRUPT, "a line of the answer's head does not end as it should", why);
    enum err e = status_line(line, n, &a, why);
    while (e == ERR_OK && at < end) {
        if (!line_next(&at, end, &line, &n))
            return fault(ERR_CORRUPT, "a line of the answer's head does not end as it should", why);
        e = field_line(line, n, body_bytes_max, &f, why);
    }
    if (e != ERR_OK)
        return e;
    bool bodiless = a.status == 204 || a.status == 304;
    if (!bodiless && !f.length_known)
        return fault(ERR_CORRUPT, "the answer does not say how long its body is", why);
    a.body_bytes = bodiless ? 0 : f.body_bytes;
    a.closes = f.close || (a.closes && !f.keep_alive);
    *out = a;
    return ERR_OK;
}
