// SPDX-License-Identifier: Apache-2.0
#include "app/secret_file.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/note.h"

static void note_readers(const char *path, FILE *file)
{
    struct stat s;
    if (fstat(fileno(file), &s) == 0 && (s.st_mode & (S_IRWXG | S_IRWXO)) != 0)
        note(NOTE_WARNING, "app", "%s has secrets in it, and others than its owner may read it",
             path);
}

bool secret_file_read(const char *path, char *text, size_t room, size_t *n)
{
    FILE *file = fopen(path, "re");
    *n = file == NULL ? 0 : fread(text, 1, room, file);
    bool read = file != NULL && !ferror(file);
    bool fits = *n < room;
    if (!read)
        fprintf(stderr, "leaselog: %s: %s\n", path, strerror(errno));
    else if (!fits)
        fprintf(stderr, "leaselog: %s: larger than %zu bytes\n", path, room - 1);
    else
        note_readers(path, file);
    if (file != NULL)
        (void)fclose(file);
    if (!read || !fits)
        return false;
    text[*n] = '\0';
    return true;
}
