noinst_LIBRARIES += libhttp.a
libhttp_a_CFLAGS = $(AM_CFLAGS) $(MHD_CFLAGS)
libhttp_a_SOURCES =
