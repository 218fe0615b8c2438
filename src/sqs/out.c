// SPDX-License-Identifier: Apache-2.0
#include "sqs/out.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/check.h"
#include "base/codec.h"
#include "base/utf8.h"

#define NAMESPACE "http://queue.amazonaws.com/doc/2012-11-05/"

/* ---- XML ---- */

/* What stands for this byte; NULL: the byte itself. */
static const char *entity_of(char c)
{
    switch (c) {
    case '&':
        return "&amp;";
    case '<':
        return "&lt;";
    case '>':
        return "&gt;";
    case '"':
        return "&quot;";
    case '\r':
        return "&#xD;";
    default:
        return NULL;
    }
}

static void escape_allowed(struct buf *to, struct bytes text)
{
    const char *at = text.at;
    size_t done = 0;
    for (size_t i = 0; i < text.n; i++) {
        const char *entity = entity_of(at[i]);
        if (entity == NULL)
            continue;
        buf_put(to, at + done, i - done);
        buf_put_text(to, entity);
        done = i + 1;
    }
    if (text.n > done)
        buf_put(to, at + done, text.n - done);
}

void sqs_xml_escape(struct buf *to, struct bytes text)
{
    while (text.n > 0) {
        const unsigned char *at = text.at;
        size_t n = utf8_first_forbidden(text);
        escape_allowed(to, (struct bytes){at, n});
        if (n == text.n)
            return;
        buf_put_text(to, "\xef\xbf\xbd");
        size_t bad = utf8_char_bytes(at + n, text.n - n);
        n += bad > 0 ? bad : 1;
        text = (struct bytes){at + n, text.n - n};
    }
}

static void tag_open(struct sqs_out *o, const char *name)
{
    buf_put_u8(o->to, '<');
    buf_put_text(o->to, name);
    buf_put_u8(o->to, '>');
}

static void tag_close(struct sqs_out *o, const char *name)
{
    buf_put_text(o->to, "</");
    buf_put_text(o->to, name);
    buf_put_u8(o->to, '>');
}

static void element(struct sqs_out *o, const char *name, struct bytes value)
{
    tag_open(o, name);
    sqs_xml_escape(o->to, value);
    tag_close(o, name);
}

static void xml_begin(struct buf *to, const char *action)
{
    buf_put_format(to, "<?xml version=\"1.0\"?><%sResponse xmlns=\"" NAMESPACE "\">", action);
}

static void xml_end(struct buf *to, const char *action, const char *request_id)
{
    buf_put_format(to,
                   "<ResponseMetadata><RequestId>%s</RequestId></ResponseMetadata></%sResponse>",
                   request_id, action);
}

/* ---- the whole ---- */

/* Room for most answers, asked for once. */
enum { ANSWER_BYTES_FEW = 512 };

struct sqs_out sqs_out_begin(struct buf *to, enum sqs_protocol protocol, const char *action)
{
    struct sqs_out o = {.to = to, .protocol = protocol, .action = action};
    buf_reserve(to, ANSWER_BYTES_FEW);
    switch (protocol) {
    case SQS_PROTOCOL_JSON:
        o.json = json_writer_to(to);
        json_begin_object(&o.json);
        break;
    case SQS_PROTOCOL_QUERY:
        xml_begin(to, action);
        o.result_at = to->n;
        buf_put_format(to, "<%sResult>", action);
        break;
    case SQS_PROTOCOL_QUERY_AS_JSON:
        buf_put_format(to, "{\"%sResponse\":{\"%sResult\":", action, action);
        o.json = json_writer_to(to);
        json_begin_object(&o.json);
        break;
    }
    return o;
}

static void tree_end(struct buf *to, const char *request_id)
{
    buf_put_format(to, "\"ResponseMetadata\":{\"RequestId\":\"%s\"}}}", request_id);
}

void sqs_out_end(struct sqs_out *o, const char *request_id)
{
    CHECK(o->depth == 0);
    if (o->protocol != SQS_PROTOCOL_QUERY) {
        json_end_object(&o->json);
        json_writer_done(&o->json);
        if (o->protocol == SQS_PROTOCOL_QUERY_AS_JSON) {
            buf_put_u8(o->to, ',');
            tree_end(o->to, request_id);
        }
        return;
    }
    if (o->to->n == o->result_at + strlen(o->action) + sizeof "<Result>" - 1) {
        o->to->n = o->result_at; /* nothing stands in it */
        buf_put_format(o->to, "<%sResult/>", o->action);
    } else {
        buf_put_format(o->to, "</%sResult>", o->action);
    }
    xml_end(o->to, o->action, request_id);
}

void sqs_out_void(struct buf *to, enum sqs_protocol protocol, const char *action,
                  const char *request_id)
{
    switch (protocol) {
    case SQS_PROTOCOL_JSON:
        return; /* no bytes at all */
    case SQS_PROTOCOL_QUERY:
        xml_begin(to, action);
        xml_end(to, action, request_id);
        return;
    case SQS_PROTOCOL_QUERY_AS_JSON:
        buf_put_format(to, "{\"%sResponse\":{", action);
        tree_end(to, request_id);
        return;
    }
    UNREACHABLE();
}

void sqs_out_fault(struct buf *to, enum sqs_protocol protocol, bool senders, const char *code,
                   struct bytes text, const char *request_id)
{
    const char *type = senders ? "Sender" : "Receiver";
    if (protocol == SQS_PROTOCOL_QUERY_AS_JSON) {
        buf_put_format(to, "{\"Error\":{\"Code\":\"%s\",\"Message\":\"", code);
        json_escape(to, text);
        buf_put_format(to, "\",\"Type\":\"%s\"},\"RequestId\":\"%s\"}", type, request_id);
        return;
    }
    buf_put_format(to,
                   "<?xml version=\"1.0\"?><ErrorResponse xmlns=\"" NAMESPACE "\"><Error>"
                   "<Type>%s</Type><Code>%s</Code><Message>",
                   type, code);
    sqs_xml_escape(to, text);
    buf_put_format(to, "</Message><Detail/></Error><RequestId>%s</RequestId></ErrorResponse>",
                   request_id);
}

/* ---- fields ---- */

void sqs_out_text(struct sqs_out *o, const char *name, struct bytes value)
{
    if (o->protocol == SQS_PROTOCOL_QUERY) {
        element(o, name, value);
        return;
    }
    json_put_key(&o->json, name);
    json_put_string(&o->json, value);
}

void sqs_out_absent(struct sqs_out *o, const char *name)
{
    if (o->protocol != SQS_PROTOCOL_QUERY_AS_JSON)
        return;
    json_put_key(&o->json, name);
    json_put_null(&o->json);
}

void sqs_out_bool(struct sqs_out *o, const char *name, bool value)
{
    if (o->protocol == SQS_PROTOCOL_QUERY) {
        element(o, name, bytes_of_text(value ? "true" : "false"));
        return;
    }
    json_put_key(&o->json, name);
    json_put_bool(&o->json, value);
}

void sqs_out_number(struct sqs_out *o, const char *name, int64_t value)
{
    if (o->protocol == SQS_PROTOCOL_QUERY) {
        tag_open(o, name);
        buf_put_format(o->to, "%" PRId64, value);
        tag_close(o, name);
        return;
    }
    json_put_key(&o->json, name);
    json_put_int64(&o->json, value);
}

void sqs_out_blob(struct sqs_out *o, const char *name, struct bytes value)
{
    if (o->protocol == SQS_PROTOCOL_QUERY) {
        tag_open(o, name);
        codec_base64_put(o->to, value);
        tag_close(o, name);
        return;
    }
    json_put_key(&o->json, name);
    json_put_base64(&o->json, value);
}

void sqs_out_md5(struct sqs_out *o, const char *name, const uint8_t md5[16])
{
    char hex[33];
    codec_hex_text((struct bytes){md5, 16}, hex);
    sqs_out_text(o, name, (struct bytes){hex, 32});
}

void sqs_out_uuid(struct sqs_out *o, const char *name, const uint8_t id[16])
{
    char text[CODEC_UUID_ROOM];
    codec_uuid_text(id, text);
    sqs_out_text(o, name, bytes_of_text(text));
}

struct bytes sqs_sequence(uint64_t number, char room[SQS_SEQUENCE_ROOM])
{
    snprintf(room, SQS_SEQUENCE_ROOM, "%020" PRIu64, number);
    return bytes_of_text(room);
}

void sqs_out_sequence(struct sqs_out *o, const char *name, uint64_t number)
{
    char text[SQS_SEQUENCE_ROOM];
    sqs_out_text(o, name, sqs_sequence(number, text));
}

/* ---- lists and maps ---- */

static void push(struct sqs_out *o, struct sqs_out_list list)
{
    CHECK(o->depth < SQS_OUT_DEPTH_MAX);
    o->lists[o->depth++] = list;
}

/* The key of a list or map, in JSON. */
static void put_list_key(struct sqs_out *o, const struct sqs_out_list *list)
{
    const char *name = list->json_name;
    if (o->protocol == SQS_PROTOCOL_QUERY_AS_JSON && strcmp(name, "Messages") == 0)
        name = "messages";
    if (o->protocol == SQS_PROTOCOL_QUERY_AS_JSON && strcmp(name, "QueueUrls") == 0)
        name = "queueUrls";
    json_put_key(&o->json, name);
}

/* Whether this map is an object, not a list of names and values. */
static bool is_object(const struct sqs_out *o, const struct sqs_out_list *list)
{
    return list->map && o->protocol == SQS_PROTOCOL_JSON;
}

/* The innermost one, with its JSON begun: something stands in it. */
static struct sqs_out_list *opened(struct sqs_out *o)
{
    CHECK(o->depth > 0);
    struct sqs_out_list *list = &o->lists[o->depth - 1];
    if (!list->opened && o->protocol != SQS_PROTOCOL_QUERY) {
        put_list_key(o, list);
        if (is_object(o, list))
            json_begin_object(&o->json);
        else
            json_begin_array(&o->json);
    }
    list->opened = true;
    return list;
}

static void pop(struct sqs_out *o)
{
    CHECK(o->depth > 0);
    const struct sqs_out_list *list = &o->lists[--o->depth];
    if (!list->opened && o->protocol == SQS_PROTOCOL_QUERY_AS_JSON) {
        put_list_key(o, list);
        json_put_null(&o->json);
    }
    if (!list->opened || o->protocol == SQS_PROTOCOL_QUERY)
        return;
    if (is_object(o, list))
        json_end_object(&o->json);
    else
        json_end_array(&o->json);
}

void sqs_out_list_begin(struct sqs_out *o, const char *json_name, const char *xml_item)
{
    push(o, (struct sqs_out_list){.json_name = json_name, .xml_item = xml_item});
}

void sqs_out_item_begin(struct sqs_out *o)
{
    const struct sqs_out_list *list = opened(o);
    if (o->protocol == SQS_PROTOCOL_QUERY)
        tag_open(o, list->xml_item);
    else
        json_begin_object(&o->json);
}

void sqs_out_item_end(struct sqs_out *o)
{
    if (o->protocol == SQS_PROTOCOL_QUERY)
        tag_close(o, opened(o)->xml_item);
    else
        json_end_object(&o->json);
}

void sqs_out_item_text(struct sqs_out *o, struct bytes value)
{
    const struct sqs_out_list *list = opened(o);
    if (o->protocol == SQS_PROTOCOL_QUERY)
        element(o, list->xml_item, value);
    else
        json_put_string(&o->json, value);
}

void sqs_out_list_end(struct sqs_out *o)
{
    pop(o);
}

void sqs_out_map_begin(struct sqs_out *o, const char *json_name, const char *xml_item,
                       const char *xml_key)
{
    push(o, (struct sqs_out_list){
                .json_name = json_name, .xml_item = xml_item, .xml_key = xml_key, .map = true});
}

void sqs_out_map_put(struct sqs_out *o, struct bytes key, struct bytes value)
{
    const struct sqs_out_list *list = opened(o);
    if (is_object(o, list)) {
        json_put_key_bytes(&o->json, key);
        json_put_string(&o->json, value);
        return;
    }
    sqs_out_item_begin(o);
    sqs_out_text(o, list->xml_key, key);
    sqs_out_text(o, "Value", value);
    sqs_out_item_end(o);
}

void sqs_out_map_entry_begin(struct sqs_out *o, struct bytes key)
{
    const struct sqs_out_list *list = opened(o);
    if (is_object(o, list)) {
        json_put_key_bytes(&o->json, key);
        json_begin_object(&o->json);
        return;
    }
    sqs_out_item_begin(o);
    sqs_out_text(o, list->xml_key, key);
    if (o->protocol == SQS_PROTOCOL_QUERY) {
        tag_open(o, "Value");
        return;
    }
    json_put_key(&o->json, "Value");
    json_begin_object(&o->json);
}

void sqs_out_map_entry_end(struct sqs_out *o)
{
    if (o->protocol == SQS_PROTOCOL_QUERY)
        tag_close(o, "Value");
    else
        json_end_object(&o->json);
    if (!is_object(o, opened(o)))
        sqs_out_item_end(o);
}

void sqs_out_map_end(struct sqs_out *o)
{
    pop(o);
}
