// SPDX-License-Identifier: Apache-2.0
/* The machine that this runs on, and what processor time this program and the broker have used,
 * read from Linux's /proc (proc(5)). What cannot be read is left out, never guessed. */
#ifndef BENCH_MACHINE_H
#define BENCH_MACHINE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/check.h"

struct bench_machine {
    long cores;         /* that this program may use */
    char kernel[160];   /* such as "Linux 6.1.0-28-amd64 x86_64" */
    char processor[80]; /* its name; "" when not told */
};
void bench_machine_read(struct bench_machine *out);

/* Nanoseconds of a clock that never jumps. */
uint64_t bench_now_ns(void);

/* Of this program since its start: processor time used, and time it was ready to run and did not.
 */
struct bench_usage {
    uint64_t cpu_ns, waited_ns;
};
struct bench_usage bench_usage_own(void);

/* The process at the other end of a TCP connection `fd`, when it is on this machine and may be
 * looked at: found by the sockets that processes hold, so nobody has to tell. 0: not found. Takes
 * some milliseconds. */
pid_t bench_process_of_peer(int fd);
/* Its name and the processor time of all its threads so far, in steps of the kernel's tick (10 ms).
 * False: it cannot be read. */
MUST_USE bool bench_process_read(pid_t pid, char name[32], uint64_t *cpu_ns);

#endif
