// SPDX-License-Identifier: Apache-2.0
/* The settings of `leaselog serve`: command line before environment before file before default. */
#ifndef APP_OPTIONS_H
#define APP_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#define OPTION_TYPE_TEXT const char *
#define OPTION_TYPE_FLAG bool
#define OPTION_TYPE_NUMBER(min, max) int64_t

/* One member a row of options.def. Texts are owned by the struct's maker and live until exit. */
struct serve_options {
#define TEXT OPTION_TYPE_TEXT
#define FLAG OPTION_TYPE_FLAG
#define NUMBER(min, max) OPTION_TYPE_NUMBER(min, max)
#define OPTION(member, name, kind, preset, arg, help) kind member;
#include "options.def"
#undef OPTION
#undef TEXT
#undef FLAG
#undef NUMBER
};

enum options_verdict {
    OPTIONS_OK,
    OPTIONS_HELP,   /* the help was asked for and printed */
    OPTIONS_USAGE,  /* a mistake on the command line: exit 2; a line was printed */
    OPTIONS_CONFIG, /* a mistake in file or environment: exit 78; a line was printed */
};

/* argv[0] is the command's name. */
enum options_verdict options_read(int argc, char **argv, struct serve_options *out);

#endif
