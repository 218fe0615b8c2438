// SPDX-License-Identifier: Apache-2.0
/* Requests to one broker over one connection: SQS actions, and the REST API. What goes wrong is
 * said on stderr here, once; callers pass the exit on in silence. A client belongs to one thread;
 * several threads have one each. */
#ifndef CLI_CLIENT_H
#define CLI_CLIENT_H

#include <jansson.h>
#include <poll.h>

#include "cli/answer.h"
#include "cli/args.h"

struct cli_client;

/* args is lent until the client is freed. NULL, with the exit in *why, when the broker's address is
 * no URL: CLI_USAGE when it came by --server, CLI_CONFIG when by LEASELOG_URL. */
struct cli_client *cli_client_new(const struct cli_args *args, enum cli_exit *why);
void cli_client_free(struct cli_client *c);

/* The broker's URL, without a slash at its end. Lent until the client is freed. */
const char *cli_client_server(const struct cli_client *c);

/* From now on a request that lets the broker wait (wait_s > 0) is given up when one of the n <= 2
 * descriptors has one of its events, or an error. watched is lent until the client is freed. */
void cli_client_watch(struct cli_client *c, const struct pollfd *watched, size_t n);

/* Calls an SQS action and takes `request`. wait_s is how long the broker may wait before it
 * answers. On CLI_OK *reply is the answer's JSON object, which the caller decrefs; `{}` for actions
 * that answer nothing. A request that was given up gives CLI_EMPTY. */
enum cli_exit cli_client_call(struct cli_client *c, const char *action, json_t *request,
                              int64_t wait_s, json_t **reply);

/* A request of the REST API; takes `request`, which may be NULL. On CLI_OK *reply, unless `reply`
 * is NULL, is the answer's JSON object, which the caller decrefs. With `fault` the fault of an
 * answer is left there for the caller to tell; its status stays 0 when no answer came. */
enum cli_exit cli_client_rest(struct cli_client *c, const char *method, const char *path,
                              json_t *request, json_t **reply, struct cli_fault *fault);

/* GET of a path. The body is appended, whatever the status; the fault of a status that is not 2xx
 * is left to the caller to tell. */
enum cli_exit cli_client_get(struct cli_client *c, const char *path, struct buf *body,
                             long *status);

/* Waits for ms, or less when one of the watched descriptors has an event. */
void cli_client_pause(const struct cli_client *c, int ms);
/* Whether one of the watched descriptors has an event now. */
bool cli_client_stopped(const struct cli_client *c);

/* Prints a fault, and gives its exit. */
enum cli_exit cli_fault_say(const struct cli_fault *fault);
/* "leaselog: …" on stderr. May be called from any thread. */
void cli_say(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The same, unless -q. */
void cli_hint(const struct cli_args *args, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
