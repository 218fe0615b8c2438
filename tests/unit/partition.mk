# SPDX-License-Identifier: Apache-2.0
# Tests of the room partition.
PARTITION_TEST_LIBS = libtestlib.a libpartition.a libbase.a $(CHECK_LIBS) $(NETTLE_LIBS)

TEST_RUNNERS += tests/unit/test_record
tests_unit_test_record_SOURCES = tests/unit/test_record.c
tests_unit_test_record_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_record_LDADD = $(PARTITION_TEST_LIBS)

TEST_RUNNERS += tests/unit/test_partition
tests_unit_test_partition_SOURCES = tests/unit/test_partition.c tests/unit/test_partition_delays.c \
	tests/unit/test_partition_fair.c tests/unit/test_partition_fifo.c tests/unit/test_partition_repeat.c \
	tests/unit/test_partition_state.c \
	tests/unit/partition_fixture.c tests/unit/partition_fixture.h
tests_unit_test_partition_CFLAGS = $(TEST_CFLAGS)
tests_unit_test_partition_LDADD = $(PARTITION_TEST_LIBS)

TEST_RUNNERS += tests/model/test_partition_model
tests_model_test_partition_model_SOURCES = tests/model/test_partition_model.c \
	tests/model/partition_look_check.c tests/model/partition_look_check.h \
	tests/model/partition_model.c tests/model/partition_model.h \
	tests/model/partition_sizes.c tests/model/partition_sizes.h
tests_model_test_partition_model_CFLAGS = $(TEST_CFLAGS)
tests_model_test_partition_model_LDADD = $(PARTITION_TEST_LIBS)
