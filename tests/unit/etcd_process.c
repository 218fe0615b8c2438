// SPDX-License-Identifier: Apache-2.0
#include "etcd_process.h"

#include <arpa/inet.h>
#include <check.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"

void etcd_needed(void)
{
    if (system("command -v etcd >/dev/null 2>&1") == 0)
        return;
    puts("skipped: etcd is not installed (Debian's package etcd-server)");
    exit(77);
}

int socket_at_free_port(uint16_t *port)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof a;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(bind(fd, (struct sockaddr *)&a, sizeof a), 0);
    ck_assert_int_eq(getsockname(fd, (struct sockaddr *)&a, &n), 0);
    *port = ntohs(a.sin_port);
    return fd;
}

void etcd_cluster_prepare(struct etcd_cluster *e, int n)
{
    int fds[ETCD_MEMBERS_MAX][2];
    memset(e, 0, sizeof *e);
    e->n = n;
    e->scheme = "http";
    folder_make(e->folder);
    for (int i = 0; i < n; i++) {
        uint16_t client, peer;
        fds[i][0] = socket_at_free_port(&client);
        fds[i][1] = socket_at_free_port(&peer);
        snprintf(e->urls[i], sizeof e->urls[i], "%u", client);
        snprintf(e->peers[i], sizeof e->peers[i], "http://127.0.0.1:%u", peer);
    }
    for (int i = 0; i < n; i++) {
        close(fds[i][0]);
        close(fds[i][1]);
    }
}

static void etcd_exec(struct etcd_cluster *e, int i, const char *members)
{
    char name[8], log[128], data[128];
    const char *args[24 + ETCD_MORE_MAX] = {"etcd",      "--name",
                                            name,        "--data-dir",
                                            data,        "--listen-client-urls",
                                            e->urls[i],  "--advertise-client-urls",
                                            e->urls[i],  "--listen-peer-urls",
                                            e->peers[i], "--initial-advertise-peer-urls",
                                            e->peers[i], "--initial-cluster",
                                            members};
    size_t n = 15;
    snprintf(name, sizeof name, "m%d", i);
    snprintf(log, sizeof log, "%s/log%d", e->folder, i);
    snprintf(data, sizeof data, "%s/data%d", e->folder, i);
    for (size_t k = 0; k < ETCD_MORE_MAX && e->more[k] != NULL; k++)
        args[n++] = e->more[k];
    int fd = open(log, O_WRONLY | O_CREAT | O_APPEND, 0600);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    dup2(fd, STDOUT_FILENO);
    dup2(fd, STDERR_FILENO);
    setenv("ETCD_UNSUPPORTED_ARCH", "arm64", 1);
    char *copies[24 + ETCD_MORE_MAX] = {NULL};
    for (size_t k = 0; k < n; k++)
        copies[k] = mem_copy_text(args[k]);
    execvp("etcd", copies);
    _exit(127);
}

void etcd_member_start(struct etcd_cluster *e, int i)
{
    char members[256] = "";
    for (int k = 0; k < e->n; k++)
        snprintf(members + strlen(members), sizeof members - strlen(members), "%sm%d=%s",
                 k > 0 ? "," : "", k, e->peers[k]);
    e->pids[i] = fork();
    if (e->pids[i] == 0)
        etcd_exec(e, i, members);
    ck_assert_int_gt(e->pids[i], 0);
}

void etcd_cluster_start(struct etcd_cluster *e)
{
    for (int i = 0; i < e->n; i++) {
        char port[16];
        snprintf(port, sizeof port, "%.8s", e->urls[i]);
        snprintf(e->urls[i], sizeof e->urls[i], "%s://127.0.0.1:%s", e->scheme, port);
        snprintf(e->endpoints + strlen(e->endpoints), sizeof e->endpoints - strlen(e->endpoints),
                 "%s%s", i > 0 ? "," : "", e->urls[i]);
    }
    for (int i = 0; i < e->n; i++)
        etcd_member_start(e, i);
}

void etcd_member_kill(struct etcd_cluster *e, int i)
{
    if (e->pids[i] == 0)
        return;
    kill(e->pids[i], SIGKILL);
    waitpid(e->pids[i], NULL, 0);
    e->pids[i] = 0;
}

void etcd_cluster_end(struct etcd_cluster *e)
{
    for (int i = 0; i < e->n; i++)
        etcd_member_kill(e, i);
    folder_remove(e->folder);
}
