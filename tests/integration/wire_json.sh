#!/bin/sh
exec python3 "${srcdir:-.}/tests/integration/wire_json.py" "$@"
