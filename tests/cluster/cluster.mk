# SPDX-License-Identifier: Apache-2.0
# Clusters of real processes. README.md says how; make check runs the checker's own tests only.
CLUSTER_TESTS = tests/cluster/test_checker.sh
dist_check_SCRIPTS += $(CLUSTER_TESTS)
CLUSTER_CASES = tests/cluster/test_harness.py tests/cluster/test_leaders.py \
	tests/cluster/test_any.py tests/cluster/test_etcd.py tests/cluster/test_disks.py \
	tests/cluster/test_moves.py tests/cluster/test_steps.py tests/cluster/test_adopt.py tests/cluster/test_admin.py \
	tests/cluster/test_bad_input.py tests/cluster/test_known.py
dist_check_SCRIPTS += tests/cluster/run
EXTRA_DIST += $(CLUSTER_CASES) \
	tests/cluster/README.md \
	tests/cluster/cases-short.list \
	tests/cluster/cases.list \
	tests/cluster/cases.py \
	tests/cluster/checker.py \
	tests/cluster/control.py \
	tests/cluster/double.py \
	tests/cluster/harness.py \
	tests/cluster/history.py \
	tests/cluster/proxy.py \
	tests/cluster/test_checker.py \
	tests/cluster/workload.py
TESTS += $(CLUSTER_TESTS)
