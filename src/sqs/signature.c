// SPDX-License-Identifier: Apache-2.0
/* What is signed is a canonical form of the request, hashed, with the time and a scope; the key for
 * it is derived from the secret by date, region and service. All names are those of AWS's
 * documentation of Signature Version 4. */
#include "sqs/signature.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "base/check.h"
#include "base/codec.h"
#include "base/digest.h"

#define ALGORITHM "AWS4-HMAC-SHA256"
enum {
    TIME_BYTES = 16, /* 20261129T113231Z */
    DATE_BYTES = 8,
    SIGNED_HEADERS_MAX = 64, /* as many as a request may have; each may be as long as a head */
};

/* ---- keys ---- */

static struct bytes word_next(struct bytes *line)
{
    const char *at = line->at;
    size_t from = 0, end;
    while (from < line->n && (at[from] == ' ' || at[from] == '\t' || at[from] == '\r'))
        from++;
    for (end = from; end < line->n && at[end] != ' ' && at[end] != '\t' && at[end] != '\r';)
        end++;
    *line = (struct bytes){at + end, line->n - end};
    return (struct bytes){at + from, end - from};
}

/* Visible ASCII, as AWS's are: a NUL would cut a secret short, a byte order mark hide an id. */
static bool is_word(struct bytes word)
{
    const char *at = word.at;
    for (size_t i = 0; i < word.n; i++)
        if (at[i] <= ' ' || at[i] > '~')
            return false;
    return word.n > 0 && word.n <= SQS_ACCESS_KEY_BYTES_MAX;
}

static const struct sqs_access_key *key_find(const struct sqs_access_keys *keys, struct bytes id)
{
    for (size_t i = 0; i < keys->n; i++)
        if (bytes_equal(bytes_of_text(keys->at[i].id), id))
            return &keys->at[i];
    return NULL;
}

static bool key_put(struct sqs_access_keys *keys, struct bytes id, struct bytes secret)
{
    if (keys->n == SQS_ACCESS_KEYS_MAX || !is_word(id) || !is_word(secret) ||
        key_find(keys, id) != NULL)
        return false;
    struct sqs_access_key *key = &keys->at[keys->n++];
    memcpy(key->id, id.at, id.n);
    memcpy(key->secret, secret.at, secret.n);
    key->id[id.n] = key->secret[secret.n] = '\0';
    return true;
}

bool sqs_access_keys_read(struct bytes text, struct sqs_access_keys *out, unsigned *wrong)
{
    out->n = 0;
    *wrong = 0;
    while (text.n > 0) {
        const char *end = memchr(text.at, '\n', text.n);
        size_t n = end == NULL ? text.n : (size_t)(end - (const char *)text.at);
        struct bytes line = {text.at, n};
        text =
            (struct bytes){(const char *)text.at + n + (end != NULL), text.n - n - (end != NULL)};
        ++*wrong;
        struct bytes id = word_next(&line);
        if (id.n == 0 || *(const char *)id.at == '#')
            continue;
        struct bytes secret = word_next(&line);
        if (!key_put(out, id, secret) || word_next(&line).n > 0)
            return false;
    }
    *wrong = 0;
    return out->n > 0;
}

void sqs_access_keys_fini(struct sqs_access_keys *keys)
{
    explicit_bzero(keys, sizeof *keys);
}

/* ---- the header Authorization ---- */

struct signature {
    struct bytes key_id, date, region, service, terminator;
    struct bytes signed_headers; /* names with semicolons between */
    struct bytes hex;
    struct bytes time; /* of X-Amz-Date */
};

/* What stands before `mark`, which is passed by; all of it when there is none. */
static struct bytes part_next(struct bytes *rest, char mark)
{
    if (rest->n == 0)
        return BYTES_NONE;
    const char *at = rest->at, *end = memchr(at, mark, rest->n);
    size_t n = end == NULL ? rest->n : (size_t)(end - at);
    *rest = (struct bytes){at + n + (end != NULL), rest->n - n - (end != NULL)};
    return (struct bytes){at, n};
}

static size_t parts_in(struct bytes text, char mark)
{
    size_t n = 0;
    for (; text.n > 0; n++)
        (void)part_next(&text, mark);
    return n;
}

static struct bytes trimmed(struct bytes b)
{
    const char *at = b.at;
    while (b.n > 0 && at[0] == ' ')
        at++, b.n--;
    while (b.n > 0 && at[b.n - 1] == ' ')
        b.n--;
    return (struct bytes){at, b.n};
}

static bool incomplete(struct sqs_fault *fault, const char *what)
{
    return sqs_fault_set(
        fault, SQS_FAULT_INCOMPLETE_SIGNATURE,
        "The header Authorization must have %s: " ALGORITHM
        " Credential=ID/DATE/REGION/sqs/aws4_request, SignedHeaders=host;x-amz-date"
        ", Signature=HEX.",
        what);
}

static bool credential_read(struct signature *s, struct bytes text)
{
    s->key_id = part_next(&text, '/');
    s->date = part_next(&text, '/');
    s->region = part_next(&text, '/');
    s->service = part_next(&text, '/');
    s->terminator = text;
    return s->key_id.n > 0 && s->date.n == DATE_BYTES && s->region.n > 0 &&
           bytes_equal(s->service, BYTES_OF("sqs")) &&
           bytes_equal(s->terminator, BYTES_OF("aws4_request"));
}

static bool authorization_read(struct signature *s, struct bytes text, struct sqs_fault *fault)
{
    struct bytes algorithm = part_next(&text, ' '), credential = BYTES_NONE;
    if (!bytes_equal(algorithm, BYTES_OF(ALGORITHM)))
        return incomplete(fault, "the algorithm " ALGORITHM);
    while (text.n > 0) {
        struct bytes value = trimmed(part_next(&text, ',')), name = part_next(&value, '=');
        if (bytes_equal(name, BYTES_OF("Credential")))
            credential = value;
        else if (bytes_equal(name, BYTES_OF("SignedHeaders")))
            s->signed_headers = value;
        else if (bytes_equal(name, BYTES_OF("Signature")))
            s->hex = value;
    }
    if (!credential_read(s, credential))
        return incomplete(fault, "Credential");
    if (s->signed_headers.n == 0)
        return incomplete(fault, "SignedHeaders");
    return s->hex.n == 2 * DIGEST_SHA256_BYTES || incomplete(fault, "Signature");
}

/* ---- the canonical request ---- */

static bool is_unreserved(unsigned char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.' || c == '~';
}

static void put_encoded(struct buf *out, unsigned char c)
{
    static const char digits[] = "0123456789ABCDEF";
    if (is_unreserved(c)) {
        buf_put_u8(out, c);
        return;
    }
    buf_put_u8(out, '%');
    buf_put_u8(out, (uint8_t)digits[c >> 4]);
    buf_put_u8(out, (uint8_t)digits[c & 15]);
}

/* The path as it came, encoded once more. */
static void put_path(struct buf *out, struct bytes path)
{
    const unsigned char *at = path.at;
    for (size_t i = 0; i < path.n; i++)
        if (at[i] == '/')
            buf_put_u8(out, '/');
        else
            put_encoded(out, at[i]);
}

static int hex_digit(unsigned char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Decoded as form.c does, and encoded again: each way to write a character becomes the same, and no
 * other character does. So `+` is a space, else anybody could make it one of a signed %2B. */
static void put_query_part(struct buf *out, struct bytes part)
{
    const unsigned char *at = part.at;
    for (size_t i = 0; i < part.n; i++) {
        int high = at[i] == '%' && i + 2 < part.n ? hex_digit(at[i + 1]) : -1;
        int low = high >= 0 ? hex_digit(at[i + 2]) : -1;
        if (low >= 0)
            i += 2;
        int plain = at[i] == '+' ? ' ' : at[i];
        put_encoded(out, (unsigned char)(low >= 0 ? high << 4 | low : plain));
    }
}

/* By name, then by value. The first `=` ends the name, and is smaller than what names consist of:
 * AttributeName.1 comes before AttributeName.10. */
static int by_name(const void *a, const void *b)
{
    const struct bytes *x = a, *y = b;
    const unsigned char *p = x->at, *q = y->at;
    size_t n = x->n < y->n ? x->n : y->n, i = 0;
    while (i < n && p[i] == q[i])
        i++;
    if (i == n)
        return (x->n > y->n) - (x->n < y->n);
    return (p[i] == '=' ? 0 : p[i]) - (q[i] == '=' ? 0 : q[i]);
}

static void put_query(struct buf *out, struct bytes query, struct arena *arena)
{
    struct bytes *pairs = arena_get(arena, parts_in(query, '&') * sizeof pairs[0]);
    size_t n = 0;
    while (query.n > 0) {
        struct buf pair = BUF_EMPTY;
        struct bytes value = part_next(&query, '&'), name = part_next(&value, '=');
        if (name.n + value.n == 0)
            continue;
        put_query_part(&pair, name);
        buf_put_u8(&pair, '=');
        put_query_part(&pair, value);
        pairs[n++] = arena_copy(arena, buf_bytes(&pair));
        buf_fini(&pair);
    }
    qsort(pairs, n, sizeof pairs[0], by_name);
    for (size_t i = 0; i < n; i++) {
        if (i > 0)
            buf_put_u8(out, '&');
        buf_put_bytes(out, pairs[i]);
    }
}

/* Without spaces at its ends, and one where there are several. */
static void put_header_value(struct buf *out, struct bytes value)
{
    value = trimmed(value);
    const char *at = value.at;
    for (size_t i = 0; i < value.n; i++)
        if (at[i] != ' ' || at[i - 1] != ' ')
            buf_put_u8(out, (uint8_t)at[i]);
}

static void put_headers(struct buf *out, const struct signature *s,
                        const struct sqs_signed_request *r, struct arena *arena)
{
    struct bytes names = s->signed_headers;
    while (names.n > 0) {
        struct bytes name = part_next(&names, ';');
        buf_put_bytes(out, name);
        buf_put_u8(out, ':');
        put_header_value(out, r->header(r->self, arena_copy(arena, name).at));
        buf_put_u8(out, '\n');
    }
}

static void put_canonical(struct buf *out, const struct signature *s,
                          const struct sqs_signed_request *r, struct arena *arena)
{
    char body_hash[DIGEST_SHA256_HEX_ROOM];
    digest_sha256_hex(r->body, body_hash);
    buf_put_text(out, r->method);
    buf_put_u8(out, '\n');
    put_path(out, r->path);
    buf_put_u8(out, '\n');
    put_query(out, r->query, arena);
    buf_put_u8(out, '\n');
    put_headers(out, s, r, arena);
    buf_put_u8(out, '\n');
    buf_put_bytes(out, s->signed_headers);
    buf_put_u8(out, '\n');
    buf_put_text(out, body_hash);
}

/* ---- the signature ---- */

static void hmac(struct bytes key, struct bytes data, unsigned char out[DIGEST_SHA256_BYTES])
{
    struct digest_hmac h;
    digest_hmac_init(&h, key);
    digest_hmac_sha256(&h, data, out);
    digest_hmac_fini(&h);
}

static void sign(const struct sqs_access_key *key, const struct signature *s, struct bytes text,
                 unsigned char out[DIGEST_SHA256_BYTES])
{
    char first[sizeof "AWS4" + SQS_ACCESS_KEY_BYTES_MAX] = "AWS4";
    unsigned char derived[DIGEST_SHA256_BYTES];
    const struct bytes key_of_hash = {derived, sizeof derived};
    size_t secret_n = strlen(key->secret);
    memcpy(first + 4, key->secret, secret_n);
    hmac((struct bytes){first, 4 + secret_n}, s->date, derived);
    hmac(key_of_hash, s->region, derived);
    hmac(key_of_hash, s->service, derived);
    hmac(key_of_hash, s->terminator, derived);
    hmac(key_of_hash, text, out);
    explicit_bzero(first, sizeof first);
    explicit_bzero(derived, sizeof derived);
}

static void put_string_to_sign(struct buf *out, const struct signature *s, struct bytes canonical)
{
    char hash[DIGEST_SHA256_HEX_ROOM];
    digest_sha256_hex(canonical, hash);
    buf_put_text(out, ALGORITHM "\n");
    buf_put_bytes(out, s->time);
    buf_put_u8(out, '\n');
    const struct bytes scope[] = {s->date, s->region, s->service, s->terminator};
    for (size_t i = 0; i < 4; i++) {
        buf_put_bytes(out, scope[i]);
        buf_put_u8(out, i < 3 ? '/' : '\n');
    }
    buf_put_text(out, hash);
}

static bool signature_fits(const struct sqs_access_key *key, const struct signature *s,
                           const struct sqs_signed_request *r, struct arena *arena)
{
    struct buf canonical = BUF_EMPTY, text = BUF_EMPTY;
    unsigned char right[DIGEST_SHA256_BYTES], given[DIGEST_SHA256_BYTES];
    put_canonical(&canonical, s, r, arena);
    put_string_to_sign(&text, s, buf_bytes(&canonical));
    sign(key, s, buf_bytes(&text), right);
    buf_fini(&canonical);
    buf_fini(&text);
    return codec_hex_decode(s->hex, given, sizeof given) == ERR_OK &&
           digest_equal((struct bytes){right, sizeof right}, (struct bytes){given, sizeof given});
}

/* ---- the time ---- */

static bool time_read(struct bytes text, int64_t *wall_ms)
{
    struct tm tm = {0};
    char copy[TIME_BYTES + 1];
    if (text.n != TIME_BYTES)
        return false;
    memcpy(copy, text.at, TIME_BYTES);
    copy[TIME_BYTES] = '\0';
    const char *end = strptime(copy, "%Y%m%dT%H%M%SZ", &tm);
    *wall_ms = (int64_t)timegm(&tm) * 1000;
    return end == copy + TIME_BYTES;
}

static bool time_fits(struct signature *s, const struct sqs_signed_request *r, int64_t now_wall_ms,
                      struct sqs_fault *fault)
{
    int64_t at_ms;
    s->time = r->header(r->self, "X-Amz-Date");
    if (!time_read(s->time, &at_ms))
        return sqs_fault_set(fault, SQS_FAULT_INCOMPLETE_SIGNATURE,
                             "The header X-Amz-Date must be a time such as 20261129T113231Z.");
    if (at_ms > now_wall_ms + SQS_SIGNATURE_SKEW_MS)
        return sqs_fault_set(fault, SQS_FAULT_INVALID_SIGNATURE,
                             "Signature not yet current: X-Amz-Date is more than 15 minutes ahead "
                             "of the server's clock.");
    if (at_ms < now_wall_ms - SQS_SIGNATURE_SKEW_MS)
        return sqs_fault_set(fault, SQS_FAULT_INVALID_SIGNATURE,
                             "Signature expired: X-Amz-Date is more than 15 minutes behind the "
                             "server's clock.");
    if (memcmp(s->time.at, s->date.at, DATE_BYTES) != 0)
        return sqs_fault_set(fault, SQS_FAULT_INVALID_SIGNATURE,
                             "Date in Credential scope does not match the date of X-Amz-Date.");
    return true;
}

/* A header that is not signed could be changed by anybody on the way. */
static bool names_header(struct bytes names, struct bytes name)
{
    while (names.n > 0)
        if (bytes_equal(part_next(&names, ';'), name))
            return true;
    return false;
}

bool sqs_signature_check(const struct sqs_access_keys *keys, const struct sqs_signed_request *r,
                         int64_t now_wall_ms, struct sqs_fault *fault)
{
    struct signature s = {0};
    struct bytes authorization = r->header(r->self, "Authorization");
    if (authorization.n == 0)
        return sqs_fault_set(fault, SQS_FAULT_ACCESS_DENIED,
                             "This server takes only requests that are signed with an access key "
                             "(header Authorization, AWS Signature Version 4).");
    if (!authorization_read(&s, authorization, fault))
        return false;
    if (parts_in(s.signed_headers, ';') > SIGNED_HEADERS_MAX)
        return incomplete(fault, "at most 64 names in SignedHeaders");
    if (!names_header(s.signed_headers, BYTES_OF("host")) ||
        !names_header(s.signed_headers, BYTES_OF("x-amz-date")))
        return incomplete(fault, "host and x-amz-date in SignedHeaders");
    if (r->header(r->self, "X-Amz-Target").at != NULL &&
        !names_header(s.signed_headers, BYTES_OF("x-amz-target")))
        return incomplete(fault, "x-amz-target, which the request has, in SignedHeaders");
    const struct sqs_access_key *key = key_find(keys, s.key_id);
    if (key == NULL)
        return sqs_fault_set(fault, SQS_FAULT_UNRECOGNIZED_CLIENT,
                             "The security token included in the request is invalid.");
    if (!time_fits(&s, r, now_wall_ms, fault))
        return false;
    if (!signature_fits(key, &s, r, fault->arena))
        return sqs_fault_set(fault, SQS_FAULT_INVALID_SIGNATURE,
                             "The request signature we calculated does not match the signature you "
                             "provided. Check your AWS Secret Access Key and signing method. "
                             "Consult the service documentation for details.");
    return true;
}
