noinst_LIBRARIES += libdisk.a
libdisk_a_CFLAGS = $(AM_CFLAGS)
libdisk_a_SOURCES =
