// SPDX-License-Identifier: Apache-2.0
/* An answer on its way out, in the form that its client reads: JSON (AWS JSON 1.0) or XML (Query).
 * Handlers say once what is answered; the forms differ in this file only:
 *
 *                JSON                                XML
 *   text         "MessageId":".."                     <MessageId>..</MessageId>
 *   list         "Messages":[{..},{..}]                <Message>..</Message><Message>..</Message>
 *   texts        "QueueUrls":["..",".."]             <QueueUrl>..</QueueUrl><QueueUrl>..</QueueUrl>
 *   map          "Attributes":{"a":"b"}              <Attribute><Name>a</Name><Value>b</Value>..
 *
 * A list or map without items is left out altogether, as AWS does in both forms. Names are literals
 * that need no escaping. Texts are UTF-8; whoever took them in has checked that.
 *
 * The third form is rare: AWS answers a Query request that has `Accept: application/json` with the
 * tree of the XML in JSON, where a map is a list of {"Name", "Value"}, and what is absent is null.
 * Recorded are ListQueues and ReceiveMessage, whose lists begin with a small letter there. */
#ifndef SQS_OUT_H
#define SQS_OUT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/bytes.h"
#include "base/json_write.h"

enum sqs_protocol {
    SQS_PROTOCOL_JSON,
    SQS_PROTOCOL_QUERY,
    SQS_PROTOCOL_QUERY_AS_JSON, /* asked as Query, answered as JSON */
};

enum { SQS_OUT_DEPTH_MAX = 4 };

/* A list or map that is being written. */
struct sqs_out_list {
    const char *json_name;
    const char *xml_item; /* the element of each item */
    const char *xml_key;  /* of a map: "Name" or "Key" */
    bool map, opened;
};

struct sqs_out {
    struct buf *to; /* borrowed */
    enum sqs_protocol protocol;
    struct json_writer json;
    const char *action; /* Query: names the result */
    size_t result_at;   /* XML: where <..Result> begins */
    struct sqs_out_list lists[SQS_OUT_DEPTH_MAX];
    unsigned depth;
};

/* The result of `action` goes to the end of `to`, which is empty. */
struct sqs_out sqs_out_begin(struct buf *to, enum sqs_protocol protocol, const char *action);
void sqs_out_end(struct sqs_out *o, const char *request_id);
/* The whole answer of an action that has no result. */
void sqs_out_void(struct buf *to, enum sqs_protocol protocol, const char *action,
                  const char *request_id);

/* Query: a whole answer that says what is wrong. `senders`: with the request, not with us. */
void sqs_out_fault(struct buf *to, enum sqs_protocol protocol, bool senders, const char *code,
                   struct bytes text, const char *request_id);

void sqs_out_text(struct sqs_out *o, const char *name, struct bytes value);
/* Where a text would stand: null in the third form, nothing in the others. */
void sqs_out_absent(struct sqs_out *o, const char *name);
void sqs_out_bool(struct sqs_out *o, const char *name, bool value);
void sqs_out_number(struct sqs_out *o, const char *name, int64_t value);
/* In base64. */
void sqs_out_blob(struct sqs_out *o, const char *name, struct bytes value);
void sqs_out_md5(struct sqs_out *o, const char *name, const uint8_t md5[16]);
void sqs_out_uuid(struct sqs_out *o, const char *name, const uint8_t id[16]);
void sqs_out_sequence(struct sqs_out *o, const char *name, uint64_t number);

/* A SequenceNumber: 20 digits, so that order as text is order as numbers. Lends `room`. */
enum { SQS_SEQUENCE_ROOM = 24 };
struct bytes sqs_sequence(uint64_t number, char room[SQS_SEQUENCE_ROOM]);

/* A list of structures: begin, (item_begin, fields, item_end).., end. */
void sqs_out_list_begin(struct sqs_out *o, const char *json_name, const char *xml_item);
void sqs_out_item_begin(struct sqs_out *o);
void sqs_out_item_end(struct sqs_out *o);
/* An item of a list of texts. */
void sqs_out_item_text(struct sqs_out *o, struct bytes value);
void sqs_out_list_end(struct sqs_out *o);

/* A map: begin, (put | entry_begin, fields, entry_end).., end. */
void sqs_out_map_begin(struct sqs_out *o, const char *json_name, const char *xml_item,
                       const char *xml_key);
void sqs_out_map_put(struct sqs_out *o, struct bytes key, struct bytes value);
void sqs_out_map_entry_begin(struct sqs_out *o, struct bytes key);
void sqs_out_map_entry_end(struct sqs_out *o);
void sqs_out_map_end(struct sqs_out *o);

/* Text between two XML tags: & < > " as entities, and a carriage return as &#xD;, which a parser
 * would turn into a line feed otherwise. Characters that no XML may hold, in whatever form, become
 * U+FFFD; message bodies have none. */
void sqs_xml_escape(struct buf *to, struct bytes text);

#endif
