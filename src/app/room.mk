# SPDX-License-Identifier: Apache-2.0
bin_PROGRAMS += leaselog
leaselog_CFLAGS = $(AM_CFLAGS) $(INIH_CFLAGS)
leaselog_SOURCES = %D%/access_keys.c %D%/access_keys.h %D%/main.c %D%/notify.c %D%/notify.h %D%/options.c %D%/options.h \
	%D%/listen.c %D%/listen.h %D%/membership.c %D%/membership.h %D%/secret_file.c %D%/secret_file.h %D%/serve.c %D%/serve.h
leaselog_LDADD = libcli.a libbench.a liboffline.a libadmin.a librest.a libsqs.a libroute.a libfront.a libcluster.a libclusterdata.a libpeer.a libhttp.a libqueue.a \
	libcatalog.a libreplica.a libpartition.a libplog.a libdisk.a libbase.a $(MHD_LIBS) $(JANSSON_LIBS) $(SQLITE_LIBS) $(CURL_LIBS) \
	$(NETTLE_LIBS) $(INIH_LIBS)
