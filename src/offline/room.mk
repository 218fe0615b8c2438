# SPDX-License-Identifier: Apache-2.0
noinst_LIBRARIES += liboffline.a
liboffline_a_CFLAGS = $(AM_CFLAGS)
liboffline_a_SOURCES = %D%/args.c %D%/args.h %D%/batches.c %D%/batches.h %D%/check_catalog.c \
	%D%/check_catalog.h %D%/check_index.c %D%/check_index.h %D%/check_log.c %D%/check_log.h \
	%D%/dump.c %D%/dump.h %D%/dump_record.c %D%/dump_record.h %D%/dump_tree.c %D%/findings.c \
	%D%/findings.h %D%/fold.c %D%/fold.h %D%/fsck.c %D%/fsck.h %D%/journal.c %D%/journal.h \
	%D%/log_files.c %D%/log_files.h %D%/offline.c %D%/offline.h %D%/store.c %D%/store.h \
	%D%/topics.c %D%/topics.h
EXTRA_DIST += api/offline.def
