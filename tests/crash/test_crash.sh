#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
exec python3 "${srcdir:-.}/tests/crash/test_crash.py" "${CRASH_ROUNDS:-1}" "${CRASH_SECONDS:-6}"
