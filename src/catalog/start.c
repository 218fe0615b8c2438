// SPDX-License-Identifier: Apache-2.0
/* What a broker needs at its start: its epoch and the secret of receipts. */
#include <string.h>

#include "catalog/topic.h"
#include "catalog/topic_json.h"

static enum err epoch_decode(struct bytes json, int64_t *out)
{
    json_t *root;
    const char *text;
    int format;
    enum err e = catalog_json_load(json, &root);
    if (e != ERR_OK)
        return e;
    if (json_unpack_ex(root, NULL, JSON_STRICT, "{s:i, s:s}", "format", &format, "epoch", &text) !=
            0 ||
        !catalog_int64_read(text, 1, INT64_MAX - 1, out))
        e = ERR_CORRUPT;
    json_decref(root);
    return e;
}

/* Sets key to what `json` holds if it is still at `rev` (0: absent). */
static enum err put_if(struct catalog *c, const char *key, int64_t rev, const struct buf *json)
{
    struct catalog_cmp unchanged = {key, CATALOG_MOD, rev};
    struct catalog_op put = {.key = key, .value = buf_bytes(json)};
    return catalog_txn(c, &unchanged, 1, &put, 1, NULL);
}

static enum err epoch_try(struct catalog *c, int64_t *epoch)
{
    struct catalog_kv kv = {0};
    struct buf json = BUF_EMPTY;
    int64_t last = 0;
    enum err e = catalog_get(c, "k/epoch", &kv);
    if (e == ERR_OK)
        e = epoch_decode(kv.value, &last);
    else if (e == ERR_NOT_FOUND)
        e = ERR_OK;
    if (e == ERR_OK) {
        catalog_json_store(json_pack("{s:i, s:o}", "format", CATALOG_JSON_FORMAT, "epoch",
                                     catalog_json_int64(last + 1)),
                           &json);
        e = put_if(c, "k/epoch", kv.mod_rev, &json);
    }
    if (e == ERR_OK)
        *epoch = last + 1;
    buf_fini(&json);
    catalog_kv_fini(&kv);
    return e;
}

enum err catalog_epoch_raise(struct catalog *c, uint64_t *epoch)
{
    int64_t raised = 0;
    enum err e;
    do { /* a conflict means that somebody else's raise went through, so this ends */
        e = epoch_try(c, &raised);
    } while (e == ERR_CONFLICT);
    if (e == ERR_OK)
        *epoch = (uint64_t)raised;
    return e;
}

static enum err secrets_decode(struct bytes json, struct catalog_secrets *out)
{
    json_t *root;
    const char *current, *previous;
    int format;
    struct catalog_secrets s;
    enum err e = catalog_json_load(json, &root);
    if (e != ERR_OK)
        return e;
    if (json_unpack_ex(root, NULL, JSON_STRICT, "{s:i, s:s, s:s}", "format", &format, "current",
                       &current, "previous", &previous) == 0 &&
        catalog_hex_read(current, s.current, sizeof s.current) &&
        catalog_hex_read(previous, s.previous, sizeof s.previous))
        *out = s;
    else
        e = ERR_CORRUPT;
    json_decref(root);
    return e;
}

static enum err secrets_read(struct catalog *c, struct catalog_secrets *out)
{
    struct catalog_kv kv = {0};
    enum err e = catalog_get(c, "k/receipt", &kv);
    if (e == ERR_OK)
        e = secrets_decode(kv.value, out);
    catalog_kv_fini(&kv);
    return e;
}

static enum err secrets_make(struct catalog *c, const uint8_t fresh[32])
{
    char hex[65];
    struct buf json = BUF_EMPTY;
    catalog_hex_write(hex, fresh, 32);
    catalog_json_store(json_pack("{s:i, s:s, s:s}", "format", CATALOG_JSON_FORMAT, "current", hex,
                                 "previous", hex),
                       &json);
    enum err e = put_if(c, "k/receipt", 0, &json);
    buf_fini(&json);
    return e;
}

enum err catalog_secrets_get(struct catalog *c, const uint8_t fresh[32],
                             struct catalog_secrets *out)
{
    enum err e = secrets_read(c, out);
    if (e != ERR_NOT_FOUND)
        return e;
    e = secrets_make(c, fresh);
    /* Whoever came first decides, so what counts is what is stored. */
    return e == ERR_OK || e == ERR_CONFLICT ? secrets_read(c, out) : e;
}

enum err catalog_epoch_check(struct bytes json)
{
    int64_t epoch;
    return epoch_decode(json, &epoch);
}

enum err catalog_secrets_check(struct bytes json)
{
    struct catalog_secrets secrets;
    return secrets_decode(json, &secrets);
}
