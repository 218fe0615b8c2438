// SPDX-License-Identifier: Apache-2.0
#include "app/access_keys.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/note.h"

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

static void note_readers(const char *path, FILE *file)
{
    struct stat s;
    if (fstat(fileno(file), &s) == 0 && (s.st_mode & (S_IRWXG | S_IRWXO)) != 0)
        note(NOTE_WARNING, "app", "%s has secrets in it, and others than its owner may read it",
             path);
}

bool access_keys_load(const char *path, struct sqs_access_keys *out)
{
    static char text[FILE_BYTES_MAX + 1];
    out->n = 0;
    if (path[0] == '\0')
        return true;
    FILE *file = fopen(path, "re");
    size_t n = file == NULL ? 0 : fread(text, 1, sizeof text, file);
    bool read = file != NULL && !ferror(file);
    bool fits = n < sizeof text;
    if (!read)
        fprintf(stderr, "leaselog: %s: %s\n", path, strerror(errno));
    else if (!fits)
        fprintf(stderr, "leaselog: %s: larger than %d bytes\n", path, FILE_BYTES_MAX);
    else
        note_readers(path, file);
    if (file != NULL)
        (void)fclose(file);
    bool ok = read && fits && parse(path, (struct bytes){text, n}, out);
    explicit_bzero(text, sizeof text);
    return ok;
}
