# SPDX-License-Identifier: Apache-2.0
noinst_LIBRARIES += libplog.a
libplog_a_CFLAGS = $(AM_CFLAGS)
libplog_a_SOURCES = %D%/anew.c %D%/copy_file.c %D%/copy_file.h %D%/cut.c %D%/cut.h \
	%D%/snapshot.h %D%/batch.c %D%/batch.h %D%/cache.c %D%/cache.h %D%/checkpoint.c \
	%D%/clean.c %D%/clean.h %D%/clean_out.c %D%/commit.c %D%/copy.h %D%/cursor.c %D%/epochs.c \
	%D%/epochs.h %D%/files.c %D%/files.h \
	%D%/format.c %D%/format.h %D%/index.c %D%/index.h %D%/inside.h %D%/journal.c %D%/kept.c %D%/kept.h \
	%D%/journal.h %D%/journal_scan.c %D%/log.c %D%/look.c %D%/marks.c %D%/marks.h \
	%D%/plog.c %D%/plog.h %D%/raw.c %D%/reader.c %D%/reader.h %D%/recover.c %D%/recover_log.c \
	%D%/recover_log.h %D%/round.c %D%/segment.c %D%/segment.h %D%/snapshot.c %D%/store.c \
	%D%/store.h %D%/swap.c %D%/write.c
EXTRA_DIST += %D%/FORMAT.md %D%/COPIES.md
