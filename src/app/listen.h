// SPDX-License-Identifier: Apache-2.0
#ifndef APP_LISTEN_H
#define APP_LISTEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ADDR:PORT, or [ADDR]:PORT for IPv6. False: it is neither, or does not fit. */
bool listen_parse(const char *text, char *address, size_t room, uint16_t *port);

#endif
