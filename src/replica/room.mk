# SPDX-License-Identifier: Apache-2.0
noinst_LIBRARIES += libreplica.a
libreplica_a_CFLAGS = $(AM_CFLAGS)
libreplica_a_SOURCES = %D%/catalogue.c %D%/effect.h %D%/elect.c %D%/elect.h %D%/epochs.c %D%/epochs.h %D%/event.h \
	%D%/fetch.h %D%/follower.c %D%/isr.c %D%/join.c %D%/key.c %D%/key.h %D%/leader.c \
	%D%/replica.c %D%/replica.h %D%/role.c %D%/state.h
