// SPDX-License-Identifier: Apache-2.0
#include "cli/body.h"

#include <string.h>

#include "base/codec.h"

struct bytes cli_message_body(const json_t *message, struct arena *arena)
{
    const json_t *body = json_object_get(message, "Body");
    struct bytes text = {json_string_value(body), json_string_length(body)}, raw;
    if (text.at == NULL)
        return (struct bytes){"", 0};
    const json_t *mark =
        json_object_get(json_object_get(message, "MessageAttributes"), CLI_ENCODING_NAME);
    const char *encoding = json_string_value(json_object_get(mark, "StringValue"));
    if (encoding != NULL && strcmp(encoding, "base64") == 0 &&
        codec_base64_decode(text, arena, &raw) == ERR_OK)
        return raw;
    return text;
}
