#!/bin/sh
exec python3 "${srcdir:-.}/tests/integration/bad_input.py" "$@"
