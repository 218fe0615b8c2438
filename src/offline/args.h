// SPDX-License-Identifier: Apache-2.0
/* The command line of this room's commands, read by the table api/offline.def. */
#ifndef OFFLINE_ARGS_H
#define OFFLINE_ARGS_H

#include <stdbool.h>
#include <stdint.h>

enum offline_command {
#define COMMAND(id, word, arguments, summary, examples) OFFLINE_##id,
#define OPTION(command, name, kind, member, arg, help)
#include "offline.def"
#undef COMMAND
#undef OPTION
    OFFLINE_COMMANDS_N
};

/* Texts are lent from argv. */
struct offline_args {
    enum offline_command command;
    const char *dir;
    const char *topic; /* dump: NULL shows the directory */
    uint32_t partition;
    bool json, online, repair, bodies;
    uint64_t from;
    uint64_t limit; /* UINT64_MAX: all */
};

/* The command of this word, or OFFLINE_COMMANDS_N. */
enum offline_command offline_command_find(const char *word);
/* False: a sentence about what is wrong went to stderr. */
bool offline_args_read(int argc, char **argv, struct offline_args *out);

#endif
