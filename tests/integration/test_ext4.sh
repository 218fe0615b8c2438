#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Loop devices can be mounted by the real root only. In a name space of its own: gone with the test.
if [ "$(id -u)" != 0 ] || ! unshare --mount true 2>/dev/null; then
    echo "SKIP test_ext4: only root may mount a loop device"
    exit 77
fi
exec unshare --mount python3 "${srcdir:-.}/tests/integration/test_ext4.py" "$@"
