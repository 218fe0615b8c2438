# SPDX-License-Identifier: Apache-2.0
# Fuzzing targets: with --enable-fuzz libFuzzer drives them (scripts/fuzz), else `make check` replays
# their corpus. A target links only the rooms that it names.
FUZZ_TARGETS = %D%/target_answer %D%/target_aws_json %D%/target_batch %D%/target_catalog %D%/target_fronts \
	%D%/target_hop %D%/target_http \
	%D%/target_json %D%/target_peer %D%/target_query %D%/target_raw %D%/target_receipt %D%/target_record %D%/target_rest \
	%D%/target_snapshot %D%/target_store
check_PROGRAMS += $(FUZZ_TARGETS)
EXTRA_DIST += scripts/fuzz %D%/README.md %D%/seeds.py %D%/corpus

check_LIBRARIES += libfuzzlib.a
if ENABLE_FUZZ
libfuzzlib_a_SOURCES =
else
TESTS += $(FUZZ_TARGETS)
libfuzzlib_a_SOURCES = %D%/replay.c
endif
libfuzzlib_a_SOURCES += %D%/fuzz.h %D%/notes.c
libfuzzlib_a_CFLAGS = $(TEST_CFLAGS)

FUZZ_LIBS = libfuzzlib.a libbase.a $(FUZZ_DRIVER) $(NETTLE_LIBS)
%C%_target_json_SOURCES = %D%/target_json.c %D%/json_against.c %D%/json_against.h
%C%_target_json_CFLAGS = $(TEST_CFLAGS) $(JANSSON_CFLAGS)
%C%_target_json_LDADD = $(FUZZ_LIBS) $(JANSSON_LIBS)

%C%_target_answer_SOURCES = %D%/target_answer.c
%C%_target_answer_CFLAGS = $(TEST_CFLAGS)
%C%_target_answer_LDADD = libfuzzlib.a libbench.a $(FUZZ_LIBS)

%C%_target_batch_SOURCES = %D%/target_batch.c
%C%_target_batch_CFLAGS = $(TEST_CFLAGS)
%C%_target_batch_LDADD = libfuzzlib.a libplog.a libdisk.a $(FUZZ_LIBS)

%C%_target_peer_SOURCES = %D%/target_peer.c
%C%_target_peer_CFLAGS = $(TEST_CFLAGS)
%C%_target_peer_LDADD = libfuzzlib.a libpeer.a libreplica.a $(FUZZ_LIBS)
%C%_target_raw_SOURCES = %D%/target_raw.c
%C%_target_raw_CFLAGS = $(TEST_CFLAGS)
%C%_target_raw_LDADD = libfuzzlib.a libplog.a libdisk.a $(FUZZ_LIBS)

%C%_target_record_SOURCES = %D%/target_record.c %D%/partition_walk.c %D%/partition_walk.h
%C%_target_record_CFLAGS = $(TEST_CFLAGS)
%C%_target_record_LDADD = libfuzzlib.a libpartition.a $(FUZZ_LIBS)
%C%_target_snapshot_SOURCES = %D%/target_snapshot.c %D%/partition_walk.c %D%/partition_walk.h
%C%_target_snapshot_CFLAGS = $(TEST_CFLAGS)
%C%_target_snapshot_LDADD = $(%C%_target_record_LDADD)

%C%_target_hop_SOURCES = %D%/target_hop.c
%C%_target_hop_CFLAGS = $(TEST_CFLAGS)
%C%_target_hop_LDADD = libfuzzlib.a libroute.a $(FUZZ_LIBS)

%C%_target_store_SOURCES = %D%/target_store.c %D%/store_base.c %D%/store_base.h %D%/store_seal.c
%C%_target_store_CFLAGS = $(TEST_CFLAGS)
%C%_target_store_LDADD = libfuzzlib.a libplogtest.a libplog.a libdisk.a libpartition.a $(FUZZ_LIBS)

%C%_target_receipt_SOURCES = %D%/target_receipt.c
%C%_target_receipt_CFLAGS = $(TEST_CFLAGS)
%C%_target_receipt_LDADD = libfuzzlib.a libqueue.a libcatalog.a libreplica.a libpartition.a libplog.a libdisk.a \
	$(FUZZ_LIBS) $(SQLITE_LIBS) $(JANSSON_LIBS)

%C%_target_catalog_SOURCES = %D%/target_catalog.c %D%/message_walk.c %D%/message_walk.h
%C%_target_catalog_CFLAGS = $(TEST_CFLAGS)
%C%_target_catalog_LDADD = libfuzzlib.a libcatalog.a libreplica.a libpartition.a $(FUZZ_LIBS) $(SQLITE_LIBS) \
	$(JANSSON_LIBS)

FUZZ_SQS_SOURCES = %D%/sqs_walk.c %D%/sqs_walk.h %D%/message_walk.c %D%/message_walk.h
FUZZ_SQS_LIBS = libfuzzlib.a libsqs.a libfront.a libcatalog.a libreplica.a libpartition.a $(FUZZ_LIBS) \
	$(SQLITE_LIBS) $(JANSSON_LIBS)
%C%_target_query_SOURCES = %D%/target_query.c $(FUZZ_SQS_SOURCES)
%C%_target_query_CFLAGS = $(TEST_CFLAGS)
%C%_target_query_LDADD = $(FUZZ_SQS_LIBS)
%C%_target_aws_json_SOURCES = %D%/target_aws_json.c $(FUZZ_SQS_SOURCES)
%C%_target_aws_json_CFLAGS = $(TEST_CFLAGS)
%C%_target_aws_json_LDADD = $(FUZZ_SQS_LIBS)

%C%_target_rest_SOURCES = %D%/target_rest.c %D%/message_walk.c %D%/message_walk.h
%C%_target_rest_CFLAGS = $(TEST_CFLAGS)
%C%_target_rest_LDADD = libfuzzlib.a librest.a libfront.a libhttp.a libqueue.a libcatalog.a libreplica.a \
	libpartition.a libplog.a libdisk.a $(FUZZ_LIBS) $(MHD_LIBS) $(SQLITE_LIBS) $(JANSSON_LIBS)

%C%_target_http_SOURCES = %D%/target_http.c tests/lib/http_client.c tests/lib/http_client.h
%C%_target_http_CFLAGS = $(TEST_CFLAGS)
%C%_target_http_LDADD = libfuzzlib.a libhttp.a $(FUZZ_LIBS) $(MHD_LIBS)

# fake_http.c in the place of the room http.
%C%_target_fronts_SOURCES = %D%/target_fronts.c %D%/fake_http.c %D%/fake_http.h \
	tests/lib/fake_clock.c tests/lib/fake_clock.h tests/lib/folder.c tests/lib/folder.h
%C%_target_fronts_CFLAGS = $(TEST_CFLAGS)
%C%_target_fronts_LDADD = libfuzzlib.a libplogtest.a librest.a libsqs.a libfront.a \
	libqueue.a libcatalog.a libreplica.a libpartition.a libplog.a libdisk.a $(FUZZ_LIBS) $(SQLITE_LIBS) \
	$(JANSSON_LIBS)
