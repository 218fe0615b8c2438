noinst_LIBRARIES += libadmin.a
libadmin_a_CFLAGS = $(AM_CFLAGS) $(JANSSON_CFLAGS)
libadmin_a_SOURCES =
