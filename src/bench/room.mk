# SPDX-License-Identifier: Apache-2.0
noinst_LIBRARIES += libbench.a
libbench_a_SOURCES = %D%/address.c %D%/address.h %D%/answer.c %D%/answer.h %D%/connection.c %D%/connection.h \
	%D%/histogram.c %D%/histogram.h %D%/load.c %D%/load.h %D%/machine.c %D%/machine.h %D%/reply.c %D%/reply.h \
	%D%/request.c %D%/request.h %D%/result.c %D%/result.h
