# SPDX-License-Identifier: Apache-2.0
noinst_LIBRARIES += libpeer.a
libpeer_a_CFLAGS = $(AM_CFLAGS) $(CURL_CFLAGS)
libpeer_a_SOURCES = %D%/call.c %D%/client.c %D%/inside.h %D%/layout.h %D%/listener.c %D%/peer.c \
	%D%/peer.h %D%/seen.c %D%/seen.h %D%/sign.c %D%/sign.h %D%/wire.c %D%/wire.h %D%/wire_state.c
EXTRA_DIST += %D%/README.md %D%/WIRE.md
