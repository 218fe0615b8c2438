# SPDX-License-Identifier: Apache-2.0
"""The same work on leaselog and on its peers, in turn, over several rounds; a table with ratios. scripts/bench-peers runs it.

All servers stand at once; while one is measured the others are stopped (SIGSTOP), so that none works off what it owes at
another's cost. Each work begins with a queue of its own. A ratio compares two figures of one round: the machine's other
load changes more than the servers do."""
import argparse
import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

sys.path[:0] = [os.path.dirname(os.path.abspath(__file__))]
import servers

LOAD = os.environ["LOAD"]
SETTLE_S = 0.3  # between a server's thawing and its work
SYNC_BYTES, SYNC_S = 4096, 0.5
FILL_MORE = 1.2  # of what the last round received in its time


class Work:
    def __init__(self, title, kind, connections, batch, first_fill=0):
        self.title, self.kind, self.connections, self.batch = title, kind, connections, batch
        self.first_fill = first_fill  # messages a second, before there is a round to go by


WORKS = (
    Work("send, 1 a request, 64 connections", "send", 64, 1),
    Work("send, 1 a request, 1 connection", "send", 1, 1),
    Work("send, batches of 10, 16 connections", "send", 16, 10),
    Work("receive and delete, 1 a request, 16 connections", "cycle", 16, 1, 5000),
    Work("receive and delete, batches of 10, 16 connections", "cycle", 16, 10, 20000),
    Work("1,000 a second sent by 8 connections, received by 4 that wait", "rate", 8, 1),
)


def load(server, kind, queue, *more):
    pids = [f"--pid={pid}" for pid in server.pids]
    ran = subprocess.run([LOAD, server.protocol, kind, f"--port={server.port}", f"--queue={queue}", *more, *pids],
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if ran.returncode != 0:
        raise RuntimeError(ran.stderr.strip()[-300:] or f"exit {ran.returncode}")
    return json.loads(ran.stdout) if ran.stdout else None


class Run:
    """What is done on one server, and what came of it: {work: [figures of each round]}; None where it failed."""

    def __init__(self, server):
        self.server = server
        self.found = {w: [] for w in WORKS}

    def last_rate(self, work):
        known = [f["rate"] for f in self.found[work] if f]
        return known[-1] if known else work.first_fill

    def measure(self, work, number, seconds):
        queue = f"q{number}w{WORKS.index(work)}"
        load(self.server, "setup", queue)
        if work.kind == "cycle":
            messages = max(1000, int(self.last_rate(work) * seconds * FILL_MORE) // 10 * 10)
            load(self.server, "send", queue, "--connections=16", "--batch=10", f"--messages={messages}",
                 f"--seconds={seconds * 5}")
        more = ["--consumers=4", "--rate=1000"] if work.kind == "rate" else []
        got = load(self.server, work.kind, queue, f"--connections={work.connections}", f"--batch={work.batch}",
                   f"--seconds={seconds}", *more)
        if not got["messages"] or not got["seconds"]:
            raise RuntimeError("nothing was done in the time")
        got["rate"] = got["messages"] / got["seconds"]
        got["cpu"] = got["cpu_us"] / got["messages"]
        return got

    def one(self, work, number, seconds):
        self.server.thaw()
        time.sleep(SETTLE_S)
        try:
            self.found[work].append(self.measure(work, number, seconds))
        except RuntimeError as e:
            print(f"{self.server.name}, {work.title}: {e}", file=sys.stderr)
            self.found[work].append(None)
        self.server.freeze()


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


def spread(values, form):
    """The median, and the least and the most in brackets."""
    if not values:
        return "failed"
    return f"{form(statistics.median(values))} ({form(min(values))}–{form(max(values))})"


def whole(v):
    return f"{v:,.0f}"


def tenth(v):
    return f"{v:.1f}"


def print_work(work, runs):
    rate = work.kind == "rate"
    print(f"\n{work.title}")
    head = ("µs, p50", "µs, p99") if rate else ("messages/s", "µs, p50")
    print(f"  {'':<44}{head[0]:<28}{head[1]:<28}{'server CPU µs/message':<24}{'' if rate else 'leaselog does'}")
    own = runs[0].found[work]
    for r in runs:
        good = [f for f in r.found[work] if f]
        p50, p99 = ([f[k] for f in good] for k in ("p50_us", "p99_us"))
        first, second = (spread(p50, whole), spread(p99, whole)) if rate else (
            spread([f["rate"] for f in good], whole), spread(p50, whole))
        ratio = ""
        if r is not runs[0] and not rate:
            pairs = [a["rate"] / b["rate"] for a, b in zip(own, r.found[work]) if a and b]
            ratio = spread(pairs, lambda v: f"{v:.2f}") + " ×" if pairs else "failed"
        print(f"  {r.server.label:<44}{first:<28}{second:<28}{spread([f['cpu'] for f in good], tenth):<24}{ratio}")


def print_sync(folder, rounds):
    medians = [statistics.median(costs) for costs in rounds]
    p99 = [sorted(costs)[len(costs) * 99 // 100] for costs in rounds]
    print(f"\nappending 4 KiB and fdatasync, in {folder}: p50 {spread(medians, whole)} µs, p99 {spread(p99, whole)} µs")


def started(kind, folder):
    server = kind(folder)
    try:
        server.start()
        return server
    except (servers.Missing, OSError) as e:
        server.stop()
        if kind is servers.Leaselog:
            raise
        print(f"skipped: {server.name}: {e}", flush=True)
        return None
    except BaseException:
        server.stop()
        raise


def compare(args, folder):
    runs, syncs = [], []
    try:
        for kind in servers.ALL:
            if kind is servers.Leaselog or not args.only or kind.name in args.only:
                server = started(kind, folder)
                if server:
                    runs.append(Run(server))
                    server.freeze()
        for number in range(args.rounds):
            syncs.append(sync_costs_us(folder))
            for work in WORKS:
                for r in runs:
                    r.one(work, number, args.seconds)
            print(f"round {number + 1} of {args.rounds} is done", file=sys.stderr)
    finally:
        for r in runs:
            r.server.stop()
    print(f"{args.rounds} rounds of {args.seconds:g} s a work; bodies of 1 KiB; median (least–most) of the rounds")
    print_sync(folder, syncs)
    for work in WORKS:
        print_work(work, runs)
    return all(f for r in runs for fs in r.found.values() for f in fs)


def in_memory(folder):
    kind = subprocess.run(["stat", "-f", "-c", "%T", folder], capture_output=True, text=True).stdout.strip()
    return kind in ("tmpfs", "ramfs")


def main():
    p = argparse.ArgumentParser(prog="bench-peers")
    p.add_argument("--only", type=lambda t: t.split(","))
    p.add_argument("--seconds", type=float, default=3)
    p.add_argument("--rounds", type=int, default=5)
    p.add_argument("--keep", action="store_true")
    args = p.parse_args()
    unknown = set(args.only or []) - {kind.name for kind in servers.ALL}
    if unknown:
        p.error(f"no peer is called {', '.join(sorted(unknown))}")
    for sig in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(sig, lambda *_: sys.exit(1))
    folder = tempfile.mkdtemp(prefix="bench-peers-")
    os.chmod(folder, 0o711)  # PostgreSQL's user passes through
    if in_memory(folder):
        print(f"{folder} is in memory: syncs cost nothing there; set TMPDIR to a folder on a disk", flush=True)
    try:
        good = compare(args, folder)
    finally:
        if args.keep:
            print(f"kept: {folder}", flush=True)
        else:
            shutil.rmtree(folder, ignore_errors=True)
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
