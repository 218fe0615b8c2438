// SPDX-License-Identifier: Apache-2.0
/* Keys: of receipts, and of the hashes that stand for message-group and deduplication ids. The
 * latter is kept under its own catalogue key, made once from the first receipt secret: when the
 * receipt secret is changed one day, messages that are stored must keep their group. */
#include <string.h>

#include "base/buf.h"
#include "base/codec.h"
#include "catalog/topic.h"
#include "queue/state.h"

static const char id_key_name[] = "k/ids";

static enum err id_key_make(struct queue *q, const uint8_t secret[32], uint8_t out[32])
{
    struct digest_hmac key;
    digest_hmac_init(&key, (struct bytes){secret, 32});
    digest_hmac_sha256(&key, BYTES_OF("leaselog ids"), out);
    digest_hmac_fini(&key);
    char text[65];
    codec_hex_text((struct bytes){out, 32}, text);
    struct catalog_cmp absent = {id_key_name, CATALOG_MOD, 0};
    struct catalog_op put = {.key = id_key_name, .value = {text, 64}};
    return catalog_txn(q->catalog, &absent, 1, &put, 1, NULL);
}

static enum err id_key_get(struct queue *q, const uint8_t secret[32], uint8_t out[32])
{
    struct catalog_kv kv = {0};
    enum err e = catalog_get(q->catalog, id_key_name, &kv);
    if (e == ERR_NOT_FOUND)
        return id_key_make(q, secret, out);
    if (e == ERR_OK && codec_hex_decode(kv.value, out, 32) != ERR_OK)
        e = ERR_CORRUPT;
    catalog_kv_fini(&kv);
    return e;
}

enum err secret_start(struct queue *q, const uint8_t fresh[32])
{
    struct catalog_secrets secrets;
    uint8_t id_key[32];
    enum err e;
    do { /* ERR_CONFLICT: another broker of the cluster has made them first, for good */
        e = catalog_secrets_get(q->catalog, fresh, &secrets);
        if (e == ERR_OK)
            e = id_key_get(q, secrets.current, id_key);
    } while (e == ERR_CONFLICT);
    if (e != ERR_OK)
        return e;
    digest_hmac_init(&q->receipt_key, (struct bytes){secrets.current, 32});
    digest_hmac_init(&q->receipt_key_previous, (struct bytes){secrets.previous, 32});
    digest_hmac_init(&q->id_key, (struct bytes){id_key, 32});
    return ERR_OK;
}

struct id_hash secret_id_hash(const struct queue *q, struct bytes scope, struct bytes id)
{
    uint8_t text[2 * QUEUE_KEY_BYTES_MAX + 1], mac[DIGEST_SHA256_BYTES];
    size_t n = 0;
    CHECK(scope.n <= QUEUE_KEY_BYTES_MAX && id.n <= QUEUE_KEY_BYTES_MAX);
    if (scope.n > 0) {
        memcpy(text, scope.at, scope.n);
        text[scope.n] = 0;
        n = scope.n + 1;
    }
    if (id.n > 0)
        memcpy(text + n, id.at, id.n);
    digest_hmac_sha256(&q->id_key, (struct bytes){text, n + id.n}, mac);
    struct id_hash hash;
    memcpy(hash.at, mac, sizeof hash.at);
    static const uint8_t zeros[8];
    /* Zeros stand for "none", in the whole hash as in the first half that windows keep. */
    if (memcmp(hash.at, zeros, sizeof zeros) == 0)
        hash.at[0] = 1;
    return hash;
}
