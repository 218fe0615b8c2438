// SPDX-License-Identifier: Apache-2.0
#include "peer/sign.h"

#include <inttypes.h>

#include "base/codec.h"
#include "peer/peer.h"

/* ---- the header ---- */

/* The next field, up to a space or the end. */
static struct bytes field_take(struct bytes *rest)
{
    if (rest->n == 0)
        return BYTES_NONE;
    const char *at = rest->at;
    const char *space = memchr(at, ' ', rest->n);
    size_t n = space == NULL ? rest->n : (size_t)(space - at);
    size_t gone = space == NULL ? n : n + 1;
    *rest = (struct bytes){at + gone, rest->n - gone};
    return (struct bytes){at, n};
}

/* Digits without a leading zero, at most `max`. */
static bool decimal_take(struct bytes *rest, uint64_t max, uint64_t *out)
{
    struct bytes text = field_take(rest);
    const char *at = text.at;
    uint64_t v = 0;
    if (text.n == 0 || text.n > 19 || (at[0] == '0' && text.n > 1))
        return false;
    for (size_t i = 0; i < text.n; i++) {
        if (at[i] < '0' || at[i] > '9')
            return false;
        v = v * 10 + (uint64_t)(at[i] - '0');
    }
    *out = v;
    return v <= max;
}

static uint64_t big_endian(const unsigned char at[8])
{
    uint64_t v = 0;
    for (int i = 0; i < 8; i++)
        v = v << 8 | at[i];
    return v;
}

static bool nonce_take(struct bytes *rest, struct sign_nonce *out)
{
    unsigned char raw[16];
    if (codec_hex_decode(field_take(rest), raw, sizeof raw) != ERR_OK)
        return false;
    *out = (struct sign_nonce){big_endian(raw), big_endian(raw + 8)};
    return out->count > 0;
}

bool sign_cluster_ok(struct bytes cluster)
{
    const char *at = cluster.at;
    for (size_t i = 0; i < cluster.n; i++)
        if (at[i] <= ' ' || at[i] > '~')
            return false;
    return cluster.n > 0 && cluster.n <= PEER_CLUSTER_BYTES_MAX;
}

enum sign_parsed sign_head_parse(struct bytes text, struct sign_head *out)
{
    struct sign_head h = {0};
    uint64_t version, from, to, wall_ms;
    if (!decimal_take(&text, UINT32_MAX, &version))
        return SIGN_MALFORMED;
    out->version = (uint32_t)version;
    if (version != PEER_VERSION)
        return SIGN_OTHER_VERSION;
    if (!decimal_take(&text, PEER_BROKER_MAX, &from) || !decimal_take(&text, UINT32_MAX, &to) ||
        !decimal_take(&text, INT64_MAX, &wall_ms) || !nonce_take(&text, &h.nonce) ||
        !sign_cluster_ok(text) || from == 0)
        return SIGN_MALFORMED;
    h.version = (uint32_t)version;
    h.from = (uint32_t)from;
    h.to = (uint32_t)to;
    h.wall_ms = (int64_t)wall_ms;
    h.cluster = text;
    *out = h;
    return SIGN_PARSED;
}

void sign_head_put(struct buf *out, const struct sign_head *h)
{
    buf_put_format(out, "%" PRIu32 " %" PRIu32 " %" PRIu32 " %" PRId64 " %016" PRIx64 "%016" PRIx64,
                   h->version, h->from, h->to, h->wall_ms, h->nonce.process, h->nonce.count);
    buf_put_text(out, " ");
    buf_put_bytes(out, h->cluster);
}

/* ---- signatures ---- */

/* Ends `lines` with the body's digest and signs them; frees them. */
static void lines_sign(const struct digest_hmac *key, struct buf *lines, struct bytes body,
                       sign_text out)
{
    unsigned char mac[DIGEST_SHA256_BYTES];
    char digest[DIGEST_SHA256_HEX_ROOM];
    digest_sha256_hex(body, digest);
    buf_put_text(lines, digest);
    buf_put_text(lines, "\n");
    digest_hmac_sha256(key, buf_bytes(lines), mac);
    codec_hex_text((struct bytes){mac, sizeof mac}, out);
    buf_fini(lines);
}

void sign_request(const struct digest_hmac *key, const struct sign_head *h, struct bytes path,
                  struct bytes body, sign_text out)
{
    struct buf lines = BUF_EMPTY;
    buf_put_text(&lines, "leaselog request\n");
    sign_head_put(&lines, h);
    buf_put_text(&lines, "\nPOST\n");
    buf_put_bytes(&lines, path);
    buf_put_text(&lines, "\n");
    lines_sign(key, &lines, body, out);
}

void sign_answer(const struct digest_hmac *key, const struct sign_head *h, int status,
                 struct bytes body, sign_text out)
{
    /* The time's place is the status's; sender and receiver change sides. */
    struct sign_head answer = *h;
    struct buf lines = BUF_EMPTY;
    answer.from = h->to;
    answer.to = h->from;
    answer.wall_ms = status;
    buf_put_text(&lines, "leaselog answer\n");
    sign_head_put(&lines, &answer);
    buf_put_text(&lines, "\n");
    lines_sign(key, &lines, body, out);
}
