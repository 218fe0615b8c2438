noinst_LIBRARIES += libcatalog.a
libcatalog_a_CFLAGS = $(AM_CFLAGS) $(SQLITE_CFLAGS) $(JANSSON_CFLAGS)
libcatalog_a_SOURCES =
