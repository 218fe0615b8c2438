// SPDX-License-Identifier: Apache-2.0
#include "sqs/name.h"

static bool name_char(unsigned char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-';
}

static bool name_chars(struct bytes b)
{
    const unsigned char *at = b.at;
    for (size_t i = 0; i < b.n; i++)
        if (!name_char(at[i]))
            return false;
    return true;
}

bool sqs_name_is_fifo(struct bytes name)
{
    static const char suffix[] = ".fifo";
    size_t n = sizeof suffix - 1;
    return name.n >= n && memcmp((const char *)name.at + name.n - n, suffix, n) == 0;
}

bool sqs_name_valid(struct bytes name, bool fifo)
{
    if (name.n == 0 || name.n > SQS_NAME_MAX)
        return false;
    if (fifo) {
        if (!sqs_name_is_fifo(name))
            return false;
        name.n -= sizeof ".fifo" - 1;
    }
    return name.n > 0 && name_chars(name);
}

struct bytes sqs_name_of_url(struct bytes url)
{
    const char *at = url.at;
    size_t start = url.n;
    while (start > 0 && at[start - 1] != '/')
        start--;
    return start == url.n ? BYTES_NONE : (struct bytes){at + start, url.n - start};
}

struct bytes sqs_account_of_url(struct bytes url)
{
    enum { ACCOUNT_DIGITS = 12 };
    struct bytes name = sqs_name_of_url(url);
    const char *at = url.at;
    size_t before = url.n - name.n; /* with the slash */
    if (name.n == 0 || before < ACCOUNT_DIGITS + 2 || at[before - ACCOUNT_DIGITS - 2] != '/')
        return BYTES_NONE;
    struct bytes account = {at + before - ACCOUNT_DIGITS - 1, ACCOUNT_DIGITS};
    for (size_t i = 0; i < account.n; i++)
        if (((const char *)account.at)[i] < '0' || ((const char *)account.at)[i] > '9')
            return BYTES_NONE;
    return account;
}

struct bytes sqs_name_of_path(struct bytes path)
{
    return sqs_account_of_url(path).n > 0 ? sqs_name_of_url(path) : BYTES_NONE;
}

bool sqs_entry_id_valid(struct bytes id)
{
    return id.n > 0 && id.n <= SQS_ENTRY_ID_MAX && name_chars(id);
}

/* Cuts what stands before the next `sign` off the front of `rest`. */
static bool cut(struct bytes *rest, char sign, struct bytes *out)
{
    const char *at = rest->at, *end = rest->n == 0 ? NULL : memchr(at, sign, rest->n);
    if (end == NULL)
        return false;
    *out = (struct bytes){at, (size_t)(end - at)};
    *rest = (struct bytes){end + 1, rest->n - out->n - 1};
    return true;
}

bool sqs_arn_parse(struct bytes arn, struct sqs_arn *out)
{
    struct bytes rest = arn, word;
    struct sqs_arn a;
    if (!cut(&rest, ':', &word) || !bytes_equal(word, BYTES_OF("arn")) ||
        !cut(&rest, ':', &a.partition) || !cut(&rest, ':', &a.service) ||
        !cut(&rest, ':', &a.region) || !cut(&rest, ':', &a.account))
        return false;
    a.name = rest;
    if (a.partition.n == 0 || a.service.n == 0 || a.region.n == 0 || a.account.n == 0 ||
        a.name.n == 0 || memchr(a.name.at, ':', a.name.n) != NULL)
        return false;
    *out = a;
    return true;
}

struct bytes sqs_region_of_authorization(struct bytes header)
{
    /* AWS4-HMAC-SHA256 Credential=key/20261129/eu-west-1/sqs/aws4_request, SignedHeaders=… */
    static const char mark[] = "Credential=";
    const char *at = header.n == 0 ? NULL : memmem(header.at, header.n, mark, sizeof mark - 1);
    if (at == NULL)
        return BYTES_NONE;
    at += sizeof mark - 1;
    struct bytes rest = {at, header.n - (size_t)(at - (const char *)header.at)}, key, day, region;
    if (!cut(&rest, '/', &key) || !cut(&rest, '/', &day) || !cut(&rest, '/', &region))
        return BYTES_NONE;
    return region.n > 0 && region.n <= 32 && name_chars(region) ? region : BYTES_NONE;
}
