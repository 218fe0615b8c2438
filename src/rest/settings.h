// SPDX-License-Identifier: Apache-2.0
/* A topic's settings as the body of PUT and PATCH, and what they make of a topic. Pure.
 *
 * PUT: what is left out, or null, gets its default; fifo, partitions, cleanup and
 * what is said of copies stay. PATCH (RFC
 * 7396): what is left out stays, null gets its default; redrive and tags are merged member by
 * member. What only SQS can set (struct topic_config.attributes) stays in both. */
#ifndef REST_SETTINGS_H
#define REST_SETTINGS_H

#include "catalog/topic.h"
#include "rest/body.h"

enum rest_setting_id {
#define SETTING(name, kind, min, max) REST_SETTING_##name,
#include "rest.def"
    REST_SETTINGS_N
};

struct rest_setting {
    bool given; /* in the body, as null too */
    bool null;
    int64_t value; /* NUMBER; DURATION in ms; FLAG; CHOICE: 1 for "group" and "compact",
                      enum topic_when_full */
};

struct rest_tag {
    const char *name;
    const char *value; /* NULL: null */
};

struct rest_settings {
    struct rest_setting values[REST_SETTINGS_N];
    struct rest_setting receives_max, target_given; /* the members of redrive */
    const char *target;
    struct rest_tag *tags; /* in the arena */
    size_t tags_n;
};

/* Reads a body; an empty one gives nothing. */
bool rest_settings_read(struct bytes body, struct arena *arena, struct rest_settings *out,
                        struct rest_fault *f) MUST_USE;
/* Changes a topic's settings. `fresh`: it is being made, so that what is fixed may be set.
 * False: the fault says why not; `t` may be half changed then. The redrive target is not looked
 * for. */
bool rest_settings_apply(const struct rest_settings *s, bool patch, bool fresh,
                         struct topic_config *t, struct rest_fault *f) MUST_USE;

/* 1 to 80 of A-Z a-z 0-9 _ - , where a final ".fifo" counts and is the only dot: SQS's rule. */
bool rest_topic_name_valid(struct bytes name);
bool rest_topic_name_is_fifo(struct bytes name);

#endif
