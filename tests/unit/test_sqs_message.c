// SPDX-License-Identifier: Apache-2.0
/* The rules for messages and queue attributes, and every digest vector. */
#include <stdio.h>
#include <stdlib.h>

#include "base/codec.h"
#include "base/decimal.h"
#include "base/digest.h"
#include "lib/runner.h"
#include "sqs/attribute.h"
#include "sqs/message.h"

static struct arena arena;
static struct sqs_fault fault;
static struct topic_config topic;

static const struct sqs_place place = {{"eu-west-1", 9}, {"000000000000", 12}};

static void setup(void)
{
    arena_init(&arena, NULL, 0);
    fault = (struct sqs_fault){.arena = &arena};
    topic_config_init(&topic);
}

static void teardown(void)
{
    topic_config_fini(&topic);
    arena_fini(&arena);
}

static bool refused(bool fine, enum sqs_fault_code code, const char *text)
{
    struct bytes got = fault.text;
    if (!fine && fault.code == code && bytes_start_with(got, bytes_of_text(text)))
        return true;
    fprintf(stderr, "fine %d, code %d, text %.*s\n", fine, fault.code, SQS_SHOW(got));
    return false;
}

/* ---- digests ---- */

/* The vectors' attributes, by the comment line above each. */
static const struct vector {
    const char *title;
    size_t n;
    struct queue_attribute attributes[4];
} vectors[] = {
    {"# one String\n", 1, {{{"Foo", 3}, {"String", 6}, false, {"Bar", 3}}}},
    {"# three types\n",
     3,
     {{{"color", 5}, {"String", 6}, false, {"blue", 4}},
      {{"count", 5}, {"Number", 6}, false, {"3", 1}},
      {{"blob", 4}, {"Binary", 6}, true, {"\x01\x02\x03", 3}}}},
    {"# subset returned", 1, {{{"color", 5}, {"String", 6}, false, {"blue", 4}}}},
    {"# system AWSTraceHeader\n",
     1,
     {{{"AWSTraceHeader", 14},
       {"String", 6},
       false,
       {"Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled=1", 74}}}},
    {"# Number\n", 1, {{{"timestamp", 9}, {"Number", 6}, false, {"1493147359900", 13}}}},
    {"# custom labels\n",
     3,
     {{{"a", 1}, {"Number.int", 10}, false, {"7", 1}},
      {{"b", 1}, {"Binary.png", 10}, true, {"\x89P", 2}},
      {{"c", 1}, {"String.euro", 11}, false, {"\xe2\x82\xac", 3}}}},
    {"# byte order of names\n",
     4,
     {{{"a", 1}, {"String", 6}, false, {"1", 1}},
      {{"B", 1}, {"String", 6}, false, {"2", 1}},
      {{"\xc3\xa9", 2}, {"String", 6}, false, {"3", 1}},
      {{"_", 1}, {"String", 6}, false, {"4", 1}}}},
};
enum { VECTORS_N = sizeof vectors / sizeof vectors[0] };

static char *vectors_read(void)
{
    char path[1024];
    const char *folder = getenv("srcdir");
    snprintf(path, sizeof path, "%s/tests/wire/md5-vectors.txt", folder == NULL ? "." : folder);
    FILE *f = fopen(path, "rb");
    ck_assert_msg(f != NULL, "%s cannot be read", path);
    char *at = calloc(1, 16384);
    ck_assert_uint_gt(fread(at, 1, 16383, f), 0);
    fclose(f);
    return at;
}

START_TEST(the_digest_of_attributes_is_that_of_the_vector)
{
    char *text = vectors_read(), hex[33];
    uint8_t md5[16];
    const char *at = strstr(text, vectors[_i].title);
    ck_assert_ptr_nonnull(at);
    at = strstr(at, "md5   ");
    sqs_attributes_md5(vectors[_i].attributes, vectors[_i].n, md5);
    codec_hex_text((struct bytes){md5, 16}, hex);
    ck_assert_int_eq(strncmp(at + 6, hex, 32), 0);
    free(text);
}
END_TEST

START_TEST(bodies_have_the_digests_of_the_vectors)
{
    static const char *const bodies[][2] = {
        {"body 'hello' ", "hello"},
        {"body '' ", ""},
        {"body 'same' ", "same"},
        {"body 'hi ", "hi <&\"\r\n \xc3\xa9 \xf0\x9f\x98\x80"},
    };
    char *text = vectors_read(), md5[DIGEST_MD5_HEX_ROOM], sha[DIGEST_SHA256_HEX_ROOM];
    for (size_t i = 0; i < 4; i++) {
        const char *at = strstr(text, bodies[i][0]);
        ck_assert_ptr_nonnull(at);
        digest_md5_hex(bytes_of_text(bodies[i][1]), md5);
        digest_sha256_hex(bytes_of_text(bodies[i][1]), sha);
        ck_assert_int_eq(strncmp(strstr(at, "md5 ") + 4, md5, 32), 0);
        ck_assert_int_eq(strncmp(strstr(at, "id) ") + 4, sha, 64), 0);
    }
    free(text);
}
END_TEST

START_TEST(the_trace_header_has_its_own_digest)
{
    uint8_t md5[16], want[16];
    sqs_trace_md5(vectors[3].attributes[0].value, md5);
    ck_assert_int_eq(codec_hex_decode(BYTES_OF("5ae4d5d7636402d80f4eb6d213245a88"), want, 16), 0);
    ck_assert_mem_eq(md5, want, 16);
}
END_TEST

/* ---- message attributes ---- */

static bool make(const char *name, const char *type, const char *text, const char *binary)
{
    struct queue_attribute out;
    struct sqs_attribute a = {
        .name = bytes_of_text(name),
        .data_type = type == NULL ? BYTES_NONE : bytes_of_text(type),
        .text = text == NULL ? BYTES_NONE : bytes_of_text(text),
        .binary = binary == NULL ? BYTES_NONE : bytes_of_text(binary),
    };
    fault.code = SQS_FAULT_NONE;
    return sqs_attribute_make(&a, &out, &fault);
}

START_TEST(attribute_names_and_types_within_the_rules_are_taken)
{
    ck_assert(make("a", "String", "x", NULL));
    ck_assert(make("a.b-c_9", "String.label", "x", NULL));
    ck_assert(make("\xc3\xa9", "Number.int", "7", NULL));
    ck_assert(make("a", "Binary.png", NULL, "x"));
    ck_assert(make("awsome", "String", "x", NULL));
    ck_assert(make("Amazonas", "String", "x", NULL));
}
END_TEST

START_TEST(attributes_beyond_the_rules_are_refused_in_aws_words)
{
    enum sqs_fault_code code = SQS_FAULT_INVALID_PARAMETER_VALUE;
    char name[300];
    memset(name, 'n', sizeof name);
    name[257] = 0;
    ck_assert(refused(make(name, "String", "x", NULL), code,
                      "Message (user) attribute name must be shorter than 256 bytes."));
    name[256] = 0;
    ck_assert(make(name, "String", "x", NULL));
    ck_assert(refused(make("", "String", "x", NULL), code,
                      "The request must contain non-empty message (user) attribute names."));
    const char *reserved = "You can't use message attribute names beginning with 'AWS.' or "
                           "'Amazon'. These strings are reserved for internal use.";
    ck_assert(refused(make("aWs.x", "String", "x", NULL), code, reserved));
    ck_assert(refused(make("AMAZON.x", "String", "x", NULL), code, reserved));
    static const char *const names[] = {".a", "a.", "a..b", "a b", "a\x01", "a/b"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        ck_assert(refused(make(names[i], "String", "x", NULL), code,
                          "The message (user) attribute name '"));
    ck_assert(refused(make("N", "String", "", NULL), code,
                      "Message (user) attribute 'N' must contain a non-empty value of type "
                      "'String'."));
    ck_assert(refused(make("N", "Binary", NULL, ""), code,
                      "Message (user) attribute 'N' must contain a non-empty value of type "
                      "'Binary'."));
    ck_assert(refused(make("N", "String", NULL, NULL), code,
                      "The message (user) attribute 'N' must contain a non-empty message attribute "
                      "value."));
    static const char *const types[] = {"string", "Strings", "Text", "Number1", ".String"};
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        ck_assert(refused(make("N", types[i], "1", NULL), code,
                          "The type of message (user) attribute 'N' is invalid. You must use only "
                          "the following supported type prefixes: Binary, Number, String."));
    ck_assert(refused(make("N", "Number", "1x", NULL), code,
                      "Can't cast the value of message (user) attribute 'N' to a number."));
    ck_assert(refused(make("N", "String", "a\x01", NULL), code, "Invalid characters found."));
}
END_TEST

START_TEST(a_list_value_is_an_unsupported_operation)
{
    struct queue_attribute out;
    struct sqs_attribute a = {
        .name = BYTES_OF("N"), .data_type = BYTES_OF("String"), .is_list = true};
    ck_assert(refused(sqs_attribute_make(&a, &out, &fault), SQS_FAULT_UNSUPPORTED_OPERATION,
                      "Message attribute list values in SendMessage operation are not supported."));
}
END_TEST

START_TEST(numbers_have_38_digits_and_lie_between_1e_128_and_1e126)
{
    static const char *const good[] = {
        "0",
        "-0",
        "1",
        "+1.5",
        "00012",
        ".5",
        "5.",
        "1e126",
        "1E-128",
        "0e999999999999999999999",
        "99999999999999999999999999999999999999",
        "-12345678901234567890123456789012345678e80",
        "100000000000000000000000000000000000000000",
    };
    static const char *const bad[] = {
        "",
        "-",
        "e1",
        "1e",
        "1e+",
        "1 ",
        " 1",
        "1.2.3",
        "0x1",
        "1e127",
        "2e126",
        "1e-129",
        "NaN",
        "1e999999999999999999999",
        "123456789012345678901234567890123456789",
    };
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++)
        ck_assert_msg(decimal_valid(bytes_of_text(good[i])), "%s", good[i]);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        ck_assert_msg(!decimal_valid(bytes_of_text(bad[i])), "%s", bad[i]);
}
END_TEST

START_TEST(attribute_names_of_a_receive_are_all_a_prefix_or_exact)
{
    static const struct {
        const char *asked, *name;
        bool wanted;
    } cases[] = {
        {"All", "x", true},         {"*", "x", true},         {".*", "x", true},
        {"Hel.*", "Hello", true},   {"Hel.*", "Hel", true},   {"Hel.*", "hello", false},
        {"Hello", "Hello", true},   {"Hello", "Hell", false}, {"all", "x", false},
        {"Hello*", "Hello", false}, {"He", "Hello", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct bytes asked = bytes_of_text(cases[i].asked);
        struct sqs_texts names = {&asked, 1};
        ck_assert_msg(sqs_attribute_wanted(&names, bytes_of_text(cases[i].name)) == cases[i].wanted,
                      "%s %s", cases[i].asked, cases[i].name);
    }
    struct sqs_texts none = {NULL, 0};
    ck_assert(!sqs_attribute_wanted(&none, BYTES_OF("x")));
}
END_TEST

/* ---- messages ---- */

static bool send(struct sqs_entry *e, bool batch, struct queue_message *out)
{
    struct sqs_message_rules rules = {.topic = &topic, .batch = batch};
    fault.code = SQS_FAULT_NONE;
    return sqs_message_make(&rules, e, &arena, out, &fault);
}

START_TEST(exactly_the_limit_is_taken_and_one_byte_more_is_not)
{
    static char body[2000];
    struct queue_message m;
    memset(body, 'x', sizeof body);
    topic.message_bytes_max = 1024;
    struct sqs_attribute a = {
        .name = BYTES_OF("n"), .data_type = BYTES_OF("Binary.p"), .binary = BYTES_OF("\0\1\2")};
    struct sqs_attribute system = {
        .name = BYTES_OF("AWSTraceHeader"),
        .data_type = BYTES_OF("String"),
        .text = vectors[3].attributes[0].value,
    };
    struct sqs_entry e = {
        .body = {body, 1024 - 12}, .attributes = {&a, 1, 1}, .system_attributes = {&system, 1, 1}};
    ck_assert_uint_eq(sqs_message_bytes(&e), 1024);
    ck_assert(send(&e, false, &m));
    ck_assert(bytes_equal(m.trace, system.text));
    e.body.n++;
    ck_assert(refused(send(&e, false, &m), SQS_FAULT_INVALID_PARAMETER_VALUE,
                      "One or more parameters are invalid. Reason: Message must be shorter than "
                      "1024 bytes."));
    ck_assert(refused(send(&e, true, &m), SQS_FAULT_INVALID_PARAMETER_VALUE,
                      "One or more parameters cannot be validated. Reason: Message must be shorter "
                      "than 1024 bytes."));
}
END_TEST

START_TEST(forbidden_characters_in_a_body_are_refused)
{
    struct queue_message m;
    static const char *const bad[] = {"\x01", "a\x1f", "\xef\xbf\xbe", "\xef\xbf\xbf"};
    static const char *const good[] = {"\t\n\r", " ", "\xef\xbf\xbd", "\xf4\x8f\xbf\xbf"};
    for (size_t i = 0; i < 4; i++) {
        struct sqs_entry e = {.body = bytes_of_text(bad[i])};
        ck_assert(refused(send(&e, false, &m), SQS_FAULT_INVALID_MESSAGE_CONTENTS,
                          "Invalid characters found."));
        e.body = bytes_of_text(good[i]);
        ck_assert(send(&e, false, &m));
    }
    struct sqs_entry nul = {.body = {"a\0b", 3}};
    ck_assert(refused(send(&nul, false, &m), SQS_FAULT_INVALID_MESSAGE_CONTENTS, "Invalid"));
}
END_TEST

START_TEST(eleven_attributes_are_one_too_many)
{
    struct queue_message m;
    struct sqs_attribute a[10];
    for (size_t i = 0; i < 10; i++)
        a[i] = (struct sqs_attribute){
            .name = {&"abcdefghij"[i], 1}, .data_type = BYTES_OF("String"), .text = BYTES_OF("x")};
    struct sqs_entry e = {.body = BYTES_OF("b"), .attributes = {a, 10, 10}};
    ck_assert(send(&e, false, &m));
    ck_assert_uint_eq(m.attributes_n, 10);
    e.attributes.sent = 11;
    ck_assert(refused(send(&e, false, &m), SQS_FAULT_INVALID_PARAMETER_VALUE,
                      "Number of message attributes [11] exceeds the allowed maximum [10]."));
}
END_TEST

START_TEST(a_standard_queue_takes_a_group_but_no_deduplication_id)
{
    struct queue_message m;
    struct sqs_entry e = {.body = BYTES_OF("b"), .group_id = BYTES_OF("g")};
    ck_assert(send(&e, false, &m));
    ck_assert_int_eq(m.delay_ms, -1);
    e.delay_s = (struct sqs_integer){true, 0, BYTES_OF("0")};
    ck_assert(send(&e, false, &m));
    ck_assert_int_eq(m.delay_ms, 0);
    e.dedup_id = BYTES_OF("d");
    ck_assert(
        refused(send(&e, false, &m), SQS_FAULT_INVALID_PARAMETER_VALUE,
                "Value d for parameter MessageDeduplicationId is invalid. Reason: The request "
                "include parameter that is not valid for this queue type."));
}
END_TEST

START_TEST(a_fifo_queue_asks_for_a_group_and_a_deduplication_id)
{
    struct queue_message m;
    struct sqs_entry e = {.body = BYTES_OF("same")};
    topic.fifo = true;
    const char *group = "The request must contain the parameter MessageGroupId.";
    ck_assert(refused(send(&e, false, &m), SQS_FAULT_MISSING_PARAMETER, group));
    ck_assert(refused(send(&e, true, &m), SQS_FAULT_INVALID_PARAMETER_VALUE, group));
    e.group_id = BYTES_OF("g");
    ck_assert(refused(send(&e, false, &m), SQS_FAULT_INVALID_PARAMETER_VALUE,
                      "The queue should either have ContentBasedDeduplication enabled or "
                      "MessageDeduplicationId provided explicitly"));
    topic.content_dedup = true;
    ck_assert(send(&e, false, &m));
    ck_assert(bytes_equal(
        m.dedup_id, BYTES_OF("0967115f2813a3541eaef77de9d9d5773f1c0c04314b0bbfe4ff3b3b1c55b5d5")));
    e.dedup_id = BYTES_OF("d");
    ck_assert(send(&e, false, &m));
    ck_assert(bytes_equal(m.dedup_id, e.dedup_id));
    e.delay_s = (struct sqs_integer){true, 0, BYTES_OF("0")};
    ck_assert(send(&e, false, &m));
    ck_assert_int_eq(m.delay_ms, -1); /* the queue's own delay still counts */
    e.delay_s = (struct sqs_integer){true, 2, BYTES_OF("2")};
    ck_assert(refused(send(&e, false, &m), SQS_FAULT_INVALID_PARAMETER_VALUE,
                      "Value 2 for parameter DelaySeconds is invalid. Reason: The request include "
                      "parameter that is not valid for this queue type."));
    e.delay_s.given = false;
    e.group_id = BYTES_OF("a b");
    ck_assert(refused(send(&e, false, &m), SQS_FAULT_INVALID_PARAMETER_VALUE,
                      "Value a b for parameter MessageGroupId is invalid. Reason: MessageGroupId "
                      "can only include alphanumeric and punctuation characters. 1 to 128 in "
                      "length."));
}
END_TEST

/* ---- queue attributes ---- */

static struct sqs_settings settings;

static bool read_one(const char *name, const char *value, bool fifo)
{
    struct sqs_pair pair = {bytes_of_text(name), bytes_of_text(value)};
    struct sqs_pairs pairs = {&pair, 1, true};
    fault.code = SQS_FAULT_NONE;
    topic.fifo = fifo;
    return sqs_settings_read(&pairs, fifo, false, &place, &arena, &settings, &fault);
}

static bool set(const char *name, const char *value, bool fifo)
{
    return read_one(name, value, fifo) && sqs_settings_apply(&settings, &topic, &fault);
}

static bool shows(const char *name, const char *want)
{
    struct queue_counters counters = {.visible = 3, .in_flight = 2, .delayed = 1};
    struct buf out = BUF_EMPTY;
    bool shown = sqs_attribute_show(sqs_attribute_find(bytes_of_text(name)), &topic, &counters,
                                    &place, &out);
    bool same = want == NULL ? !shown : shown && bytes_equal(buf_bytes(&out), bytes_of_text(want));
    if (!same)
        fprintf(stderr, "%s is %.*s\n", name, SQS_SHOW(buf_bytes(&out)));
    buf_fini(&out);
    return same;
}

START_TEST(all_shows_12_attributes_of_a_standard_queue_and_16_of_a_fifo_queue)
{
    struct queue_counters counters = {.visible = 0};
    struct buf out = BUF_EMPTY;
    for (int fifo = 0; fifo < 2; fifo++) {
        unsigned n = 0;
        topic.fifo = fifo;
        for (unsigned id = 0; id < SQS_ATTRIBUTES_N; id++)
            n += sqs_attribute_show(id, &topic, &counters, &place, &out);
        ck_assert_uint_eq(n, fifo ? 16 : 12);
    }
    buf_fini(&out);
}
END_TEST

START_TEST(numbers_are_taken_within_their_bounds_only)
{
    static const struct {
        const char *name;
        int low, high;
    } cases[] = {
        {"DelaySeconds", 0, 900},
        {"MaximumMessageSize", 1024, 1048576},
        {"MessageRetentionPeriod", 60, 1209600},
        {"ReceiveMessageWaitTimeSeconds", 0, 20},
        {"VisibilityTimeout", 0, 43200},
    };
    char value[20], text[100];
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int ends[] = {cases[i].low, cases[i].high, cases[i].low - 1, cases[i].high + 1};
        snprintf(text, sizeof text, "Invalid value for the parameter %s.", cases[i].name);
        for (size_t k = 0; k < 4; k++) {
            snprintf(value, sizeof value, "%d", ends[k]);
            bool fine = set(cases[i].name, value, false);
            ck_assert(k < 2 ? fine : refused(fine, SQS_FAULT_INVALID_ATTRIBUTE_VALUE, text));
            if (k < 2)
                ck_assert(shows(cases[i].name, value));
        }
        static const char *const bad[] = {"", " 60", "60 ", "60.0", "+60", "6e1", "99999999999"};
        for (size_t k = 0; k < sizeof bad / sizeof bad[0]; k++)
            ck_assert(refused(set(cases[i].name, bad[k], false), SQS_FAULT_INVALID_ATTRIBUTE_VALUE,
                              text));
    }
}
END_TEST

START_TEST(copies_are_said_at_birth_and_fixed_then)
{
    enum sqs_fault_code code = SQS_FAULT_INVALID_ATTRIBUTE_VALUE;
    ck_assert(shows("copies", NULL) && shows("min_isr", NULL) && shows("allow_single_copy", NULL));
    ck_assert(refused(set("copies", "9", false), code, "Invalid value for the parameter copies."));
    ck_assert(refused(set("copies", "0", false), code, "Invalid value for the parameter copies."));
    ck_assert(
        refused(set("min_isr", "4", false), code, "Invalid value for the parameter min_isr."));
    topic.min_isr = 0;
    ck_assert(set("copies", "4", false) && set("min_isr", "4", false));
    ck_assert(set("allow_single_copy", "True", false) && topic.allow_single_copy);
    ck_assert(topic.copies == 4 && topic.min_isr == 4);
    topic.state = TOPIC_READY;
    ck_assert(shows("copies", "4") && shows("min_isr", "4") && shows("allow_single_copy", NULL));
    ck_assert(set("copies", "04", false) && set("allow_single_copy", "false", false));
    ck_assert(refused(set("copies", "3", false), code, "Invalid value for the parameter copies."));
    ck_assert(read_one("copies", "3", false));
    ck_assert_int_eq(sqs_settings_differ(&settings, &topic, &place), SQS_ATTRIBUTE_copies);
    ck_assert(read_one("allow_single_copy", "true", false));
    ck_assert_int_eq(sqs_settings_differ(&settings, &topic, &place), SQS_ATTRIBUTES_N);
    topic.copies = topic.min_isr = 0; /* as on one node */
    ck_assert(set("copies", "1", false) && topic.copies == 0);
    ck_assert(refused(set("min_isr", "2", false), code, "Invalid value for the parameter"));
    topic.copies = topic.min_isr = 1;
    ck_assert(shows("copies", "1") && shows("allow_single_copy", "true"));
}
END_TEST

START_TEST(names_that_cannot_be_set_are_unknown_attributes)
{
    enum sqs_fault_code code = SQS_FAULT_INVALID_ATTRIBUTE_NAME;
    ck_assert(refused(set("X", "1", false), code, "Unknown Attribute X."));
    ck_assert(refused(set("QueueArn", "1", false), code, "Unknown Attribute QueueArn."));
    ck_assert(refused(set("CreatedTimestamp", "1", false), code, "Unknown Attribute Created"));
    ck_assert(refused(set("FifoQueue", "false", false), code, "Unknown Attribute FifoQueue."));
    ck_assert(refused(set("ContentBasedDeduplication", "true", false), code,
                      "Unknown Attribute ContentBasedDeduplication."));
    ck_assert(
        refused(set("DeduplicationScope", "queue", false), code,
                "You can specify the DeduplicationScope only when FifoQueue is set to true."));
    ck_assert(refused(set("FifoQueue", "false", true), SQS_FAULT_INVALID_ATTRIBUTE_VALUE,
                      "Invalid value for the parameter FifoQueue. Reason: Modifying queue type is "
                      "not supported."));
    ck_assert(set("FifoQueue", "true", true));
}
END_TEST

START_TEST(booleans_are_taken_in_any_case_and_shown_in_lower)
{
    ck_assert(set("ContentBasedDeduplication", "TrUe", true));
    ck_assert(shows("ContentBasedDeduplication", "true"));
    ck_assert(refused(set("ContentBasedDeduplication", "yes", true),
                      SQS_FAULT_INVALID_ATTRIBUTE_VALUE,
                      "Invalid value for the parameter Content"));
}
END_TEST

START_TEST(per_group_throughput_needs_the_scope_message_group)
{
    ck_assert(refused(set("FifoThroughputLimit", "perMessageGroupId", true),
                      SQS_FAULT_INVALID_ATTRIBUTE_VALUE,
                      "The perMessageGroupId value is allowed only when the value for "
                      "DeduplicationScope is messageGroup"));
    topic_config_fini(&topic);
    topic_config_init(&topic);
    ck_assert(set("DeduplicationScope", "messageGroup", true));
    ck_assert(set("FifoThroughputLimit", "perMessageGroupId", true));
    ck_assert(shows("FifoThroughputLimit", "perMessageGroupId"));
}
END_TEST

START_TEST(a_kms_key_and_sqs_encryption_exclude_each_other)
{
    ck_assert(shows("SqsManagedSseEnabled", "true"));
    ck_assert(set("KmsMasterKeyId", "alias/aws/sqs", false));
    ck_assert(shows("SqsManagedSseEnabled", "false"));
    ck_assert(shows("KmsDataKeyReusePeriodSeconds", "300"));
    ck_assert(set("KmsMasterKeyId", "", false));
    ck_assert(shows("KmsMasterKeyId", NULL));
    ck_assert(shows("KmsDataKeyReusePeriodSeconds", NULL));
    ck_assert(shows("SqsManagedSseEnabled", "false"));
    ck_assert(set("KmsMasterKeyId", "k", false));
    ck_assert(set("SqsManagedSseEnabled", "True", false));
    ck_assert(shows("KmsMasterKeyId", NULL));
    struct sqs_pair both[] = {{BYTES_OF("KmsMasterKeyId"), BYTES_OF("k")},
                              {BYTES_OF("SqsManagedSseEnabled"), BYTES_OF("true")}};
    struct sqs_pairs pairs = {both, 2, true};
    ck_assert(refused(
        sqs_settings_read(&pairs, false, false, &place, &arena, &settings, &fault),
        SQS_FAULT_INVALID_ATTRIBUTE_NAME,
        "You can use one type of server-side encryption (SSE) at one time. You can either enable "
        "KMS SSE or SQS SSE."));
}
END_TEST

#define DLQ "{\"deadLetterTargetArn\":\"arn:aws:sqs:eu-west-1:000000000000:dlq\""

START_TEST(a_redrive_policy_is_shown_in_one_form)
{
    ck_assert(set("RedrivePolicy", DLQ ", \"maxReceiveCount\": \"3\"}", false));
    ck_assert(shows("RedrivePolicy", DLQ ",\"maxReceiveCount\":3}"));
    ck_assert_uint_eq(topic.receives_max, 3);
    ck_assert_str_eq(topic.dead_letter, "dlq");
    ck_assert(set("RedrivePolicy", "", false));
    ck_assert(shows("RedrivePolicy", NULL));
    ck_assert_str_eq(topic.dead_letter, "");
}
END_TEST

START_TEST(a_redrive_policy_beyond_the_rules_is_refused_with_its_reason)
{
    static const struct {
        const char *json, *reason;
    } cases[] = {
        {"{\"maxReceiveCount\":1}",
         "Redrive policy does not contain mandatory attribute: deadLetterTargetArn."},
        {DLQ "}", "Redrive policy does not contain mandatory attribute: maxReceiveCount."},
        {DLQ ",\"maxReceiveCount\":0}", "Invalid value for maxReceiveCount: 0, valid values are "
                                        "from 1 to 1000 both inclusive."},
        {DLQ ",\"maxReceiveCount\":1001}", "Invalid value for maxReceiveCount: 1001, valid"},
        {DLQ ",\"maxReceiveCount\":\"x\"}", "Invalid value for maxReceiveCount: x, valid"},
        {DLQ ",\"maxReceiveCount\":1,\"a\":1}",
         "Only following attributes are supported: [maxReceiveCount, deadLetterTargetArn]."},
        {"{\"deadLetterTargetArn\":\"dlq\",\"maxReceiveCount\":1}",
         "Dead-letter target ARN should be fully qualified ARN."},
        {"{\"deadLetterTargetArn\":\"arn:aws:sqs:r:111111111111:dlq\",\"maxReceiveCount\":1}",
         "Dead-letter target owner should be same as the source."},
    };
    char text[400];
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        snprintf(text, sizeof text, "Value %s for parameter RedrivePolicy is invalid. Reason: %s",
                 cases[i].json, cases[i].reason);
        ck_assert(refused(set("RedrivePolicy", cases[i].json, false),
                          SQS_FAULT_INVALID_PARAMETER_VALUE, text));
    }
    ck_assert(
        refused(set("RedrivePolicy", "[1]", false), SQS_FAULT_INVALID_ATTRIBUTE_VALUE,
                "Invalid value for the parameter RedrivePolicy. Reason: Redrive policy is not "
                "a valid JSON map."));
}
END_TEST

START_TEST(a_redrive_allow_policy_is_checked_and_shown)
{
    const char *by = "{\"redrivePermission\":\"byQueue\",\"sourceQueueArns\":[\"arn:aws:sqs:"
                     "eu-west-1:000000000000:a\"]}";
    ck_assert(set("RedriveAllowPolicy", by, false));
    ck_assert(shows("RedriveAllowPolicy", by));
    const char *start = "Amazon SQS can't create the redrive allow policy.";
    ck_assert(refused(set("RedriveAllowPolicy", "{\"redrivePermission\":\"byQueue\"}", false),
                      SQS_FAULT_INVALID_PARAMETER_VALUE, start));
    ck_assert(refused(set("RedriveAllowPolicy", "{\"redrivePermission\":\"some\"}", false),
                      SQS_FAULT_INVALID_PARAMETER_VALUE, start));
    ck_assert(refused(set("RedriveAllowPolicy",
                          "{\"redrivePermission\":\"allowAll\",\"sourceQueueArns\":[]}", false),
                      SQS_FAULT_INVALID_PARAMETER_VALUE, start));
}
END_TEST

START_TEST(only_given_attributes_are_compared_and_with_their_values_now)
{
    ck_assert(set("VisibilityTimeout", "45", false));
    ck_assert(set("Policy", "{\"a\":1,\"b\":2}", false));
    ck_assert(read_one("VisibilityTimeout", "045", false));
    ck_assert_uint_eq(sqs_settings_differ(&settings, &topic, &place), SQS_ATTRIBUTES_N);
    ck_assert(read_one("VisibilityTimeout", "30", false));
    ck_assert_uint_eq(sqs_settings_differ(&settings, &topic, &place),
                      SQS_ATTRIBUTE_VisibilityTimeout);
    ck_assert(read_one("Policy", "{ \"b\": 2, \"a\": 1 }", false));
    ck_assert_uint_eq(sqs_settings_differ(&settings, &topic, &place), SQS_ATTRIBUTES_N);
    ck_assert(read_one("KmsMasterKeyId", "", false));
    ck_assert_uint_eq(sqs_settings_differ(&settings, &topic, &place), SQS_ATTRIBUTES_N);
}
END_TEST

/* CreateQueue twice with the same attributes is a success both times. */
START_TEST(a_reuse_period_without_a_key_is_no_difference)
{
    ck_assert(set("KmsDataKeyReusePeriodSeconds", "600", false));
    ck_assert_uint_eq(sqs_settings_differ(&settings, &topic, &place), SQS_ATTRIBUTES_N);
    ck_assert(set("KmsMasterKeyId", "alias/k", false));
    ck_assert(read_one("KmsDataKeyReusePeriodSeconds", "600", false));
    ck_assert_uint_eq(sqs_settings_differ(&settings, &topic, &place),
                      SQS_ATTRIBUTE_KmsDataKeyReusePeriodSeconds);
}
END_TEST

START_TEST(a_policy_of_too_many_statements_is_over_the_limit)
{
    struct buf b = BUF_EMPTY;
    buf_put_text(&b, "{\"Statement\":[1");
    for (int i = 1; i < 22; i++)
        buf_put_text(&b, ",1");
    buf_put_text(&b, "]}");
    buf_put(&b, "", 1);
    ck_assert(refused(set("Policy", b.at, false), SQS_FAULT_OVER_LIMIT,
                      "22 statements were found in the submitted policy, max allowed is 20"));
    ck_assert(refused(set("Policy", "no", false), SQS_FAULT_INVALID_ATTRIBUTE_VALUE,
                      "Invalid value for the parameter Policy."));
    buf_fini(&b);
}
END_TEST

START_TEST(tags_have_their_own_limits)
{
    struct sqs_pair tags[51];
    char keys[51][16];
    for (int i = 0; i < 51; i++) {
        snprintf(keys[i], sizeof keys[i], "k%d", i);
        tags[i] = (struct sqs_pair){bytes_of_text(keys[i]), BYTES_OF("")};
    }
    struct sqs_pairs pairs = {tags, 50, true};
    ck_assert(sqs_tags_check(&pairs, BYTES_OF("q"), &fault));
    pairs.n = 51;
    ck_assert(refused(sqs_tags_check(&pairs, BYTES_OF("q"), &fault),
                      SQS_FAULT_INVALID_PARAMETER_VALUE, "Too many tags added for queue q."));
    pairs.n = 1;
    tags[0].name = BYTES_OF("");
    ck_assert(refused(sqs_tags_check(&pairs, BYTES_OF("q"), &fault),
                      SQS_FAULT_INVALID_PARAMETER_VALUE,
                      "Tag keys must be between 1 and 128 characters in length."));
    tags[0].name = BYTES_OF("aws:x");
    ck_assert(!sqs_tags_check(&pairs, BYTES_OF("q"), &fault));
    tags[0] = (struct sqs_pair){BYTES_OF("k"), BYTES_OF("a;b")};
    ck_assert(!sqs_tags_check(&pairs, BYTES_OF("q"), &fault));
}
END_TEST

static void add_messages(TCase *t)
{
    tcase_add_loop_test(t, the_digest_of_attributes_is_that_of_the_vector, 0, VECTORS_N);
    tcase_add_test(t, bodies_have_the_digests_of_the_vectors);
    tcase_add_test(t, the_trace_header_has_its_own_digest);
    tcase_add_test(t, attribute_names_and_types_within_the_rules_are_taken);
    tcase_add_test(t, attributes_beyond_the_rules_are_refused_in_aws_words);
    tcase_add_test(t, a_list_value_is_an_unsupported_operation);
    tcase_add_test(t, numbers_have_38_digits_and_lie_between_1e_128_and_1e126);
    tcase_add_test(t, attribute_names_of_a_receive_are_all_a_prefix_or_exact);
    tcase_add_test(t, exactly_the_limit_is_taken_and_one_byte_more_is_not);
    tcase_add_test(t, forbidden_characters_in_a_body_are_refused);
    tcase_add_test(t, eleven_attributes_are_one_too_many);
    tcase_add_test(t, a_standard_queue_takes_a_group_but_no_deduplication_id);
    tcase_add_test(t, a_fifo_queue_asks_for_a_group_and_a_deduplication_id);
}

Suite *suite_new(void)
{
    Suite *s = suite_create("sqs_message");
    TCase *t = tcase_create("rules");
    tcase_add_checked_fixture(t, setup, teardown);
    add_messages(t);
    tcase_add_test(t, all_shows_12_attributes_of_a_standard_queue_and_16_of_a_fifo_queue);
    tcase_add_test(t, numbers_are_taken_within_their_bounds_only);
    tcase_add_test(t, copies_are_said_at_birth_and_fixed_then);
    tcase_add_test(t, names_that_cannot_be_set_are_unknown_attributes);
    tcase_add_test(t, booleans_are_taken_in_any_case_and_shown_in_lower);
    tcase_add_test(t, per_group_throughput_needs_the_scope_message_group);
    tcase_add_test(t, a_kms_key_and_sqs_encryption_exclude_each_other);
    tcase_add_test(t, a_redrive_policy_is_shown_in_one_form);
    tcase_add_test(t, a_redrive_policy_beyond_the_rules_is_refused_with_its_reason);
    tcase_add_test(t, a_redrive_allow_policy_is_checked_and_shown);
    tcase_add_test(t, only_given_attributes_are_compared_and_with_their_values_now);
    tcase_add_test(t, a_reuse_period_without_a_key_is_no_difference);
    tcase_add_test(t, a_policy_of_too_many_statements_is_over_the_limit);
    tcase_add_test(t, tags_have_their_own_limits);
    suite_add_tcase(s, t);
    return s;
}
