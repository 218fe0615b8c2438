// SPDX-License-Identifier: Apache-2.0
#include "plog/store.h"

#include <stdlib.h>

#include "base/crc32c.h"
#include "base/mem.h"
#include "base/note.h"
#include "base/rng.h"
#include "plog/files.h"
#include "plog/format.h"
#include "plog/marks.h"

#define BEFORE_UUID "{\"leaselog\":1,\"store_uuid\":\""
#define BEFORE_CLUSTER "\",\"cluster_id\":\""
#define BEFORE_BROKER "\",\"broker_id\":1"
#define BEFORE_CRC ",\"crc32c\":\""

static void uuid_new(char out[STORE_UUID_BYTES + 1])
{
    static const char hex[] = "0123456789abcdef";
    unsigned char raw[16];
    rng_secret(raw, sizeof raw);
    raw[6] = (unsigned char)((raw[6] & 0x0f) | 0x40); /* RFC 4122, 4.4: version 4, variant 1 */
    raw[8] = (unsigned char)((raw[8] & 0x3f) | 0x80);
    char *at = out;
    for (size_t i = 0; i < sizeof raw; i++) {
        if (i == 4 || i == 6 || i == 8 || i == 10)
            *at++ = '-';
        *at++ = hex[raw[i] >> 4];
        *at++ = hex[raw[i] & 15];
    }
    *at = '\0';
}

static void encode(struct buf *b, const char *uuid)
{
    buf_put_format(b, BEFORE_UUID "%s" BEFORE_CLUSTER "%s" BEFORE_BROKER, uuid, uuid);
    uint32_t crc = crc32c(0, b->at, b->n);
    buf_put_format(b, BEFORE_CRC "%08x\"}\n", crc);
}

/* A version above ours in the first field, with a good CRC at the end. */
static bool is_newer(struct bytes whole)
{
    static const char begin[] = "{\"leaselog\":";
    char text[STORE_BYTES_MAX + 1];
    if (whole.n > STORE_BYTES_MAX || !bytes_start_with(whole, BYTES_OF("{\"leaselog\":")))
        return false;
    memcpy(text, whole.at, whole.n);
    text[whole.n] = '\0';
    const char *crc = strstr(text, BEFORE_CRC);
    if (crc == NULL || strtoul(text + sizeof begin - 1, NULL, 10) <= FORMAT_VERSION)
        return false;
    return strtoul(crc + sizeof BEFORE_CRC - 1, NULL, 16) == crc32c(0, text, (size_t)(crc - text));
}

enum err store_decode(struct bytes whole, char uuid[STORE_UUID_BYTES + 1])
{
    size_t at = sizeof BEFORE_UUID - 1;
    if (is_newer(whole))
        return ERR_NEWER_FORMAT;
    if (whole.n < at + STORE_UUID_BYTES)
        return ERR_CORRUPT;
    char found[STORE_UUID_BYTES + 1];
    memcpy(found, (const char *)whole.at + at, STORE_UUID_BYTES);
    found[STORE_UUID_BYTES] = '\0';
    struct buf same = BUF_EMPTY;
    encode(&same, found);
    bool equal = bytes_equal(buf_bytes(&same), whole);
    buf_fini(&same);
    if (!equal)
        return ERR_CORRUPT;
    memcpy(uuid, found, sizeof found);
    return ERR_OK;
}

/* store.json is synced before the first log is made. So a store without it that has logs has lost
 * it, and must not be made anew over what is there. */
static enum err check_empty(struct plog *p)
{
    struct names names;
    enum err e = names_list(p->disk, "t", &names);
    if (e == ERR_NOT_FOUND)
        return ERR_NOT_FOUND;
    if (e != ERR_OK)
        return e;
    bool empty = names.n == 0;
    names_fini(&names);
    if (empty)
        return ERR_NOT_FOUND;
    note(NOTE_ERROR, "plog", "store.json is missing, but the folder t holds logs");
    return ERR_CORRUPT;
}

enum err store_read(struct plog *p)
{
    struct buf b = BUF_EMPTY;
    enum err e = file_read(p->disk, "store.json", STORE_BYTES_MAX, &b);
    if (e == ERR_NOT_FOUND)
        return check_empty(p);
    if (e == ERR_OK)
        e = store_decode(buf_bytes(&b), p->store_uuid);
    buf_fini(&b);
    if (e == ERR_TOO_BIG)
        e = ERR_CORRUPT;
    if (e == ERR_CORRUPT)
        note(NOTE_ERROR, "plog", "store.json is damaged (byte 0)");
    else if (e == ERR_NEWER_FORMAT)
        note(NOTE_ERROR, "plog", "store.json was written by a newer version");
    else if (e != ERR_OK)
        note(NOTE_ERROR, "plog", "store.json: %s", err_text(e));
    return e;
}

/* What an earlier attempt left. */
static enum err clear_journal(const struct disk *d)
{
    struct names names;
    enum err e = names_list(d, "journal", &names);
    if (e != ERR_OK)
        return e;
    for (size_t i = 0; e == ERR_OK && i < names.n; i++) {
        char *path = file_path("journal", names.at[i]);
        e = file_remove(d, path);
        mem_free(path);
    }
    names_fini(&names);
    return e;
}

enum err store_make(struct plog *p)
{
    const struct disk *d = p->disk;
    enum err e = file_make_dir(d, "t");
    if (e == ERR_OK)
        e = file_make_dir(d, "journal");
    if (e == ERR_OK)
        e = clear_journal(d);
    if (e == ERR_OK)
        e = journal_make_first(p);
    if (e == ERR_OK)
        e = marks_write(d, &(struct marks){.next_incarnation = 1});
    if (e != ERR_OK)
        return e;
    p->next_incarnation = 1;
    uuid_new(p->store_uuid);
    struct buf b = BUF_EMPTY;
    encode(&b, p->store_uuid);
    struct bytes piece = buf_bytes(&b);
    e = file_replace(d, ".", "store.json", &piece, 1);
    buf_fini(&b);
    return e;
}
