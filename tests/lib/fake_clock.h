// SPDX-License-Identifier: Apache-2.0
/* A clock that stands until a test moves it. */
#ifndef TESTS_LIB_FAKE_CLOCK_H
#define TESTS_LIB_FAKE_CLOCK_H

#include "base/clock.h"

struct fake_clock {
    int64_t boot_ms;
    int64_t wall_ms;
    struct clock clock; /* to be handed in */
};

void fake_clock_init(struct fake_clock *f);
/* Time passes: both clocks go on. */
void fake_clock_pass(struct fake_clock *f, int64_t ms);
/* Another run of the kernel: boot time starts again under another id. */
void fake_clock_reboot(struct fake_clock *f);

#endif
