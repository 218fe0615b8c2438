// SPDX-License-Identifier: Apache-2.0
#include "cli/serve_options.h"

const struct cli_serve_option cli_serve_options[] = {
    {"config", "", "FILE", "read settings from FILE, one `name = value` a line"},
#define OPTION(member, name, kind, preset, arg, help) {name, preset, arg, help},
#include "options.def"
#undef OPTION
    {"help", "", NULL, "print help"},
};
const size_t cli_serve_options_n = sizeof cli_serve_options / sizeof cli_serve_options[0];
