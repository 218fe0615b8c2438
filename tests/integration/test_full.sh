#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A small file system of its own, in a name space of its own: it is gone with the test.
unshare --mount --map-root-user true 2>/dev/null || exit 77
exec unshare --mount --map-root-user python3 "${srcdir:-.}/tests/integration/test_full.py" "$@"
