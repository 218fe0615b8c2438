# SPDX-License-Identifier: Apache-2.0
noinst_LIBRARIES += libroute.a
libroute_a_SOURCES = %D%/call.c %D%/inside.h %D%/move.c %D%/repeat.c %D%/route.c %D%/route.h %D%/serve.c %D%/serve_wait.c \
	%D%/watch.c %D%/wire.c %D%/wire.h %D%/wire_answer.c
