// SPDX-License-Identifier: Apache-2.0
/* Help, made from the tables: examples first. */
#ifndef CLI_HELP_H
#define CLI_HELP_H

#include <stdio.h>

#include "cli/args.h"

void cli_help_all(FILE *to);
void cli_help_serve(FILE *to);
/* Of a command of api/offline.def, by its place there. */
void cli_help_offline(FILE *to, int command);
void cli_help_command(FILE *to, enum cli_command command);

#endif
