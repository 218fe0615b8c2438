// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "app/serve.h"
#include "cli/cli.h"

int main(int argc, char **argv)
{
    if (argc >= 2 && strcmp(argv[1], "serve") == 0)
        return serve_main(argc - 1, argv + 1);
    return cli_main(argc, argv);
}
