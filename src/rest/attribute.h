// SPDX-License-Identifier: Apache-2.0
/* Message attributes, as the REST API takes and shows them. Names, types and values obey SQS's
 * rules, so that what one front takes the other can show. Pure. */
#ifndef REST_ATTRIBUTE_H
#define REST_ATTRIBUTE_H

#include "queue/queue.h"
#include "rest/body.h"

enum { REST_ATTRIBUTES_MAX = 10, REST_ATTRIBUTE_NAME_MAX = 256 };

struct rest_attributes {
    struct queue_attribute at[REST_ATTRIBUTES_MAX];
    size_t n;
};

/* NULL, or what is wrong, for a refusal. */
const char *rest_attribute_wrong(const struct queue_attribute *a);

/* The value that is due, as an object NAME: "text" | number | {type, value | value_base64}. */
bool rest_attributes_read(struct json *j, const struct rest_place *at, struct arena *arena,
                          struct rest_attributes *out, struct rest_fault *f) MUST_USE;
/* The same form; nothing when there is none. */
void rest_attributes_put(struct json_writer *w, const struct queue_attribute *a, size_t n);

#endif
