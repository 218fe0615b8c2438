# SPDX-License-Identifier: Apache-2.0
noinst_LIBRARIES += libadmin.a
libadmin_a_CFLAGS = $(AM_CFLAGS) $(JANSSON_CFLAGS)
libadmin_a_SOURCES = %D%/admin.c %D%/admin.h
