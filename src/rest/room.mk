# SPDX-License-Identifier: Apache-2.0
noinst_LIBRARIES += librest.a
librest_a_CFLAGS = $(AM_CFLAGS) $(JANSSON_CFLAGS)
librest_a_SOURCES = %D%/answer.c %D%/answer.h %D%/attribute.c %D%/attribute.h %D%/batch.c \
	%D%/body.c %D%/body.h %D%/call.c %D%/call.h %D%/duration.c %D%/duration.h %D%/etag.c \
	%D%/etag.h %D%/lease.h %D%/leases.c %D%/look.c %D%/message.c %D%/message.h %D%/pages.c \
	%D%/peek.c %D%/problem.c %D%/problem.h %D%/put.c %D%/put.h %D%/query.c %D%/query.h \
	%D%/raw.c %D%/receive.c %D%/records.c %D%/rest.c %D%/rest.h %D%/route.c %D%/route.h %D%/send.c \
	%D%/sent.h %D%/settings.c %D%/settings.h %D%/topics.c
nodist_librest_a_SOURCES = %D%/openapi_lines.c

# The description as C: a line of text is a string, so no compiler's limit on their length matters.
%D%/openapi_lines.c: $(top_srcdir)/api/openapi.yaml
	$(AM_V_GEN)$(MKDIR_P) %D% && { \
	  echo 'extern const char *const rest_openapi_lines[];' && \
	  echo 'const char *const rest_openapi_lines[] = {' && \
	  sed -e 's/[\\"]/\\&/g' -e 's/.*/"&\\n",/' $(top_srcdir)/api/openapi.yaml && \
	  echo '0};'; } >$@.new && mv $@.new $@
CLEANFILES += %D%/openapi_lines.c
