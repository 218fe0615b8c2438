// SPDX-License-Identifier: Apache-2.0
#include "app/listen.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool listen_parse(const char *text, char *address, size_t room, uint16_t *port)
{
    const char *colon = strrchr(text, ':');
    char *end;
    if (colon == NULL || colon == text || (size_t)(colon - text) >= room)
        return false;
    unsigned long n = strtoul(colon + 1, &end, 10);
    if (end == colon + 1 || *end != '\0' || n > 65535 || colon[1] == '-' || colon[1] == '+')
        return false;
    snprintf(address, room, "%.*s", (int)(colon - text), text);
    *port = (uint16_t)n;
    return true;
}

void listen_url(const char *address, uint16_t port, char out[LISTEN_URL_ROOM])
{
    bool v6 = strchr(address, ':') != NULL && address[0] != '[';
    (void)snprintf(out, LISTEN_URL_ROOM, "http://%s%s%s:%u", v6 ? "[" : "", address, v6 ? "]" : "",
                   port);
}
