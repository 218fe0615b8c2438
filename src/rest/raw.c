// SPDX-License-Identifier: Apache-2.0
/* A message as an answer: its body is the body, headers tell the rest. */
#include <stdio.h>
#include <strings.h>

#include "base/check.h"
#include "base/codec.h"
#include "front/rules.h"
#include "rest/attribute.h"
#include "rest/lease.h"

#define ATTRIBUTE_PREFIX "Leaselog-Attr-"

void rest_lease_url_put(struct buf *out, const struct rest_call *c, const char *receipt)
{
    buf_put_text(out, "/v1/topics/");
    rest_percent_put(out, c->match.topic);
    buf_put_text(out, "/groups/");
    rest_percent_put(out, c->match.group);
    buf_put_text(out, "/leases/");
    buf_put_text(out, receipt); /* base64url needs no escapes */
}

/* ---- Accept ---- */

/* `; q=0`, `;q=0.0` and the like among a media range's parameters (RFC 9110, section 12.4.2). */
static bool refused_by_q(struct bytes params)
{
    const char *at = params.at, *end = at + params.n;
    while (at < end) {
        const char *stop = memchr(at, ';', (size_t)(end - at));
        if (stop == NULL)
            stop = end;
        while (at < stop && (*at == ' ' || *at == '\t'))
            at++;
        if (stop - at >= 3 && (at[0] == 'q' || at[0] == 'Q') && at[1] == '=' && at[2] == '0') {
            const char *behind = at + 2;
            while (behind < stop && (*behind == '0' || *behind == '.'))
                behind++;
            if (behind == stop || *behind == ' ')
                return true;
        }
        at = stop == end ? end : stop + 1;
    }
    return false;
}

static struct bytes trimmed(struct bytes b)
{
    const char *at = b.at;
    while (b.n > 0 && (*at == ' ' || *at == '\t')) {
        at++;
        b.n--;
    }
    while (b.n > 0 && (at[b.n - 1] == ' ' || at[b.n - 1] == '\t'))
        b.n--;
    return (struct bytes){at, b.n};
}

static bool is_word(struct bytes b, const char *word)
{
    return b.n == strlen(word) && strncasecmp(b.at, word, b.n) == 0;
}

bool rest_accept_raw(struct bytes accept)
{
    bool raw = false;
    while (accept.n > 0) {
        const char *at = accept.at, *comma = memchr(at, ',', accept.n);
        size_t n = comma == NULL ? accept.n : (size_t)(comma - at);
        const char *params = memchr(at, ';', n);
        size_t type_n = params == NULL ? n : (size_t)(params - at);
        struct bytes type = trimmed((struct bytes){at, type_n});
        struct bytes rest = {at + type_n, n - type_n};
        if (is_word(type, "application/json"))
            return false;
        if (is_word(type, "application/octet-stream") && !refused_by_q(rest))
            raw = true;
        size_t used = comma == NULL ? n : n + 1;
        accept = (struct bytes){at + used, accept.n - used};
    }
    return raw;
}

/* ---- the answer ---- */

enum {
    ATTRIBUTES_BYTES_MAX = HTTP_ANSWER_HEADERS_BYTES_MAX - 1024, /* of names and values together */
    HEADER_EXTRA_BYTES = 4, /* as http.h counts a header, beside its name and value */
    /* Kept free for what each answer has, with the usual type, and for Leaselog-Attrs-Omitted. */
    OWN_HEADERS_BYTES = 288,
};

struct headers {
    struct arena *arena;
    struct http_answer_header at[REST_ANSWER_HEADERS_MAX];
    size_t n;
    size_t bytes; /* as http.h counts them */
    size_t room;
};

static void add(struct headers *h, const char *name, struct bytes value)
{
    CHECK(h->n < REST_ANSWER_HEADERS_MAX);
    h->bytes += strlen(name) + value.n + HEADER_EXTRA_BYTES;
    h->at[h->n++] = (struct http_answer_header){name, arena_copy(h->arena, value).at};
}

static void add_text(struct headers *h, const char *name, const char *value)
{
    add(h, name, bytes_of_text(value));
}

/* A token (RFC 9110, section 5.6.2), as far as attribute names have its characters. */
static bool name_fits(struct bytes name)
{
    const char *at = name.at;
    for (size_t i = 0; i < name.n; i++)
        if ((unsigned char)at[i] >= 0x80)
            return false;
    return true;
}

/* For a header of n bytes, name and value together. A key, a long topic and its receipt take room
 * too, and a large head of the request: what does not fit beside them would be left out without the
 * client being told. */
static bool room_fits(const struct headers *h, size_t n)
{
    return h->n + 2 <= REST_ANSWER_HEADERS_MAX &&
           h->bytes + n + HEADER_EXTRA_BYTES + OWN_HEADERS_BYTES <= h->room;
}

/* Visible ASCII with spaces inside: what any client gets back as it was sent. */
static bool value_fits(struct bytes value)
{
    const char *at = value.at;
    if (value.n == 0 || value.n > ATTRIBUTES_BYTES_MAX || at[0] == ' ' || at[value.n - 1] == ' ')
        return false;
    for (size_t i = 0; i < value.n; i++)
        if (at[i] < ' ' || at[i] > '~')
            return false;
    return true;
}

static void add_attributes(struct headers *h, const struct queue_received *m, unsigned omitted_n,
                           const char **type)
{
    char omitted[16];
    size_t left = ATTRIBUTES_BYTES_MAX;
    for (size_t i = 0; i < m->attributes_n; i++) {
        const struct queue_attribute *a = &m->attributes[i];
        if (bytes_equal(a->name, BYTES_OF(FRONT_ENCODING_NAME)))
            continue; /* the bytes are here as they are */
        size_t bytes = a->name.n + a->value.n;
        if (a->binary || !name_fits(a->name) || !value_fits(a->value) || bytes > left ||
            !room_fits(h, sizeof ATTRIBUTE_PREFIX - 1 + bytes)) {
            omitted_n++;
            continue;
        }
        left -= bytes;
        if (bytes_equal(a->name, BYTES_OF("Content-Type"))) {
            *type = arena_copy(h->arena, a->value).at;
            h->bytes += a->value.n;
        } else {
            char name[sizeof ATTRIBUTE_PREFIX + REST_ATTRIBUTE_NAME_MAX];
            snprintf(name, sizeof name, ATTRIBUTE_PREFIX "%.*s", (int)a->name.n,
                     (const char *)a->name.at);
            add(h, arena_copy(h->arena, bytes_of_text(name)).at, a->value);
        }
    }
    if (omitted_n == 0)
        return;
    snprintf(omitted, sizeof omitted, "%u", omitted_n);
    add_text(h, "Leaselog-Attrs-Omitted", omitted);
}

static void add_id(struct headers *h, const uint8_t id[16])
{
    char text[CODEC_UUID_ROOM];
    codec_uuid_text(id, text);
    add_text(h, "Leaselog-Id", text);
}

void rest_reply_raw(struct rest_call *c, const struct queue_received *m, int64_t lease_until_ms)
{
    struct headers h = {.arena = c->arena, .room = http_answer_room(c->http)};
    struct buf url = BUF_EMPTY, body = BUF_EMPTY;
    const char *type = "application/octet-stream";
    char count[16], until[REST_TIME_ROOM];
    add_id(&h, m->id);
    add_text(&h, "Leaselog-Receipt", m->receipt);
    snprintf(count, sizeof count, "%u", m->receive_count);
    add_text(&h, "Leaselog-Receive-Count", count);
    rest_time_text(lease_until_ms, until);
    add_text(&h, "Leaselog-Lease-Until", until);
    if (m->group_id.n > 0)
        add(&h, "Leaselog-Group-Id", m->group_id);
    rest_lease_url_put(&url, c, m->receipt);
    add(&h, "Location", buf_bytes(&url));
    /* The sender chose type and body; no browser shall take the one for something else. */
    add_text(&h, "X-Content-Type-Options", "nosniff");
    bool key = value_fits(m->key), key_fits = room_fits(&h, sizeof "Leaselog-Key" - 1 + m->key.n);
    if (key && key_fits)
        add(&h, "Leaselog-Key", m->key);
    add_attributes(&h, m, key && !key_fits ? 1 : 0, &type);
    buf_put_bytes(&body, m->body);
    rest_answer_bytes(c->http, 200, type, h.at, h.n, &body);
    buf_fini(&url);
}
