// SPDX-License-Identifier: Apache-2.0
/* What a fuzzing target is: one function that is given bytes and must come back, whatever they are.
 * What it found wrong stops the process (CHECK, a sanitizer).
 *
 * A build with --enable-fuzz links each target with libFuzzer, which makes inputs up from those
 * of tests/fuzz/corpus/TARGET. All other builds link it with replay.c, which goes through that
 * corpus once: so every input that was ever found interesting is a test of `make check`.
 *
 * Targets read choices (which decoder, which action) off the front of the input with a cursor
 * (base/buf.h), which gives zeros when the input is used up. An input means the same in every
 * build and on every machine. */
#ifndef TESTS_FUZZ_FUZZ_H
#define TESTS_FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/check.h"

/* Answers 0. */
int LLVMFuzzerTestOneInput(const uint8_t *at, size_t n);

static inline struct cursor fuzz_input(const uint8_t *at, size_t n)
{
    return (struct cursor){at, n, false};
}

/* All that is left of the input. */
static inline struct bytes fuzz_rest(struct cursor *c)
{
    return cursor_bytes(c, c->left);
}

/* A choice among n; when the input is used up, the first. */
static inline size_t fuzz_choice(struct cursor *c, size_t n)
{
    return cursor_u8(c) % n;
}

/* notes.c, instead of base/note.c: the newest line of level error, or "". Lent until the next. */
const char *fuzz_error_noted(void);
void fuzz_notes_clear(void);

#endif
