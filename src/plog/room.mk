noinst_LIBRARIES += libplog.a
libplog_a_CFLAGS = $(AM_CFLAGS)
libplog_a_SOURCES =
