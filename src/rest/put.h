// SPDX-License-Identifier: Apache-2.0
/* Parts of answers that several operations have. */
#ifndef REST_PUT_H
#define REST_PUT_H

#include "rest/call.h"

void rest_put_number(struct json_writer *w, const char *key, uint64_t value);
/* visible, in_flight, delayed, moving: members of the object that is open. */
void rest_put_counters(struct json_writer *w, const struct queue_counters *c);
/* usage: {live_messages, live_bytes, dead_bytes, disk_bytes} */
void rest_put_usage(struct json_writer *w, const struct queue_live *live, uint64_t disk_bytes);
/* oldest: {…}, when there is one. */
void rest_put_oldest(struct json_writer *w, const struct queue_oldest *o);
void rest_put_uuid(struct json_writer *w, const char *key, const uint8_t id[16]);
void rest_put_md5(struct json_writer *w, const char *key, const uint8_t md5[16]);

/* Ends a list's object and answers it: with next_cursor and a Link header unless `next` is "". */
void rest_reply_page(struct rest_call *c, struct json_writer *w, const char *next);
/* Ends the writer and answers 200. */
void rest_reply_json(struct rest_call *c, struct json_writer *w);

#endif
