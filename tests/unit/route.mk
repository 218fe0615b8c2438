# SPDX-License-Identifier: Apache-2.0
# Tests of the room route, which play http, peer and queue themselves (route_stage.c).
TEST_RUNNERS += tests/unit/test_route
tests_unit_test_route_SOURCES = tests/unit/route_stage.c tests/unit/route_stage.h \
	tests/unit/test_route.c
tests_unit_test_route_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_route_LDADD = libtestlib.a libroute.a libfront.a libbase.a $(CHECK_LIBS) \
	$(JANSSON_LIBS) $(NETTLE_LIBS)

TEST_RUNNERS += tests/unit/test_route_moves
tests_unit_test_route_moves_SOURCES = tests/unit/route_stage.c tests/unit/route_stage.h \
	tests/unit/test_route_moves.c
tests_unit_test_route_moves_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_route_moves_LDADD = libtestlib.a libroute.a libfront.a libbase.a $(CHECK_LIBS) \
	$(JANSSON_LIBS) $(NETTLE_LIBS)

TEST_RUNNERS += tests/unit/test_route_polls
tests_unit_test_route_polls_SOURCES = tests/unit/route_stage.c tests/unit/route_stage.h \
	tests/unit/test_route_polls.c
tests_unit_test_route_polls_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_route_polls_LDADD = libtestlib.a libroute.a libfront.a libbase.a $(CHECK_LIBS) \
	$(JANSSON_LIBS) $(NETTLE_LIBS)

TEST_RUNNERS += tests/unit/test_route_repeat
tests_unit_test_route_repeat_SOURCES = tests/unit/route_stage.c tests/unit/route_stage.h \
	tests/unit/test_route_repeat.c
tests_unit_test_route_repeat_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_route_repeat_LDADD = libtestlib.a libroute.a libfront.a libbase.a $(CHECK_LIBS) \
	$(JANSSON_LIBS) $(NETTLE_LIBS)

TEST_RUNNERS += tests/unit/test_route_wire
tests_unit_test_route_wire_SOURCES = tests/unit/test_route_wire.c
tests_unit_test_route_wire_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_route_wire_LDADD = libtestlib.a libroute.a libfront.a libbase.a $(CHECK_LIBS) \
	$(JANSSON_LIBS) $(NETTLE_LIBS)
