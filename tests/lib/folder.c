// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE /* nftw */
#include "folder.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/check.h"

void folder_make(char path[FOLDER_PATH_ROOM])
{
    /* In memory where there is such a place: what tests ask is not whether the disk syncs. */
    snprintf(path, FOLDER_PATH_ROOM, "/dev/shm/leaselog-test-XXXXXX");
    if (mkdtemp(path) != NULL)
        return;
    snprintf(path, FOLDER_PATH_ROOM, "/tmp/leaselog-test-XXXXXX");
    CHECK(mkdtemp(path) != NULL);
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
