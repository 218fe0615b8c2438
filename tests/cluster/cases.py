# SPDX-License-Identifier: Apache-2.0
"""What the scripted cases share: a scene is a cluster under load, something is done to it, and at the end all is healed,
received and audited. Beside it a watcher asks the brokers again and again what they believe.

CLUSTER_LONG_S (10): how long the long faults last, in seconds; 60 in a nightly run. CLUSTER_ROUNDS (3): how often the
repeated ones are repeated."""
import contextlib
import os
import random
import sys
import threading

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [p for p in (HERE, os.path.join(HERE, "..", "lib")) if p not in sys.path]
import harness
from harness import SLOW, Cluster
from leaselog import run_tests, wait_until
from workload import Workload

LONG_S = float(os.environ.get("CLUSTER_LONG_S", "10"))
HOLD_S = min(LONG_S, 12)  # a fault that outlasts all that brokers wait for: sessions 2 s, the in-sync set 5 s, a hop 10 s
ROUNDS = int(os.environ.get("CLUSTER_ROUNDS", "3"))
SEED = int(os.environ.get("LEASELOG_SEED", "1"))
SKIPPED = 77  # automake's word for it
BOTH = {"q": {}, "o.fifo": {"fifo": True}}


class Watcher(threading.Thread):
    """Collects what brokers say of the partitions, and what of it may never be (I1, I2 and I6 of the plan)."""

    def __init__(self, cluster):
        super().__init__(daemon=True)
        self.cluster, self.end, self.wrong = cluster, threading.Event(), []
        self.leaders, self.epochs = {}, {}

    def run(self):
        while not self.end.wait(0.05):
            for b in self.cluster.brokers:
                if s := self.cluster.status(b):
                    for p in s["partitions"]:
                        self.look(b, p)

    def look(self, broker, p):
        name = f"{p['topic']}/{p['partition']}"
        if p["epoch"] < self.epochs.get((broker, name), 0):
            self.wrong.append(f"{name}: broker {broker} went back to epoch {p['epoch']}")
        self.epochs[broker, name] = p["epoch"]
        if p["leader"] and self.leaders.setdefault((name, p["epoch"]), p["leader"]) != p["leader"]:
            self.wrong.append(f"{name}: epoch {p['epoch']} is led by {p['leader']} and {self.leaders[name, p['epoch']]}")
        if p["leader"] and p["state"] == "ok" and not self.disks_lost and len(p["isr"]) < p["min_isr"]:
            self.wrong.append(f"{name}: only {p['isr']} are in sync, {p['min_isr']} must be")

    disks_lost = False  # then the in-sync set may be smaller


@contextlib.contextmanager
def scene(queues=None, clients=2, prepare=None, disks_lost=False, only=None, through_proxy=False, **options):
    """Gives (cluster, workload, watcher) under load; leaving it heals everything and audits."""
    queues = BOTH if queues is None else queues
    c = Cluster(**options)
    if prepare:
        prepare(c)
    with c:
        w = Workload(c, queues, through_proxy=through_proxy, pause_s=0.02)
        for q in queues:
            c.wait_in_sync(q)
        watcher = Watcher(c)
        watcher.disks_lost = disks_lost
        watcher.start()
        with w.running(clients, only):
            w.wait_progress(20)
            with w.fault("the case"):
                yield c, w, watcher
                make_well(c, queues)
            w.healed()
            w.wait_progress(20)
        wrong, summary = w.audit()
        watcher.end.set()
        watcher.join()
        print(f"    {summary}", flush=True)
        assert not wrong, wrong[:10]
        assert not watcher.wrong, watcher.wrong[:10]


def make_well(c, queues):
    c.heal()
    for name in c.etcds + c.brokers:
        if c.processes[name].pid() is None:
            c.start(name, wait=False)
        c.resume(name)
    for b in c.brokers:
        c.wait_serving(b)
    wait_until(c.etcd_works, "etcd works again", 60 * SLOW)
    c.wait_all_live()
    for q in queues:
        c.wait_in_sync(q)


def others(c, *these):
    return [b for b in c.brokers if b not in these]


def pass_time(seconds, condition=lambda: True, what="it holds all the time"):
    """Time has to pass for a fault to work: the condition is looked at all the while."""
    end = threading.Event()
    for _ in range(max(1, int(seconds / 0.1))):
        assert condition(), what
        end.wait(0.1)


def together(f, *askers):
    """f(asker) for all of them at one time, for what is only answered when somebody's patience is over."""
    threads = [threading.Thread(target=f, args=(asker,), daemon=True) for asker in askers]
    for t in threads:
        t.start()
    for t in threads:
        t.join()


def skip(reason):
    print(f"skipped: {reason}", flush=True)


def dice(name):
    return random.Random(f"{SEED} {name}")


def run_cases(names):
    harness.end_on_sigterm()
    reason = harness.why_not()
    if reason:
        skip(reason)
        sys.exit(SKIPPED)
    run_tests(names)
