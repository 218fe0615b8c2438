// SPDX-License-Identifier: Apache-2.0
#ifndef APP_LISTEN_H
#define APP_LISTEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ADDR:PORT, or [ADDR]:PORT for IPv6. False: it is neither, or does not fit. */
bool listen_parse(const char *text, char *address, size_t room, uint16_t *port);

/* http://ADDR:PORT, of an address that listen_parse gave. */
enum { LISTEN_URL_ROOM = 280 };
void listen_url(const char *address, uint16_t port, char out[LISTEN_URL_ROOM]);

#endif
