// SPDX-License-Identifier: Apache-2.0
/* Tells a supervisor such as systemd how the process is (sd_notify(3)'s protocol: one datagram to
 * the socket that NOTIFY_SOCKET names). Does nothing when there is none. */
#ifndef APP_NOTIFY_H
#define APP_NOTIFY_H

/* For example "READY=1". */
void notify_supervisor(const char *state);

#endif
