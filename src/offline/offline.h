// SPDX-License-Identifier: Apache-2.0
/* The commands that read a data directory without a broker: `leaselog fsck` and `leaselog dump`
 * (api/offline.def). Both are a second reader of FORMAT.md and RECORDS.md: they share the checksums
 * and the decoders of single structures with the broker, not its way through them, so that they see
 * past the first damage where a start would stop. Findings and records go to stdout, all else to
 * stderr. One thread, no lock inside. */
#ifndef OFFLINE_OFFLINE_H
#define OFFLINE_OFFLINE_H

#include <stdbool.h>

enum offline_exit {
    OFFLINE_OK = 0,        /* fsck: clean */
    OFFLINE_FAULTS = 1,    /* fsck: there are faults; dump: not all could be read */
    OFFLINE_USAGE = 2,     /* also: DIR is no data directory */
    OFFLINE_NOT_FOUND = 3, /* dump: no such topic or partition */
    OFFLINE_IN_USE = 5,    /* fsck: a broker serves the directory */
};

/* True when `word` names one of these commands. */
bool offline_knows(const char *word);
/* argv[0] is the command's word. Gives the exit status. Once a process: getopt is global. */
int offline_main(int argc, char **argv);

#endif
