# SPDX-License-Identifier: Apache-2.0
noinst_LIBRARIES += libdisk.a
libdisk_a_CFLAGS = $(AM_CFLAGS)
libdisk_a_SOURCES = %D%/disk.h %D%/posix.c
