// SPDX-License-Identifier: Apache-2.0
/* CRC-32C (Castagnoli; RFC 3720 appendix B.4), by SSE4.2 where the processor has it. */
#ifndef BASE_CRC32C_H
#define BASE_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/* Extends `crc` (0 to begin, or any seed) by n bytes: crc32c(crc32c(0, a), b) = crc32c(0, ab). */
uint32_t crc32c(uint32_t crc, const void *at, size_t n);
/* The same by tables alone, for the test that holds both against each other. */
uint32_t crc32c_portable(uint32_t crc, const void *at, size_t n);

#endif
