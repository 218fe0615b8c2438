// SPDX-License-Identifier: Apache-2.0
/* In the place of check's mark_point, which tests.mk wraps. Check tells the parent process of each
 * assertion that held, with a write, so that it knows after which line a test was when it ended by
 * a signal or took too long. That was half of all processor time of tests that look at a million
 * things. Here the line is told every few milliseconds, and once more when a signal comes. */
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

void __real__mark_point(const char *file, int line);
void __wrap__mark_point(const char *file, int line);

static _Atomic(const char *) last_file;
static atomic_int last_line;
static atomic_llong told_ns; /* CLOCK_MONOTONIC_COARSE: a tick of the kernel, 1 to 10 ms */

void __wrap__mark_point(const char *file, int line)
{
    struct timespec now;
    atomic_store_explicit(&last_file, file, memory_order_relaxed);
    atomic_store_explicit(&last_line, line, memory_order_relaxed);
    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    long long now_ns = now.tv_sec * 1000000000LL + now.tv_nsec;
    if (atomic_exchange_explicit(&told_ns, now_ns, memory_order_relaxed) != now_ns)
        __real__mark_point(file, line);
}

/* What check tells may be a tick old by now, and it cannot be told in a signal handler. */
static void on_signal(int number)
{
    const char *file = atomic_load_explicit(&last_file, memory_order_relaxed);
    if (file != NULL)
        dprintf(STDERR_FILENO, "signal %d; the last assertion that held was %s:%d\n", number, file,
                atomic_load_explicit(&last_line, memory_order_relaxed));
    raise(number); /* SA_RESETHAND: it ends the process now */
}

__attribute__((constructor)) static void signals_take(void)
{
    static const int signals[] = {SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV};
    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++) {
        struct sigaction is, ours = {.sa_flags = SA_RESETHAND | SA_NODEFER};
        ours.sa_handler = on_signal;
        if (sigaction(signals[i], NULL, &is) == 0 && is.sa_handler == SIG_DFL) /* no sanitizer's */
            (void)sigaction(signals[i], &ours, NULL);
    }
}
