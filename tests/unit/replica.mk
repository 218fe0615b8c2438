# SPDX-License-Identifier: Apache-2.0
# Tests of the room replica, and the models that it rests on.
REPLICA_TEST_LIBS = libtestlib.a libreplica.a libbase.a $(CHECK_LIBS) $(NETTLE_LIBS)
EXTRA_DIST += tests/model/spin/README.md tests/model/spin/dltmove.pml tests/model/spin/gen.py \
	tests/model/spin/leaselog.tmpl tests/model/spin/run

TEST_RUNNERS += tests/unit/test_replica tests/unit/test_replica_elect
tests_unit_test_replica_SOURCES = tests/unit/test_replica.c
tests_unit_test_replica_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_replica_LDADD = $(REPLICA_TEST_LIBS)
tests_unit_test_replica_elect_SOURCES = tests/unit/test_replica_elect.c
tests_unit_test_replica_elect_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_replica_elect_LDADD = $(REPLICA_TEST_LIBS)
