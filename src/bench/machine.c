// SPDX-License-Identifier: Apache-2.0
#include "bench/machine.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <dirent.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

static void processor_read(char *out, size_t room)
{
    char line[256];
    FILE *file = fopen("/proc/cpuinfo", "re");
    out[0] = '\0';
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        const char *colon = strchr(line, ':');
        if (strncmp(line, "model name", 10) != 0 || colon == NULL)
            continue;
        colon += strspn(colon, ": \t");
        (void)snprintf(out, room, "%.*s", (int)strcspn(colon, "\n"), colon);
        break;
    }
    if (file != NULL)
        (void)fclose(file);
}

void bench_machine_read(struct bench_machine *out)
{
    struct utsname u;
    cpu_set_t may;
    CHECK(uname(&u) == 0);
    out->cores = sched_getaffinity(0, sizeof may, &may) == 0 ? CPU_COUNT(&may)
                                                             : sysconf(_SC_NPROCESSORS_ONLN);
    (void)snprintf(out->kernel, sizeof out->kernel, "%.40s %.64s %.40s", u.sysname, u.release,
                   u.machine);
    processor_read(out->processor, sizeof out->processor);
}

uint64_t bench_now_ns(void)
{
    struct timespec t;
    CHECK(clock_gettime(CLOCK_MONOTONIC, &t) == 0);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static uint64_t ns_of(struct timeval t)
{
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_usec * 1000;
}

struct bench_usage bench_usage_own(void)
{
    struct rusage r;
    struct bench_usage u = {0};
    unsigned long long ran, waited;
    CHECK(getrusage(RUSAGE_SELF, &r) == 0);
    u.cpu_ns = ns_of(r.ru_utime) + ns_of(r.ru_stime);
    FILE *file = fopen("/proc/self/schedstat", "re"); /* not in every kernel */
    if (file != NULL && fscanf(file, "%llu %llu", &ran, &waited) == 2)
        u.waited_ns = waited;
    if (file != NULL)
        (void)fclose(file);
    return u;
}

static unsigned port_of(const struct sockaddr_storage *at)
{
    return ntohs(at->ss_family == AF_INET6
                     ? ((const struct sockaddr_in6 *)(const void *)at)->sin6_port
                     : ((const struct sockaddr_in *)(const void *)at)->sin_port);
}

/* The inode of the socket whose own port is `port` and whose peer's is `peer_port`; 0: none. */
static unsigned long inode_of(const char *table, unsigned port, unsigned peer_port)
{
    char line[512];
    unsigned long found = 0;
    FILE *file = fopen(table, "re");
    while (file != NULL && found == 0 && fgets(line, sizeof line, file) != NULL) {
        unsigned own, peer;
        unsigned long inode;
        if (sscanf(line, "%*u: %*[0-9A-Fa-f]:%x %*[0-9A-Fa-f]:%x %*x %*s %*s %*s %*u %*u %lu", &own,
                   &peer, &inode) == 3 &&
            own == port && peer == peer_port)
            found = inode;
    }
    if (file != NULL)
        (void)fclose(file);
    return found;
}

/* Whether one of the process's descriptors is the socket. */
static bool holds(const char *pid, const char *socket)
{
    char path[300], link[64];
    bool found = false;
    (void)snprintf(path, sizeof path, "/proc/%.20s/fd", pid);
    DIR *folder = opendir(path);
    for (struct dirent *d; folder != NULL && !found && (d = readdir(folder)) != NULL;) {
        (void)snprintf(path, sizeof path, "/proc/%.20s/fd/%.20s", pid, d->d_name);
        ssize_t n = readlink(path, link, sizeof link - 1);
        if (n <= 0)
            continue;
        link[n] = '\0';
        found = strcmp(link, socket) == 0;
    }
    if (folder != NULL)
        (void)closedir(folder);
    return found;
}

pid_t bench_process_of_peer(int fd)
{
    struct sockaddr_storage own, peer;
    socklen_t own_n = sizeof own, peer_n = sizeof peer;
    char socket[64];
    pid_t pid = 0;
    if (getsockname(fd, (struct sockaddr *)&own, &own_n) != 0 ||
        getpeername(fd, (struct sockaddr *)&peer, &peer_n) != 0)
        return 0;
    /* A broker that listens on [::] has IPv4's connections in tcp6. */
    unsigned long inode = inode_of("/proc/net/tcp", port_of(&peer), port_of(&own));
    if (inode == 0)
        inode = inode_of("/proc/net/tcp6", port_of(&peer), port_of(&own));
    if (inode == 0)
        return 0;
    (void)snprintf(socket, sizeof socket, "socket:[%lu]", inode);
    DIR *folder = opendir("/proc");
    for (struct dirent *d; folder != NULL && pid == 0 && (d = readdir(folder)) != NULL;)
        if (isdigit((unsigned char)d->d_name[0]) && holds(d->d_name, socket))
            pid = (pid_t)strtol(d->d_name, NULL, 10);
    if (folder != NULL)
        (void)closedir(folder);
    return pid;
}

bool bench_process_read(pid_t pid, char name[32], uint64_t *cpu_ns)
{
    char path[64], text[1024];
    unsigned long long user, system;
    (void)snprintf(path, sizeof path, "/proc/%ld/stat", (long)pid);
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return false;
    size_t n = fread(text, 1, sizeof text - 1, file);
    (void)fclose(file);
    text[n] = '\0';
    /* The name stands in parentheses and may hold some itself. */
    const char *open = strchr(text, '('), *close = strrchr(text, ')');
    if (open == NULL || close == NULL || close < open ||
        sscanf(close + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu", &user,
               &system) != 2)
        return false;
    (void)snprintf(name, 32, "%.*s", (int)(close - open - 1), open + 1);
    for (char *c = name; *c != '\0'; c++) /* a process may call itself anything */
        if (!isprint((unsigned char)*c))
            *c = '?';
    *cpu_ns = (user + system) * (1000000000 / (unsigned long long)sysconf(_SC_CLK_TCK));
    return true;
}
