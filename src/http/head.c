// SPDX-License-Identifier: Apache-2.0
/* How a line's end can be seen after the fact. libmicrohttpd parses in place: it overwrites a CRLF
 * by two NULs and a bare LF by one, and the colon by one; names and values that it hands out point
 * into that buffer. So the head is walked once more, by addresses: each name must stand exactly two
 * bytes behind the end (the first NUL) of the value before it, and the head must end two bytes
 * behind the last empty line's start. A bare LF, a folded line, a NUL, a line that was skipped:
 * each moves an address. Bare CRs and other control characters remain in the values and are seen
 * there.
 *
 * What cannot be seen: a NUL directly before a bare LF in a header line looks like CRLF. Such a
 * line ends for us where it ends for whoever takes LF for a line end, and its value loses the NUL.
 */
#include "http/head.h"

#include <string.h>
#include <strings.h>

#include "base/check.h"
#include "base/swar.h"

/* RFC 9110, section 5.6.2. */
static const char token_marks[] = "!#$%&'*+-.^_`|~";

struct walk {
    struct head *head;
    const char *next; /* where the next line must begin */
    const char *fault;
    const char *expect; /* the value that asks for 100 Continue, or NULL */
    unsigned hosts, lengths, codings;
};

static bool is_token(const char *text)
{
    if (*text == '\0')
        return false;
    for (const char *p = text; *p != '\0'; p++) {
        bool letter = (*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z');
        bool digit = *p >= '0' && *p <= '9';
        if (!letter && !digit && *p != '-' && strchr(token_marks, *p) == NULL)
            return false;
    }
    return true;
}

static bool has_control(const char *text, size_t n)
{
    const unsigned char *p = (const unsigned char *)text, *end = p + n;
    while (end - p >= SWAR_BLOCK_BYTES && swar_block_is_plain(p, 0x7f, 0x7f))
        p += SWAR_BLOCK_BYTES;
    for (; p < end; p++)
        if ((*p < 0x20 && *p != '\t') || *p == 0x7f)
            return true;
    return false;
}

/* Pure digits, at most 18 of them, so that nothing overflows. */
static bool parse_length(const char *text, uint64_t *out)
{
    uint64_t n = 0;
    size_t digits = 0;
    for (; text[digits] >= '0' && text[digits] <= '9' && digits < 19; digits++)
        n = n * 10 + (uint64_t)(text[digits] - '0');
    if (digits == 0 || digits == 19 || text[digits] != '\0')
        return false;
    *out = n;
    return true;
}

static const char *check_meaning(struct walk *w, const char *name, const char *value)
{
    switch (name[0] | 0x20) {
    case 'h':
        if (strcasecmp(name, "Host") == 0 && ++w->hosts > 1)
            return "more than one Host header";
        break;
    case 'c':
        if (strcasecmp(name, "Content-Length") != 0)
            break;
        if (++w->lengths > 1)
            return "more than one Content-Length header";
        if (!parse_length(value, &w->head->content_bytes))
            return "Content-Length is not a number";
        break;
    case 't':
        if (strcasecmp(name, "Transfer-Encoding") != 0)
            break;
        if (++w->codings > 1)
            return "more than one Transfer-Encoding header";
        if (strcasecmp(value, "chunked") != 0)
            return "Transfer-Encoding is not chunked";
        w->head->chunked = true;
        break;
    case 'e':
        if (strcasecmp(name, "Expect") == 0 && strcasecmp(value, "100-continue") == 0)
            w->expect = value;
        break;
    default:
        break;
    }
    return NULL;
}

static const char *check_line(struct walk *w, const char *name, size_t name_n, const char *value,
                              size_t value_n)
{
    if (name != w->next)
        return "a line of the head does not end with CRLF, or is folded";
    if (!is_token(name))
        return "a header name has a character that is not allowed";
    if (value < name + name_n + 1)
        return "a header line is folded";
    for (const char *p = name + name_n + 1; p < value; p++)
        if (*p != ' ' && *p != '\t')
            return "a header line has a NUL";
    if (has_control(value, value_n))
        return "a header value has a control character";
    w->next = value + value_n + 2;
    return check_meaning(w, name, value);
}

static enum MHD_Result each_header(void *walk, enum MHD_ValueKind kind, const char *name,
                                   size_t name_n, const char *value, size_t value_n)
{
    struct walk *w = walk;
    (void)kind;
    w->head->headers_n++;
    w->fault =
        value == NULL ? "a header has no value" : check_line(w, name, name_n, value, value_n);
    return w->fault == NULL ? MHD_YES : MHD_NO;
}

static const char *check_request_line(const struct head_places *p, struct head *head)
{
    size_t method_n = strlen(p->method);
    if (strcmp(p->version, "HTTP/1.1") != 0 && strcmp(p->version, "HTTP/1.0") != 0)
        return "the HTTP version is neither 1.0 nor 1.1";
    head->version_1_0 = p->version[7] == '0';
    if (!is_token(p->method))
        return "the method has a character that is not allowed";
    if (p->target != p->method + method_n + 1 || p->version != p->target + p->target_n + 1)
        return "the request line has more than two spaces, or a NUL";
    return NULL;
}

static const char *check_whole(const struct walk *w, const struct head_places *places)
{
    if (w->next + 2 != places->method + w->head->bytes)
        return "the head has a line that does not end with CRLF, or a NUL";
    if (w->codings > 0 && w->lengths > 0)
        return "both Content-Length and Transfer-Encoding";
    if (w->codings > 0 && w->head->version_1_0)
        return "Transfer-Encoding in HTTP/1.0";
    if (w->hosts == 0 && !w->head->version_1_0)
        return "no Host header";
    return NULL;
}

/* Asked for 100 Continue where there is no body, libmicrohttpd says so and then hands out whatever
 * stands behind the head as a body of no bytes, at a time when it takes no answer. RFC 9110,
 * section 10.1.1, lets us leave out the 100; so it is not to see the question. */
static void expect_judge(const struct walk *w)
{
    bool body = w->head->chunked || w->head->content_bytes > 0;
    w->head->expects_continue = w->expect != NULL && body;
    if (w->expect != NULL && !body)
        *(char *)(uintptr_t)w->expect = '-';
}

static size_t parsed_bytes(struct MHD_Connection *mhd)
{
    int headers = MHD_get_connection_values(mhd, MHD_HEADER_KIND, NULL, NULL);
    int cookies = MHD_get_connection_values(mhd, MHD_COOKIE_KIND, NULL, NULL);
    size_t n = (size_t)(headers + cookies) * HEADER_STRUCT_BYTES;
    if (cookies > 0) /* they are cut in a copy, which begins where a struct may */
        n += strlen(MHD_lookup_connection_value(mhd, MHD_HEADER_KIND, "Cookie")) + 16;
    return n;
}

const char *head_check(struct MHD_Connection *mhd, const struct head_places *places,
                       struct head *out)
{
    const union MHD_ConnectionInfo *size =
        MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
    *out = (struct head){.bytes = size == NULL ? 0 : size->header_size};
    out->parsed_bytes = parsed_bytes(mhd);
    const char *fault = check_request_line(places, out);
    if (fault != NULL)
        return fault;
    struct walk w = {.head = out, .next = places->version + strlen(places->version) + 2};
    MHD_get_connection_values_n(mhd, MHD_HEADER_KIND, each_header, &w);
    fault = w.fault != NULL ? w.fault : check_whole(&w, places);
    if (fault == NULL)
        expect_judge(&w);
    return fault;
}
