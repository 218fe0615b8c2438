# SPDX-License-Identifier: Apache-2.0
"""What the programs that measure share: the two load generators, the disk's sync, and how a figure is told.

Each of them ends by saying one line: 0 is its exit code when the bounds are held, 1 when they are not. What fails
otherwise says nothing on standard output."""
import json
import os
import statistics
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from leaselog import BINARY

LOAD = os.environ.get("LOAD", os.path.join(os.environ.get("builddir", "."), "tests/bench/peers/load"))
SYNC_BYTES, SYNC_S = 4096, 0.5
LOAD_SLACK_S = 120


def sync_costs_us(folder):
    """Appends of 4 KiB, each followed by fdatasync: how long each takes."""
    costs, block = [], os.urandom(SYNC_BYTES)
    path = os.path.join(folder, "sync")
    fd = os.open(path, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600)
    end = time.monotonic() + SYNC_S
    while time.monotonic() < end:
        begin = time.perf_counter()
        os.write(fd, block)
        os.fdatasync(fd)
        costs.append((time.perf_counter() - begin) * 1e6)
    os.close(fd)
    os.unlink(path)
    return costs


def in_memory(folder):
    kind = subprocess.run(["stat", "-f", "-c", "%T", folder], capture_output=True, text=True).stdout.strip()
    return kind in ("tmpfs", "ramfs")


def bench(server, *words):
    """`leaselog bench WORDS` on a server; its report."""
    ran = subprocess.run([BINARY, "bench", *map(str, words), "--endpoint", server.url, "--json", "-q"],
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if ran.returncode != 0:
        raise RuntimeError(f"leaselog bench {' '.join(map(str, words))}: {(ran.stderr or ran.stdout)[-300:]}")
    return json.loads(ran.stdout)


def load_start(server, kind, queue, **options):
    """peers/load on one of a server's queues; load_end gives what it says. What it does not expect ends it."""
    words = [f"--{name}={value}" for name, value in options.items()]
    return subprocess.Popen([LOAD, "sqs", kind, f"--port={server.port}", f"--queue={queue}", *words],
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def load_end(process, seconds):
    """Within its own time and some more."""
    try:
        out, err = process.communicate(timeout=seconds + LOAD_SLACK_S)
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
    if process.returncode != 0:
        raise RuntimeError(err.strip()[-300:] or f"load: exit {process.returncode}")
    return json.loads(out)


def load(server, kind, queue, seconds, **options):
    return load_end(load_start(server, kind, queue, seconds=seconds, **options), seconds)


def spread(values, form="{:.2f}"):
    """The median, and the least and the most in brackets."""
    least, middle, most = (form.format(v) for v in (min(values), statistics.median(values), max(values)))
    return f"{middle} ({least}–{most})"


def tell(goal, text, met, as_json, **figures):
    """The last words of a program that measures."""
    print(json.dumps({"goal": goal, "met": met, "text": text, **figures}) if as_json else text, flush=True)
    sys.exit(0 if met else 1)
