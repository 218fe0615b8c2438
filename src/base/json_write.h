// SPDX-License-Identifier: Apache-2.0
/* Writing JSON to the end of a buf, without spaces. The writer sets the commas; the caller keeps
 * the order (a key before each value in an object, an end for each begin), which is checked.
 *
 *     struct json_writer w = json_writer_to(&out);
 *     json_begin_object(&w);
 *     json_put_key(&w, "MessageId");
 *     json_put_string(&w, id);
 *     json_end_object(&w);
 *     json_writer_done(&w);
 */
#ifndef BASE_JSON_WRITE_H
#define BASE_JSON_WRITE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/bytes.h"

enum { JSON_WRITE_DEPTH_MAX = 64 };

struct json_writer {
    struct buf *out;  /* borrowed until json_writer_done */
    uint64_t objects; /* bit i: level i is an object, not an array */
    unsigned depth;
    bool comma;   /* a comma is due before the next value or key */
    bool keyed;   /* a key stands there and waits for its value */
    bool started; /* the one value of the text has begun */
};

struct json_writer json_writer_to(struct buf *out);
/* Checks that the text is one whole value. */
void json_writer_done(const struct json_writer *w);

void json_begin_object(struct json_writer *w);
void json_end_object(struct json_writer *w);
void json_begin_array(struct json_writer *w);
void json_end_array(struct json_writer *w);
/* A key of our own; it is escaped as any string. */
void json_put_key(struct json_writer *w, const char *key);
void json_put_key_bytes(struct json_writer *w, struct bytes key);
/* `value` is UTF-8; whoever took it in has checked that. */
void json_put_string(struct json_writer *w, struct bytes value);
void json_put_text(struct json_writer *w, const char *value);
void json_put_int64(struct json_writer *w, int64_t value);
void json_put_uint64(struct json_writer *w, uint64_t value);
void json_put_bool(struct json_writer *w, bool value);
void json_put_null(struct json_writer *w);
/* Any bytes, as a string in base64. */
void json_put_base64(struct json_writer *w, struct bytes value);
/* A value that is JSON already, as it stands. */
void json_put_raw(struct json_writer *w, struct bytes text);

/* The inside of a string, without the quotes around it: `"`, `\` and control characters are
 * escaped, all else passes as it is. A string may be written in pieces, cut anywhere. */
void json_escape(struct buf *out, struct bytes value);

#endif
