# SPDX-License-Identifier: Apache-2.0
"""Goals that compare two figures of one run, taken in turns over several rounds (README.md):

    pairs.py latency|fifo|loops|tail [--seconds S] [--rounds N] [--backlog N] [--json]

latency (P5): from a send to its waiting consumer, 1,000 a second, beside the disk's sync
fifo (P9): sends, and receives with deletes, of a FIFO queue with 10,000 groups beside those of a standard queue
loops (P11): processor time a message with two loops beside one
tail (P12): the same as in latency, while others read the backlog of another queue, beside alone

A ratio is that of one round; what is told is the median of the rounds, and the least and the most in brackets."""
import argparse
import statistics

from figures import bench, in_memory, load, load_end, load_start, spread, sync_costs_us, tell
from leaselog import Server, wait_until

CONNECTIONS = 16  # of sends to consumers that wait: so many senders, and as many consumers
BEYOND_SYNC_US_MAX, P99_TIMES_MAX = 150, 4
FIFO_GROUPS, FIFO_MIN = 10000, 0.8
LOOPS_MAX = 1.10
READERS, TAIL_MAX = 4, 2
FILL_S, STARTS_S = 1800, 30


def percentile(values, percent):
    return sorted(values)[len(values) * percent // 100]


class Deliveries:
    """From when each message was due to its receiver's having it; and how many were not sent in time or did not come."""

    def __init__(self, server, args, *words):
        self.what = (server, "latency", "--rate", args.rate, "-c", CONNECTIONS, "--seconds", args.seconds, *words)
        self.p50_us, self.p99_us, self.lost = [], [], 0

    def measure(self):
        got = bench(*self.what)["delivery"]
        self.p50_us.append(got["latency"]["p50_us"])
        self.p99_us.append(got["latency"]["p99_us"])
        self.lost += got["unsent"] + got["undelivered"]


def remark(lost):
    return f"; {lost} messages were not sent in time or did not come" if lost else ""


def latency(args):
    sync50, sync99 = [], []
    with Server() as s:
        own = Deliveries(s, args)
        for _ in range(args.rounds):
            syncs = sync_costs_us(s.folder)
            sync50.append(percentile(syncs, 50))
            sync99.append(percentile(syncs, 99))
            own.measure()
        memory = in_memory(s.folder)
    beyond = [a - b for a, b in zip(own.p50_us, sync50)]
    times = [a / b for a, b in zip(own.p99_us, own.p50_us)]
    met = not own.lost and statistics.median(beyond) <= BEYOND_SYNC_US_MAX and statistics.median(times) <= P99_TIMES_MAX
    tell("P5", f"p50 {spread(own.p50_us, '{:.0f}')} µs, {spread(beyond, '{:.0f}')} more than a sync"
         f"{', which is in memory' if memory else ''}: {spread(sync50, '{:.0f}')}, its p99 {spread(sync99, '{:.0f}')}; "
         f"p99 {spread(own.p99_us, '{:.0f}')} µs, {spread(times)} × p50{remark(own.lost)}", met, args.json,
         sync_p50_us=sync50, sync_p99_us=sync99, p50_us=own.p50_us, p99_us=own.p99_us, lost=own.lost)


FIFO_LOADS = (("send", 1), ("send", 10), ("receive", 1), ("receive", 10))


def fifo(args):
    kinds = ((), ("--fifo", "--groups", FIFO_GROUPS))
    ratios = {l: [] for l in FIFO_LOADS}
    rates = {f"{kind}_{batch}": [] for kind, batch in FIFO_LOADS}
    with Server() as s:
        for number in range(args.rounds):
            for kind, batch in FIFO_LOADS:
                found = {}
                for more in kinds[::1 if number % 2 == 0 else -1]:
                    got = bench(s, kind, "-b", batch, "-c", 16, "--seconds", args.seconds, *more)
                    found[bool(more)] = got["messages_per_second"]
                ratios[kind, batch].append(found[True] / found[False])
                rates[f"{kind}_{batch}"].append((found[False], found[True]))
    names = {"send": "send", "receive": "receive and delete"}
    text = "; ".join(f"{names[kind]}, {'1 a request' if batch == 1 else f'batches of {batch}'}: {spread(ratios[kind, batch])} ×"
                     for kind, batch in FIFO_LOADS)
    tell("P9", text, min(statistics.median(r) for r in ratios.values()) >= FIFO_MIN, args.json, standard_and_fifo_per_s=rates)


LOOPS_LOADS = (("send", 64), ("cycle", 16))


def loops(args):
    cpu = {kind: [] for kind, _ in LOOPS_LOADS}
    with Server("--loops", "1") as one, Server("--loops", "2") as two:
        for number in range(args.rounds):
            for kind, connections in LOOPS_LOADS:
                found = {}
                for s in (one, two)[::1 if number % 2 == 0 else -1]:
                    process = bench(s, kind, "-c", connections, "--seconds", args.seconds)["broker"]["process"]
                    assert process["pid"] == s.process.pid, process
                    found[s] = process["cpu_us_per_message"]
                cpu[kind].append((found[one], found[two]))
    ratios = {kind: [b / a for a, b in pairs] for kind, pairs in cpu.items()}
    text = "; ".join(f"{what}: {spread(ratios[kind])} × ({statistics.median(a for a, _ in cpu[kind]):.1f} and "
                     f"{statistics.median(b for _, b in cpu[kind]):.1f} µs)"
                     for kind, what in (("send", "send, 64 connections"), ("cycle", "send, receive and delete, 16 connections")))
    tell("P11", text, max(statistics.median(r) for r in ratios.values()) <= LOOPS_MAX, args.json, cpu_us_of_one_and_two=cpu)


def tail(args):
    """A topic has one group, so the old messages are those of another topic; log, disk, loops and page cache are shared."""
    with Server() as s:
        c = s.client()
        for name in ("old", "tail"):
            c.call("CreateQueue", QueueName=name, Attributes={"VisibilityTimeout": "600"})
        filled = load(s, "send", "old", FILL_S, connections=16, batch=10, messages=args.backlog)
        alone, beside = (Deliveries(s, args, "--queue", "tail", "--yes") for _ in range(2))
        read, read_s = 0, 0.0
        for _ in range(args.rounds):
            alone.measure()
            before = s.client().counts("old")[0]
            reads_s = args.seconds * 1.2 + 3  # with bench's warm-up, start and end
            readers = load_start(s, "cycle", "old", connections=READERS, batch=10, seconds=reads_s)
            try:
                wait_until(lambda: s.client().counts("old")[0] < before or readers.poll() is not None, "they read", STARTS_S)
                beside.measure()
            finally:
                got = load_end(readers, reads_s)
            read += got["messages"]
            read_s += got["seconds"]
            assert read < args.backlog, f"the backlog of {args.backlog} was used up: more --backlog, or less --seconds"
    times = [b / a for a, b in zip(alone.p99_us, beside.p99_us)]
    lost = alone.lost + beside.lost
    tell("P12", f"p99 {spread(beside.p99_us, '{:.0f}')} µs while {READERS} connections read and delete {read / read_s:,.0f} old "
         f"messages a second of {args.backlog:,}, alone {spread(alone.p99_us, '{:.0f}')}: {spread(times)} ×{remark(lost)}",
         not lost and statistics.median(times) <= TAIL_MAX, args.json, alone_p50_us=alone.p50_us, alone_p99_us=alone.p99_us,
         beside_p50_us=beside.p50_us, beside_p99_us=beside.p99_us, lost=lost, old_read_per_s=read / read_s,
         filled_per_s=filled["messages"] / filled["seconds"])


def main():
    modes = {f.__name__: f for f in (latency, fifo, loops, tail)}
    p = argparse.ArgumentParser(prog="pairs.py")
    p.add_argument("mode", choices=modes)
    p.add_argument("--seconds", type=float, default=5, help="each measurement")
    p.add_argument("--rounds", type=int, default=3)
    p.add_argument("--rate", type=int, default=1000, help="of latency and tail: messages a second")
    p.add_argument("--backlog", type=int, default=1000000, help="of tail: old messages")
    p.add_argument("--json", action="store_true")
    args = p.parse_args()
    modes[args.mode](args)


main()
