noinst_LIBRARIES += libsqs.a
libsqs_a_CFLAGS = $(AM_CFLAGS) $(NETTLE_CFLAGS) $(JANSSON_CFLAGS)
libsqs_a_SOURCES =
