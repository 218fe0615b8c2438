// SPDX-License-Identifier: Apache-2.0
#include <ftw.h>
#include <inttypes.h>
#include <stdio.h>

#include "sim/day.h"

static struct day_bytes found;

static int add_file(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    const char *dot = strrchr(path + ftw->base, '.');
    if (type != FTW_F || dot == NULL)
        return 0;
    if (strcmp(dot, ".log") == 0 || strcmp(dot, ".index") == 0)
        found.logs += (uint64_t)st->st_size;
    else if (strcmp(dot, ".snap") == 0)
        found.snapshots += (uint64_t)st->st_size;
    else if (strcmp(dot, ".wal") == 0)
        found.journal += (uint64_t)st->st_size;
    return 0;
}

struct day_bytes day_files(const struct day *d)
{
    found = (struct day_bytes){0};
    nftw(d->folder, add_file, 16, FTW_PHYS);
    return found;
}

static uint64_t counted(const struct day *d, uint32_t topic)
{
    struct queue_counters c;
    enum err e = queue_count(d->topics[topic].t, BYTES_NONE, &c);
    if (e != ERR_OK)
        day_die(d, "%s: %s", d->topics[topic].name, err_text(e));
    return c.visible + c.in_flight + c.delayed + c.moving;
}

/* A dead letter counts where it came from: nobody sees when it moves. */
static void check_counts(const struct day *d)
{
    for (uint32_t i = 0; i < d->options.topics; i++) {
        const struct day_topic *t = &d->topics[i];
        uint64_t n = counted(d, i);
        if (t->kind == DAY_POISON || t->kind == DAY_FIFO_POISON)
            n += counted(d, i + 1);
        else if (t->kind == DAY_DEAD || t->kind == DAY_FIFO_DEAD)
            continue;
        if (n != t->alive)
            day_die(d, "%s: %" PRIu64 " messages are counted, %" PRIu64 " are alive", t->name, n,
                    t->alive);
    }
}

static uint64_t log_bytes(const struct day_topic *t)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < queue_partitions(t->t); i++)
        bytes += plog_log_size(t->t->partitions[i].log).bytes;
    return bytes;
}

/* Twice what is alive, and a segment a partition: of each topic, once nothing moves any more. */
static void check_topics(const struct day *d)
{
    for (uint32_t i = 0; i < d->options.topics; i++) {
        const struct day_topic *t = &d->topics[i];
        uint64_t bytes = log_bytes(t), segments = queue_partitions(t->t);
        if (t->kind == DAY_DEAD || t->kind == DAY_FIFO_DEAD)
            continue;
        if (t->kind == DAY_POISON || t->kind == DAY_FIFO_POISON) {
            bytes += log_bytes(&d->topics[i + 1]);
            segments++;
        }
        if (bytes > 2 * t->alive_bytes + segments * d->options.segment_bytes)
            day_die(d, "the logs of %s take %" PRIu64 " bytes; alive are %" PRIu64, t->name, bytes,
                    t->alive_bytes);
    }
}

static uint64_t partitions(const struct day *d)
{
    uint64_t n = 0;
    for (uint32_t i = 0; i < d->options.topics; i++)
        n += queue_partitions(d->topics[i].t);
    return n;
}

void day_check(struct day *d, const char *when, bool at_rest)
{
    for (uint32_t i = 0; i < d->options.topics; i++)
        topic_expire(d, &d->topics[i]);
    check_counts(d);
    struct day_bytes b = day_files(d);
    uint64_t alive = day_alive_bytes(d), segments = partitions(d) * d->options.segment_bytes;
    if (b.logs > d->bytes_peak)
        d->bytes_peak = b.logs;
    if (d->options.tell)
        printf("%s: %" PRIu32 " sent, %" PRIu64 " alive, %" PRIu64 " KiB of them; logs %" PRIu64
               " KiB, snapshots %" PRIu64 ", journal %" PRIu64 "\n",
               when, d->sent, day_alive(d), alive >> 10, b.logs >> 10, b.snapshots >> 10,
               b.journal >> 10);
    fflush(stdout);
    if (b.logs + b.snapshots > 2 * alive + segments)
        day_die(d,
                "logs take %" PRIu64 " bytes and %" PRIu64 " of snapshots; alive are %" PRIu64
                ", segments %" PRIu64,
                b.logs, b.snapshots, alive, segments);
    if (at_rest)
        check_topics(d);
}
