#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
exec python3 "${srcdir:-.}/tests/cluster/test_checker.py"
