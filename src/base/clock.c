// SPDX-License-Identifier: Apache-2.0
#include "base/clock.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/check.h"
#include "base/rng.h"

static int64_t read_ms(clockid_t id)
{
    struct timespec t;
    CHECK(clock_gettime(id, &t) == 0);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static int64_t system_boot_ms(void *self)
{
    (void)self;
    return read_ms(CLOCK_BOOTTIME);
}

static int64_t system_wall_ms(void *self)
{
    (void)self;
    return read_ms(CLOCK_REALTIME);
}

/* The kernel prints its boot id as a UUID. Where /proc is hidden a random one stands in, so that
 * each start counts as another boot: safe, since time then goes on by the wall clock's
 * difference. */
static struct boot_id boot_id_read(void)
{
    struct boot_id id;
    char text[40] = "";
    rng_secret(id.at, sizeof id.at);
    FILE *f = fopen("/proc/sys/kernel/random/boot_id", "r");
    if (f == NULL)
        return id;
    if (fgets(text, sizeof text, f) != NULL) {
        size_t n = 0;
        for (const char *p = text; *p != '\0' && n < 32; p++) {
            const char *digits = "0123456789abcdef";
            const char *d = strchr(digits, *p);
            if (d == NULL)
                continue;
            id.at[n / 2] = (unsigned char)(id.at[n / 2] << 4 | (d - digits));
            n++;
        }
    }
    fclose(f);
    return id;
}

struct clock clock_system(void)
{
    return (struct clock){
        .self = NULL,
        .boot_ms = system_boot_ms,
        .wall_ms = system_wall_ms,
        .boot_id = boot_id_read(),
    };
}
