// SPDX-License-Identifier: Apache-2.0
/* A decoded request. Its bytes lie in the request's body or arena. An absent text has at = NULL; a
 * text that was given but is empty has n = 0 and at set. */
#ifndef SQS_REQUEST_H
#define SQS_REQUEST_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"

enum {
    SQS_ENTRIES_MAX = 10,
    SQS_MESSAGE_ATTRIBUTES_MAX = 10,
    SQS_LIST_MAX = 256, /* names or pairs in one list; more than any sensible request holds */
};

struct sqs_integer {
    bool given;
    int64_t value;     /* clamped to its type's ends when longer */
    struct bytes text; /* as it was written */
};

struct sqs_texts {
    struct bytes *at;
    size_t n;
};

struct sqs_pair {
    struct bytes name;
    struct bytes value;
};

struct sqs_pairs {
    struct sqs_pair *at;
    size_t n;
    bool given;
};

/* A message attribute as it was sent, before any rule was asked. */
struct sqs_attribute {
    struct bytes name;
    struct bytes data_type;
    struct bytes text;   /* StringValue */
    struct bytes binary; /* BinaryValue, decoded */
    bool is_list;        /* StringListValues or BinaryListValues were given */
};

struct sqs_attributes {
    struct sqs_attribute *at; /* room for SQS_MESSAGE_ATTRIBUTES_MAX */
    size_t n;                 /* kept */
    size_t sent;              /* more when too many were sent */
};

/* An entry of a batch, or the single message (or receipt) of the action without Batch. */
struct sqs_entry {
    struct bytes id;
    struct bytes body;
    struct sqs_integer delay_s;
    struct sqs_attributes attributes;
    struct sqs_attributes system_attributes;
    struct bytes dedup_id;
    struct bytes group_id;
    struct bytes receipt;
    struct sqs_integer visibility_s;
};

struct sqs_entries {
    struct sqs_entry *at; /* room for SQS_ENTRIES_MAX */
    size_t n;             /* kept */
    size_t sent;
    bool given;
};

struct sqs_request {
    struct bytes queue_url;
    struct bytes queue_name;
    struct bytes owner;
    struct bytes prefix;
    struct bytes next_token;
    struct sqs_integer max_results;
    struct sqs_pairs attributes;
    struct sqs_pairs tags;
    struct sqs_texts tag_keys;
    struct sqs_texts attribute_names;
    struct sqs_texts system_names;
    struct sqs_texts message_names;
    struct sqs_integer max_messages;
    struct sqs_integer wait_s;
    struct bytes attempt_id;
    struct bytes source_arn;
    struct bytes destination_arn;
    struct sqs_integer per_second;
    struct bytes task_handle;
    struct bytes label;
    struct sqs_texts accounts;
    struct sqs_texts actions;
    struct sqs_entry one;
    struct sqs_entries entries;
};

#endif
