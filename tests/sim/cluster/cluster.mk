# SPDX-License-Identifier: Apache-2.0
# Whole brokers under a seeded scheduler; README.md says how.
EXTRA_DIST += %D%/README.md
check_LIBRARIES += libsimcluster.a
libsimcluster_a_SOURCES = %D%/answers.c %D%/broker.c %D%/calls.c %D%/catalogue.c %D%/client.c \
	%D%/drain.c %D%/front.c %D%/judge.c %D%/net.c %D%/run.c %D%/scenes.c %D%/store.c %D%/weather.c %D%/world.c %D%/world.h
libsimcluster_a_CFLAGS = $(TEST_CFLAGS)
# Of the room peer only the wire's forms are linked: calls.c stands for the rest.
SIM_CLUSTER_LIBS = libsimcluster.a libplogtest.a libtestlib.a libcluster.a libpeer.a libqueue.a \
	libcatalog.a libreplica.a libpartition.a libplog.a libdisk.a libbase.a $(CHECK_LIBS) \
	$(SQLITE_LIBS) $(JANSSON_LIBS) $(NETTLE_LIBS) $(CURL_LIBS)

check_PROGRAMS += tests/sim/cluster/sim_cluster
tests_sim_cluster_sim_cluster_SOURCES = %D%/sim_cluster.c
tests_sim_cluster_sim_cluster_CFLAGS = $(TEST_CFLAGS)
tests_sim_cluster_sim_cluster_LDADD = $(SIM_CLUSTER_LIBS)

TEST_RUNNERS += tests/sim/cluster/test_cluster_sim
tests_sim_cluster_test_cluster_sim_SOURCES = %D%/test_cluster_sim.c
tests_sim_cluster_test_cluster_sim_CFLAGS = $(TEST_CFLAGS)
tests_sim_cluster_test_cluster_sim_LDADD = $(SIM_CLUSTER_LIBS)
