// SPDX-License-Identifier: Apache-2.0
#include "cli/signals.h"

#include <stddef.h>
#include <sys/signalfd.h>
#include <unistd.h>

int cli_signals_open(sigset_t *before)
{
    static const int ends[] = {SIGINT, SIGTERM, SIGHUP};
    sigset_t set;
    sigemptyset(&set);
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        struct sigaction now;
        /* A blocked signal would come in at the descriptor even though it is ignored. */
        if (sigaction(ends[i], NULL, &now) == 0 && now.sa_handler != SIG_IGN)
            sigaddset(&set, ends[i]);
    }
    if (pthread_sigmask(SIG_BLOCK, &set, before) != 0)
        return -1;
    return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

int cli_signals_take(int fd)
{
    struct signalfd_siginfo info;
    return read(fd, &info, sizeof info) == (ssize_t)sizeof info ? (int)info.ssi_signo : 0;
}
