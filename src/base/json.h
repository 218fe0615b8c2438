// SPDX-License-Identifier: Apache-2.0
/* Reading JSON: a strict pull parser (RFC 8259) over bytes that somebody else owns. No tree is
 * built: the caller asks for what it wants, in the order in which the text has it.
 *
 *     struct json p;
 *     json_init(&p, body, arena);
 *     struct bytes key, url = BYTES_NONE;
 *     int64_t delay_s = 0;
 *     json_enter_object(&p);
 *     while (json_next_member(&p, &key)) {
 *         if (json_read_null(&p))
 *             continue;                          // as if the member were not there
 *         if (bytes_equal(key, BYTES_OF("QueueUrl")))
 *             json_read_string(&p, &url);
 *         else if (bytes_equal(key, BYTES_OF("DelaySeconds")))
 *             json_read_int64(&p, &delay_s);
 *         else
 *             json_skip(&p);
 *     }
 *     enum err e = json_finish(&p);
 *
 * A value that the caller does not take is skipped. json_next_* says false once, at the end of its
 * object or array, and has left it then; whoever entered one loops until that, or gives up with
 * json_finish.
 *
 * Errors stick: the first stops everything. From then on every call fails and every loop ends, so
 * that a caller may read everything and ask once, at the end:
 *   ERR_CORRUPT  the text is not JSON as we take it, wherever in the text that is.
 *   ERR_INVALID  all of the text is JSON, but a value was not of the asked type, or was a number
 *                that is no int64. (The rest of the text is checked before this is said.)
 * Nothing that was read may be acted upon before json_finish has said ERR_OK: only then is it known
 * that the whole text is sound. In particular a repeated key is noticed at the end of its object.
 *
 * No name here is one of jansson's, so that a program may link both.
 *
 * Refused as ERR_CORRUPT, beyond breaches of the grammar: invalid UTF-8 (overlong forms and
 * surrogates too), an unpaired surrogate written as \u, the same key twice in an object, U+0000 in
 * a key, nesting deeper than the limit, an empty text, a byte order mark, anything but white space
 * behind the value. \u0000 in a value is fine. Numbers of any size are fine where they are skipped.
 *
 * Time is linear in the text, but for objects of more than 16 keys: finding a repeated one sorts
 * them, in O(bytes of the keys * log count) at worst. Memory of the arena: the unescaped strings,
 * and up to 64 bytes a key where more than JSON_KEYS_FIRST keys are open at once. */
#ifndef BASE_JSON_H
#define BASE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/bytes.h"
#include "base/err.h"

enum {
    JSON_DEPTH_MAX = 32, /* objects and arrays that may be open at once */
    JSON_KEYS_FIRST = 32 /* keys of open objects that need no memory of the arena */
};

enum json_type {
    JSON_TYPE_NOTHING, /* the text is broken here, or no value is due */
    JSON_TYPE_NULL,
    JSON_TYPE_BOOL,
    JSON_TYPE_NUMBER,
    JSON_TYPE_STRING,
    JSON_TYPE_ARRAY,
    JSON_TYPE_OBJECT
};

/* An open object or array. Private. */
struct json_level {
    bool is_object;
    bool begun;         /* a member or element has been read: a comma is due before the next */
    uint32_t key_first; /* where this object's keys begin in json.keys */
};

/* All fields are private. Borrows text and arena until the caller is done with what it has read. */
struct json {
    const unsigned char *at;
    const unsigned char *end;
    struct arena *arena;
    enum err verdict;   /* ERR_OK until something failed */
    bool value_due;     /* the next thing in the text is a value that the caller reads */
    unsigned depth;     /* levels open */
    unsigned depth_max; /* at most JSON_DEPTH_MAX */
    struct bytes *keys; /* of all open objects, as a stack; NULL: keys_first */
    uint32_t key_count;
    uint32_t key_room;
    struct json_level levels[JSON_DEPTH_MAX];
    struct bytes keys_first[JSON_KEYS_FIRST];
};

/* Sets up `p` for one text. Unescaped strings, and the keys of objects with many, go to the arena.
 */
void json_init(struct json *p, struct bytes text, struct arena *arena);
/* Fewer levels than JSON_DEPTH_MAX; before anything is read. 0 allows scalars only. */
void json_limit_depth(struct json *p, unsigned depth_max);

/* The type of the value that is due, by its first character, without taking it. */
enum json_type json_peek(struct json *p);

/* These take the value that is due (to ask for one when none is due is our mistake and stops the
 * process). The result need not be looked at: json_finish says it once more. */
enum err json_enter_object(struct json *p);
enum err json_enter_array(struct json *p);
/* The next member's key, so that its value is due; or false: the object ended, or all is lost. */
bool json_next_member(struct json *p, struct bytes *key);
/* The next element is due; or false: the array ended, or all is lost. */
bool json_next_element(struct json *p);
/* A string without escapes is lent from the text; one with escapes lies in the arena. Not
 * NUL-terminated, and it may hold NULs. */
enum err json_read_string(struct json *p, struct bytes *value);
/* Only digits and a minus: 1.0 and 1e3 are ERR_INVALID, as is what does not fit. -0 is 0. */
enum err json_read_int64(struct json *p, int64_t *value);
enum err json_read_bool(struct json *p, bool *value);
/* Takes the value if it is null; otherwise says false and takes nothing. */
bool json_read_null(struct json *p);
/* Any value with all that is in it, checked as strictly as if it had been read. */
enum err json_skip(struct json *p);
/* As json_skip; the value's own text, without white space around it. Lent from the text. */
enum err json_read_raw(struct json *p, struct bytes *text);

/* The verdict over the whole text. May be called early, to give up: what was not read is checked
 * now. Nothing but this may be called afterwards. */
enum err json_finish(struct json *p);

#endif
