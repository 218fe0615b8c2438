# SPDX-License-Identifier: Apache-2.0
"""How long sends and receives do not work when the leader is killed, stopped, or cut off from everything but its clients:
the longest time without a good answer to any of the clients, which sit at every broker and ask again after an error, or
a second without an answer. (Not the time until the first good answer: a leader that was cut off may still hand out for a
while, and only then does it stop.)

    failover.py [--faults N] [--kind kill|stop|cut]... [--ttl S] [--limit-s S] [--verbose]

N (50) faults of each kind; S (6): the brokers' --session-ttl. Each fault is healed, and the next one made when all brokers
live, all copies are in sync and clients work again. When the time (--limit-s, 20 s a fault) is over, no more are made: what
was measured until then counts. --verbose says when each fault was made and what it cost, to be laid beside the logs
(CLUSTER_KEEP=1). Prints a line a kind and verb, with median, 99th percentile and worst, in seconds; then all of a kind as
one line of JSON."""
import argparse
import datetime
import json
import os
import sys
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "cluster"), os.path.join(HERE, "..", "lib")]
from harness import SLOW, Cluster, end_on_sigterm, why_not
from leaselog import Refused, wait_until
from workload import LOST

TTL_S = int(os.environ.get("FAILOVER_TTL_S", "6"))
KINDS = ("kill", "stop", "cut")
VERBS = ("send", "receive")
LIMIT_S = 20  # a fault, with all that it takes to heal it
QUEUE = "demo"
PATIENCE_S = 1.0
PAUSE_S = 0.005


def attempt(client, what):
    """Whether it worked."""
    if what == "send":
        client.call("SendMessage", QueueUrl=QUEUE, MessageBody="x" * 100)
        return True
    return bool(client.call("ReceiveMessage", QueueUrl=QUEUE, VisibilityTimeout=0, MaxNumberOfMessages=1).get("Messages"))


class Probes:
    """A client of each kind at each broker; together they know when something worked that was asked after a moment."""

    def __init__(self, cluster):
        self.cluster, self.end, self.lock = cluster, threading.Event(), threading.Lock()
        self.good = {"send": [], "receive": []}  # (when asked, when answered)
        self.threads = [threading.Thread(target=self.run, args=(b, what), daemon=True)
                        for b in cluster.brokers for what in self.good]
        for t in self.threads:
            t.start()

    def run(self, broker, what):
        client = None
        while not self.end.is_set():
            begin = time.monotonic()
            try:
                client = client or self.cluster.client(broker, timeout=PATIENCE_S)
                if attempt(client, what):
                    with self.lock:
                        self.good[what].append((begin, time.monotonic()))
            except (Refused, *LOST):
                if client:
                    client.close()
                client = None
            self.end.wait(PAUSE_S)

    def wait_working(self):
        """Until something of each kind has worked that was asked from now on."""
        moment = time.monotonic()

        def all_work():
            with self.lock:
                return all(any(asked > moment for asked, _ in good[-20:]) for good in self.good.values())

        wait_until(all_work, "sends and receives work", 60 * SLOW)

    def longest_gaps(self, begin):
        found = {}
        with self.lock:
            for what, good in self.good.items():
                times = [begin] + sorted(answered for _, answered in good if answered >= begin)
                found[what] = max(b - a for a, b in zip(times, times[1:]))
                good.clear()
        return found

    def stop(self):
        self.end.set()
        for t in self.threads:
            t.join()


def one_fault(c, probes, kind, verbose):
    """Seconds without a send and without a receive."""
    c.wait_all_live()
    leader = c.wait_in_sync(QUEUE)["leader"]
    probes.wait_working()
    moment = time.monotonic()
    {"kill": c.kill, "stop": c.pause, "cut": c.isolate}[kind](leader)
    if verbose:
        print(f"{datetime.datetime.now(datetime.timezone.utc):%H:%M:%S.%f} broker {leader}: {kind}", flush=True)
    c.wait_leader(QUEUE, other_than=leader, of=next(b for b in c.brokers if b != leader))
    probes.wait_working()
    found = probes.longest_gaps(moment)
    if verbose:
        print("   " + ", ".join(f"no {what} for {found[what]:.2f} s" for what in VERBS), flush=True)
    c.heal()
    c.resume(leader)
    if kind == "kill":
        c.start(leader)
    return found


def percentile(values, p):
    values = sorted(values)
    return values[min(len(values) - 1, int(len(values) * p / 100))]


def tell(kind, found, args):
    summary = {"leader": kind, "ttl_s": args.ttl, "faults": len(found), "wanted": args.faults}
    for what in VERBS:
        times = [f[what] for f in found]
        p = {"p50": percentile(times, 50), "p99": percentile(times, 99), "worst": max(times)}
        summary[what] = {name: round(value, 3) for name, value in p.items()}
        print(f"leader {kind}, no {what} for: p50 {p['p50']:.2f} s, p99 {p['p99']:.2f} s, worst {p['worst']:.2f} s "
              f"({len(times)} faults, session {args.ttl} s)", flush=True)
    print(json.dumps(summary), flush=True)


def measure(kind, args):
    limit = time.monotonic() + (args.limit_s or args.faults * LIMIT_S * SLOW)
    with Cluster(ttl_s=args.ttl) as c:
        wait_until(lambda: made(c), "the queue is made")
        probes, found = Probes(c), []
        while len(found) < args.faults and time.monotonic() < limit:
            found.append(one_fault(c, probes, kind, args.verbose))
        probes.stop()
        assert not c.crashes(), c.crashes()
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--faults", type=int, default=50)
    parser.add_argument("--kind", action="append", choices=KINDS)
    parser.add_argument("--ttl", type=int, default=TTL_S)
    parser.add_argument("--limit-s", type=float)
    parser.add_argument("--verbose", action="store_true")
    args = parser.parse_args()
    if reason := why_not():
        print(f"skipped: {reason}")
        sys.exit(77)
    end_on_sigterm()
    for kind in args.kind or KINDS:
        tell(kind, measure(kind, args), args)


def made(c):
    try:
        c.client(1).call("CreateQueue", QueueName=QUEUE)
        c.client(1).call("SendMessage", QueueUrl=QUEUE, MessageBody="first")
        return True
    except (Refused, *LOST):
        return False


if __name__ == "__main__":
    main()
