#!/bin/sh
exec python3 "${srcdir:-.}/tests/integration/test_attack.py" "$@"
