// SPDX-License-Identifier: Apache-2.0
/* Reading JSON bodies: values with their types and bounds, and JSON pointers (RFC 6901) to the ones
 * that are wrong. A text that is no JSON is noticed at the end, by rest_body_finish; until then
 * what the readers of a broken text say and give is of no use. Pure. */
#ifndef REST_BODY_H
#define REST_BODY_H

#include "base/json.h"
#include "rest/problem.h"

/* A place in a body, as a chain on the callers' stacks, so that its text costs nothing until
 * something is wrong there. */
struct rest_place {
    const struct rest_place *up; /* NULL: the body itself */
    struct bytes name;           /* of a member; at = NULL: an element */
    size_t index;
};

/* Gives false, as rest_fault_set does. */
bool rest_body_fault(struct rest_fault *f, enum rest_problem p, const struct rest_place *at,
                     const char *format, ...) __attribute__((format(printf, 4, 5)));

/* Each takes the value that is due. Out parameters are written when it is sound. */
bool rest_body_object(struct json *j, const struct rest_place *at, struct rest_fault *f) MUST_USE;
bool rest_body_array(struct json *j, const struct rest_place *at, struct rest_fault *f) MUST_USE;
bool rest_body_text(struct json *j, const struct rest_place *at, size_t bytes_min, size_t bytes_max,
                    struct bytes *out, struct rest_fault *f) MUST_USE;
bool rest_body_flag(struct json *j, const struct rest_place *at, bool *out,
                    struct rest_fault *f) MUST_USE;
bool rest_body_number(struct json *j, const struct rest_place *at, int64_t min, int64_t max,
                      int64_t *out, struct rest_fault *f) MUST_USE;
/* Text with a unit, or a number of whole seconds. */
bool rest_body_duration(struct json *j, const struct rest_place *at, int64_t seconds_min,
                        int64_t seconds_max, int64_t *ms, struct rest_fault *f) MUST_USE;
/* A number of seconds, with up to three digits of fraction: the form of our own answers. */
bool rest_body_seconds(struct json *j, const struct rest_place *at, int64_t seconds_min,
                       int64_t seconds_max, int64_t *ms, struct rest_fault *f) MUST_USE;
bool rest_body_base64(struct json *j, const struct rest_place *at, struct arena *arena,
                      struct bytes *out, struct rest_fault *f) MUST_USE;

bool rest_body_unknown(const struct rest_place *at, const char *known,
                       struct rest_fault *f) MUST_USE;
/* The end of the body, read as a whole or up to a fault (`fine` is false then). A text that is no
 * JSON is refused as that, whatever was found wrong in it before. */
bool rest_body_finish(struct json *j, bool fine, struct rest_fault *f) MUST_USE;

#endif
