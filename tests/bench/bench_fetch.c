// SPDX-License-Identifier: Apache-2.0
/* How fast batches go from a leader to a follower, both in this process, over loopback, with the
 * queue played by a double (unit/cluster_double.h): the transport alone.
 *
 *     tests/bench/bench_fetch [SECONDS]        of each measurement; 2
 *
 * Prints throughput with one partition and with many, and the time from an append to the follower's
 * next request having shown it to the leader. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "base/note.h"
#include "unit/cluster_double.h"

static struct broker leader, follower;

static void begin(size_t parts_n, size_t batch_bytes)
{
    double_world_reset();
    double_start(&leader, 1, parts_n, batch_bytes);
    double_start(&follower, 2, parts_n, batch_bytes);
    double_lead(&leader, 1);
    double_lead(&follower, 1);
}

static void end(void)
{
    double_stop(&follower);
    double_stop(&leader);
}

static int64_t cpu_us(void)
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return (u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1000000LL + u.ru_utime.tv_usec +
           u.ru_stime.tv_usec;
}

/* The leader always has more. */
static void throughput(size_t parts_n, size_t batch_bytes, int64_t seconds)
{
    begin(parts_n, batch_bytes);
    for (uint32_t i = 0; i < parts_n; i++) {
        double_append(&leader, i, 1000000000);
        double_ask(&follower, i);
    }
    double_wait_end(&follower, 0, 1);
    int64_t began_us = double_now_us(), cpu_began_us = cpu_us();
    unsigned long long bytes = follower.queue.bytes;
    while (double_now_us() - began_us < seconds * 1000000)
        double_wait_end(&follower, 0, follower.queue.parts[0].end + 1);
    double passed_s = (double)(double_now_us() - began_us) / 1e6;
    double moved = (double)(follower.queue.bytes - bytes);
    struct cluster_fetcher_counts c = cluster_fetcher_counts(follower.fetcher);
    printf("%5zu partitions, batches of %7zu bytes: %8.1f MiB/s, %9.0f batches/s, %.2f s of cpu a "
           "GiB, %llu calls\n",
           parts_n, batch_bytes, moved / passed_s / 1048576, moved / passed_s / (double)batch_bytes,
           (double)(cpu_us() - cpu_began_us) / 1e6 / (moved / 1073741824),
           (unsigned long long)c.calls);
    end();
}

static bool is_acknowledged(struct broker *b)
{
    return b->queue.parts[0].acked[2] == b->queue.parts[0].end;
}

static bool is_waiting(struct broker *b)
{
    return cluster_serve_counts(b->serve).partitions == b->queue.parts_n;
}

static int by_size(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static void latency(size_t parts_n, size_t batch_bytes)
{
    enum { ROUNDS = 1000 };
    static int64_t us[ROUNDS];
    begin(parts_n, batch_bytes);
    for (uint32_t i = 0; i < parts_n; i++)
        double_ask(&follower, i);
    for (int i = 0; i < ROUNDS; i++) {
        double_wait(&leader, is_waiting);
        int64_t began_us = double_now_us();
        double_append(&leader, 0, 1);
        double_wait(&leader, is_acknowledged);
        us[i] = double_now_us() - began_us;
    }
    qsort(us, ROUNDS, sizeof us[0], by_size);
    printf("%5zu partitions wait, one append of %zu bytes: acknowledged after %lld us (median), "
           "%lld us (p99), %lld us (most)\n",
           parts_n, batch_bytes, (long long)us[ROUNDS / 2], (long long)us[ROUNDS * 99 / 100],
           (long long)us[ROUNDS - 1]);
    end();
}

int main(int argc, char **argv)
{
    int64_t seconds = argc > 1 ? strtol(argv[1], NULL, 10) : 2;
    note_init(NOTE_ERROR, false);
    throughput(1, 1 << 10, seconds);
    throughput(16, 1 << 10, seconds);
    throughput(1, 1 << 20, seconds);
    throughput(16, 1 << 20, seconds);
    latency(1, 1 << 10);
    latency(100, 1 << 10);
    latency(1000, 1 << 10);
    latency(1, 1 << 20);
    return 0;
}
