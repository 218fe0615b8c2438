# SPDX-License-Identifier: Apache-2.0
# Not run by check.

# make tests/bench/instructions; scripts/bench-check runs it.
EXTRA_PROGRAMS += %D%/instructions
%C%_instructions_SOURCES = %D%/instructions.c tests/fuzz/fake_http.c tests/fuzz/fake_http.h \
	tests/lib/fake_clock.c tests/lib/fake_clock.h tests/lib/folder.c tests/lib/folder.h
%C%_instructions_CFLAGS = $(TEST_CFLAGS)
%C%_instructions_LDADD = libsqs.a libfront.a libqueue.a libcatalog.a libreplica.a libpartition.a libplog.a \
	libdisk.a libbase.a $(SQLITE_LIBS) $(JANSSON_LIBS) $(NETTLE_LIBS) $(CURL_LIBS)
EXTRA_DIST += %D%/README.md %D%/instructions.tsv scripts/bench-check scripts/bench-peers \
	%D%/backlog.py %D%/cluster.py %D%/failover.py %D%/figures.py %D%/goals %D%/goals.py %D%/pairs.py %D%/polls.py \
	%D%/restart.py %D%/start.py %D%/peers/compare.py %D%/peers/servers.py

# make tests/bench/peers/load; scripts/bench-peers runs it.
EXTRA_PROGRAMS += %D%/peers/load
%C%_peers_load_SOURCES = %D%/peers/amqp.c %D%/peers/beanstalk.c %D%/peers/load.c \
	%D%/peers/load.h %D%/peers/measure.c %D%/peers/measure.h %D%/peers/postgresql.c \
	%D%/peers/redis.c %D%/peers/sqs.c
%C%_peers_load_CFLAGS = $(TEST_CFLAGS)
%C%_peers_load_LDADD = libbase.a
