// SPDX-License-Identifier: Apache-2.0
#include "measure.h"

#include <ctype.h>
#include <dirent.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"

uint64_t measure_now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

void samples_add(struct samples *s, uint64_t ns)
{
    if (s->us == NULL)
        s->us = mem_new_array(SAMPLES_MAX, sizeof *s->us);
    if (s->n < SAMPLES_MAX)
        s->us[s->n++] = ns / 1000 < UINT32_MAX ? (uint32_t)(ns / 1000) : UINT32_MAX;
}

static int by_size(const void *a, const void *b)
{
    const uint32_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

uint32_t samples_rank_us(struct samples *s, unsigned thousandths)
{
    if (s->n == 0)
        return 0;
    qsort(s->us, s->n, sizeof *s->us, by_size);
    size_t i = s->n * thousandths / 1000;
    return s->us[i < s->n ? i : s->n - 1];
}

struct process {
    int parent;
    uint64_t ticks;
    uint64_t ended_ticks; /* of its children that have ended and were waited for */
};

/* false: there is no such process (any more). */
static bool process_read(int pid, struct process *p)
{
    char path[64], text[1024];
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    FILE *f = fopen(path, "r");
    if (f == NULL)
        return false;
    size_t n = fread(text, 1, sizeof text - 1, f);
    fclose(f);
    text[n] = 0;
    const char *after_name = strrchr(text, ')');
    uint64_t user, system, user_ended, system_ended;
    if (after_name == NULL || sscanf(after_name + 1,
                                     " %*c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %" SCNu64
                                     " %" SCNu64 " %" SCNu64 " %" SCNu64,
                                     &p->parent, &user, &system, &user_ended, &system_ended) != 5)
        return false;
    p->ticks = user + system;
    p->ended_ticks = user_ended + system_ended;
    return true;
}

/* What the threads of a process that are there now have used. 0: this kernel does not tell. */
static uint64_t threads_ns(int pid)
{
    char path[64];
    uint64_t ns = 0;
    snprintf(path, sizeof path, "/proc/%d/task", pid);
    DIR *threads = opendir(path);
    if (threads == NULL)
        return 0;
    for (struct dirent *d = readdir(threads); d != NULL; d = readdir(threads)) {
        char stat[sizeof path + sizeof d->d_name + 16];
        uint64_t one;
        snprintf(stat, sizeof stat, "%s/%s/schedstat", path, d->d_name);
        FILE *f = d->d_name[0] == '.' ? NULL : fopen(stat, "r");
        if (f == NULL)
            continue;
        if (fscanf(f, "%" SCNu64, &one) == 1)
            ns += one;
        fclose(f);
    }
    closedir(threads);
    return ns;
}

static bool descends(int pid, const int *from, size_t n)
{
    struct process p;
    for (int depth = 0; depth < 16 && pid > 1; depth++) {
        for (size_t i = 0; i < n; i++)
            if (from[i] == pid)
                return true;
        if (!process_read(pid, &p))
            return false;
        pid = p.parent;
    }
    return false;
}

uint64_t measure_cpu_us(const int *pids, size_t n)
{
    uint64_t us = 0, tick_us = 1000000 / (uint64_t)sysconf(_SC_CLK_TCK);
    struct process p;
    DIR *all = opendir("/proc");
    if (all == NULL)
        return 0;
    for (struct dirent *d = readdir(all); d != NULL; d = readdir(all)) {
        if (!isdigit((unsigned char)d->d_name[0]))
            continue;
        int pid = (int)strtol(d->d_name, NULL, 10);
        if (!descends(pid, pids, n) || !process_read(pid, &p))
            continue;
        /* Ticks are rounded down, which for a hundred small processes is much; but they count the
         * threads that have ended as well. Neither is ever too much, so the greater is nearer. */
        uint64_t by_ticks_us = p.ticks * tick_us, by_threads_us = threads_ns(pid) / 1000;
        us += p.ended_ticks * tick_us + (by_ticks_us > by_threads_us ? by_ticks_us : by_threads_us);
    }
    closedir(all);
    return us;
}
