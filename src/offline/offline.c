// SPDX-License-Identifier: Apache-2.0
#include "offline/offline.h"

#include <stdio.h>

#include "base/note.h"
#include "disk/disk.h"
#include "offline/args.h"
#include "offline/dump.h"
#include "offline/fsck.h"
#include "plog/files.h"

bool offline_knows(const char *word)
{
    return offline_command_find(word) < OFFLINE_COMMANDS_N;
}

/* Whether at least one of the files is there that each data directory has. */
static bool is_data_directory(const struct disk *d)
{
    static const char *const files[] = {"store.json", "marks", "catalog.sqlite"};
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        int file;
        enum err e = d->open(d->self, files[i], DISK_READ, &file);
        if (e == ERR_OK)
            d->close(d->self, file);
        if (e != ERR_NOT_FOUND)
            return true;
    }
    return false;
}

static int run(const struct offline_args *args)
{
    struct disk d;
    int exit = OFFLINE_USAGE;
    if (disk_posix_open(args->dir, false, &d) != ERR_OK)
        return OFFLINE_USAGE; /* the disk has said why */
    if (!is_data_directory(&d))
        fprintf(stderr, "leaselog: %s is no data directory\n", args->dir);
    else
        exit = args->command == OFFLINE_FSCK ? (int)offline_fsck(&d, args)
                                             : (int)offline_dump(&d, args);
    disk_posix_close(&d);
    return exit;
}

int offline_main(int argc, char **argv)
{
    struct offline_args args;
    note_init(NOTE_ERROR, false);
    if (!offline_args_read(argc, argv, &args))
        return OFFLINE_USAGE;
    int exit = run(&args);
    if (fflush(stdout) != 0 || ferror(stdout)) {
        fputs("leaselog: cannot write to stdout\n", stderr);
        return exit == OFFLINE_OK ? OFFLINE_FAULTS : exit;
    }
    return exit;
}
