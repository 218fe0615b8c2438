# SPDX-License-Identifier: Apache-2.0
"""The commands of scripts/cluster, which says what they are."""
import os
import sys
import time

from harness import Cluster, end_on_sigterm, why_not
from workload import Workload

FOLDER = os.environ.get("CLUSTER_DIR", "cluster.tmp")
SENDS = int(os.environ.get("DEMO_SENDS", "300"))  # in each of the demo's three parts
CLIENTS = 4


def fail(text):
    print(f"scripts/cluster: {text}", file=sys.stderr)
    sys.exit(1)


def here():
    if not os.path.exists(os.path.join(FOLDER, "cluster.json")):
        fail(f"there is no cluster in {FOLDER}; scripts/cluster up makes one")
    return Cluster.at(FOLDER)


def member(c, text):
    """A broker's number, or the name of a member of etcd."""
    name = int(text) if text.isdigit() else text
    if name not in c.brokers + c.etcds:
        fail(f"there is no '{text}': brokers {c.brokers}, members of etcd {c.etcds}")
    return name


def up():
    if os.path.exists(os.path.join(FOLDER, "cluster.json")):
        fail(f"there is one in {FOLDER} already; scripts/cluster down ends it")
    c = Cluster(FOLDER, stays=True, ttl_s=6)
    try:
        c.up()
    except BaseException:
        c.down()
        raise
    status()


def status():
    c = here()
    for b in c.brokers:
        pid = c.processes[b].pid()
        print(f"broker {b}: http://127.0.0.1:{c.config['brokers'][str(b)]['client']}  " + (f"pid {pid}" if pid else "does not run"))
    for e in c.etcds:
        pid = c.processes[e].pid()
        print(f"etcd {e}: http://127.0.0.1:{c.config['etcds'][e]['client']}  " + (f"pid {pid}" if pid else "does not run"))
    for name, way in sorted(c.ask_proxy(ways=True).items()):
        if way["mode"] != "pass":
            print(f"way {name}: {way['mode']}")
    s = c.status()
    if s is None:
        print("no broker answers")
        sys.exit(1)
    print(f"controller: {s['controller']}; live: {sorted(c.live(s))}")
    for p in s["partitions"]:
        print(f"{p['topic']}/{p['partition']}: leader {p['leader']}, epoch {p['epoch']}, in sync {p['isr']} of {p['members']}, "
              f"at least {p['min_isr']}, {p['state']}")


def audit(w, begin, end):
    """Prints what was seen; gives the exit code."""
    wrong, s = w.audit()
    print(f"   longest time without a send that worked: {w.longest_gap_s('send', begin, end):.2f} s, "
          f"without a message received: {w.longest_gap_s('receive', begin, end):.2f} s")
    print(f"5. audit: {s['acknowledged']} acknowledged, {s['received']} received, {s['lost']} lost, {s['duplicates']} duplicates; "
          f"{s['unknown']} sends were left without an answer and may be either")
    for rule, text in wrong[:20]:
        print(f"   {rule}: {text}")
    print("the cluster kept its word" if not wrong else "the cluster did NOT keep its word")
    return 1 if wrong else 0


def demo():
    with Cluster(ttl_s=2) as c:
        urls = [f"http://127.0.0.1:{p['client']}" for p in c.config["brokers"].values()]
        print(f"1. three members of etcd, and three brokers: {', '.join(urls)}", flush=True)
        w = Workload(c, {"demo": {}}, careful=True)
        p = c.wait_in_sync("demo")
        print(f"2. a queue on brokers {p['members']}, led by {p['leader']}; {2 * CLIENTS} clients send and receive")
        with w.running(clients=CLIENTS):
            w.wait_progress(SENDS)
            begin = time.monotonic()
            with w.fault("the leader is killed"):
                c.kill(p["leader"])
                print(f"3. broker {p['leader']} was killed with SIGKILL under the load", flush=True)
                new = c.wait_leader("demo", other_than=p["leader"])
                print(f"   broker {new} leads after {time.monotonic() - begin:.2f} s")
                w.wait_progress(SENDS)
                end = time.monotonic()
                c.start(p["leader"])
                c.wait_in_sync("demo")
            print(f"4. broker {p['leader']} is back and in sync; the load goes on, then all that is left is received", flush=True)
            w.healed()
            w.wait_progress(SENDS)
        return audit(w, begin - 1, end)


def main():
    command, rest = sys.argv[1], sys.argv[2:]
    end_on_sigterm()
    if command in ("up", "demo", "start") and (reason := why_not()):
        fail(reason)
    if command == "demo":
        sys.exit(demo())
    if command == "up":
        return up()
    if command == "status":
        return status()
    c = here()
    if command == "heal":
        return c.heal()
    if command == "down":
        c.is_temporary = True
        return c.down()
    want = 2 if command == "cut" else 1
    if len(rest) != want:
        fail(f"{command} takes {want} of: a broker's number, a member of etcd")
    if command == "cut":
        a = member(c, rest[0])
        return c.cut(a, rest[1] if rest[1] == "etcd" else member(c, rest[1]))
    getattr(c, command)(member(c, rest[0]))


if __name__ == "__main__":
    main()
