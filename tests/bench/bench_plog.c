// SPDX-License-Identifier: Apache-2.0
/* Commit rounds a second on a real disk, and the time to start again on a large log.
 *     bench_plog DIR rounds N        1 KiB to each of N logs a round, for three seconds after two
 * of warming up bench_plog DIR fill MESSAGES   fills one log with messages of 1 KiB bench_plog DIR
 * start           opens, reads the last message, closes */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/mem.h"
#include "plog/plog.h"

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void append(struct plog_log *l, unsigned messages)
{
    static char body[1024];
    struct plog_batch *b = plog_batch_new(messages * (sizeof body + 4));
    for (unsigned i = 0; i < messages; i++)
        plog_batch_put(b, 1, (struct bytes){body, sizeof body});
    plog_append(l, b, 1, 1, true);
}

static struct plog_log *log_at(struct plog *p, uint32_t partition)
{
    struct plog_log *l;
    struct plog_id id = {.partition = partition};
    CHECK(plog_create(p, id, &l) == ERR_OK);
    return l;
}

struct keeper {
    struct plog *plog;
    atomic_bool stop;
};

/* What the housekeeper does. */
static void *keep(void *arg)
{
    struct keeper *k = arg;
    while (!atomic_load(&k->stop)) {
        plog_checkpoint_if_due(k->plog);
        nanosleep(&(struct timespec){.tv_nsec = 300000000}, NULL);
    }
    return NULL;
}

static void rounds(struct plog *p, unsigned n)
{
    struct plog_log **logs = mem_new_array(n, sizeof logs[0]);
    for (unsigned i = 0; i < n; i++)
        logs[i] = log_at(p, i);
    pthread_t thread;
    struct keeper k = {.plog = p};
    CHECK(pthread_create(&thread, NULL, keep, &k) == 0);
    double begin = seconds(), worst = 0;
    unsigned done = 0;
    bool warm = false;
    for (; seconds() - begin < 3; done++) {
        double from = seconds();
        for (unsigned i = 0; i < n; i++)
            append(logs[i], 1);
        plog_commit(p, false);
        if (seconds() - from > worst)
            worst = seconds() - from;
        if (!warm && seconds() - begin > 2) {
            /* By now the journal has its full size. */
            warm = true;
            begin = seconds();
            worst = done = 0;
        }
    }
    double took = seconds() - begin;
    printf("%u logs: %.0f rounds/s, %.0f records/s, sync %lld us, worst round %.1f ms\n", n,
           done / took, n * (done / took), (long long)plog_sync_average_us(p), 1e3 * worst);
    atomic_store(&k.stop, true);
    pthread_join(thread, NULL);
    mem_free(logs);
}

static void fill(struct plog *p, unsigned messages)
{
    struct plog_log *l = log_at(p, 0);
    double begin = seconds();
    for (unsigned i = 0; i < messages; i += 100) {
        append(l, 100);
        if (i % 1000 == 0)
            plog_commit(p, false);
        if (i % 20000 == 0)
            plog_checkpoint_if_due(p);
    }
    plog_commit(p, true);
    printf("filled in %.2f s\n", seconds() - begin);
}

static void read_last(void *arg, struct plog_log *l)
{
    struct plog_cursor c;
    struct plog_entry e;
    double *begin = arg;
    CHECK(plog_cursor_at_number(l, plog_durable_number(l) / 2, 4096, &c) == ERR_OK);
    CHECK(plog_cursor_next(&c, &e) == ERR_OK);
    plog_cursor_close(&c);
    printf("one message of the middle after %.1f ms (%llu messages)\n", 1e3 * (seconds() - *begin),
           (unsigned long long)plog_durable_number(l));
}

int main(int argc, char **argv)
{
    if (argc < 3)
        return 2;
    struct disk disk;
    struct plog_options o;
    struct plog *p;
    plog_options_default(&o);
    CHECK(disk_posix_open(argv[1], true, &disk) == ERR_OK);
    o.disk = &disk;
    double begin = seconds();
    CHECK(plog_open(&o, &p) == ERR_OK);
    printf("opened in %.1f ms\n", 1e3 * (seconds() - begin));
    unsigned n = argc > 3 ? (unsigned)strtoul(argv[3], NULL, 10) : 1;
    if (strcmp(argv[2], "rounds") == 0)
        rounds(p, n);
    else if (strcmp(argv[2], "fill") == 0)
        fill(p, n);
    else
        plog_each(p, read_last, &begin);
    begin = seconds();
    if (argc > 4)
        plog_abandon(p); /* as a crash */
    else
        plog_close(p);
    printf("closed in %.1f ms\n", 1e3 * (seconds() - begin));
    disk_posix_close(&disk);
    return 0;
}
