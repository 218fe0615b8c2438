// SPDX-License-Identifier: Apache-2.0
/* Which of the two protocols a request speaks. Pure but for the request it looks at. */
#ifndef SQS_PROTOCOL_H
#define SQS_PROTOCOL_H

#include "http/http.h"
#include "sqs/out.h"

/* By the method and the content type, before X-Amz-Target: proxies and old clients add headers (one
 * Perl client sends X-Amz-Target with its forms), but only a client of a protocol names its body's
 * form. A POST of another type is JSON if it has X-Amz-Target; else Query if it has a query
 * string, which may hold all its parameters, or no type at all. Query is answered as JSON only if
 * Accept is application/json and nothing else. */
enum sqs_protocol sqs_protocol_of(const struct http_request *r);

#endif
