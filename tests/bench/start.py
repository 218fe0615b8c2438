# SPDX-License-Identifier: Apache-2.0
"""What an empty broker takes: the time from exec to its URL on standard output, its own memory, the size of its program.

    LEASELOG=... start.py [STARTS]

Bounds (README.md): 50 ms, 6 MiB of RssAnon, 2 MiB stripped."""
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
from leaselog import BINARY, Server

START_MS_MAX, ANON_KIB_MAX, BINARY_BYTES_MAX = 50, 6 * 1024, 2 << 20


def anon_kib(server):
    with open(f"/proc/{server.process.pid}/status") as f:
        return next(int(line.split()[1]) for line in f if line.startswith("RssAnon"))


def stripped_bytes():
    with tempfile.TemporaryDirectory() as folder:
        copy = shutil.copy(BINARY, folder)
        subprocess.run(["strip", copy], check=True)
        return os.path.getsize(copy)


def main():
    starts = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    first_ms, again_ms, anon = [], [], []
    for _ in range(starts):
        begin = time.perf_counter()
        with Server() as s:
            first_ms.append((time.perf_counter() - begin) * 1000)
            anon.append(anon_kib(s))
            assert s.client().get("/v1")  # it does serve
            assert s.stop() == 0
            begin = time.perf_counter()
            s.start()
            again_ms.append((time.perf_counter() - begin) * 1000)
    size = stripped_bytes()
    print(f"start, {starts} times: of a new data directory {statistics.median(first_ms):.0f} ms "
          f"({min(first_ms):.0f}–{max(first_ms):.0f}), of one that was there {statistics.median(again_ms):.0f} ms "
          f"({min(again_ms):.0f}–{max(again_ms):.0f}); RssAnon {max(anon) / 1024:.1f} MiB; "
          f"stripped {size / (1 << 20):.2f} MiB")
    assert statistics.median(again_ms) <= START_MS_MAX and max(anon) <= ANON_KIB_MAX and size <= BINARY_BYTES_MAX, \
        "a bound is exceeded"


main()
