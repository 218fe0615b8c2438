// SPDX-License-Identifier: Apache-2.0
/* One call, on the client's thread. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <strings.h>
#include <sys/socket.h>

#include "base/mem.h"
#include "base/note.h"
#include "peer/inside.h"

enum {
    CONNECT_MS_MAX = 1000,
    /* Shorter than the listener's idle timeout: a connection that is used again is not just then
     * being closed. */
    KEPT_S_MAX = 30,
    RECEIVE_BYTES = 512 << 10,
    WHY_BYTES_MAX = 160,
};

/* ---- what curl calls ---- */

/* Programs that are run beside this one must not get at the connection. */
static curl_socket_t socket_open(void *self, curlsocktype purpose, struct curl_sockaddr *address)
{
    (void)self;
    (void)purpose;
    return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

/* The body is read by a function, and there is none to go back in it: so curl cannot by itself send
 * a second time what the other side may have carried out before it closed. */
static size_t body_give(char *at, size_t size, size_t n, void *self)
{
    struct peer_call *c = self;
    size_t bytes = c->body.n - c->body_sent;
    bytes = bytes < size * n ? bytes : size * n;
    if (bytes > 0)
        memcpy(at, c->body.at + c->body_sent, bytes);
    c->body_sent += bytes;
    return bytes;
}

static size_t answer_take(char *at, size_t size, size_t n, void *self)
{
    struct peer_call *c = self;
    if (c->answer.n + size * n > PEER_ANSWER_BYTES_MAX)
        return 0;
    buf_put(&c->answer, at, size * n);
    return size * n;
}

static size_t header_take(char *at, size_t size, size_t n, void *self)
{
    static const char name[] = SIGN_SIGNATURE_HEADER ": ";
    struct peer_call *c = self;
    size_t bytes = size * n, name_n = sizeof name - 1, value_n = sizeof c->signature - 1;
    if (bytes >= name_n + value_n && strncasecmp(at, name, name_n) == 0) {
        memcpy(c->signature, at + name_n, value_n);
        c->signature[value_n] = '\0';
    }
    return bytes;
}

/* ---- beginning ---- */

static void header_add(struct peer_call *c, const char *name, struct bytes value)
{
    struct buf line = BUF_EMPTY;
    buf_put_text(&line, name);
    buf_put_text(&line, ": ");
    buf_put_bytes(&line, value);
    buf_put_u8(&line, 0);
    struct curl_slist *list = curl_slist_append(c->headers, line.at);
    CHECK(list != NULL);
    c->headers = list;
    buf_fini(&line);
}

static void headers_make(struct peer_call *c)
{
    struct peer *p = c->peer;
    struct buf head = BUF_EMPTY;
    sign_text signature;
    c->head = (struct sign_head){
        .version = PEER_VERSION,
        .from = p->broker,
        .to = c->to,
        .wall_ms = clock_wall_ms(p->clock),
        .nonce = {p->client.process, ++p->client.count},
        .cluster = bytes_of_text(p->cluster),
    };
    sign_request(&p->key, &c->head, bytes_of_text(c->path), buf_bytes(&c->body), signature);
    sign_head_put(&head, &c->head);
    header_add(c, SIGN_PEER_HEADER, buf_bytes(&head));
    header_add(c, SIGN_SIGNATURE_HEADER, bytes_of_text(signature));
    header_add(c, "Content-Type", BYTES_OF("application/octet-stream"));
    /* curl would wait for "100 Continue" before a larger body. */
    struct curl_slist *list = curl_slist_append(c->headers, "Expect:");
    CHECK(list != NULL);
    c->headers = list;
    buf_fini(&head);
}

/* "host!" says that it is an address, not an interface of that name. */
static void address_set(CURL *e, const char *from)
{
    struct buf text = BUF_EMPTY;
    buf_put_format(&text, "host!%s", from);
    buf_put_u8(&text, 0);
    curl_easy_setopt(e, CURLOPT_INTERFACE, text.at);
    buf_fini(&text);
}

static void handle_prepare(struct peer_call *c, long left_ms)
{
    CURL *e = c->easy;
    struct buf url = BUF_EMPTY;
    buf_put_format(&url, "%s%s", c->url, c->path);
    buf_put_u8(&url, 0);
    curl_easy_setopt(e, CURLOPT_URL, url.at);
    buf_fini(&url);
    if (c->peer->from != NULL)
        address_set(e, c->peer->from);
    curl_easy_setopt(e, CURLOPT_PRIVATE, c);
    curl_easy_setopt(e, CURLOPT_OPENSOCKETFUNCTION, socket_open);
    curl_easy_setopt(e, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(e, CURLOPT_PROXY, "");
    curl_easy_setopt(e, CURLOPT_PROTOCOLS_STR, "http");
    curl_easy_setopt(e, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    curl_easy_setopt(e, CURLOPT_USERAGENT, "leaselog");
    curl_easy_setopt(e, CURLOPT_POST, 1L);
    curl_easy_setopt(e, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)c->body.n);
    curl_easy_setopt(e, CURLOPT_READFUNCTION, body_give);
    curl_easy_setopt(e, CURLOPT_READDATA, c);
    curl_easy_setopt(e, CURLOPT_WRITEFUNCTION, answer_take);
    curl_easy_setopt(e, CURLOPT_WRITEDATA, c);
    curl_easy_setopt(e, CURLOPT_HEADERFUNCTION, header_take);
    curl_easy_setopt(e, CURLOPT_HEADERDATA, c);
    curl_easy_setopt(e, CURLOPT_HTTPHEADER, c->headers);
    curl_easy_setopt(e, CURLOPT_BUFFERSIZE, (long)RECEIVE_BYTES);
    curl_easy_setopt(e, CURLOPT_MAXAGE_CONN, (long)KEPT_S_MAX);
    curl_easy_setopt(e, CURLOPT_TIMEOUT_MS, left_ms);
    curl_easy_setopt(e, CURLOPT_CONNECTTIMEOUT_MS,
                     left_ms < CONNECT_MS_MAX ? left_ms : (long)CONNECT_MS_MAX);
}

void call_begin(struct peer_call *c)
{
    struct peer_client *k = &c->peer->client;
    int64_t left_ms = c->deadline_boot_ms - clock_boot_ms(c->peer->clock);
    TAILQ_INSERT_TAIL(&k->running, c, link);
    c->easy = k->spares_n > 0 ? k->spares[--k->spares_n] : curl_easy_init();
    CHECK(c->easy != NULL);
    if (left_ms <= 0 || strlen(c->url) > PEER_URL_BYTES_MAX) {
        call_finish(c, left_ms <= 0 ? ERR_BUSY : ERR_REFUSED, 0);
        return;
    }
    headers_make(c);
    handle_prepare(c, (long)left_ms);
    CHECK(curl_multi_add_handle(k->multi, c->easy) == CURLM_OK);
}

/* ---- ending ---- */

/* The first line of an unsigned answer, as far as it may be shown. */
static void note_unverified(struct peer_call *c, int status)
{
    char why[WHY_BYTES_MAX + 1];
    size_t n = 0;
    while (n < c->answer.n && n < WHY_BYTES_MAX && c->answer.at[n] >= ' ' && c->answer.at[n] <= '~')
        n++;
    if (n > 0)
        memcpy(why, c->answer.at, n);
    why[n] = '\0';
    if (peer_may_note(c->peer, &c->peer->answers))
        note(NOTE_WARNING, "peer",
             "broker %" PRIu32 " at %s: status %d, not signed with this "
             "cluster's key: %s",
             c->to, c->url, status, why);
}

static enum err verify(struct peer_call *c, int status)
{
    sign_text expected;
    sign_answer(&c->peer->key, &c->head, status, buf_bytes(&c->answer), expected);
    if (digest_equal(bytes_of_text(c->signature), bytes_of_text(expected)))
        return ERR_OK;
    if (status == 503)
        return ERR_BUSY;
    note_unverified(c, status);
    return ERR_PERMISSION;
}

/* A refusal by the other machine is news of it; a lack of a route or a name is rather one of ours.
 */
static int refusal_of(struct peer_call *c)
{
    long code = 0;
    curl_easy_getinfo(c->easy, CURLINFO_OS_ERRNO, &code);
    return code == ECONNREFUSED ? ECONNREFUSED : 0;
}

/* A kept connection may have taken the request and ended without a word. curl then connects anew by
 * itself, and what that meets says nothing of what became of the request. */
static bool was_sent(struct peer_call *c)
{
    long bytes = 0;
    curl_easy_getinfo(c->easy, CURLINFO_REQUEST_SIZE, &bytes);
    return bytes > 0;
}

void call_end(struct peer_call *c, CURLcode code)
{
    long status = 0;
    enum err e;
    switch ((int)code) {
    case CURLE_OK:
        curl_easy_getinfo(c->easy, CURLINFO_RESPONSE_CODE, &status);
        e = verify(c, (int)status);
        break;
    case CURLE_COULDNT_CONNECT:
        e = ERR_REFUSED;
        status = refusal_of(c);
        break;
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_URL_MALFORMAT:
    case CURLE_UNSUPPORTED_PROTOCOL:
    case CURLE_INTERFACE_FAILED:
        e = ERR_REFUSED;
        break;
    default:
        e = ERR_BUSY;
        break;
    }
    if (e == ERR_REFUSED && was_sent(c)) {
        e = ERR_BUSY;
        status = 0;
    }
    call_finish(c, e, (int)status);
}

static void handle_give_back(struct peer_call *c)
{
    struct peer_client *k = &c->peer->client;
    curl_multi_remove_handle(k->multi, c->easy);
    curl_easy_reset(c->easy);
    if (k->spares_n < CLIENT_SPARES_MAX)
        k->spares[k->spares_n++] = c->easy;
    else
        curl_easy_cleanup(c->easy);
}

void call_finish(struct peer_call *c, enum err e, int status)
{
    if (e == ERR_OK)
        client_heard(c->peer, c->to);
    if (c->easy != NULL) {
        TAILQ_REMOVE(&c->peer->client.running, c, link);
        handle_give_back(c);
    }
    c->done.done(c->done.self, e, e == ERR_OK || e == ERR_REFUSED || e == ERR_BUSY ? status : 0,
                 e == ERR_OK ? buf_bytes(&c->answer) : BYTES_NONE);
    curl_slist_free_all(c->headers);
    buf_fini(&c->answer);
    buf_fini(&c->body);
    mem_free(c->path);
    mem_free(c->url);
    mem_free(c);
}
