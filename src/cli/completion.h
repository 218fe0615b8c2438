// SPDX-License-Identifier: Apache-2.0
/* What teaches a shell the commands and options of `leaselog`, made from the tables. */
#ifndef CLI_COMPLETION_H
#define CLI_COMPLETION_H

#include <stdbool.h>
#include <stdio.h>

/* False when the shell is none of bash, zsh and fish; then nothing is printed. */
bool cli_completion_print(FILE *to, const char *shell);

#endif
