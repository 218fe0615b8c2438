# SPDX-License-Identifier: Apache-2.0
# Tests of the room replica, and the models that it rests on.
REPLICA_TEST_LIBS = libtestlib.a libreplica.a libbase.a $(CHECK_LIBS) $(NETTLE_LIBS)
EXTRA_DIST += tests/model/spin/README.md tests/model/spin/dltmove.pml tests/model/spin/gen.py \
	tests/model/spin/leaselog.tmpl tests/model/spin/run
