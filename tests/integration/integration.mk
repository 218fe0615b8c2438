# Tests with the real server, on loopback and free ports.
INTEGRATION_TESTS = tests/integration/test_serve.sh tests/integration/test_poll.sh tests/crash/test_crash.sh
dist_check_SCRIPTS += $(INTEGRATION_TESTS)
EXTRA_DIST += tests/lib/leaselog.py tests/integration/test_serve.py tests/integration/test_poll.py tests/crash/test_crash.py
TESTS += $(INTEGRATION_TESTS)
