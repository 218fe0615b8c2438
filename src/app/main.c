// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "app/serve.h"
#include "cli/cli.h"

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
    return cli_main(argc, argv);
}
