// SPDX-License-Identifier: Apache-2.0
/* Requests to one broker over one connection. What goes wrong is said on stderr here, once; callers
 * pass the exit on in silence. */
#ifndef CLI_CLIENT_H
#define CLI_CLIENT_H

#include <jansson.h>

#include "cli/answer.h"
#include "cli/args.h"

struct cli_client;

/* args is lent until the client is freed. NULL, with the exit in *why, when the broker's address is
 * no URL: CLI_USAGE when it came by --server, CLI_CONFIG when by LEASELOG_URL. */
struct cli_client *cli_client_new(const struct cli_args *args, enum cli_exit *why);
void cli_client_free(struct cli_client *c);

/* Calls an SQS action and takes `request`. wait_s is how long the broker may wait before it
 * answers. On CLI_OK *reply is the answer's JSON object, which the caller decrefs; `{}` for actions
 * that answer nothing. */
enum cli_exit cli_client_call(struct cli_client *c, const char *action, json_t *request,
                              int64_t wait_s, json_t **reply);

/* GET of a path. The body is appended, whatever the status; the fault of a status that is not 2xx
 * is left to the caller to tell. */
enum cli_exit cli_client_get(struct cli_client *c, const char *path, struct buf *body,
                             long *status);

/* "leaselog: …" on stderr. */
void cli_say(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The same, unless -q. */
void cli_hint(const struct cli_args *args, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Prints the fault of an answer, and gives its exit. */
enum cli_exit cli_client_fault(long status, struct bytes body);

#endif
