# SPDX-License-Identifier: Apache-2.0
# The whole broker core under a seeded scheduler; README.md says how.
EXTRA_DIST += %D%/README.md
check_LIBRARIES += libsim.a
libsim_a_SOURCES = %D%/beliefs.c %D%/beliefs.h %D%/checker.c %D%/checker.h %D%/client.c \
	%D%/history.c %D%/history.h %D%/life.c %D%/message.c %D%/poll.c %D%/run.c %D%/sim.h \
	%D%/topic.c tests/lib/fault_vfs.c tests/lib/fault_vfs.h
libsim_a_CFLAGS = $(TEST_CFLAGS) $(SQLITE_CFLAGS)
SIM_LIBS = libsim.a libplogtest.a $(QUEUE_TEST_LIBS)

check_PROGRAMS += tests/sim/sim_broker
tests_sim_sim_broker_SOURCES = %D%/sim_broker.c
tests_sim_sim_broker_CFLAGS = $(TEST_CFLAGS)
tests_sim_sim_broker_LDADD = $(SIM_LIBS)

check_LIBRARIES += libday.a
libday_a_SOURCES = %D%/day.c %D%/day.h %D%/day_check.c %D%/day_model.c
libday_a_CFLAGS = $(TEST_CFLAGS)

check_PROGRAMS += tests/sim/day
tests_sim_day_SOURCES = %D%/day_main.c
tests_sim_day_CFLAGS = $(TEST_CFLAGS)
tests_sim_day_LDADD = libday.a $(QUEUE_TEST_LIBS)

TEST_RUNNERS += tests/sim/test_sim
tests_sim_test_sim_SOURCES = %D%/test_checker.c %D%/test_sim.c %D%/test_sim.h \
	%D%/test_topics.c
tests_sim_test_sim_CFLAGS = $(TEST_CFLAGS)
tests_sim_test_sim_LDADD = $(SIM_LIBS)

TEST_RUNNERS += tests/sim/test_day
tests_sim_test_day_SOURCES = %D%/test_day.c
tests_sim_test_day_CFLAGS = $(TEST_CFLAGS)
tests_sim_test_day_LDADD = libday.a $(QUEUE_TEST_LIBS)
