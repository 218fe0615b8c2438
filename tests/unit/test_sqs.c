// SPDX-License-Identifier: Apache-2.0
/* The tables and the decoder of the room sqs: faults, actions, names, every captured request. */
#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "lib/runner.h"
#include "sqs/action.h"
#include "sqs/cooldown.h"
#include "sqs/decode.h"
#include "sqs/name.h"

static struct arena arena;
static struct sqs_fault fault;
static struct sqs_request request;

static void setup(void)
{
    arena_init(&arena, NULL, 0);
    fault = (struct sqs_fault){.arena = &arena};
}

static void teardown(void)
{
    arena_fini(&arena);
}

#define ck_bytes(got, text) ck_assert(bytes_equal(got, bytes_of_text(text)))

static bool fault_text_is(const char *text)
{
    return bytes_equal(fault.text, bytes_of_text(text));
}

static const struct sqs_action *decode(enum sqs_action_id id, const char *body, bool fine)
{
    const struct sqs_action *a = sqs_action(id);
    fault.code = SQS_FAULT_NONE;
    ck_assert_int_eq(sqs_decode_json(a, bytes_of_text(body), &arena, &request, &fault), fine);
    ck_assert_int_eq(fault.code == SQS_FAULT_NONE, fine);
    return a;
}

/* A file under tests/wire, NUL-terminated; freed by the caller. */
static char *file_read(const char *name)
{
    char path[1024];
    const char *folder = getenv("srcdir");
    snprintf(path, sizeof path, "%s/tests/wire/%s", folder == NULL ? "." : folder, name);
    FILE *f = fopen(path, "rb");
    ck_assert_msg(f != NULL, "%s cannot be read", path);
    char *at = calloc(1, 65536);
    ck_assert_uint_gt(fread(at, 1, 65535, f), 0);
    fclose(f);
    return at;
}

/* Finds the action that a captured request names, and decodes its body. */
static const struct sqs_action *decode_file(const char *name)
{
    char *text = file_read(name);
    struct bytes whole = arena_copy(&arena, bytes_of_text(text));
    free(text);
    const char *at = strcasestr(whole.at, "X-Amz-Target: AmazonSQS.");
    const char *body = strstr(whole.at, "\r\n\r\n");
    if (body == NULL)
        body = strstr(whole.at, "\n\n") - 2;
    ck_assert(at != NULL && body != NULL);
    at += strlen("X-Amz-Target: AmazonSQS.");
    const struct sqs_action *a;
    ck_assert(sqs_action_find((struct bytes){at, strcspn(at, "\r\n")}, &a, &fault));
    ck_assert(sqs_decode_json(a, bytes_of_text(body + 4), &arena, &request, &fault));
    ck_assert(sqs_check_required(a, &request, &fault));
    return a;
}

struct known_fault {
    enum sqs_fault_code code;
    const char *shape, *query_code;
    int status;
};

/* As the published service model has them. */
static const struct known_fault modelled[] = {
    {SQS_FAULT_BATCH_ENTRY_IDS_NOT_DISTINCT, "BatchEntryIdsNotDistinct",
     "AWS.SimpleQueueService.BatchEntryIdsNotDistinct", 400},
    {SQS_FAULT_BATCH_REQUEST_TOO_LONG, "BatchRequestTooLong",
     "AWS.SimpleQueueService.BatchRequestTooLong", 400},
    {SQS_FAULT_EMPTY_BATCH_REQUEST, "EmptyBatchRequest", "AWS.SimpleQueueService.EmptyBatchRequest",
     400},
    {SQS_FAULT_INVALID_BATCH_ENTRY_ID, "InvalidBatchEntryId",
     "AWS.SimpleQueueService.InvalidBatchEntryId", 400},
    {SQS_FAULT_TOO_MANY_ENTRIES, "TooManyEntriesInBatchRequest",
     "AWS.SimpleQueueService.TooManyEntriesInBatchRequest", 400},
    {SQS_FAULT_MESSAGE_NOT_INFLIGHT, "MessageNotInflight",
     "AWS.SimpleQueueService.MessageNotInflight", 400},
    {SQS_FAULT_PURGE_QUEUE_IN_PROGRESS, "PurgeQueueInProgress",
     "AWS.SimpleQueueService.PurgeQueueInProgress", 403},
    {SQS_FAULT_QUEUE_DELETED_RECENTLY, "QueueDeletedRecently",
     "AWS.SimpleQueueService.QueueDeletedRecently", 400},
    {SQS_FAULT_QUEUE_DOES_NOT_EXIST, "QueueDoesNotExist", "AWS.SimpleQueueService.NonExistentQueue",
     400},
    {SQS_FAULT_QUEUE_NAME_EXISTS, "QueueNameExists", "QueueAlreadyExists", 400},
    {SQS_FAULT_UNSUPPORTED_OPERATION, "UnsupportedOperation",
     "AWS.SimpleQueueService.UnsupportedOperation", 400},
    {SQS_FAULT_RECEIPT_HANDLE_IS_INVALID, "ReceiptHandleIsInvalid", "ReceiptHandleIsInvalid", 404},
    {SQS_FAULT_INVALID_ADDRESS, "InvalidAddress", "InvalidAddress", 404},
    {SQS_FAULT_RESOURCE_NOT_FOUND, "ResourceNotFoundException", "ResourceNotFoundException", 404},
    {SQS_FAULT_OVER_LIMIT, "OverLimit", "OverLimit", 403},
    {SQS_FAULT_REQUEST_THROTTLED, "RequestThrottled", "RequestThrottled", 403},
    {SQS_FAULT_INVALID_SECURITY, "InvalidSecurity", "InvalidSecurity", 403},
    {SQS_FAULT_INVALID_ATTRIBUTE_NAME, "InvalidAttributeName", "InvalidAttributeName", 400},
    {SQS_FAULT_INVALID_ATTRIBUTE_VALUE, "InvalidAttributeValue", "InvalidAttributeValue", 400},
    {SQS_FAULT_INVALID_MESSAGE_CONTENTS, "InvalidMessageContents", "InvalidMessageContents", 400},
    {SQS_FAULT_INVALID_ID_FORMAT, "InvalidIdFormat", "InvalidIdFormat", 400},
    {SQS_FAULT_KMS_ACCESS_DENIED, "KmsAccessDenied", "KMS.AccessDeniedException", 400},
    {SQS_FAULT_KMS_DISABLED, "KmsDisabled", "KMS.DisabledException", 400},
    {SQS_FAULT_KMS_INVALID_KEY_USAGE, "KmsInvalidKeyUsage", "KMS.InvalidKeyUsageException", 400},
    {SQS_FAULT_KMS_INVALID_STATE, "KmsInvalidState", "KMS.InvalidStateException", 400},
    {SQS_FAULT_KMS_NOT_FOUND, "KmsNotFound", "KMS.NotFoundException", 400},
    {SQS_FAULT_KMS_THROTTLED, "KmsThrottled", "KMS.ThrottlingException", 400},
    {SQS_FAULT_KMS_OPT_IN_REQUIRED, "KmsOptInRequired", "KMS.OptInRequired", 403},
};

/* As AWS's answers have been recorded; the service model does not name them. */
static const struct known_fault unmodelled[] = {
    {SQS_FAULT_INVALID_PARAMETER_VALUE, "InvalidParameterValueException", "InvalidParameterValue",
     400},
    {SQS_FAULT_MISSING_PARAMETER, "MissingRequiredParameterException", "MissingParameter", 400},
    {SQS_FAULT_UNKNOWN_OPERATION, "UnknownOperationException", "InvalidAction", 400},
    {SQS_FAULT_SERIALIZATION, "SerializationException", "MalformedInput", 400},
    {SQS_FAULT_ACCESS_DENIED, "AccessDeniedException", "AccessDenied", 403},
    {SQS_FAULT_UNRECOGNIZED_CLIENT, "UnrecognizedClientException", "InvalidClientTokenId", 403},
    {SQS_FAULT_INVALID_SIGNATURE, "InvalidSignatureException", "SignatureDoesNotMatch", 403},
    {SQS_FAULT_INCOMPLETE_SIGNATURE, "IncompleteSignatureException", "IncompleteSignature", 400},
    {SQS_FAULT_INTERNAL_FAILURE, "InternalFailure", "InternalFailure", 500},
    {SQS_FAULT_SERVICE_UNAVAILABLE, "ServiceUnavailable", "ServiceUnavailable", 503},
};

static void check_faults(const struct known_fault *want, size_t n, const char *prefix)
{
    char type[128], query_error[128];
    for (size_t i = 0; i < n; i++) {
        const struct sqs_fault_row *row = sqs_fault_row(want[i].code);
        snprintf(type, sizeof type, "%s%s", prefix, want[i].shape);
        snprintf(query_error, sizeof query_error, "%s;%s", want[i].query_code,
                 want[i].status < 500 ? "Sender" : "Receiver");
        ck_assert_str_eq(row->type, type);
        ck_assert_str_eq(row->query_error, query_error);
        ck_assert_str_eq(row->code, want[i].query_code);
        ck_assert_int_eq(row->status, want[i].status);
    }
}

START_TEST(every_fault_has_the_type_code_and_status_that_clients_dispatch_on)
{
    check_faults(modelled, sizeof modelled / sizeof modelled[0], "com.amazonaws.sqs#");
    check_faults(unmodelled, sizeof unmodelled / sizeof unmodelled[0], "com.amazon.coral.service#");
}
END_TEST

START_TEST(a_long_fault_text_is_cut_between_characters)
{
    char text[3 * SQS_FAULT_TEXT_MAX + 1];
    for (size_t i = 0; i < 3 * SQS_FAULT_TEXT_MAX; i++)
        text[i] = "\xe2\x82\xac"[i % 3];
    text[3 * SQS_FAULT_TEXT_MAX] = 0;
    ck_assert(!sqs_fault_set(&fault, SQS_FAULT_SERIALIZATION, "%s", text));
    ck_assert_uint_eq(fault.text.n, SQS_FAULT_TEXT_MAX / 3 * 3);
}
END_TEST

START_TEST(every_captured_request_is_decoded)
{
    static const char *const names[] = {
        "json-requests/AddPermission.http",
        "json-requests/CancelMessageMoveTask.http",
        "json-requests/ChangeMessageVisibility.http",
        "json-requests/ChangeMessageVisibilityBatch.http",
        "json-requests/CreateQueue.http",
        "json-requests/DeleteMessage.http",
        "json-requests/DeleteMessageBatch.http",
        "json-requests/DeleteQueue.http",
        "json-requests/GetQueueAttributes.http",
        "json-requests/GetQueueUrl.http",
        "json-requests/ListMessageMoveTasks.http",
        "json-requests/ListQueues.http",
        "json-requests/PurgeQueue.http",
        "json-requests/ReceiveMessage.http",
        "json-requests/ReceiveMessage.system.http",
        "json-requests/RemovePermission.http",
        "json-requests/SendMessage.fifo.http",
        "json-requests/SendMessage.http",
        "json-requests/SendMessageBatch.http",
        "json-requests/SetQueueAttributes.http",
        "json-requests/StartMessageMoveTask.http",
        "js-requests/DeleteMessage.http",
        "js-requests/ReceiveMessage.endpoint-with-path.http",
        "js-requests/SendMessage.http",
    };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        ck_assert_ptr_nonnull(decode_file(names[i]));
}
END_TEST

START_TEST(a_send_is_decoded_member_by_member)
{
    decode_file("json-requests/SendMessage.http");
    const struct sqs_entry *one = &request.one;
    ck_bytes(request.queue_url, "http://127.0.0.1:9324/000000000000/orders");
    ck_bytes(one->body, "hi <&\"\r\n \xc3\xa9 \xf0\x9f\x98\x80");
    ck_assert(one->delay_s.given && one->delay_s.value == 5);
    ck_assert_uint_eq(one->attributes.n, 3);
    ck_bytes(one->attributes.at[0].name, "color");
    ck_bytes(one->attributes.at[1].data_type, "Number");
    ck_bytes(one->attributes.at[2].binary, "\x01\x02\x03");
    ck_assert_uint_eq(one->system_attributes.n, 1);
    ck_assert(one->group_id.at == NULL);
}
END_TEST

START_TEST(batch_entries_are_decoded_in_their_order)
{
    decode_file("json-requests/SendMessageBatch.http");
    ck_assert_uint_eq(request.entries.n, 2);
    ck_bytes(request.entries.at[0].body, "one");
    ck_bytes(request.entries.at[1].id, "b");
    ck_assert_int_eq(request.entries.at[1].delay_s.value, 1);
    ck_assert_uint_eq(request.entries.at[1].attributes.n, 1);
}
END_TEST

START_TEST(maps_and_lists_are_decoded)
{
    decode_file("json-requests/CreateQueue.http");
    ck_assert_uint_eq(request.attributes.n, 2);
    ck_bytes(request.attributes.at[0].value, "45");
    ck_bytes(request.tags.at[1].value, "a b");
    decode_file("json-requests/ReceiveMessage.http");
    ck_assert_uint_eq(request.message_names.n, 2);
    ck_bytes(request.message_names.at[1], "pre.*");
    ck_assert_int_eq(request.wait_s.value, 20);
    ck_bytes(request.attempt_id, "att-1");
}
END_TEST

START_TEST(null_is_as_absent_and_unknown_members_are_ignored)
{
    decode(SQS_SendMessage,
           "{\"QueueUrl\":null,\"MessageBody\":\"\",\"DelaySeconds\":null,\"What\":[{\"a\":1}],"
           "\"MessageAttributes\":{\"a\":null}}",
           true);
    ck_assert(request.queue_url.at == NULL);
    ck_assert(request.one.body.at != NULL && request.one.body.n == 0);
    ck_assert(!request.one.delay_s.given);
    ck_assert_uint_eq(request.one.attributes.sent, 0);
}
END_TEST

START_TEST(a_value_of_another_type_is_a_serialization_fault_in_aws_words)
{
    static const struct {
        const char *body, *text;
    } cases[] = {
        {"{\"DelaySeconds\":\"1\"}", "STRING_VALUE can not be converted to an Integer"},
        {"{\"DelaySeconds\":1.5}", "NUMBER_VALUE can not be converted to an Integer"},
        {"{\"DelaySeconds\":1e1}", "NUMBER_VALUE can not be converted to an Integer"},
        {"{\"DelaySeconds\":true}", "TRUE_VALUE can not be converted to an Integer"},
        {"{\"MessageBody\":1}", "NUMBER_VALUE can not be converted to a String"},
        {"{\"MessageBody\":{}}", "Start of structure or map found where not expected."},
        {"{\"MessageBody\":[]}", "Start of list found where not expected"},
        {"{\"MessageAttributes\":[]}", "Start of list found where not expected"},
        {"{\"MessageAttributes\":{\"a\":{\"BinaryValue\":\"?\"}}}",
         "BinaryValue is not valid base64"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        decode(SQS_SendMessage, cases[i].body, false);
        ck_assert_int_eq(fault.code, SQS_FAULT_SERIALIZATION);
        ck_assert_msg(fault_text_is(cases[i].text), "%s: %.*s", cases[i].body,
                      SQS_SHOW(fault.text));
    }
}
END_TEST

START_TEST(what_is_no_json_object_is_a_serialization_fault)
{
    static const char *const bodies[] = {"",
                                         "[]",
                                         "\"a\"",
                                         "{",
                                         "{}}",
                                         "{\"a\":1,}",
                                         "{\"MessageBody\":\"\xff\"}",
                                         "{\"MessageBody\":\"\\ud800\"}",
                                         "{\"MessageBody\":1,\"x\":}"};
    for (size_t i = 0; i < sizeof bodies / sizeof bodies[0]; i++) {
        decode(SQS_SendMessage, bodies[i], false);
        ck_assert_int_eq(fault.code, SQS_FAULT_SERIALIZATION);
        ck_assert(fault_text_is("The request body is not a JSON object."));
    }
}
END_TEST

START_TEST(an_integer_beyond_any_type_is_out_of_range_and_shown_as_it_was_written)
{
    const struct sqs_action *a =
        decode(SQS_SendMessage, "{\"DelaySeconds\":-99999999999999999999}", true);
    ck_assert(!sqs_check_ranges(a, &request, &fault));
    ck_assert_int_eq(fault.code, SQS_FAULT_INVALID_PARAMETER_VALUE);
    ck_assert(fault_text_is("Value -99999999999999999999 for parameter DelaySeconds is invalid. "
                            "Reason: DelaySeconds must be >= 0 and <= 900."));
}
END_TEST

START_TEST(bounds_themselves_are_allowed_and_the_next_number_is_not)
{
    static const struct {
        enum sqs_action_id id;
        const char *member;
        int low, high;
        const char *text;
    } cases[] = {
        {SQS_SendMessage, "DelaySeconds", 0, 900,
         " for parameter DelaySeconds is invalid. Reason: DelaySeconds must be >= 0 and <= "
         "900."},
        {SQS_ReceiveMessage, "MaxNumberOfMessages", 1, 10,
         " for parameter MaxNumberOfMessages is invalid. Reason: Must be between 1 and 10, "
         "if provided."},
        {SQS_ReceiveMessage, "WaitTimeSeconds", 0, 20,
         " for parameter WaitTimeSeconds is invalid. Reason: Must be >= 0 and <= 20, if "
         "provided."},
        {SQS_ReceiveMessage, "VisibilityTimeout", 0, 43200,
         " for parameter VisibilityTimeout is invalid. Reason: Must be >= 0 and <= 43200, "
         "if provided."},
        {SQS_ChangeMessageVisibility, "VisibilityTimeout", 0, 43200,
         " for parameter VisibilityTimeout is invalid. Reason: Must be between 0 and "
         "43200."},
        {SQS_ListQueues, "MaxResults", 1, 1000,
         "Value for parameter MaxResults is invalid. Reason: MaxResults must be an integer between "
         "1 and 1000."},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int values[] = {cases[i].low, cases[i].high, cases[i].low - 1, cases[i].high + 1};
        for (size_t v = 0; v < 4; v++) {
            char body[100], text[200];
            snprintf(body, sizeof body, "{\"%s\":%d}", cases[i].member, values[v]);
            const struct sqs_action *a = decode(cases[i].id, body, true);
            ck_assert_int_eq(sqs_check_ranges(a, &request, &fault), v < 2);
            if (v < 2)
                continue;
            if (cases[i].text[0] == ' ')
                snprintf(text, sizeof text, "Value %d%s", values[v], cases[i].text);
            else
                snprintf(text, sizeof text, "%s", cases[i].text);
            ck_assert_msg(fault_text_is(text), "%.*s", SQS_SHOW(fault.text));
        }
    }
}
END_TEST

START_TEST(required_members_are_named_when_missing)
{
    const struct sqs_action *a = decode(SQS_SendMessage, "{\"MessageBody\":\"\"}", true);
    ck_assert(!sqs_check_required(a, &request, &fault));
    ck_assert_int_eq(fault.code, SQS_FAULT_MISSING_PARAMETER);
    ck_assert(fault_text_is("The request must contain the parameter MessageBody."));
    a = decode(SQS_DeleteMessage, "{}", true);
    ck_assert(!sqs_check_required(a, &request, &fault));
    ck_assert(fault_text_is("The request must contain the parameter ReceiptHandle."));
    a = decode(SQS_SendMessageBatch, "{\"QueueUrl\":\"q\"}", true);
    ck_assert(!sqs_check_required(a, &request, &fault));
    ck_assert(fault_text_is("The request must contain the parameter Entries."));
}
END_TEST

static void batch_is_refused(const char *entries, enum sqs_fault_code code, const char *text)
{
    char body[4096];
    snprintf(body, sizeof body, "{\"Entries\":[%s]}", entries);
    const struct sqs_action *a = decode(SQS_SendMessageBatch, body, true);
    ck_assert(!sqs_check_batch(a, &request, &fault));
    ck_assert_int_eq(fault.code, code);
    ck_assert_msg(fault_text_is(text), "%.*s", SQS_SHOW(fault.text));
}

START_TEST(a_batch_is_refused_as_a_whole_in_the_order_of_its_rules)
{
    char many[600] = "{\"Id\":\"!\"}";
    for (int i = 1; i < 11; i++)
        snprintf(many + strlen(many), sizeof many - strlen(many), ",{\"Id\":\"!\"}");
    batch_is_refused("", SQS_FAULT_EMPTY_BATCH_REQUEST,
                     "There should be at least one SendMessageBatchRequestEntry in the request.");
    batch_is_refused(many, SQS_FAULT_TOO_MANY_ENTRIES,
                     "Maximum number of entries per request are 10. You have sent 11.");
    batch_is_refused("{\"Id\":\"a\"},{}", SQS_FAULT_MISSING_PARAMETER,
                     "The request must contain the parameter SendMessageBatchRequestEntry.2.Id.");
    batch_is_refused("{\"Id\":\"a b\"}", SQS_FAULT_INVALID_BATCH_ENTRY_ID,
                     "A batch entry id can only contain alphanumeric characters, hyphens and "
                     "underscores. It can be at most 80 letters long.");
    batch_is_refused("{\"Id\":\"a\"},{\"Id\":\"id_2\"},{\"Id\":\"id_2\"},{\"Id\":\"a\"}",
                     SQS_FAULT_BATCH_ENTRY_IDS_NOT_DISTINCT, "Id id_2 repeated.");
}
END_TEST

START_TEST(an_entry_without_a_body_fails_alone_and_is_named)
{
    const struct sqs_action *a =
        decode(SQS_SendMessageBatch,
               "{\"Entries\":[{\"Id\":\"a\"},{\"Id\":\"b\",\"MessageBody\":"
               "\"x\"}]}",
               true);
    ck_assert(sqs_check_batch(a, &request, &fault));
    ck_assert(sqs_check_entry(a, &request, 1, &fault));
    ck_assert(!sqs_check_entry(a, &request, 0, &fault));
    ck_assert(fault_text_is(
        "The request must contain the parameter SendMessageBatchRequestEntry.1.MessageBody."));
}
END_TEST

START_TEST(a_list_of_too_many_names_is_refused)
{
    struct buf body = BUF_EMPTY;
    for (int n = SQS_LIST_MAX; n <= SQS_LIST_MAX + 1; n++) {
        buf_clear(&body);
        buf_put_text(&body, "{\"AttributeNames\":[\"a0\"");
        for (int i = 1; i < n; i++)
            buf_put_format(&body, ",\"a%d\"", i);
        buf_put_text(&body, "]}");
        buf_put(&body, "", 1);
        decode(SQS_ReceiveMessage, body.at, n == SQS_LIST_MAX);
    }
    ck_assert_uint_eq(request.attribute_names.n, SQS_LIST_MAX);
    for (int i = 0; i < SQS_LIST_MAX; i++) {
        char name[16];
        snprintf(name, sizeof name, "a%d", i);
        ck_bytes(request.attribute_names.at[i], name);
    }
    ck_assert_int_eq(fault.code, SQS_FAULT_INVALID_PARAMETER_VALUE);
    buf_fini(&body);
}
END_TEST

START_TEST(an_action_is_found_by_its_exact_name)
{
    const struct sqs_action *a;
    ck_assert(!sqs_action_find(BYTES_OF("SendMessages"), &a, &fault));
    ck_assert_int_eq(fault.code, SQS_FAULT_UNKNOWN_OPERATION);
    ck_assert(!sqs_action_find(BYTES_OF("\xff"), &a, &fault));
    ck_assert_int_eq(fault.code, SQS_FAULT_UNKNOWN_OPERATION);
    ck_assert(sqs_action_find(BYTES_OF("SendMessage"), &a, &fault));
    ck_assert(!sqs_action_find(BYTES_OF("sendmessage"), &a, &fault));
}
END_TEST

START_TEST(queue_names_are_1_to_80_of_letters_digits_hyphens_and_underscores)
{
    char name[90];
    memset(name, 'a', sizeof name);
    ck_assert(sqs_name_valid(BYTES_OF("Az09_-"), false));
    ck_assert(sqs_name_valid((struct bytes){name, 80}, false));
    ck_assert(!sqs_name_valid((struct bytes){name, 81}, false));
    ck_assert(!sqs_name_valid(BYTES_NONE, false));
    ck_assert(!sqs_name_valid(BYTES_OF("a.b"), false));
    ck_assert(!sqs_name_valid(BYTES_OF("a.fifo"), false));
    ck_assert(sqs_name_valid(BYTES_OF("a.fifo"), true));
    ck_assert(!sqs_name_valid(BYTES_OF(".fifo"), true));
    ck_assert(!sqs_name_valid(BYTES_OF("a"), true));
    memcpy(name + 75, ".fifo", 5);
    ck_assert(sqs_name_valid((struct bytes){name, 80}, true));
}
END_TEST

START_TEST(a_queue_url_is_read_from_its_last_segment)
{
    ck_bytes(sqs_name_of_url(BYTES_OF("https://x:1/000000000000/orders")), "orders");
    ck_bytes(sqs_name_of_url(BYTES_OF("orders.fifo")), "orders.fifo");
    ck_assert_uint_eq(sqs_name_of_url(BYTES_OF("http://x/000000000000/")).n, 0);
    ck_assert_uint_eq(sqs_name_of_url(BYTES_NONE).n, 0);
}
END_TEST

START_TEST(an_arn_has_six_parts)
{
    struct sqs_arn arn;
    ck_assert(sqs_arn_parse(BYTES_OF("arn:aws:sqs:eu-west-1:000000000000:dlq"), &arn));
    ck_bytes(arn.region, "eu-west-1");
    ck_bytes(arn.name, "dlq");
    ck_assert(!sqs_arn_parse(BYTES_OF("arn:aws:sqs:eu-west-1:000000000000:"), &arn));
    ck_assert(!sqs_arn_parse(BYTES_OF("arn:aws:sqs:eu-west-1:dlq"), &arn));
    ck_assert(!sqs_arn_parse(BYTES_OF("arn:aws:sqs:eu-west-1:000000000000:a:b"), &arn));
    ck_assert(!sqs_arn_parse(BYTES_OF("dlq"), &arn));
}
END_TEST

START_TEST(the_region_comes_from_the_credential_scope)
{
    ck_bytes(sqs_region_of_authorization(BYTES_OF(
                 "AWS4-HMAC-SHA256 Credential=a/20261129/eu-west-1/sqs/aws4_request, X=y")),
             "eu-west-1");
    ck_assert_uint_eq(sqs_region_of_authorization(BYTES_OF("Bearer x")).n, 0);
    ck_assert_uint_eq(sqs_region_of_authorization(BYTES_OF("Credential=a/b/\"/sqs/")).n, 0);
    ck_assert_uint_eq(sqs_region_of_authorization(BYTES_NONE).n, 0);
}
END_TEST

START_TEST(a_cooldown_lasts_a_minute)
{
    struct sqs_cooldown c = {NULL, 0, 0};
    sqs_cooldown_note(&c, BYTES_OF("a"), 1000);
    sqs_cooldown_note(&c, BYTES_OF("b"), 2000);
    ck_assert(sqs_cooldown_holds(&c, BYTES_OF("a"), 60999));
    ck_assert(!sqs_cooldown_holds(&c, BYTES_OF("a"), 61000));
    ck_assert(sqs_cooldown_holds(&c, BYTES_OF("b"), 61000));
    sqs_cooldown_forget(&c, BYTES_OF("b"));
    ck_assert(!sqs_cooldown_holds(&c, BYTES_OF("b"), 61000));
    sqs_cooldown_fini(&c);
}
END_TEST

Suite *suite_new(void)
{
    Suite *s = suite_create("sqs");
    TCase *t = tcase_create("tables");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, every_fault_has_the_type_code_and_status_that_clients_dispatch_on);
    tcase_add_test(t, a_long_fault_text_is_cut_between_characters);
    tcase_add_test(t, every_captured_request_is_decoded);
    tcase_add_test(t, a_send_is_decoded_member_by_member);
    tcase_add_test(t, batch_entries_are_decoded_in_their_order);
    tcase_add_test(t, maps_and_lists_are_decoded);
    tcase_add_test(t, null_is_as_absent_and_unknown_members_are_ignored);
    tcase_add_test(t, a_value_of_another_type_is_a_serialization_fault_in_aws_words);
    tcase_add_test(t, what_is_no_json_object_is_a_serialization_fault);
    tcase_add_test(t, an_integer_beyond_any_type_is_out_of_range_and_shown_as_it_was_written);
    tcase_add_test(t, bounds_themselves_are_allowed_and_the_next_number_is_not);
    tcase_add_test(t, required_members_are_named_when_missing);
    tcase_add_test(t, a_batch_is_refused_as_a_whole_in_the_order_of_its_rules);
    tcase_add_test(t, an_entry_without_a_body_fails_alone_and_is_named);
    tcase_add_test(t, a_list_of_too_many_names_is_refused);
    tcase_add_test(t, an_action_is_found_by_its_exact_name);
    tcase_add_test(t, queue_names_are_1_to_80_of_letters_digits_hyphens_and_underscores);
    tcase_add_test(t, a_queue_url_is_read_from_its_last_segment);
    tcase_add_test(t, an_arn_has_six_parts);
    tcase_add_test(t, the_region_comes_from_the_credential_scope);
    tcase_add_test(t, a_cooldown_lasts_a_minute);
    suite_add_tcase(s, t);
    return s;
}
