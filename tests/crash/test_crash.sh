#!/bin/sh
exec python3 "${srcdir:-.}/tests/crash/test_crash.py" "${CRASH_ROUNDS:-1}" "${CRASH_SECONDS:-20}"
