// SPDX-License-Identifier: Apache-2.0
/* Checks of what must be true. They stay in release builds. */
#ifndef BASE_CHECK_H
#define BASE_CHECK_H

#include <stddef.h>

_Noreturn void check_failed(const char *file, int line, const char *func, const char *expr);

/* CHECK(e): stop the process when e is false. For our own mistakes only: bytes that came from a
 * client, a peer or a disk are tested with `if` and answered with an error. */
#define CHECK(e) ((e) ? (void)0 : check_failed(__FILE__, __LINE__, __func__, #e))

#define UNREACHABLE() check_failed(__FILE__, __LINE__, __func__, "unreachable")

#define MUST_USE __attribute__((warn_unused_result))

/* The struct of the given type whose member is at `at`. */
#define CONTAINER_OF(at, type, member) ((type *)(void *)((char *)(at)-offsetof(type, member)))

#endif
