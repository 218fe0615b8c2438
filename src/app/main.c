// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>
#include <string.h>

#include "config.h"

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--version") == 0) {
        puts(PACKAGE_STRING);
        return 0;
    }
    fputs("usage: leaselog --version\n", stderr);
    return 2;
}
