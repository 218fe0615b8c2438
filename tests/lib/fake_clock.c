// SPDX-License-Identifier: Apache-2.0
#include "fake_clock.h"

#include <string.h>

static int64_t boot_ms(void *self)
{
    return ((struct fake_clock *)self)->boot_ms;
}

static int64_t wall_ms(void *self)
{
    return ((struct fake_clock *)self)->wall_ms;
}

void fake_clock_init(struct fake_clock *f)
{
    memset(f, 0, sizeof *f);
    f->boot_ms = 5000;
    f->wall_ms = 1700000000000;
    f->clock = (struct clock){.self = f, .boot_ms = boot_ms, .wall_ms = wall_ms};
    f->clock.boot_id.at[0] = 1;
}

void fake_clock_pass(struct fake_clock *f, int64_t ms)
{
    f->boot_ms += ms;
    f->wall_ms += ms;
}

void fake_clock_reboot(struct fake_clock *f)
{
    f->clock.boot_id.at[0]++;
    f->boot_ms = 100;
}
