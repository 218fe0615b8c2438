// SPDX-License-Identifier: Apache-2.0
#include "app/membership.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/listen.h"
#include "app/secret_file.h"
#include "base/note.h"
#include "base/rng.h"
#include "cluster/adopt.h"

enum { SECRET_BYTES_MAX = 4096 };

static const char *text_or_null(const char *text)
{
    return text[0] == '\0' ? NULL : text;
}

static bool wrong(const char *sentence)
{
    fprintf(stderr, "leaselog: %s\n", sentence);
    return false;
}

bool membership_check(const struct serve_options *o)
{
    char address[256];
    uint16_t port;
    if (o->etcd[0] == '\0') {
        if (o->broker_id != 0)
            return wrong("--broker-id is for a broker of a cluster: --etcd must name its etcd");
        return true;
    }
    if (o->broker_id == 0)
        return wrong("--etcd needs --broker-id, from 1 to 65535, another one for each broker");
    if (o->cluster_key[0] == '\0')
        return wrong("--etcd needs --cluster-key: the same file with 16 bytes or more for each "
                     "broker, such as from: head -c 32 /dev/urandom | base64");
    if (!listen_parse(o->peer_listen, address, sizeof address, &port))
        return wrong("--peer-listen must be ADDR:PORT, such as 10.0.0.1:9325");
    return true;
}

/* One line of text, without its end. */
static bool secret_line_read(const char *path, char text[SECRET_BYTES_MAX + 1], size_t *n)
{
    if (!secret_file_read(path, text, SECRET_BYTES_MAX + 1, n))
        return false;
    while (*n > 0 && (text[*n - 1] == '\n' || text[*n - 1] == '\r'))
        text[--*n] = '\0';
    return true;
}

static enum err catalog_start(struct membership *m, const struct serve_options *o)
{
    char password[SECRET_BYTES_MAX + 1] = "";
    size_t n;
    if (o->etcd_password_file[0] != '\0' && !secret_line_read(o->etcd_password_file, password, &n))
        return ERR_PERMISSION;
    enum err e = catalog_open_etcd(
        &(struct catalog_etcd_options){
            .endpoints = o->etcd,
            .cluster = o->cluster,
            .user = text_or_null(o->etcd_user),
            .password = text_or_null(password),
            .ca_file = text_or_null(o->etcd_ca),
            .cert_file = text_or_null(o->etcd_cert),
            .key_file = text_or_null(o->etcd_key),
        },
        &m->catalog);
    explicit_bzero(password, sizeof password);
    return e;
}

static enum err cluster_begin(struct membership *m, const struct serve_options *o,
                              struct cluster_options *c)
{
    char key[SECRET_BYTES_MAX + 1], address[256];
    size_t key_n;
    if (!listen_parse(o->peer_listen, address, sizeof address, &c->peer_port))
        return ERR_INVALID;
    if (!secret_line_read(o->cluster_key, key, &key_n))
        return ERR_PERMISSION;
    enum err e = ERR_INVALID;
    if (key_n < PEER_KEY_BYTES_MIN) {
        note(NOTE_ERROR, "app", "%s holds %zu bytes; a cluster's key has %d or more",
             o->cluster_key, key_n, PEER_KEY_BYTES_MIN);
    } else {
        c->key = (struct bytes){key, key_n};
        c->peer_address = address;
        e = cluster_start(c, &m->cluster);
    }
    explicit_bzero(key, sizeof key);
    return e;
}

static bool url_of(void *self, uint32_t broker, char out[PEER_URL_BYTES_MAX + 1])
{
    const struct membership *m = self;
    return cluster_url(m->cluster, broker, out);
}

enum err membership_start(struct membership *m, const struct serve_options *o,
                          const struct queue_options *node, const char *client_url)
{
    const struct clock *clock = node->clock;
    struct rng rng = rng_from_system();
    if (o->etcd[0] == '\0')
        return cluster_directory_is_alone(node->disk) ? ERR_OK : ERR_CONFLICT;
    enum err e = catalog_start(m, o);
    if (e != ERR_OK)
        return e;
    e = cluster_adopt(node, (uint32_t)o->broker_id, m->catalog, &rng);
    if (e != ERR_OK) {
        membership_end(m);
        return e;
    }
    struct cluster_options c = {
        .catalog = m->catalog,
        .clock = clock,
        .rng = rng,
        .broker = (uint32_t)o->broker_id,
        .disk = node->disk,
        .replace = o->replace,
        .session_ttl_s = (int)o->session_ttl_s,
        .peer_url = text_or_null(o->peer_url),
        .peer_from = text_or_null(o->peer_from),
        .client_url = o->client_url[0] == '\0' ? client_url : o->client_url,
    };
    m->route = route_new(
        &(struct route_options){.broker = c.broker, .clock = clock, .url = url_of, .self = m});
    route_routes(m->route, m->routes);
    c.routes = m->routes;
    c.routes_n = ROUTE_ROUTES;
    e = cluster_begin(m, o, &c);
    if (e != ERR_OK)
        membership_end(m);
    return e;
}

enum err membership_join(struct membership *m, struct queue *q)
{
    if (m->cluster == NULL)
        return ERR_OK;
    enum err e = cluster_join(m->cluster, q);
    if (e == ERR_OK)
        route_begin(m->route, cluster_peer(m->cluster), q);
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
