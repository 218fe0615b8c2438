// SPDX-License-Identifier: Apache-2.0
#include "folder.h"

#include <ftw.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"

static bool make_in(const char *place, char path[FOLDER_PATH_ROOM])
{
    int n = snprintf(path, FOLDER_PATH_ROOM, "%s/leaselog-test-", place);
    memset(path + n, 'X', 6); /* mkdtemp's pattern */
    path[n + 6] = 0;
    return mkdtemp(path) != NULL;
}

/* In memory where there is such a place: what tests ask is not whether the disk syncs. */
void folder_make(char path[FOLDER_PATH_ROOM])
{
    CHECK(make_in("/dev/shm", path) || make_in("/tmp", path));
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st;
    (void)type;
    (void)ftw;
    return remove(path);
}

void folder_remove(const char *path)
{
    nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}
