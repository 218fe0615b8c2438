#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
exec python3 "${srcdir:-.}/tests/integration/test_many.py"
