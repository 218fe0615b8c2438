// SPDX-License-Identifier: Apache-2.0
/* A folder of a test's own. */
#ifndef TESTS_LIB_FOLDER_H
#define TESTS_LIB_FOLDER_H

enum { FOLDER_PATH_ROOM = 64 };

/* Made under /dev/shm or /tmp; its path goes to `path`. */
void folder_make(char path[FOLDER_PATH_ROOM]);
/* With all that is in it. */
void folder_remove(const char *path);

#endif
