// SPDX-License-Identifier: Apache-2.0
/* Runs a target on every file of a folder, without libFuzzer.
 *
 *     target_NAME [FOLDER | FILE...]      (default: $srcdir/tests/fuzz/corpus/NAME)
 *
 * A folder without a file is a failure: a test that tests nothing must not pass. Stops at the
 * first input that the target does not survive, whose name is the last one printed. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "fuzz/fuzz.h"

static bool run_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    struct stat st;
    if (file == NULL || fstat(fileno(file), &st) != 0) {
        perror(path);
        return false;
    }
    printf("%s\n", path);
    fflush(stdout);
    /* Exactly as long as the file, so that a sanitizer sees any step beyond. */
    size_t n = (size_t)st.st_size;
    uint8_t *at = malloc(n == 0 ? 1 : n);
    bool whole = at != NULL && fread(at, 1, n, file) == n;
    fclose(file);
    if (whole)
        LLVMFuzzerTestOneInput(at, n);
    else
        fprintf(stderr, "%s: cannot be read\n", path);
    free(at);
    return whole;
}

static int is_input(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static bool run_folder(const char *path)
{
    struct dirent **names;
    int n = scandir(path, &names, is_input, alphasort), ran = 0;
    for (int i = 0; i < n; i++) {
        struct buf file = BUF_EMPTY;
        buf_put_format(&file, "%s/%s", path, names[i]->d_name);
        buf_put_u8(&file, 0);
        ran += run_file(file.at);
        buf_fini(&file);
        free(names[i]);
    }
    if (n >= 0)
        free(names);
    printf("%d of %d inputs of %s\n", ran, n, path);
    return n > 0 && ran == n;
}

static bool run(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode) ? run_folder(path) : run_file(path);
}

int main(int argc, char **argv)
{
    const char *srcdir = getenv("srcdir"), *name = strrchr(argv[0], '/');
    bool fine = true;
    for (int i = 1; i < argc; i++)
        fine = run(argv[i]) && fine;
    if (argc > 1)
        return fine ? EXIT_SUCCESS : EXIT_FAILURE;
    name = name == NULL ? argv[0] : name + 1;
    CHECK(strncmp(name, "target_", 7) == 0);
    struct buf folder = BUF_EMPTY;
    buf_put_format(&folder, "%s/tests/fuzz/corpus/%s", srcdir == NULL ? "." : srcdir, name + 7);
    buf_put_u8(&folder, 0);
    fine = run_folder(folder.at);
    buf_fini(&folder);
    return fine ? EXIT_SUCCESS : EXIT_FAILURE;
}
