// SPDX-License-Identifier: Apache-2.0
/* One function for each command in api/cli_commands.def that asks a broker. */
#ifndef CLI_RUN_H
#define CLI_RUN_H

#include "cli/client.h"

enum cli_exit cli_run_send(const struct cli_args *args, struct cli_client *client);
enum cli_exit cli_run_receive(const struct cli_args *args, struct cli_client *client);
enum cli_exit cli_run_work(const struct cli_args *args, struct cli_client *client);
enum cli_exit cli_run_delete(const struct cli_args *args, struct cli_client *client);
enum cli_exit cli_run_extend(const struct cli_args *args, struct cli_client *client);
enum cli_exit cli_run_release(const struct cli_args *args, struct cli_client *client);
enum cli_exit cli_run_peek(const struct cli_args *args, struct cli_client *client);
enum cli_exit cli_run_topics(const struct cli_args *args, struct cli_client *client);
enum cli_exit cli_run_groups(const struct cli_args *args, struct cli_client *client);
enum cli_exit cli_run_cluster(const struct cli_args *args, struct cli_client *client);
enum cli_exit cli_run_partition(const struct cli_args *args, struct cli_client *client);
enum cli_exit cli_run_leases(const struct cli_args *args, struct cli_client *client);
enum cli_exit cli_run_purge(const struct cli_args *args, struct cli_client *client);
enum cli_exit cli_run_bench(const struct cli_args *args, struct cli_client *client);
enum cli_exit cli_run_health(const struct cli_args *args, struct cli_client *client);

/* "command: what is wrong" and where help is; CLI_USAGE. */
enum cli_exit cli_usage(const struct cli_args *args, const char *what);

/* A ReceiveMessage request that asks for all attributes; NULL when the topic is not UTF-8. Negative
 * times leave the choice to the topic. */
json_t *cli_receive_request(const char *topic, int64_t number, int64_t wait_s,
                            int64_t visibility_s);

/* Makes a topic with the settings of -o. On CLI_OK *reply is CreateQueue's answer, which the caller
 * decrefs. */
enum cli_exit cli_topic_create(const struct cli_args *args, struct cli_client *client,
                               const char *name, json_t **reply);

/* Prints root as one line and takes it. */
void cli_print_json(json_t *root);
/* Says whether all that was printed has reached stdout; false is said on stderr. */
bool cli_print_done(void);

#endif
