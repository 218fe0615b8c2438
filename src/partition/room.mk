noinst_LIBRARIES += libpartition.a
libpartition_a_CFLAGS = $(AM_CFLAGS)
libpartition_a_SOURCES =
