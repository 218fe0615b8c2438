// SPDX-License-Identifier: Apache-2.0
#include "sqs/protocol.h"

#include <string.h>
#include <strings.h>

static bool starts_with_type(struct bytes header, const char *type)
{
    size_t n = strlen(type);
    const char *at = header.at;
    return header.n >= n && strncasecmp(at, type, n) == 0 &&
           (header.n == n || at[n] == ';' || at[n] == ' ' || at[n] == '.' || at[n] == '-');
}

static bool is_json(const struct http_request *r)
{
    enum http_method method = http_method_of(r);
    if (method == HTTP_GET || method == HTTP_HEAD)
        return false;
    struct bytes type = http_header(r, "Content-Type");
    if (starts_with_type(type, "application/x-amz-json"))
        return true;
    if (starts_with_type(type, "application/x-www-form-urlencoded"))
        return false;
    if (http_header(r, "X-Amz-Target").n > 0 || method != HTTP_POST)
        return true;
    return http_query(r).n == 0 && type.n > 0;
}

/* Libraries that send a longer list of what they accept get XML all the same. */
enum sqs_protocol sqs_protocol_of(const struct http_request *r)
{
    if (is_json(r))
        return SQS_PROTOCOL_JSON;
    struct bytes accept = http_header(r, "Accept");
    return accept.n == 16 && strncasecmp(accept.at, "application/json", 16) == 0
               ? SQS_PROTOCOL_QUERY_AS_JSON
               : SQS_PROTOCOL_QUERY;
}
