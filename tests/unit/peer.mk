# SPDX-License-Identifier: Apache-2.0
# Tests of the room peer.
TEST_RUNNERS += tests/unit/test_peer tests/unit/test_peer_wire
tests_unit_test_peer_wire_SOURCES = tests/unit/test_peer_wire.c
tests_unit_test_peer_wire_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_peer_wire_LDADD = libtestlib.a libpeer.a libreplica.a libbase.a $(CHECK_LIBS) $(NETTLE_LIBS)
tests_unit_test_peer_SOURCES = tests/unit/test_peer.c
tests_unit_test_peer_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_peer_LDADD = libtestlib.a libpeer.a libhttp.a libreplica.a libbase.a $(CHECK_LIBS) \
	$(CURL_LIBS) $(MHD_LIBS) $(NETTLE_LIBS)
