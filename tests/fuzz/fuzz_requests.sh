#!/bin/sh
exec python3 "${srcdir:-.}/tests/fuzz/fuzz_requests.py" "$@"
