noinst_LIBRARIES += libcli.a
libcli_a_CFLAGS = $(AM_CFLAGS) $(CURL_CFLAGS) $(JANSSON_CFLAGS)
libcli_a_SOURCES =
