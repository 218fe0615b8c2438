noinst_LIBRARIES += libqueue.a
libqueue_a_CFLAGS = $(AM_CFLAGS) $(NETTLE_CFLAGS) $(JANSSON_CFLAGS)
libqueue_a_SOURCES =
