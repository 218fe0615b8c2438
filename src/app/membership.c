// SPDX-License-Identifier: Apache-2.0
#include "app/membership.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/listen.h"
#include "app/secret_file.h"
#include "base/note.h"
#include "base/rng.h"
#include "cluster/adopt.h"
#include "cluster/keys.h"

static const char *text_or_null(const char *text)
{
    return text[0] == '\0' ? NULL : text;
}

static bool wrong(const char *sentence)
{
    fprintf(stderr, "leaselog: %s\n", sentence);
    return false;
}

/* Whoever forgot --etcd does not want a broker that is alone. */
static bool alone_check(const struct serve_options *o)
{
    const struct {
        bool given;
        const char *sentence;
    } rows[] = {
#define ROW(given, name)                                                                           \
    {given, "--" name " is for a broker of a cluster: --etcd must name its etcd"}
        ROW(o->broker_id != 0, "broker-id"),         ROW(o->cluster_key[0] != '\0', "cluster-key"),
        ROW(o->peer_url[0] != '\0', "peer-url"),     ROW(o->peer_from[0] != '\0', "peer-from"),
        ROW(o->client_url[0] != '\0', "client-url"), ROW(o->replace, "replace"),
#undef ROW
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (rows[i].given)
            return wrong(rows[i].sentence);
    return true;
}

static bool url_ok(const char *text, bool may_be_https)
{
    size_t scheme = may_be_https && strncmp(text, "https://", 8) == 0 ? 8 : 7;
    return (scheme == 8 || strncmp(text, "http://", 7) == 0) && text[scheme] != '\0' &&
           text[scheme] != '/' && text[scheme] != ':' && cluster_key_url_ok(text);
}

static bool ip_ok(const char *text)
{
    struct in6_addr at; /* large enough for both */
    return inet_pton(AF_INET, text, &at) == 1 || inet_pton(AF_INET6, text, &at) == 1;
}

/* Others put paths behind it. */
static bool peer_url_ok(const char *text)
{
    return url_ok(text, false) && strpbrk(text + strlen("http://"), "/?#@") == NULL;
}

/* Where others reach it: what is wrong here they would only find out later, each for itself. */
static bool addresses_check(const struct serve_options *o)
{
    static const char *const everywhere[] = {"0.0.0.0", "::", "[::]"};
    char address[256];
    uint16_t port;
    if (!listen_parse(o->peer_listen, address, sizeof address, &port))
        return wrong("--peer-listen must be ADDR:PORT, such as 10.0.0.1:9325");
    for (size_t i = 0; i < sizeof everywhere / sizeof everywhere[0]; i++)
        if (o->peer_url[0] == '\0' && strcmp(address, everywhere[i]) == 0)
            return wrong("--peer-listen names no address of this broker that others could connect "
                         "to: --peer-url must");
    if (o->peer_url[0] != '\0' && !peer_url_ok(o->peer_url))
        return wrong("--peer-url must be a URL of at most 255 characters without a path, such as "
                     "http://10.0.0.1:9325");
    if (o->client_url[0] != '\0' && !url_ok(o->client_url, true))
        return wrong("--client-url must be a URL of at most 255 characters, such as "
                     "http://10.0.0.1:9324");
    if (o->peer_from[0] != '\0' && !ip_ok(o->peer_from))
        return wrong("--peer-from must be an IP address of this machine, such as 10.0.0.1");
    return true;
}

bool membership_check(const struct serve_options *o)
{
    if (o->etcd[0] == '\0')
        return alone_check(o);
    if (o->broker_id == 0)
        return wrong("--etcd needs --broker-id, from 1 to 65535, another one for each broker");
    if (o->cluster_key[0] == '\0')
        return wrong("--etcd needs --cluster-key: the same file with 16 bytes or more for each "
                     "broker, such as from: head -c 32 /dev/urandom | base64");
    return addresses_check(o);
}

/* One line of text, without its end. */
static bool secret_line_read(const char *path, char text[MEMBERSHIP_SECRET_ROOM], size_t *n)
{
    if (!secret_file_read(path, text, MEMBERSHIP_SECRET_ROOM, n))
        return false;
    while (*n > 0 && (text[*n - 1] == '\n' || text[*n - 1] == '\r'))
        text[--*n] = '\0';
    return true;
}

bool membership_secrets_load(struct membership *m, const struct serve_options *o)
{
    size_t n;
    if (o->etcd[0] == '\0')
        return true;
    if (o->etcd_password_file[0] != '\0' &&
        !secret_line_read(o->etcd_password_file, m->etcd_password, &n))
        return false;
    if (!secret_line_read(o->cluster_key, m->key, &m->key_n))
        return false;
    if (m->key_n < PEER_KEY_BYTES_MIN)
        fprintf(stderr, "leaselog: %s holds %zu bytes; a cluster's key has %d or more\n",
                o->cluster_key, m->key_n, PEER_KEY_BYTES_MIN);
    return m->key_n >= PEER_KEY_BYTES_MIN;
}

static enum err catalog_start(struct membership *m, const struct serve_options *o)
{
    return catalog_open_etcd(
        &(struct catalog_etcd_options){
            .endpoints = o->etcd,
            .cluster = o->cluster,
            .user = text_or_null(o->etcd_user),
            .password = text_or_null(m->etcd_password),
            .ca_file = text_or_null(o->etcd_ca),
            .cert_file = text_or_null(o->etcd_cert),
            .key_file = text_or_null(o->etcd_key),
        },
        &m->catalog);
}

static bool url_of(void *self, uint32_t broker, char out[PEER_URL_BYTES_MAX + 1])
{
    const struct membership *m = self;
    return !cluster_is_silent(m->cluster, broker) && cluster_url(m->cluster, broker, out);
}

static enum err cluster_begin(struct membership *m, const struct serve_options *o,
                              const struct queue_options *node, const char *client_url)
{
    char address[256];
    struct rng rng = rng_from_system();
    struct cluster_options c = {
        .catalog = m->catalog,
        .clock = node->clock,
        .broker = (uint32_t)o->broker_id,
        .disk = node->disk,
        .replace = o->replace,
        .session_ttl_s = (int)o->session_ttl_s,
        .key = {m->key, m->key_n},
        .peer_address = address,
        .peer_url = text_or_null(o->peer_url),
        .peer_from = text_or_null(o->peer_from),
        .client_url = o->client_url[0] == '\0' ? client_url : o->client_url,
    };
    if (!listen_parse(o->peer_listen, address, sizeof address, &c.peer_port))
        return ERR_INVALID;
    enum err e = cluster_adopt(node, c.broker, m->catalog, &rng);
    if (e != ERR_OK)
        return e;
    m->route = route_new(
        &(struct route_options){.broker = c.broker, .clock = c.clock, .url = url_of, .self = m});
    route_routes(m->route, m->routes);
    c.rng = rng;
    c.routes = m->routes;
    c.routes_n = ROUTE_ROUTES;
    return cluster_start(&c, &m->cluster);
}

enum err membership_start(struct membership *m, const struct serve_options *o,
                          const struct queue_options *node, const char *client_url)
{
    if (o->etcd[0] == '\0')
        return cluster_directory_is_alone(node->disk) ? ERR_OK : ERR_CONFLICT;
    enum err e = catalog_start(m, o);
    if (e == ERR_OK)
        e = cluster_begin(m, o, node, client_url);
    explicit_bzero(m->key, sizeof m->key);
    explicit_bzero(m->etcd_password, sizeof m->etcd_password);
    if (e != ERR_OK)
        membership_end(m);
    return e;
}

/* Sessions of a broker's id are counted, so a later life has more. Chance makes two lives differ
 * that have the same number, because the catalogue was restored from an old copy. */
static uint64_t life_of(const struct membership *m)
{
    struct rng rng = rng_from_system();
    return (uint64_t)cluster_first_session(m->cluster) << 32 | rng_next(&rng) >> 32;
}

enum err membership_join(struct membership *m, struct queue *q)
{
    if (m->cluster == NULL)
        return ERR_OK;
    enum err e = cluster_join(m->cluster, q);
    if (e == ERR_OK)
        route_begin(m->route, cluster_peer(m->cluster), q, life_of(m));
    return e;
}

const struct queue_mover *membership_mover(const struct membership *m)
{
    return m->route == NULL ? NULL : route_mover(m->route);
}

const struct front_links *membership_links(const struct membership *m)
{
    return m->route == NULL ? NULL : route_links(m->route);
}

void membership_resign(struct membership *m)
{
    if (m->cluster != NULL)
        cluster_resign(m->cluster);
}

void membership_leave(struct membership *m)
{
    if (m->route != NULL)
        route_end(m->route); /* the housekeeper still runs, and may have something to move */
    if (m->cluster != NULL)
        cluster_leave(m->cluster);
}

void membership_end(struct membership *m)
{
    if (m->catalog == NULL)
        return;
    cluster_free(m->cluster);
    route_free(m->route);
    catalog_close(m->catalog);
    *m = (struct membership){0};
}
