# Tests with the real server, on loopback and free ports.
INTEGRATION_TESTS = tests/integration/test_serve.sh tests/integration/test_poll.sh tests/crash/test_crash.sh
dist_check_SCRIPTS += $(INTEGRATION_TESTS)
EXTRA_DIST += tests/lib/leaselog.py tests/integration/test_serve.py tests/integration/test_poll.py tests/crash/test_crash.py
TESTS += $(INTEGRATION_TESTS)
WIRE_TESTS = tests/integration/wire_json.sh tests/integration/bad_input.sh
dist_check_SCRIPTS += $(WIRE_TESTS)
EXTRA_DIST += tests/integration/wire_json.py tests/integration/bad_input.py
TESTS += $(WIRE_TESTS)
