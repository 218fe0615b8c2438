# SPDX-License-Identifier: Apache-2.0
noinst_LIBRARIES += libbase.a
libbase_a_CFLAGS = $(AM_CFLAGS) $(NETTLE_CFLAGS)
libbase_a_SOURCES = %D%/arena.c %D%/arena.h %D%/buf.c %D%/buf.h %D%/bytes.h %D%/check.c \
	%D%/check.h %D%/clock.c %D%/clock.h %D%/codec.c %D%/codec.h %D%/crc32c.c %D%/crc32c.h \
	%D%/decimal.c %D%/decimal.h %D%/digest.c %D%/digest.h %D%/err.c %D%/err.h %D%/hash.h %D%/heap.c \
	%D%/heap.h %D%/json.c %D%/json.h %D%/json_lex.c %D%/json_lex.h %D%/json_write.c %D%/json_write.h %D%/lock.c \
	%D%/lock.h %D%/mem.c %D%/mem.h %D%/note.c %D%/note.h %D%/rng.c %D%/rng.h %D%/swar.h \
	%D%/utf8.c %D%/utf8.h
