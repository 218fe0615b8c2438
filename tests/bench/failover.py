# SPDX-License-Identifier: Apache-2.0
"""How long sends and receives do not work when the leader is killed, stopped, or cut off from everything but its clients:
the longest time without a good answer to any of the clients, which sit at every broker and ask again after an error, or
a second without an answer. (Not the time until the first good answer: a leader that was cut off may still hand out for a
while, and only then does it stop.)

    failover.py [killed] [stopped] [cut]

FAILOVER_ROUNDS (50) faults of each kind; FAILOVER_TTL_S (6): the brokers' --session-ttl, which is most of the answer.
FAILOVER_VERBOSE=1 says when each fault was made and what it cost, to be laid beside the logs (CLUSTER_KEEP=1).
Prints a line a kind, with median, 99th percentile and worst, in seconds."""
import datetime
import os
import sys
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "cluster"), os.path.join(HERE, "..", "lib")]
from harness import SLOW, Cluster, why_not
from leaselog import Refused, wait_until
from workload import LOST

ROUNDS = int(os.environ.get("FAILOVER_ROUNDS", "50"))
TTL_S = int(os.environ.get("FAILOVER_TTL_S", "6"))
VERBOSE = bool(os.environ.get("FAILOVER_VERBOSE"))
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


def one_fault(c, probes, kind):
    leader = c.wait_in_sync(QUEUE)["leader"]
    probes.wait_working()
    moment = time.monotonic()
    {"killed": c.kill, "stopped": c.pause, "cut": c.isolate}[kind](leader)
    if VERBOSE:
        print(f"{datetime.datetime.now(datetime.timezone.utc):%H:%M:%S.%f} broker {leader} {kind}", flush=True)
    c.wait_leader(QUEUE, other_than=leader, of=next(b for b in c.brokers if b != leader))
    probes.wait_working()
    found = probes.longest_gaps(moment)
    if VERBOSE:
        print(f"   {found}", flush=True)
    c.heal()
    c.resume(leader)
    if kind == "killed":
        c.start(leader)
    return found


def percentile(values, p):
    values = sorted(values)
    return values[min(len(values) - 1, int(len(values) * p / 100))]


def main():
    if reason := why_not():
        print(f"skipped: {reason}")
        sys.exit(77)
    kinds = sys.argv[1:] or ["killed", "stopped", "cut"]
    for kind in kinds:
        with Cluster(ttl_s=TTL_S) as c:
            wait_until(lambda: made(c), "the queue is made")
            probes = Probes(c)
            found = [one_fault(c, probes, kind) for _ in range(ROUNDS)]
            probes.stop()
            for what in ("send", "receive"):
                times = [f[what] for f in found]
                print(f"leader {kind}, no {what} for: p50 {percentile(times, 50):.2f} s, p99 {percentile(times, 99):.2f} s, "
                      f"worst {max(times):.2f} s ({len(times)} faults, session {TTL_S} s)", flush=True)
            assert not c.crashes(), c.crashes()


def made(c):
    try:
        c.client(1).call("CreateQueue", QueueName=QUEUE)
        c.client(1).call("SendMessage", QueueUrl=QUEUE, MessageBody="first")
        return True
    except (Refused, *LOST):
        return False


if __name__ == "__main__":
    main()
