// SPDX-License-Identifier: Apache-2.0
/* The Query protocol's pure parts: forms, parameters by the table, paths, trusted proxies, XML. */
#include <stdio.h>
#include <stdlib.h>

#include "base/rng.h"
#include "lib/runner.h"
#include "sqs/action.h"
#include "sqs/decode.h"
#include "sqs/name.h"
#include "sqs/out.h"
#include "sqs/proxies.h"

static struct arena arena;
static struct sqs_fault fault;
static struct sqs_request request;
static struct sqs_form form;

static void setup(void)
{
    arena_init(&arena, NULL, 0);
    fault = (struct sqs_fault){.arena = &arena};
    form = (struct sqs_form){0};
}

static void teardown(void)
{
    arena_fini(&arena);
}

#define ck_bytes(got, text) ck_assert(bytes_equal(got, bytes_of_text(text)))

static bool says(const char *part)
{
    return memmem(fault.text.at, fault.text.n, part, strlen(part)) != NULL;
}

static bool read_form(struct bytes text)
{
    form.n = 0;
    fault.code = SQS_FAULT_NONE;
    bool fine = sqs_form_add(&form, text, &arena, &fault);
    ck_assert_int_eq(fault.code == SQS_FAULT_NONE, fine);
    return fine;
}

static bool decode(enum sqs_action_id id, const char *text)
{
    ck_assert(read_form(bytes_of_text(text)));
    bool fine = sqs_decode_query(sqs_action(id), &form, &arena, &request, &fault);
    ck_assert_int_eq(fault.code == SQS_FAULT_NONE, fine);
    return fine;
}

static void refused(enum sqs_action_id id, const char *text, enum sqs_fault_code code)
{
    ck_assert_msg(!decode(id, text), "%s was taken", text);
    ck_assert_int_eq(fault.code, code);
}

/* ---- forms ---- */

START_TEST(plus_and_percent_20_are_a_space_and_hex_digits_have_any_case)
{
    ck_assert(read_form(BYTES_OF("a+b=c%20d%2B%2b&%61=%C3%A9%c3%a9")));
    ck_assert_uint_eq(form.n, 2);
    ck_bytes(form.at[0].name, "a b");
    ck_bytes(form.at[0].value, "c d++");
    ck_bytes(sqs_form_get(&form, "a"), "\xc3\xa9\xc3\xa9");
    ck_assert_ptr_null(sqs_form_get(&form, "A").at);
}
END_TEST

START_TEST(an_empty_value_is_given_and_empty_pairs_are_nothing)
{
    ck_assert(read_form(BYTES_OF("&&a=&b&=c&d==e=&")));
    ck_assert_uint_eq(form.n, 4);
    ck_assert_uint_eq(form.at[0].value.n, 0);
    ck_assert_ptr_nonnull(form.at[0].value.at);
    ck_bytes(form.at[1].name, "b");
    ck_assert_ptr_nonnull(form.at[1].value.at);
    ck_bytes(form.at[2].value, "c");
    ck_bytes(form.at[3].value, "=e=");
    ck_assert(read_form(BYTES_NONE));
    ck_assert_uint_eq(form.n, 0);
}
END_TEST

START_TEST(a_percent_sign_without_two_digits_is_refused_and_its_parameter_named)
{
    static const char *const bad[] = {"ok=1&Body=%",    "Body=a%4",       "Body=%4",   "Body=%zz",
                                      "Body=%4g&ok=%4", "Body=%%41",      "Body=% 41", "Body=%-1",
                                      "Body%=1",        "Body%4=1&ok=%41"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        ck_assert_msg(!read_form(bytes_of_text(bad[i])), "%s", bad[i]);
        ck_assert_int_eq(fault.code, SQS_FAULT_SERIALIZATION);
        ck_assert(says("The parameter Body"));
    }
    ck_assert(read_form(BYTES_OF("Body=%41")));
}
END_TEST

START_TEST(what_is_not_utf_8_or_has_a_zero_byte_is_refused)
{
    static const char *const bad[] = {"B=%ff",          "B=\xff",   "B=%c0%80", "B=%ed%a0%80",
                                      "B=%f4%90%80%80", "B=%e2%82", "B=%00",    "B=a%00b",
                                      "%ff=1",          "%00=1",    "a%e2=%82"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        ck_assert_msg(!read_form(bytes_of_text(bad[i])), "%s", bad[i]);
        ck_assert_int_eq(fault.code, SQS_FAULT_SERIALIZATION);
    }
    ck_assert(!read_form(((struct bytes){"B=a\0b", 5})));
    ck_assert(read_form(BYTES_OF("B=%e2%82%ac\xe2\x82\xac%01")));
    ck_bytes(form.at[0].value, "\xe2\x82\xac\xe2\x82\xac\x01");
}
END_TEST

START_TEST(more_parameters_than_the_limit_are_refused)
{
    char text[2 * (SQS_FORM_PAIRS_MAX + 1)];
    for (size_t i = 0; i < sizeof text; i += 2)
        memcpy(text + i, "a&", 2);
    ck_assert(read_form((struct bytes){text, sizeof text - 2}));
    ck_assert_uint_eq(form.n, SQS_FORM_PAIRS_MAX);
    ck_assert(!read_form((struct bytes){text, sizeof text}));
    ck_assert_int_eq(fault.code, SQS_FAULT_SERIALIZATION);
    ck_assert(says("4096"));
}
END_TEST

/* ---- the captured requests ---- */

/* What follows the head of a file under tests/wire; in the arena. */
static struct bytes file_body(const char *folder, const char *name, struct bytes *head)
{
    char path[1024];
    const char *source = getenv("srcdir");
    snprintf(path, sizeof path, "%s/tests/wire/%s/%s.http", source == NULL ? "." : source, folder,
             name);
    FILE *f = fopen(path, "rb");
    ck_assert_msg(f != NULL, "%s cannot be read", path);
    char *at = arena_zeros(&arena, 65536);
    ck_assert_uint_gt(fread(at, 1, 65535, f), 0);
    fclose(f);
    char *body = strstr(at, "\r\n\r\n");
    ck_assert_ptr_nonnull(body);
    *head = (struct bytes){at, (size_t)(body - at)};
    return bytes_of_text(body + 4);
}

static bool texts_equal(struct bytes a, struct bytes b)
{
    return (a.at == NULL) == (b.at == NULL) && bytes_equal(a, b);
}

static bool attributes_equal(const struct sqs_attributes *a, const struct sqs_attributes *b)
{
    bool same = a->n == b->n && a->sent == b->sent;
    for (size_t i = 0; same && i < a->n; i++)
        same = texts_equal(a->at[i].name, b->at[i].name) &&
               texts_equal(a->at[i].data_type, b->at[i].data_type) &&
               texts_equal(a->at[i].text, b->at[i].text) &&
               texts_equal(a->at[i].binary, b->at[i].binary);
    return same;
}

static void members_equal(const struct sqs_param *p, const struct sqs_param *entry_params,
                          const void *a, const void *b);

static bool lists_equal(const struct sqs_param *p, const struct sqs_param *entry_params,
                        const void *a, const void *b)
{
    if (p->kind == SQS_KIND_TEXTS) {
        const struct sqs_texts *x = a, *y = b;
        bool same = x->n == y->n;
        for (size_t i = 0; same && i < x->n; i++)
            same = texts_equal(x->at[i], y->at[i]);
        return same;
    }
    if (p->kind == SQS_KIND_PAIRS) {
        const struct sqs_pairs *x = a, *y = b;
        bool same = x->n == y->n && x->given == y->given;
        for (size_t i = 0; same && i < x->n; i++)
            same = texts_equal(x->at[i].name, y->at[i].name) &&
                   texts_equal(x->at[i].value, y->at[i].value);
        return same;
    }
    ck_assert_int_eq(p->kind, SQS_KIND_ENTRIES);
    const struct sqs_entries *x = a, *y = b;
    for (size_t i = 0; x->n == y->n && i < x->n; i++)
        members_equal(entry_params, NULL, &x->at[i], &y->at[i]);
    return x->n == y->n && x->sent == y->sent && x->given == y->given;
}

static void members_equal(const struct sqs_param *p, const struct sqs_param *entry_params,
                          const void *a, const void *b)
{
    for (; p->member.n > 0; p++) {
        const void *x = (const char *)a + p->offset, *y = (const char *)b + p->offset;
        bool same;
        if (p->kind == SQS_KIND_TEXT) {
            same = texts_equal(*(const struct bytes *)x, *(const struct bytes *)y);
        } else if (p->kind == SQS_KIND_INTEGER) {
            const struct sqs_integer *m = x, *n = y;
            same = m->given == n->given && m->value == n->value;
        } else if (p->kind == SQS_KIND_ATTRIBUTES) {
            same = attributes_equal(x, y);
        } else {
            same = lists_equal(p, entry_params, x, y);
        }
        ck_assert_msg(same, "%.*s differs", (int)p->member.n, (const char *)p->member.at);
    }
}

START_TEST(both_protocols_decode_a_captured_call_to_the_same_request)
{
    static const char *const names[] = {
        "ChangeMessageVisibility",
        "ChangeMessageVisibilityBatch",
        "CreateQueue",
        "DeleteMessage",
        "DeleteMessageBatch",
        "DeleteQueue",
        "GetQueueAttributes",
        "GetQueueUrl",
        "ListQueueTags",
        "ListQueues",
        "ListDeadLetterSourceQueues",
        "PurgeQueue",
        "ReceiveMessage",
        "SendMessage",
        "SendMessage.fifo",
        "SendMessageBatch",
        "SetQueueAttributes",
        "TagQueue",
        "UntagQueue",
    };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const struct sqs_action *a;
        struct sqs_request json;
        struct bytes head, body = file_body("json-requests", names[i], &head);
        struct bytes name = {names[i], strcspn(names[i], ".")};
        ck_assert(sqs_action_find(name, &a, &fault));
        ck_assert(sqs_decode_json(a, body, &arena, &json, &fault));
        ck_assert(read_form(file_body("query-requests", names[i], &head)));
        ck_assert(bytes_equal(sqs_form_get(&form, "Action"), a->name));
        ck_assert_msg(sqs_decode_query(a, &form, &arena, &request, &fault), "%s", names[i]);
        members_equal(a->params, sqs_action_batch(a)->params, &json, &request);
    }
}
END_TEST

/* ---- parameters ---- */

START_TEST(a_list_is_in_the_order_of_its_numbers_whatever_is_between)
{
    ck_assert(decode(SQS_GetQueueAttributes,
                     "AttributeName.10=d&AttributeName.2=b&AttributeName.999999999=e&QueueUrl=q"
                     "&AttributeName.1=a&AttributeName.09=c"));
    ck_assert_uint_eq(request.attribute_names.n, 5);
    for (size_t i = 0; i < 5; i++)
        ck_assert_int_eq(*(const char *)request.attribute_names.at[i].at, "abcde"[i]);
}
END_TEST

START_TEST(a_name_without_a_number_is_the_first_item)
{
    ck_assert(decode(SQS_GetQueueAttributes, "AttributeName.2=b&AttributeName=a"));
    ck_assert_uint_eq(request.attribute_names.n, 2);
    ck_bytes(request.attribute_names.at[0], "a");
    ck_assert(decode(SQS_SetQueueAttributes, "Attribute.Value=5&Attribute.Name=DelaySeconds"));
    ck_assert_uint_eq(request.attributes.n, 1);
    ck_bytes(request.attributes.at[0].name, "DelaySeconds");
    ck_bytes(request.attributes.at[0].value, "5");
}
END_TEST

START_TEST(lists_are_known_by_their_location_their_member_and_with_member_between)
{
    static const char *const names[] = {"AttributeName", "AttributeNames"};
    char text[100];
    for (size_t i = 0; i < 2; i++) {
        snprintf(text, sizeof text, "%s.1=a&%s.member.2=b", names[i], names[i]);
        ck_assert(decode(SQS_ReceiveMessage, text));
        ck_assert_uint_eq(request.attribute_names.n, 2);
        ck_bytes(request.attribute_names.at[1], "b");
    }
    ck_assert(decode(SQS_TagQueue, "Tags.1.Key=k&Tags.1.Value=v&Tag.2.Key=l&Tag.2.Value="));
    ck_assert_uint_eq(request.tags.n, 2);
    ck_bytes(request.tags.at[1].name, "l");
    ck_assert_ptr_nonnull(request.tags.at[1].value.at);
    ck_assert(decode(SQS_UntagQueue, "TagKeys.1=k&TagKey.2=l"));
    ck_assert_uint_eq(request.tag_keys.n, 2);
    ck_assert(decode(SQS_SendMessage, "MessageSystemAttributes.1.Name=AWSTraceHeader"));
    ck_assert_uint_eq(request.one.system_attributes.n, 1);
    ck_assert_uint_eq(request.one.attributes.n, 0);
}
END_TEST

START_TEST(a_number_of_ten_digits_is_no_number_and_other_words_are_unknown_names)
{
    refused(SQS_ReceiveMessage, "AttributeName.1000000000=a", SQS_FAULT_SERIALIZATION);
    ck_assert(says("AttributeName.1000000000"));
    refused(SQS_DeleteMessageBatch, "DeleteMessageBatchRequestEntry.18446744073709551617.Id=a",
            SQS_FAULT_SERIALIZATION);
    ck_assert(decode(SQS_ReceiveMessage, "AttributeName.-1=a&AttributeName.x=b&AttributeName.1e3=c"
                                         "&AttributeName.1.2=d&AttributeNam.1=e&attributename=f"));
    ck_assert_uint_eq(request.attribute_names.n, 0);
}
END_TEST

START_TEST(message_attributes_keep_type_text_and_decoded_bytes)
{
    ck_assert(decode(SQS_SendMessage,
                     "MessageBody=m&MessageAttribute.2.Name=b&MessageAttribute.2.Value.DataType="
                     "Binary.x&MessageAttribute.2.Value.BinaryValue=AQID&MessageAttribute.1.Name=a"
                     "&MessageAttribute.1.Value.DataType=String&MessageAttribute.1.Value."
                     "StringValue=&MessageAttribute.3.Name=c&MessageAttribute.3.Value."
                     "StringListValue.1=x"));
    const struct sqs_attribute *a = request.one.attributes.at;
    ck_assert_uint_eq(request.one.attributes.n, 3);
    ck_bytes(a[0].name, "a");
    ck_assert_ptr_nonnull(a[0].text.at);
    ck_assert_ptr_null(a[0].binary.at);
    ck_bytes(a[1].data_type, "Binary.x");
    ck_bytes(a[1].binary, "\1\2\3");
    ck_assert(a[2].is_list && !a[1].is_list);
    refused(SQS_SendMessage, "MessageAttribute.1.Name=b&MessageAttribute.1.Value.BinaryValue=AQI",
            SQS_FAULT_SERIALIZATION);
}
END_TEST

START_TEST(entries_are_taken_whole_and_those_beyond_ten_only_counted)
{
    struct buf text = BUF_EMPTY;
    for (unsigned i = 12; i > 0; i--)
        buf_put_format(&text,
                       "SendMessageBatchRequestEntry.%u.Id=i%u&SendMessageBatchRequestEntry.%u."
                       "MessageAttribute.7.Name=n%u&SendMessageBatchRequestEntry.%u.DelaySeconds="
                       "%u&",
                       i * 100, i, i * 100, i, i * 100, i);
    buf_put_u8(&text, 0);
    ck_assert(decode(SQS_SendMessageBatch, text.at));
    ck_assert_uint_eq(request.entries.n, 10);
    ck_assert_uint_eq(request.entries.sent, 12);
    for (unsigned i = 0; i < 10; i++) {
        char want[8];
        const struct sqs_entry *e = &request.entries.at[i];
        snprintf(want, sizeof want, "i%u", i + 1);
        ck_bytes(e->id, want);
        ck_assert_int_eq(e->delay_s.value, i + 1);
        want[0] = 'n';
        ck_bytes(e->attributes.at[0].name, want);
        ck_assert_ptr_null(e->body.at);
    }
    buf_fini(&text);
}
END_TEST

START_TEST(no_entry_at_all_is_an_empty_batch_not_a_missing_one)
{
    ck_assert(decode(SQS_DeleteMessageBatch, "QueueUrl=q"));
    ck_assert(sqs_check_required(sqs_action(SQS_DeleteMessageBatch), &request, &fault));
    ck_assert(!sqs_check_batch(sqs_action(SQS_DeleteMessageBatch), &request, &fault));
    ck_assert_int_eq(fault.code, SQS_FAULT_EMPTY_BATCH_REQUEST);
}
END_TEST

START_TEST(integers_are_decimal_digits_perhaps_with_a_minus)
{
    static const char *const bad[] = {"", "x", "1.0", "%2B1", "+1", "1+", "1e3", "0x1", "--1", "-"};
    char text[64];
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        snprintf(text, sizeof text, "MessageBody=m&DelaySeconds=%s", bad[i]);
        refused(SQS_SendMessage, text, SQS_FAULT_SERIALIZATION);
        ck_assert(says("DelaySeconds"));
    }
    ck_assert(decode(SQS_SendMessage, "DelaySeconds=-0900"));
    ck_assert_int_eq(request.one.delay_s.value, -900);
    ck_bytes(request.one.delay_s.text, "-0900");
    ck_assert(decode(SQS_SendMessage, "DelaySeconds=99999999999999999999"));
    ck_assert_int_eq(request.one.delay_s.value, INT64_MAX);
}
END_TEST

START_TEST(two_values_of_one_parameter_are_refused_and_twice_the_same_is_once)
{
    refused(SQS_SendMessage, "MessageBody=a&MessageBody=b", SQS_FAULT_SERIALIZATION);
    ck_assert(says("MessageBody"));
    refused(SQS_SetQueueAttributes, "Attribute.1.Name=a&Attribute.1.Value=b&Attribute.1.Value=c",
            SQS_FAULT_SERIALIZATION);
    ck_assert(decode(SQS_SendMessage, "MessageBody=a&QueueUrl=q&MessageBody=a"));
    ck_bytes(request.one.body, "a");
}
END_TEST

START_TEST(a_name_twice_in_a_map_is_refused)
{
    refused(SQS_TagQueue, "Tag.1.Key=a&Tag.1.Value=1&Tag.2.Key=a&Tag.2.Value=2",
            SQS_FAULT_SERIALIZATION);
    refused(SQS_SendMessage, "MessageAttribute.1.Name=a&MessageAttribute.2.Name=a",
            SQS_FAULT_SERIALIZATION);
}
END_TEST

START_TEST(half_a_name_and_value_is_missing_the_other_half)
{
    refused(SQS_SetQueueAttributes, "Attribute.3.Value=5", SQS_FAULT_MISSING_PARAMETER);
    ck_assert(says("Attribute.3.Name"));
    refused(SQS_TagQueue, "Tag.1.Value=5", SQS_FAULT_MISSING_PARAMETER);
    ck_assert(says("Tag.1.Key"));
    refused(SQS_TagQueue, "Tag.1.Key=5", SQS_FAULT_MISSING_PARAMETER);
    ck_assert(says("Tag.1.Value"));
}
END_TEST

START_TEST(a_list_holds_as_many_values_as_in_json)
{
    struct buf text = BUF_EMPTY;
    for (unsigned i = 1; i <= SQS_LIST_MAX; i++)
        buf_put_format(&text, "%sTagKey.%u=k", i == 1 ? "" : "&", i);
    ck_assert(read_form(buf_bytes(&text)));
    ck_assert(sqs_decode_query(sqs_action(SQS_UntagQueue), &form, &arena, &request, &fault));
    ck_assert_uint_eq(request.tag_keys.n, SQS_LIST_MAX);
    buf_put_text(&text, "&TagKey.900=k");
    ck_assert(read_form(buf_bytes(&text)));
    ck_assert(!sqs_decode_query(sqs_action(SQS_UntagQueue), &form, &arena, &request, &fault));
    ck_assert_int_eq(fault.code, SQS_FAULT_INVALID_PARAMETER_VALUE);
    buf_fini(&text);
}
END_TEST

/* Words of the protocol in any order: whatever comes of it, nothing is written past its room (the
 * sanitizers see it) and every refusal has a code and a text. */
START_TEST(random_forms_are_decoded_or_refused)
{
    static const char *const words[] = {"MessageAttribute",
                                        "SendMessageBatchRequestEntry",
                                        "Entries",
                                        "Attribute",
                                        "TagKey",
                                        "Tag",
                                        "AttributeName",
                                        "1",
                                        "2",
                                        "10",
                                        "0",
                                        "999999999",
                                        "1000000000",
                                        "Name",
                                        "Key",
                                        "Value",
                                        "DataType",
                                        "StringValue",
                                        "BinaryValue",
                                        "member",
                                        "Id",
                                        "MessageBody",
                                        "DelaySeconds",
                                        "",
                                        "%41",
                                        "%",
                                        "%00",
                                        "\xc3\xa9"};
    static const char signs[] = ".........&&&====";
    struct rng rng = {.state = test_seed()};
    unsigned taken = 0, turned_down = 0;
    for (unsigned round = 0; round < 20000; round++) {
        struct buf text = BUF_EMPTY;
        for (uint64_t n = rng_below(&rng, 40); n > 0; n--) {
            buf_put_text(&text, words[rng_below(&rng, sizeof words / sizeof words[0])]);
            buf_put_u8(&text, (uint8_t)signs[rng_below(&rng, sizeof signs - 1)]);
        }
        enum sqs_action_id id = (enum sqs_action_id)rng_below(&rng, SQS_ACTIONS_N);
        if (read_form(buf_bytes(&text)) &&
            sqs_decode_query(sqs_action(id), &form, &arena, &request, &fault)) {
            taken++;
            ck_assert_uint_le(request.entries.n, SQS_ENTRIES_MAX);
        } else {
            turned_down++;
            ck_assert_int_ne(fault.code, SQS_FAULT_NONE);
            ck_assert_uint_gt(fault.text.n, 0);
        }
        buf_fini(&text);
        teardown();
        setup();
    }
    ck_assert_uint_gt(taken, 1000);
    ck_assert_uint_gt(turned_down, 1000);
}
END_TEST

/* ---- paths and proxies ---- */

START_TEST(a_path_names_a_queue_when_it_ends_in_account_and_name)
{
    static const char *const none[] = {"/",
                                       "",
                                       "orders",
                                       "/orders",
                                       "/00000000000/orders",
                                       "/0000000000000/orders",
                                       "000000000000/orders",
                                       "/00000000000x/orders",
                                       "/000000000000/",
                                       "/000000000000",
                                       "/000000000000//orders",
                                       "/000000000000/../orders",
                                       "/000000000000/orders/",
                                       "/base"};
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++)
        ck_assert_msg(sqs_name_of_path(bytes_of_text(none[i])).n == 0, "%s", none[i]);
    ck_bytes(sqs_name_of_path(BYTES_OF("/000000000000/orders")), "orders");
    ck_bytes(sqs_name_of_path(BYTES_OF("/a/b/123456789012/orders.fifo")), "orders.fifo");
    ck_bytes(sqs_name_of_path(BYTES_OF("//000000000000/a%2Forders")), "a%2Forders");
}
END_TEST

START_TEST(a_proxy_is_trusted_by_address_or_network)
{
    struct sqs_proxies p;
    struct bytes wrong;
    ck_assert(sqs_proxies_read("192.0.2.1, 10.0.0.0/9,fd00::/8 ::1", &p, &wrong));
    ck_assert_uint_eq(p.n, 4);
    ck_assert(sqs_proxies_hold(&p, "192.0.2.1"));
    ck_assert(!sqs_proxies_hold(&p, "192.0.2.2"));
    ck_assert(sqs_proxies_hold(&p, "10.127.255.255"));
    ck_assert(!sqs_proxies_hold(&p, "10.128.0.0"));
    ck_assert(sqs_proxies_hold(&p, "fdff::1"));
    ck_assert(!sqs_proxies_hold(&p, "fe00::1"));
    ck_assert(sqs_proxies_hold(&p, "::1"));
    ck_assert(!sqs_proxies_hold(&p, ""));
    ck_assert(sqs_proxies_read("0.0.0.0/0", &p, &wrong));
    ck_assert(sqs_proxies_hold(&p, "203.0.113.7"));
    ck_assert(!sqs_proxies_hold(&p, "2001:db8::1"));
    ck_assert(sqs_proxies_read("", &p, &wrong));
    ck_assert(!sqs_proxies_hold(&p, "127.0.0.1"));
}
END_TEST

START_TEST(a_word_that_is_no_network_is_named)
{
    static const char *const bad[] = {"localhost", "127.0.0.1/33", "::1/129", "1.2.3",
                                      "1.2.3.4/",  "1.2.3.4/-1",   "/8",      "1.2.3.4/8x"};
    struct sqs_proxies p;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        char text[64];
        struct bytes wrong = BYTES_NONE;
        snprintf(text, sizeof text, "::1,%s", bad[i]);
        ck_assert(!sqs_proxies_read(text, &p, &wrong));
        ck_bytes(wrong, bad[i]);
    }
}
END_TEST

/* ---- answers ---- */

#define HEAD                                                                                       \
    "<?xml version=\"1.0\"?><XResponse xmlns=\"http://queue.amazonaws.com/doc/2012-11-05/\">"
#define TAIL "<ResponseMetadata><RequestId>id</RequestId></ResponseMetadata></XResponse>"

static void put_all(struct sqs_out *o)
{
    static const uint8_t bytes[16] = {0xab, 1};
    sqs_out_list_begin(o, "Nothing", "None");
    sqs_out_list_end(o);
    sqs_out_list_begin(o, "Messages", "Message");
    for (unsigned i = 0; i < 2; i++) {
        sqs_out_item_begin(o);
        sqs_out_text(o, "Body", BYTES_OF("<\"&>\r\n"));
        sqs_out_map_begin(o, "Values", "Value", "Name");
        if (i == 1) {
            sqs_out_map_entry_begin(o, BYTES_OF("k&"));
            sqs_out_blob(o, "Blob", BYTES_OF("\1\2\3"));
            sqs_out_map_entry_end(o);
            sqs_out_map_put(o, BYTES_OF("l"), BYTES_NONE);
        }
        sqs_out_map_end(o);
        sqs_out_item_end(o);
    }
    sqs_out_list_end(o);
    sqs_out_bool(o, "Yes", true);
    sqs_out_md5(o, "Md5", bytes);
    sqs_out_uuid(o, "Id", bytes);
    sqs_out_sequence(o, "Sequence", 7);
}

START_TEST(what_is_said_once_is_written_in_both_forms)
{
    struct buf to = BUF_EMPTY;
    struct sqs_out o = sqs_out_begin(&to, SQS_PROTOCOL_JSON, "X");
    put_all(&o);
    sqs_out_end(&o, "id");
    ck_bytes(buf_bytes(&to),
             "{\"Messages\":[{\"Body\":\"<\\\"&>\\r\\n\"},{\"Body\":\"<\\\"&>\\r\\n\",\"Values\":{"
             "\"k&\":{\"Blob\":\"AQID\"},\"l\":\"\"}}],\"Yes\":true,\"Md5\":"
             "\"ab010000000000000000000000000000\",\"Id\":\"ab010000-0000-0000-0000-000000000000\","
             "\"Sequence\":\"00000000000000000007\"}");
    buf_clear(&to);
    o = sqs_out_begin(&to, SQS_PROTOCOL_QUERY, "X");
    put_all(&o);
    sqs_out_end(&o, "id");
    ck_bytes(buf_bytes(&to),
             HEAD "<XResult><Message><Body>&lt;&quot;&amp;&gt;&#xD;\n</Body></Message><Message>"
                  "<Body>&lt;&quot;&amp;&gt;&#xD;\n</Body><Value><Name>k&amp;</Name><Value><Blob>"
                  "AQID</Blob></Value></Value><Value><Name>l</Name><Value></Value></Value>"
                  "</Message><Yes>true</Yes><Md5>ab010000000000000000000000000000</Md5><Id>"
                  "ab010000-0000-0000-0000-000000000000</Id><Sequence>00000000000000000007"
                  "</Sequence></XResult>" TAIL);
    buf_fini(&to);
}
END_TEST

START_TEST(a_tree_that_is_asked_for_as_json_has_lists_of_names_and_values)
{
    struct buf to = BUF_EMPTY;
    struct sqs_out o = sqs_out_begin(&to, SQS_PROTOCOL_QUERY_AS_JSON, "X");
    put_all(&o);
    sqs_out_absent(&o, "None");
    sqs_out_end(&o, "id");
    ck_bytes(buf_bytes(&to),
             "{\"XResponse\":{\"XResult\":{\"Nothing\":null,\"messages\":[{\"Body\":"
             "\"<\\\"&>\\r\\n\",\"Values\":null},{\"Body\":\"<\\\"&>\\r\\n\",\"Values\":["
             "{\"Name\":\"k&\",\"Value\":{\"Blob\":\"AQID\"}},{\"Name\":\"l\",\"Value\":\"\"}]}],"
             "\"Yes\":true,\"Md5\":\"ab010000000000000000000000000000\",\"Id\":"
             "\"ab010000-0000-0000-0000-000000000000\",\"Sequence\":\"00000000000000000007\","
             "\"None\":null},\"ResponseMetadata\":{\"RequestId\":\"id\"}}}");
    buf_clear(&to);
    sqs_out_void(&to, SQS_PROTOCOL_QUERY_AS_JSON, "X", "id");
    ck_bytes(buf_bytes(&to), "{\"XResponse\":{\"ResponseMetadata\":{\"RequestId\":\"id\"}}}");
    buf_fini(&to);
}
END_TEST

START_TEST(an_empty_result_is_one_element_and_a_void_answer_has_none)
{
    struct buf to = BUF_EMPTY;
    struct sqs_out o = sqs_out_begin(&to, SQS_PROTOCOL_QUERY, "X");
    sqs_out_map_begin(&o, "Attributes", "Attribute", "Name");
    sqs_out_map_end(&o);
    sqs_out_end(&o, "id");
    ck_bytes(buf_bytes(&to), HEAD "<XResult/>" TAIL);
    buf_clear(&to);
    sqs_out_void(&to, SQS_PROTOCOL_QUERY, "X", "id");
    ck_bytes(buf_bytes(&to), HEAD TAIL);
    buf_clear(&to);
    sqs_out_void(&to, SQS_PROTOCOL_JSON, "X", "id");
    ck_assert_uint_eq(to.n, 0);
    o = sqs_out_begin(&to, SQS_PROTOCOL_JSON, "X");
    sqs_out_end(&o, "id");
    ck_bytes(buf_bytes(&to), "{}");
    buf_fini(&to);
}
END_TEST

START_TEST(what_xml_cannot_hold_is_replaced)
{
    struct buf to = BUF_EMPTY;
    sqs_xml_escape(&to, BYTES_OF("\1a\x1f\t\n\xef\xbf\xbe\xc3\xa9\xff\xf0\x9f\x98\x80'"));
    ck_bytes(buf_bytes(&to), "\xef\xbf\xbd"
                             "a\xef\xbf\xbd\t\n\xef\xbf\xbd\xc3\xa9\xef\xbf\xbd\xf0\x9f\x98\x80'");
    buf_fini(&to);
}
END_TEST

Suite *suite_new(void)
{
    Suite *s = suite_create("sqs_query");
    TCase *t = tcase_create("query");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_set_timeout(t, 60);
    tcase_add_test(t, plus_and_percent_20_are_a_space_and_hex_digits_have_any_case);
    tcase_add_test(t, an_empty_value_is_given_and_empty_pairs_are_nothing);
    tcase_add_test(t, a_percent_sign_without_two_digits_is_refused_and_its_parameter_named);
    tcase_add_test(t, what_is_not_utf_8_or_has_a_zero_byte_is_refused);
    tcase_add_test(t, more_parameters_than_the_limit_are_refused);
    tcase_add_test(t, both_protocols_decode_a_captured_call_to_the_same_request);
    tcase_add_test(t, a_list_is_in_the_order_of_its_numbers_whatever_is_between);
    tcase_add_test(t, a_name_without_a_number_is_the_first_item);
    tcase_add_test(t, lists_are_known_by_their_location_their_member_and_with_member_between);
    tcase_add_test(t, a_number_of_ten_digits_is_no_number_and_other_words_are_unknown_names);
    tcase_add_test(t, message_attributes_keep_type_text_and_decoded_bytes);
    tcase_add_test(t, entries_are_taken_whole_and_those_beyond_ten_only_counted);
    tcase_add_test(t, no_entry_at_all_is_an_empty_batch_not_a_missing_one);
    tcase_add_test(t, integers_are_decimal_digits_perhaps_with_a_minus);
    tcase_add_test(t, two_values_of_one_parameter_are_refused_and_twice_the_same_is_once);
    tcase_add_test(t, a_name_twice_in_a_map_is_refused);
    tcase_add_test(t, half_a_name_and_value_is_missing_the_other_half);
    tcase_add_test(t, a_list_holds_as_many_values_as_in_json);
    tcase_add_test(t, random_forms_are_decoded_or_refused);
    tcase_add_test(t, a_path_names_a_queue_when_it_ends_in_account_and_name);
    tcase_add_test(t, a_proxy_is_trusted_by_address_or_network);
    tcase_add_test(t, a_word_that_is_no_network_is_named);
    tcase_add_test(t, what_is_said_once_is_written_in_both_forms);
    tcase_add_test(t, a_tree_that_is_asked_for_as_json_has_lists_of_names_and_values);
    tcase_add_test(t, an_empty_result_is_one_element_and_a_void_answer_has_none);
    tcase_add_test(t, what_xml_cannot_hold_is_replaced);
    suite_add_tcase(s, t);
    return s;
}
