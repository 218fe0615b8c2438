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

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE)]
import servers
from figures import LOAD, in_memory, sync_costs_us

SETTLE_S = 0.3  # between a server's thawing and its work
FILL_MORE = 1.2  # of what the last round received in its time
FILL_TIMES = 3  # as long as a measurement may a queue be filled; what is there then must do


class Work:
    def __init__(self, name, title, kind, connections, batch, first_fill=0):
        self.name, self.title, self.kind, self.connections, self.batch = name, title, kind, connections, batch
        self.first_fill = first_fill  # messages a second, before there is a round to go by


WORKS = (
    Work("send", "send, 1 a request, 64 connections", "send", 64, 1),
    Work("send-one", "send, 1 a request, 1 connection", "send", 1, 1),
    Work("send-batches", "send, batches of 10, 16 connections", "send", 16, 10),
    Work("receive", "receive and delete, 1 a request, 16 connections", "cycle", 16, 1, 5000),
    Work("receive-batches", "receive and delete, batches of 10, 16 connections", "cycle", 16, 10, 20000),
    Work("wait", "1,000 a second sent by 8 connections, received by 4 that wait", "rate", 8, 1),
)

# README.md's: what leaselog does at least as a multiple of a peer's rate, and its processor time a message at most.
GOALS = (
    ("P1", "send", {"redis": 1.0, "rabbitmq": 2.5, "fauxqs": 4}, 16),
    ("P2", "send-batches", {"redis": 1.2}, 5),
    ("P3", "receive", {"redis": 1.3, "rabbitmq": 1.3}, None),
    ("P4", "receive-batches", {"redis": 1.2}, None),
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
        self.found = {work: [] for work in WORKS}

    def last_rate(self, work):
        known = [f["rate"] for f in self.found[work] if f]
        return known[-1] if known else work.first_fill

    def measure(self, work, number, seconds):
        queue = f"q{number}w{WORKS.index(work)}"
        load(self.server, "setup", queue)
        if work.kind == "cycle":
            messages = max(1000, int(self.last_rate(work) * seconds * FILL_MORE) // 10 * 10)
            load(self.server, "send", queue, "--connections=16", "--batch=10", f"--messages={messages}",
                 f"--seconds={seconds * FILL_TIMES}")
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


def spread(values, form):
    """The median, and the least and the most in brackets."""
    if not values:
        return "failed"
    return f"{form(statistics.median(values))} ({form(min(values))}–{form(max(values))})"


def whole(v):
    return f"{v:,.0f}"


def tenth(v):
    return f"{v:.1f}"


def print_table(rows):
    """As Markdown that can be read as it is; the first row is the head."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    rows.insert(1, ["-" * w for w in widths])
    for row in rows:
        print("| " + " | ".join(cell.ljust(w) for cell, w in zip(row, widths)) + " |")


def ratios(own, other, work):
    """Of the rounds in which both did it."""
    return [a["rate"] / b["rate"] for a, b in zip(own.found[work], other.found[work]) if a and b]


def print_work(work, runs):
    rate = work.kind == "rate"
    rows = [[work.title, *(("p50, µs", "p99, µs") if rate else ("messages/s", "p50, µs")), "server CPU, µs a message"]]
    if not rate:
        rows[0].append("leaselog does")
    for r in runs:
        good = [f for f in r.found[work] if f]
        keys = ("p50_us", "p99_us") if rate else ("rate", "p50_us")
        row = [r.server.label, *(spread([f[k] for f in good], whole) for k in keys), spread([f["cpu"] for f in good], tenth)]
        if not rate:
            row.append("" if r is runs[0] else spread(ratios(runs[0], r, work), "{:.2f}".format) + " ×")
        rows.append(row)
    print()
    print_table(rows)


def goal_row(number, work, least, cpu_max, runs):
    """What was found, and whether that is enough; a peer that is not there leaves the goal open."""
    by_name, own, parts, verdicts = {r.server.name: r for r in runs}, runs[0], [], []
    for name, bound in least.items():
        found = ratios(own, by_name[name], work) if name in by_name else []
        parts.append(f"{statistics.median(found):.2f} × {name} (≥ {bound:g})" if found else f"{name} not measured")
        verdicts.append(statistics.median(found) >= bound if found else None)
    cpu = [f["cpu"] for f in own.found[work] if f]
    if cpu_max and cpu:
        parts.append(f"{statistics.median(cpu):.1f} µs CPU (≤ {cpu_max})")
        verdicts.append(statistics.median(cpu) <= cpu_max)
    verdict = "missed" if False in verdicts else "open" if None in verdicts else "met"
    return [number, work.title, "; ".join(parts), verdict]


def print_goals(works, runs):
    by_name = {work.name: work for work in works}
    rows = [goal_row(number, by_name[name], least, cpu_max, runs) for number, name, least, cpu_max in GOALS if name in by_name]
    if rows:
        print()
        print_table([["goal", "", "found", ""], *rows])


def print_sync(folder, rounds):
    medians = [statistics.median(costs) for costs in rounds]
    p99 = [sorted(costs)[len(costs) * 99 // 100] for costs in rounds]
    print(f"Appending 4 KiB and fdatasync, in {folder}: p50 {spread(medians, whole)} µs, p99 {spread(p99, whole)} µs.")


def print_all(args, folder, runs, syncs):
    print(f"{args.rounds} rounds of {args.seconds:g} s a work; bodies of 1 KiB; median (least–most) of the rounds.")
    print_sync(folder, syncs)
    for work in args.works:
        print_work(work, runs)
    print_goals(args.works, runs)


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


SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def on_signals(what):
    for sig in SIGNALS:
        signal.signal(sig, what)


def leave(*_):
    """Once: who is impatient must not leave servers behind."""
    on_signals(signal.SIG_IGN)
    sys.exit(1)


def stop_all(runs):
    on_signals(signal.SIG_IGN)
    for r in runs:
        try:
            r.server.stop()
        except (OSError, subprocess.SubprocessError) as e:
            print(f"{r.server.name} was not stopped: {e}", file=sys.stderr)


def compare(args, folder):
    runs, syncs = [], []
    try:
        for kind in servers.ALL:
            if kind is servers.Leaselog or kind.name in args.only:
                server = started(kind, folder)
                if server:
                    runs.append(Run(server))
                    server.freeze()
        for number in range(args.rounds):
            syncs.append(sync_costs_us(folder))
            for work in args.works:
                for r in runs:
                    r.one(work, number, args.seconds)
            print(f"round {number + 1} of {args.rounds} is done", file=sys.stderr)
    finally:
        stop_all(runs)
    print_all(args, folder, runs, syncs)
    return all(f for r in runs for work in args.works for f in r.found[work])


def chosen(p, text, all_of, what):
    """Those of a comma-separated list, in their own order; all when it is not given."""
    names = [x.name for x in all_of] if text is None else text.split(",")
    unknown = set(names) - {x.name for x in all_of}
    if unknown:
        p.error(f"no {what} is called {', '.join(sorted(unknown))}: there are {', '.join(x.name for x in all_of)}")
    return [x for x in all_of if x.name in names]


def main():
    p = argparse.ArgumentParser(prog="bench-peers")
    p.add_argument("--only")
    p.add_argument("--works")
    p.add_argument("--seconds", type=float, default=3)
    p.add_argument("--rounds", type=int, default=3)
    p.add_argument("--keep", action="store_true")
    args = p.parse_args()
    args.only = {kind.name for kind in chosen(p, args.only, servers.ALL, "peer")}
    args.works = chosen(p, args.works, WORKS, "work")
    if args.rounds < 1 or args.seconds <= 0:
        p.error("one round at least, and some time")
    on_signals(leave)
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
