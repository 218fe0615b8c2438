// SPDX-License-Identifier: Apache-2.0
/* The body of a received message, as it was sent. */
#ifndef CLI_BODY_H
#define CLI_BODY_H

#include <jansson.h>

#include "base/arena.h"
#include "base/bytes.h"

/* The attribute by which the broker marks a body that is no text. */
#define CLI_ENCODING_NAME "leaselog-encoding"

/* JSON has only text, so the broker shows other bytes in base64, and says so in an attribute that
 * no client can set. Lent from the message or the arena. */
struct bytes cli_message_body(const json_t *message, struct arena *arena);

#endif
