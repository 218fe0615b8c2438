# SPDX-License-Identifier: Apache-2.0
noinst_LIBRARIES += libcatalog.a
libcatalog_a_CFLAGS = $(AM_CFLAGS) $(SQLITE_CFLAGS) $(JANSSON_CFLAGS) $(CURL_CFLAGS)
libcatalog_a_SOURCES = %D%/catalog.c %D%/catalog.h %D%/check.c %D%/copy.c %D%/engine.h %D%/etcd.c \
	%D%/etcd_http.c %D%/etcd_http.h %D%/etcd_json.c %D%/etcd_json.h %D%/etcd_live.h %D%/etcd_session.c \
	%D%/etcd_watch.c %D%/news.c %D%/news.h %D%/partition_key.c %D%/partition_key.h %D%/redrive.c %D%/redrive.h \
	%D%/schema.c %D%/schema.h %D%/sqlite.c %D%/start.c %D%/topic.c %D%/topic.h %D%/topic_json.c %D%/topic_json.h \
	%D%/watch.c %D%/watch.h
nodist_libcatalog_a_SOURCES = %D%/schema_steps.h

# Each step of schema/catalog.sql becomes one C string behind a comma; see src/catalog/schema.c.
EXTRA_DIST += schema/catalog.sql
CLEANFILES += %D%/schema_steps.h
%D%/libcatalog_a-schema.$(OBJEXT): %D%/schema_steps.h
%D%/schema_steps.h: schema/catalog.sql
	$(AM_V_GEN)$(MKDIR_P) %D% && sed -e '/^-- step /{' -e 's/.*/,/' -e 'b' -e '}' -e '/^--/d' -e '/^$$/d' \
		-e 's/[\\"]/\\&/g' -e 's/.*/"&\\n"/' $(srcdir)/schema/catalog.sql >$@.tmp && mv $@.tmp $@
