// SPDX-License-Identifier: Apache-2.0
/* day [MESSAGES [TOPICS]]: one day, by default of ten million messages through a hundred topics;
 * LEASELOG_SEED for another one. DAY_FOLDER: where, instead of in memory. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/note.h"
#include "sim/day.h"

static uint32_t number(const char *text, uint32_t usual)
{
    return text == NULL ? usual : (uint32_t)strtoul(text, NULL, 10);
}

int main(int argc, char **argv)
{
    struct day_result r;
    struct day_options o = {
        .seed = number(getenv("LEASELOG_SEED"), 1),
        .messages = number(argc > 1 ? argv[1] : NULL, 10000000),
        .topics = number(argc > 2 ? argv[2] : NULL, 100),
        .hours = 23,
        .tick_ms = 1000,
        .segment_bytes = 256 << 10,
        .tell = true,
    };
    note_init(NOTE_WARNING, false);
    day_run(&o, &r);
    printf("%" PRIu64 " messages, %" PRIu64 " deleted, %" PRIu64 " purged, %" PRIu64
           " expired, %" PRIu64 " redriven, %" PRIu64 " restarts; logs: %" PRIu64
           " KiB at most, %" PRIu64 " KiB at the end\n",
           r.sent, r.deleted, r.purged, r.expired, r.redriven, r.restarts, r.log_bytes_peak >> 10,
           r.log_bytes_end >> 10);
    return EXIT_SUCCESS;
}
