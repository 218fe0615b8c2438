# SPDX-License-Identifier: Apache-2.0
# Clusters of real processes. README.md says how; make check runs the checker's own tests only.
CLUSTER_TESTS = tests/cluster/test_checker.sh
dist_check_SCRIPTS += $(CLUSTER_TESTS)
EXTRA_DIST += \
	tests/cluster/README.md \
	tests/cluster/checker.py \
	tests/cluster/control.py \
	tests/cluster/double.py \
	tests/cluster/harness.py \
	tests/cluster/history.py \
	tests/cluster/proxy.py \
	tests/cluster/test_checker.py \
	tests/cluster/test_harness.py \
	tests/cluster/workload.py
TESTS += $(CLUSTER_TESTS)
