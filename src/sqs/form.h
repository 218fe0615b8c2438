// SPDX-License-Identifier: Apache-2.0
/* Forms (application/x-www-form-urlencoded), as query strings and as bodies: name=value pairs with
 * '&' between, '+' for a space and %XX for any byte. Pure. */
#ifndef SQS_FORM_H
#define SQS_FORM_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/bytes.h"
#include "sqs/fault.h"

/* A batch of ten messages with ten attributes each has some 400. */
enum { SQS_FORM_PAIRS_MAX = 4096 };

struct sqs_form_pair {
    struct bytes name;
    struct bytes value; /* at is set, also when it is empty */
};

struct sqs_form {
    struct sqs_form_pair *at; /* in the arena */
    size_t n, room;
};

/* Adds the pairs of `text`, which is lent as long as the form is used; what had to be decoded lies
 * in the arena. False: a MalformedInput that says where: a '%' without two hex digits, bytes that
 * are not UTF-8, a zero byte, too many pairs. */
bool sqs_form_add(struct sqs_form *form, struct bytes text, struct arena *arena,
                  struct sqs_fault *f) MUST_USE;

/* The value of the first pair with this name; at = NULL: there is none. */
struct bytes sqs_form_get(const struct sqs_form *form, const char *name);

/* %XX → byte, and where `plus` is true + → space. The text itself when there is nothing to do.
 * False: a '%' without two hex digits. */
bool sqs_percent_decode(struct bytes text, bool plus, struct arena *arena,
                        struct bytes *out) MUST_USE;

#endif
