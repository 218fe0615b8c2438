# Tests with the real server.
