#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A small file system of its own, in a name space of its own: it is gone with the test.
if ! unshare --mount --map-root-user true 2>/dev/null; then
    echo "SKIP test_full: no mount namespace may be made here"
    exit 77
fi
exec unshare --mount --map-root-user python3 "${srcdir:-.}/tests/integration/test_full.py" "$@"
