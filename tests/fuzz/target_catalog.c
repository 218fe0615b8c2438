// SPDX-License-Identifier: Apache-2.0
/* Values of the catalogue (catalog/topic.h, catalog/redrive.h), as somebody else may have put them
 * there.
 *
 * Input: a byte that chooses the kind of key, then the value.
 * Contract: the value is refused, or what it was decoded to is encoded and decoded as the same. The
 * verdict of catalog_value_check is the decoder's. */
#include "catalog/redrive.h"
#include "fuzz/fuzz.h"
#include "fuzz/message_walk.h"

static enum err decode_topic(struct bytes json)
{
    struct topic_config t, copy;
    enum err e = topic_config_decode(json, &t);
    if (e != ERR_OK)
        return e;
    walk_topic(&t);
    topic_config_copy(&copy, &t);
    walk_topic(&copy);
    topic_config_fini(&copy);
    topic_config_fini(&t);
    return ERR_OK;
}

static enum err decode_group(struct bytes json)
{
    struct group_config g, again;
    struct buf anew = BUF_EMPTY;
    enum err e = group_config_decode(json, &g);
    if (e != ERR_OK)
        return e;
    group_config_encode(&g, &anew);
    CHECK(group_config_decode(buf_bytes(&anew), &again) == ERR_OK);
    CHECK(again.gid == g.gid && again.generation == g.generation && again.dropped == g.dropped);
    buf_fini(&anew);
    return ERR_OK;
}

static enum err decode_redrives(struct bytes json)
{
    struct redrives_config r, again;
    struct buf anew = BUF_EMPTY, third = BUF_EMPTY;
    enum err e = redrives_config_decode(json, &r);
    if (e != ERR_OK)
        return e;
    CHECK(r.n <= REDRIVES_MAX);
    redrives_config_encode(&r, &anew);
    CHECK(redrives_config_decode(buf_bytes(&anew), &again) == ERR_OK);
    redrives_config_encode(&again, &third);
    CHECK(bytes_equal(buf_bytes(&anew), buf_bytes(&third)));
    buf_fini(&anew);
    buf_fini(&third);
    return ERR_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *at, size_t n)
{
    static const struct {
        const char *key;
        enum err (*decode)(struct bytes json); /* NULL: only the check knows it */
    } kinds[] = {
        {"t/00000000000000000000000000000000", decode_topic},
        {"r/00000000000000000000000000000000", decode_redrives},
        {"g/00000000000000000000000000000000/default", decode_group},
        {"p/00000000000000000000000000000000/0", NULL},
        {"n/orders", NULL},
        {"k/epoch", NULL},
        {"k/receipt", NULL},
        {"k/ids", NULL},
        {"k/copy", NULL},
        {"unknown", NULL},
    };
    struct cursor c = fuzz_input(at, n);
    size_t kind = fuzz_choice(&c, sizeof kinds / sizeof kinds[0]);
    struct bytes value = fuzz_rest(&c);
    enum err verdict = catalog_value_check(kinds[kind].key, value);
    CHECK(verdict == ERR_OK || verdict == ERR_CORRUPT || verdict == ERR_NEWER_FORMAT ||
          verdict == ERR_NOT_FOUND);
    if (kinds[kind].decode != NULL)
        CHECK(kinds[kind].decode(value) == verdict);
    return 0;
}
