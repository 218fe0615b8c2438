// SPDX-License-Identifier: Apache-2.0
/* A cluster of etcd's own processes on loopback, for tests. They end with the test's process. */
#ifndef TESTS_UNIT_ETCD_PROCESS_H
#define TESTS_UNIT_ETCD_PROCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/folder.h"

enum { ETCD_MEMBERS_MAX = 3, ETCD_MORE_MAX = 8 };

struct etcd_cluster {
    char folder[FOLDER_PATH_ROOM];
    int n;
    const char *scheme;               /* of the clients' URLs; "http" unless set before the start */
    const char *more[ETCD_MORE_MAX];  /* further arguments, up to the first NULL */
    pid_t pids[ETCD_MEMBERS_MAX];     /* 0: not running */
    char urls[ETCD_MEMBERS_MAX][64];  /* for clients */
    char peers[ETCD_MEMBERS_MAX][64]; /* among themselves */
    char endpoints[256];              /* the clients' URLs with commas between */
};

/* Skips the whole program (exit 77) and says why, unless etcd is installed. */
void etcd_needed(void);
/* Makes the folder and chooses ports; then starts all n. Does not wait for them. */
void etcd_cluster_prepare(struct etcd_cluster *e, int n);
void etcd_cluster_start(struct etcd_cluster *e);
void etcd_member_start(struct etcd_cluster *e, int i);
void etcd_member_kill(struct etcd_cluster *e, int i);
void etcd_cluster_end(struct etcd_cluster *e);
/* A bound socket that nobody listens at. */
int socket_at_free_port(uint16_t *port);

#endif
