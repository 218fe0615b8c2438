// SPDX-License-Identifier: Apache-2.0
/* Queue URLs as this client may reach them. Several SDKs connect to the host of the URL that they
 * were given, so it is what the client itself called us: `public_url` if the operator has set it;
 * else what a trusted proxy says that it was called (X-Forwarded-Proto, -Host, -Port); else the
 * Host header. Some old clients leave the port out of it and then connect to port 80: if they named
 * the very address at which they reached us, ours is added. */
#include <string.h>
#include <strings.h>

#include "sqs/call.h"

/* A host, perhaps with a port: nothing that could end the authority of a URL. */
static bool host_valid(struct bytes host)
{
    const char *at = host.at;
    for (size_t i = 0; i < host.n; i++) {
        bool letter = (at[i] >= 'a' && at[i] <= 'z') || (at[i] >= 'A' && at[i] <= 'Z') ||
                      (at[i] >= '0' && at[i] <= '9');
        if (!letter && (at[i] == 0 || strchr(".:-_[]", at[i]) == NULL))
            return false;
    }
    return host.n > 0 && host.n <= 255;
}

static bool port_valid(struct bytes port)
{
    const char *at = port.at;
    for (size_t i = 0; i < port.n; i++)
        if (at[i] < '0' || at[i] > '9')
            return false;
    return port.n > 0 && port.n <= 5;
}

/* The first of a list with commas: what the proxy nearest to the client was told. */
static struct bytes first_of(struct bytes list)
{
    const char *at = list.at, *comma = list.n == 0 ? NULL : memchr(at, ',', list.n);
    size_t n = comma == NULL ? list.n : (size_t)(comma - at);
    while (n > 0 && at[n - 1] == ' ')
        n--;
    return (struct bytes){at, n};
}

static bool has_port(struct bytes host)
{
    const char *at = host.at, *colon = memrchr(at, ':', host.n);
    /* The last colon of "[::1]" is inside the brackets. */
    return colon != NULL && memchr(colon, ']', host.n - (size_t)(colon - at)) == NULL;
}

static bool equal_nocase(struct bytes text, const char *word)
{
    return text.n == strlen(word) && strncasecmp(text.at, word, text.n) == 0;
}

static void origin_forwarded(struct sqs_call *c, struct buf *url)
{
    struct bytes proto = first_of(http_header(c->http, "X-Forwarded-Proto"));
    struct bytes host = first_of(http_header(c->http, "X-Forwarded-Host"));
    struct bytes port = first_of(http_header(c->http, "X-Forwarded-Port"));
    bool https = equal_nocase(proto, "https");
    if (!host_valid(host))
        host = http_header(c->http, "Host");
    if (!host_valid(host))
        host = BYTES_OF("localhost");
    buf_put_text(url, https ? "https://" : "http://");
    buf_put_bytes(url, host);
    if (!has_port(host) && port_valid(port) &&
        !bytes_equal(port, https ? BYTES_OF("443") : BYTES_OF("80"))) {
        buf_put_u8(url, ':');
        buf_put_bytes(url, port);
    }
}

/* Whether `host` is the address at which this connection reached us, by number or as localhost. */
static bool is_own(struct bytes host, const char *own)
{
    const char *at = host.at;
    if (host.n > 2 && at[0] == '[')
        host = (struct bytes){at + 1, host.n - 2};
    bool loopback = strncmp(own, "127.", 4) == 0 || strcmp(own, "::1") == 0;
    return bytes_equal(host, bytes_of_text(own)) || (loopback && equal_nocase(host, "localhost"));
}

static void origin_plain(struct sqs_call *c, struct buf *url)
{
    char own[HTTP_ADDRESS_TEXT_MAX + 1];
    uint16_t port;
    struct bytes host = http_header(c->http, "Host");
    http_own_address(c->http, own, &port);
    if (host_valid(host)) {
        buf_put_text(url, "http://");
        buf_put_bytes(url, host);
        if (port != 80 && !has_port(host) && is_own(host, own))
            buf_put_format(url, ":%u", port);
    } else { /* HTTP/1.0 needs no Host */
        buf_put_format(url, strchr(own, ':') == NULL ? "http://%s:%u" : "http://[%s]:%u", own,
                       port);
    }
}

static void origin(struct sqs_call *c, struct buf *url)
{
    char peer[HTTP_ADDRESS_TEXT_MAX + 1];
    if (c->front->public_url != NULL) {
        struct bytes base = bytes_of_text(c->front->public_url);
        while (base.n > 0 && ((const char *)base.at)[base.n - 1] == '/')
            base.n--;
        buf_put_bytes(url, base);
        return;
    }
    if (c->front->proxies.n > 0) {
        http_peer_address(c->http, peer);
        if (sqs_proxies_hold(&c->front->proxies, peer)) {
            origin_forwarded(c, url);
            return;
        }
    }
    origin_plain(c, url);
}

struct bytes sqs_queue_url(struct sqs_call *c, struct bytes name)
{
    struct buf url = BUF_EMPTY;
    if (c->url_base.n == 0) {
        origin(c, &url);
        buf_put_text(&url, "/");
        buf_put_bytes(&url, c->place.account);
        buf_put_text(&url, "/");
        c->url_base = arena_copy(c->arena, buf_bytes(&url));
        buf_clear(&url);
    }
    buf_put_bytes(&url, c->url_base);
    buf_put_bytes(&url, name);
    struct bytes whole = arena_copy(c->arena, buf_bytes(&url));
    buf_fini(&url);
    return whole;
}
