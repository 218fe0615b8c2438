// SPDX-License-Identifier: Apache-2.0
/* Queue URLs as this client may reach them. Several SDKs connect to the host of the URL that they
 * were given, so it is what the client itself called us: `public_url` if the operator has set it;
 * else what a trusted proxy says that it was called (X-Forwarded-Proto, -Host, -Port); else the
 * Host header. Some old clients leave the port out of it and then connect to port 80: if they named
 * the very address at which they reached us, ours is added. */
#include <string.h>
#include <strings.h>

#include "sqs/call.h"

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool port_valid(struct bytes port)
{
    const char *at = port.at;
    for (size_t i = 0; i < port.n; i++)
        if (!is_digit(at[i]))
            return false;
    return port.n > 0 && port.n <= 5;
}

/* How many bytes of `host` are its name or address, brackets included. */
static size_t name_bytes(struct bytes host)
{
    const char *at = host.at;
    bool v6 = host.n > 0 && at[0] == '[';
    size_t n = v6 ? 1 : 0;
    while (n < host.n && (is_digit(at[n]) || is_letter(at[n]) || at[n] == '.' ||
                          (v6 ? at[n] == ':' : at[n] == '-' || at[n] == '_')))
        n++;
    if (!v6)
        return n;
    return n > 1 && n < host.n && at[n] == ']' ? n + 1 : 0;
}

static bool has_port(struct bytes host)
{
    return name_bytes(host) < host.n;
}

/* NAME, 192.0.2.1 or [2001:db8::1], perhaps with a port: nothing that could end the authority of a
 * URL. */
static bool host_valid(struct bytes host)
{
    const char *at = host.at;
    size_t n = host.n > 255 ? 0 : name_bytes(host);
    return n > 0 && (n == host.n ||
                     (at[n] == ':' && port_valid((struct bytes){at + n + 1, host.n - n - 1})));
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

static bool equal_nocase(struct bytes text, const char *word)
{
    return text.n == strlen(word) && strncasecmp(text.at, word, text.n) == 0;
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

/* What the client called us; HTTP/1.0 needs no Host, and then it is where it reached us. */
static void put_host(struct sqs_call *c, struct buf *url)
{
    char own[HTTP_ADDRESS_TEXT_MAX + 1];
    uint16_t port;
    struct bytes host = http_header(c->http, "Host");
    http_own_address(c->http, own, &port);
    if (host_valid(host)) {
        buf_put_bytes(url, host);
        if (port != 80 && !has_port(host) && is_own(host, own))
            buf_put_format(url, ":%u", (unsigned)port);
    } else if (own[0] == '\0') { /* it has gone, and so will not read this */
        buf_put_text(url, "localhost");
    } else {
        buf_put_format(url, strchr(own, ':') == NULL ? "%s:%u" : "[%s]:%u", own, (unsigned)port);
    }
}

static void origin_forwarded(struct sqs_call *c, struct buf *url)
{
    struct bytes proto = first_of(http_header(c->http, "X-Forwarded-Proto"));
    struct bytes host = first_of(http_header(c->http, "X-Forwarded-Host"));
    struct bytes port = first_of(http_header(c->http, "X-Forwarded-Port"));
    bool https = equal_nocase(proto, "https");
    if (!host_valid(host))
        host = http_header(c->http, "Host");
    buf_put_text(url, https ? "https://" : "http://");
    if (!host_valid(host)) {
        put_host(c, url);
        return;
    }
    buf_put_bytes(url, host);
    if (!has_port(host) && port_valid(port) &&
        !bytes_equal(port, https ? BYTES_OF("443") : BYTES_OF("80"))) {
        buf_put_u8(url, ':');
        buf_put_bytes(url, port);
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
    buf_put_text(url, "http://");
    put_host(c, url);
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
