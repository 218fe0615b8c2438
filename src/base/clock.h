// SPDX-License-Identifier: Apache-2.0
/* Time, handed in. Decisions use boot_ms (CLOCK_BOOTTIME: runs on through sleep, never jumps);
 * wall_ms is only shown and stored beside it. One real maker, used by `app`. */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stdint.h>

/* Names one run of the kernel: two boot_ms can be compared only under the same boot id. */
struct boot_id {
    unsigned char at[16];
};

struct clock {
    void *self;
    int64_t (*boot_ms)(void *self);
    int64_t (*wall_ms)(void *self); /* since 1970-01-01 UTC */
    struct boot_id boot_id;
};

struct clock clock_system(void);

static inline int64_t clock_boot_ms(const struct clock *c)
{
    return c->boot_ms(c->self);
}

static inline int64_t clock_wall_ms(const struct clock *c)
{
    return c->wall_ms(c->self);
}

#endif
