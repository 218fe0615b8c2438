// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "app/serve.h"
#include "cli/cli.h"
#include "offline/offline.h"

/* Help of every command is told by cli. */
static bool asks_for_help(int argc, char **argv)
{
    for (int i = 2; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
            return true;
    return false;
}

/* A descriptor 0, 1 or 2 that is closed would be given to the next file or connection that is
 * opened, and messages would be printed into it: the log's lines into the commit journal. What
 * stands in cannot be used in the direction it is for, so that a write to a closed stdout fails as
 * it should. */
static void descriptors_reserve(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0)
            (void)open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

int main(int argc, char **argv)
{
    descriptors_reserve();
    if (argc >= 2 && strcmp(argv[1], "serve") == 0)
        return serve_main(argc - 1, argv + 1);
    if (argc >= 2 && offline_knows(argv[1])) {
        char help[] = "help", *instead[] = {argv[0], help, argv[1], NULL};
        return asks_for_help(argc, argv) ? cli_main(3, instead) : offline_main(argc - 1, argv + 1);
    }
    return cli_main(argc, argv);
}
