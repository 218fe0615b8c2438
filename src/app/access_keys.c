// SPDX-License-Identifier: Apache-2.0
#include "app/access_keys.h"

#include <stdio.h>
#include <string.h>

#include "app/secret_file.h"

enum { FILE_BYTES_MAX = 64 * 1024 };

static bool parse(const char *path, struct bytes text, struct sqs_access_keys *out)
{
    unsigned wrong;
    if (sqs_access_keys_read(text, out, &wrong))
        return true;
    if (wrong > 0)
        fprintf(stderr,
                "leaselog: %s, line %u: a line must be an access key's ID and its SECRET (visible "
                "ASCII, at most %d bytes each; %d keys, each ID once)\n",
                path, wrong, SQS_ACCESS_KEY_BYTES_MAX, SQS_ACCESS_KEYS_MAX);
    else
        fprintf(stderr, "leaselog: %s: there is no access key in it\n", path);
    return false;
}

bool access_keys_load(const char *path, struct sqs_access_keys *out)
{
    static char text[FILE_BYTES_MAX + 1];
    size_t n;
    out->n = 0;
    if (path[0] == '\0')
        return true;
    bool ok =
        secret_file_read(path, text, sizeof text, &n) && parse(path, (struct bytes){text, n}, out);
    explicit_bzero(text, sizeof text);
    return ok;
}
