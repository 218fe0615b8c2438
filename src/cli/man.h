// SPDX-License-Identifier: Apache-2.0
/* The manual page leaselog(1), made from the tables in man(7)'s macros. */
#ifndef CLI_MAN_H
#define CLI_MAN_H

#include <stdio.h>

void cli_man_print(FILE *to);

#endif
