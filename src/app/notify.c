// SPDX-License-Identifier: Apache-2.0
#include "app/notify.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

void notify_supervisor(const char *state)
{
    const char *path = getenv("NOTIFY_SOCKET");
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    if (path == NULL || (path[0] != '/' && path[0] != '@') || strlen(path) >= sizeof to.sun_path)
        return;
    size_t n = strlen(path);
    memcpy(to.sun_path, path, n);
    if (path[0] == '@')
        to.sun_path[0] = '\0'; /* the abstract namespace */
    int s = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (s < 0)
        return;
    socklen_t bytes = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n);
    (void)sendto(s, state, strlen(state), MSG_NOSIGNAL, (struct sockaddr *)&to, bytes);
    close(s);
}
