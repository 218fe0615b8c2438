// SPDX-License-Identifier: Apache-2.0
#include "cli/input.h"

#include <stdio.h>

enum err cli_input_all(struct buf *out)
{
    for (;;) {
        buf_reserve(out, 65536);
        size_t n = fread(out->at + out->n, 1, 65536, stdin);
        out->n += n;
        if (out->n > CLI_BODY_BYTES_MAX)
            return ERR_TOO_BIG;
        if (n == 0)
            return ferror(stdin) ? ERR_IO : ERR_OK;
    }
}

enum err cli_input_line(struct buf *out)
{
    int c;
    buf_clear(out);
    while ((c = getc_unlocked(stdin)) != EOF && c != '\n') {
        if (out->n == CLI_BODY_BYTES_MAX)
            return ERR_TOO_BIG;
        buf_put_u8(out, (uint8_t)c);
    }
    if (ferror(stdin))
        return ERR_IO;
    return c == EOF && out->n == 0 ? ERR_NOT_FOUND : ERR_OK;
}
