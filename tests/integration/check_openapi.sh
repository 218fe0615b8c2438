#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
exec python3 "${srcdir:-.}/tests/integration/check_openapi.py"
