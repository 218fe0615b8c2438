# SPDX-License-Identifier: Apache-2.0
# A partition's replicas under a seeded scheduler; README.md says how.
EXTRA_DIST += %D%/README.md
check_LIBRARIES += libsimreplica.a
libsimreplica_a_SOURCES = %D%/catalogue.c %D%/control.c %D%/ghost.c %D%/node.c %D%/run.c \
	%D%/weather.c %D%/world.c %D%/world.h
libsimreplica_a_CFLAGS = $(TEST_CFLAGS)
SIM_REPLICA_LIBS = libsimreplica.a $(REPLICA_TEST_LIBS)

check_PROGRAMS += tests/sim/replica/sim_replica
tests_sim_replica_sim_replica_SOURCES = %D%/sim_replica.c
tests_sim_replica_sim_replica_CFLAGS = $(TEST_CFLAGS)
tests_sim_replica_sim_replica_LDADD = libsimreplica.a libreplica.a libbase.a $(NETTLE_LIBS)

TEST_RUNNERS += tests/sim/replica/test_replica_sim
tests_sim_replica_test_replica_sim_SOURCES = %D%/test_replica_sim.c
tests_sim_replica_test_replica_sim_CFLAGS = $(TEST_CFLAGS)
tests_sim_replica_test_replica_sim_LDADD = $(SIM_REPLICA_LIBS)
