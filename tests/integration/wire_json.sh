#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
exec python3 "${srcdir:-.}/tests/integration/wire_json.py" "$@"
