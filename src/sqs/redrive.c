// SPDX-License-Identifier: Apache-2.0
#include "sqs/redrive.h"

#include <jansson.h>

#include "base/check.h"
#include "sqs/name.h"

enum { RECEIVES_MAX = 1000, SOURCES_MAX = 10, POLICY_BYTES_MAX = 8192, STATEMENTS_MAX = 20 };

#define CANNOT_ALLOW "Amazon SQS can't create the redrive allow policy."

void sqs_arn_put(struct buf *out, const struct sqs_place *place, struct bytes name)
{
    buf_put_text(out, "arn:aws:sqs:");
    buf_put_bytes(out, place->region);
    buf_put_text(out, ":");
    buf_put_bytes(out, place->account);
    buf_put_text(out, ":");
    buf_put_bytes(out, name);
}

/* A JSON object, or NULL. */
static json_t *load_object(struct bytes text)
{
    json_t *root = json_loadb(text.n > 0 ? text.at : "", text.n, JSON_REJECT_DUPLICATES, NULL);
    if (root != NULL && !json_is_object(root)) {
        json_decref(root);
        root = NULL;
    }
    return root;
}

bool sqs_redrive_refuse(const struct sqs_redrive *r, const char *reason, struct sqs_fault *f)
{
    return sqs_fault_set(f, SQS_FAULT_INVALID_PARAMETER_VALUE,
                         "Value %.*s for parameter RedrivePolicy is invalid. Reason: %s",
                         SQS_SHOW(r->json), reason);
}

/* A number, or a string of digits, from 1 to 1000; 0: neither. */
static uint32_t receives_of(const json_t *value)
{
    json_int_t n = 0;
    if (json_is_integer(value))
        n = json_integer_value(value);
    else if (json_is_string(value)) {
        const char *text = json_string_value(value);
        size_t length = json_string_length(value);
        if (length > 4)
            return 0;
        for (size_t i = 0; i < length; i++) {
            if (text[i] < '0' || text[i] > '9')
                return 0;
            n = n * 10 + (text[i] - '0');
        }
    }
    return n >= 1 && n <= RECEIVES_MAX ? (uint32_t)n : 0;
}

static bool refuse_receives(const struct sqs_redrive *r, const json_t *value, struct sqs_fault *f)
{
    char reason[160];
    const char *text = json_is_string(value) ? json_string_value(value) : "";
    char number[24];
    size_t n = strspn(text, "+-.0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ");
    if (json_is_integer(value)) {
        n = (size_t)snprintf(number, sizeof number, "%lld", (long long)json_integer_value(value));
        text = number;
    }
    snprintf(reason, sizeof reason,
             "Invalid value for maxReceiveCount: %.*s, valid values are from 1 to %d both "
             "inclusive.",
             n < 40 ? (int)n : 40, text, RECEIVES_MAX);
    return sqs_redrive_refuse(r, reason, f);
}

static bool read_target(const json_t *arn, const struct sqs_place *place, struct arena *arena,
                        struct sqs_redrive *r, struct sqs_fault *f)
{
    struct sqs_arn parts;
    struct bytes text = {json_string_value(arn), json_string_length(arn)};
    if (!json_is_string(arn) || !sqs_arn_parse(text, &parts) ||
        !bytes_equal(parts.service, BYTES_OF("sqs")))
        return sqs_redrive_refuse(r, "Dead-letter target ARN should be fully qualified ARN.", f);
    if (!bytes_equal(parts.account, place->account))
        return sqs_redrive_refuse(r, "Dead-letter target owner should be same as the source.", f);
    if (!sqs_name_valid(parts.name, sqs_name_is_fifo(parts.name)))
        return sqs_redrive_refuse(r, "Dead letter target does not exist.", f);
    r->target = arena_copy(arena, parts.name);
    return true;
}

static bool read_redrive(const json_t *root, const struct sqs_place *place, struct arena *arena,
                         struct sqs_redrive *r, struct sqs_fault *f)
{
    const json_t *arn = json_object_get(root, "deadLetterTargetArn");
    const json_t *receives = json_object_get(root, "maxReceiveCount");
    if (arn == NULL)
        return sqs_redrive_refuse(
            r, "Redrive policy does not contain mandatory attribute: deadLetterTargetArn.", f);
    if (receives == NULL)
        return sqs_redrive_refuse(
            r, "Redrive policy does not contain mandatory attribute: maxReceiveCount.", f);
    if (json_object_size(root) != 2)
        return sqs_redrive_refuse(r,
                                  "Only following attributes are supported: [maxReceiveCount, "
                                  "deadLetterTargetArn].",
                                  f);
    r->receives_max = receives_of(receives);
    if (r->receives_max == 0)
        return refuse_receives(r, receives, f);
    return read_target(arn, place, arena, r, f);
}

bool sqs_redrive_read(struct bytes json, const struct sqs_place *place, struct arena *arena,
                      struct sqs_redrive *out, struct sqs_fault *f)
{
    struct sqs_redrive r = {.json = json};
    json_t *root = load_object(json);
    if (root == NULL)
        return sqs_fault_set(f, SQS_FAULT_INVALID_ATTRIBUTE_VALUE,
                             "Invalid value for the parameter RedrivePolicy. Reason: Redrive "
                             "policy is not a valid JSON map.");
    bool fine = read_redrive(root, place, arena, &r, f);
    json_decref(root);
    if (fine)
        *out = r;
    return fine;
}

void sqs_redrive_put(struct buf *out, const struct sqs_place *place, struct bytes target,
                     uint32_t receives_max)
{
    buf_put_text(out, "{\"deadLetterTargetArn\":\"");
    sqs_arn_put(out, place, target);
    buf_put_format(out, "\",\"maxReceiveCount\":%u}", receives_max);
}

static bool refuse_allow(const char *reason, struct sqs_fault *f)
{
    return sqs_fault_set(f, SQS_FAULT_INVALID_PARAMETER_VALUE, CANNOT_ALLOW " %s", reason);
}

static bool check_sources(const json_t *sources, struct sqs_fault *f)
{
    size_t i;
    json_t *arn;
    if (sources == NULL || (json_is_array(sources) && json_array_size(sources) == 0))
        return refuse_allow("When you specify the byQueue permission type, you must also specify "
                            "one or more sourceQueueArns values.",
                            f);
    if (!json_is_array(sources))
        return refuse_allow("sourceQueueArns must be a list of ARNs.", f);
    if (json_array_size(sources) > SOURCES_MAX)
        return refuse_allow("The maximum number of source queue ARNs you can specify is 10.", f);
    json_array_foreach(sources, i, arn)
    {
        struct sqs_arn parts;
        struct bytes text = {json_string_value(arn), json_string_length(arn)};
        if (!json_is_string(arn) || !sqs_arn_parse(text, &parts))
            return refuse_allow("sourceQueueArns must hold fully qualified ARNs.", f);
    }
    return true;
}

static bool check_allow(const json_t *root, struct sqs_fault *f)
{
    const json_t *permission = json_object_get(root, "redrivePermission");
    const json_t *sources = json_object_get(root, "sourceQueueArns");
    const char *word = json_string_value(permission);
    if (json_object_size(root) != (permission != NULL) + (size_t)(sources != NULL) ||
        word == NULL ||
        (strcmp(word, "allowAll") != 0 && strcmp(word, "denyAll") != 0 &&
         strcmp(word, "byQueue") != 0))
        return refuse_allow("It must hold redrivePermission (allowAll, denyAll or byQueue) and, "
                            "with byQueue, sourceQueueArns.",
                            f);
    if (strcmp(word, "byQueue") == 0)
        return check_sources(sources, f);
    if (sources != NULL)
        return refuse_allow("To specify one or more source queue ARNs, you must set "
                            "redrivePermission to byQueue.",
                            f);
    return true;
}

bool sqs_allow_check(struct bytes json, struct sqs_fault *f)
{
    json_t *root = load_object(json);
    if (root == NULL)
        return sqs_fault_set(f, SQS_FAULT_INVALID_ATTRIBUTE_VALUE,
                             "Invalid value for the parameter RedriveAllowPolicy. Reason: Redrive "
                             "allow policy is not a valid JSON map.");
    bool fine = check_allow(root, f);
    json_decref(root);
    return fine;
}

bool sqs_policy_check(struct bytes json, struct sqs_fault *f)
{
    if (json.n > POLICY_BYTES_MAX)
        return sqs_fault_set(f, SQS_FAULT_OVER_LIMIT,
                             "The submitted policy has %zu bytes, max allowed is %d", json.n,
                             POLICY_BYTES_MAX);
    json_t *root = load_object(json);
    if (root == NULL)
        return sqs_fault_set(f, SQS_FAULT_INVALID_ATTRIBUTE_VALUE,
                             "Invalid value for the parameter Policy. Reason: Policy is not a "
                             "valid JSON map.");
    size_t statements = json_array_size(json_object_get(root, "Statement"));
    json_decref(root);
    if (statements > STATEMENTS_MAX)
        return sqs_fault_set(f, SQS_FAULT_OVER_LIMIT,
                             "%zu statements were found in the submitted policy, max allowed is %d",
                             statements, STATEMENTS_MAX);
    return true;
}

bool sqs_json_equal(struct bytes a, struct bytes b)
{
    if (bytes_equal(a, b))
        return true;
    json_t *left = load_object(a), *right = load_object(b);
    bool equal = left != NULL && right != NULL && json_equal(left, right);
    json_decref(left);
    json_decref(right);
    return equal;
}
