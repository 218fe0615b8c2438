// SPDX-License-Identifier: Apache-2.0
/* Conditions on the version of a topic's settings (RFC 9110, section 13). */
#ifndef REST_ETAG_H
#define REST_ETAG_H

#include "http/http.h"

enum { REST_ETAG_ROOM = 24 };

struct rest_conditions {
    struct bytes match;      /* If-Match, or n = 0 */
    struct bytes none_match; /* If-None-Match, or n = 0 */
};

/* Copies of the headers: they are looked at after the client may have gone. */
void rest_conditions_read(struct http_request *r, struct rest_conditions *out);

/* Whether a list of tags ("1", W/"2", or *) names this version. Weak tags count as strong: ours are
 * equal only when all settings are. A tag without quotes is taken too. */
bool rest_etag_matches(struct bytes list, int64_t version);
void rest_version_text(int64_t version, char out[REST_ETAG_ROOM]); /* without quotes */
void rest_etag_text(int64_t version, char out[REST_ETAG_ROOM]);

#endif
