// SPDX-License-Identifier: Apache-2.0
/* The environment of a command that `leaselog work` runs: the worker's own, and the message's.
 *
 *   LEASELOG_TOPIC  LEASELOG_ID  LEASELOG_RECEIPT  LEASELOG_RECEIVE_COUNT  LEASELOG_SENT_AT
 *   LEASELOG_GROUP_ID  LEASELOG_DEDUP_ID          on topics that have them
 *   LEASELOG_ATTR_<NAME>                          for each attribute of the message
 *   LEASELOG_ATTRS_OMITTED                        how many attributes no variable could take
 *
 * In NAME all but ASCII letters, digits and _ becomes _. */
#ifndef CLI_JOB_ENV_H
#define CLI_JOB_ENV_H

#include <jansson.h>
#include <stddef.h>

struct cli_job_env {
    char **at; /* n texts, all owned, and a NULL */
    size_t n;
};

/* `inherited` is as environ. `message` is one of ReceiveMessage's answer. `server` may be NULL;
 * else it becomes LEASELOG_URL, so that a `leaselog` in the command asks the same broker. */
void cli_job_env_init(struct cli_job_env *e, char *const *inherited, const char *topic,
                      const char *server, const json_t *message);
void cli_job_env_fini(struct cli_job_env *e);

#endif
