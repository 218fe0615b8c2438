# SPDX-License-Identifier: Apache-2.0
# Tests with the real server, on loopback and free ports. The longest first.
INTEGRATION_TESTS = \
	tests/crash/test_crash.sh \
	tests/integration/test_damage.sh \
	tests/integration/test_fsck.sh \
	tests/integration/test_serve.sh \
	tests/integration/test_signature.sh \
	tests/integration/test_poll.sh \
	tests/integration/test_restart.sh \
	tests/integration/test_clocks.sh \
	tests/integration/test_cases.sh \
	tests/integration/test_full.sh \
	tests/integration/test_proxy.sh \
	tests/integration/test_cli.sh \
	tests/integration/test_bench.sh \
	tests/integration/test_cli_work.sh \
	tests/integration/test_rest.sh \
	tests/integration/wire_json.sh \
	tests/integration/wire_query.sh \
	tests/integration/wire_actions.sh \
	tests/integration/wire_cases.sh \
	tests/integration/bad_input.sh \
	tests/integration/bad_query.sh \
	tests/integration/test_attack.sh \
	tests/integration/test_many.sh \
	tests/integration/check_openapi.sh \
	tests/fuzz/fuzz_requests.sh
# Slower ones, and those that need strace or a loop device: check-long and CI run them.
FAULT_TESTS = \
	tests/integration/test_durable.sh \
	tests/integration/test_ext4.sh
dist_check_SCRIPTS += $(INTEGRATION_TESTS) $(FAULT_TESTS)
EXTRA_DIST += $(INTEGRATION_TESTS:.sh=.py) $(FAULT_TESTS:.sh=.py) \
	tests/integration/test_growth.py \
	tests/integration/test_limits.py \
	tests/crash/test_cycles.py \
	tests/crash/test_fronts.py \
	tests/crash/test_promises.py \
	tests/fuzz/bent_rest.py \
	tests/lib/cli.py \
	tests/lib/leaselog.py \
	tests/lib/openapi.py \
	tests/lib/poller.py \
	tests/lib/rest.py
TESTS += $(INTEGRATION_TESTS)
