# SPDX-License-Identifier: Apache-2.0
"""Three brokers beside one: latency and throughput of sends, taken in turns so that the machine's moods fall on both; how
fast a log is copied; and a follower that catches up under load, with the load's latency beside it.

    cluster.py [latency] [copy] [catchup]

BENCH_SECONDS (5) a turn, BENCH_TURNS (3), BENCH_CLIENTS (8), BENCH_GIB (0.25) to catch up with, BENCH_FOLDER (/tmp): a
real disk. All brokers share one machine and one disk here, so three are handicapped: read the ratios with that in mind."""
import http.client
import json
import multiprocessing
import os
import shutil
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "cluster"), os.path.join(HERE, "..", "lib")]
from failover import QUEUE, made, percentile
from harness import SLOW, Cluster, why_not
from leaselog import Server, wait_until

SECONDS = float(os.environ.get("BENCH_SECONDS", "5"))
TURNS = int(os.environ.get("BENCH_TURNS", "3"))
CLIENTS = int(os.environ.get("BENCH_CLIENTS", "8"))
GIB = float(os.environ.get("BENCH_GIB", "0.25"))
FOLDER = os.environ.get("BENCH_FOLDER", "/tmp")
MIB = 1 << 20
HEADERS = {"Content-Type": "application/x-amz-json-1.0"}


def client(port, seconds, body_bytes, batch, pause_s, pipe, bytes_max):
    """Sends as fast as answers come, or with pauses; tells its latencies in milliseconds."""
    body, taken, sent = "x" * body_bytes, [], 0
    if batch > 1:
        request = {"QueueUrl": QUEUE, "Entries": [{"Id": str(i), "MessageBody": body} for i in range(batch)]}
    else:
        request = {"QueueUrl": QUEUE, "MessageBody": body}
    request = json.dumps(request)
    headers = {**HEADERS, "X-Amz-Target": "AmazonSQS.SendMessage" + ("Batch" if batch > 1 else "")}
    conn = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    end = time.monotonic() + seconds
    while time.monotonic() < end and sent < bytes_max:
        begin = time.monotonic()
        conn.request("POST", "/", request, headers)
        answer = conn.getresponse()
        text = answer.read()
        assert answer.status == 200 and b'"Failed":[{' not in text, text[:300]
        taken.append((time.monotonic() - begin) * 1000)
        sent += body_bytes * batch
        if pause_s:
            time.sleep(pause_s)
    pipe.send(taken)
    pipe.close()


class Load:
    """So many client processes; .wait() gives all latencies."""

    def __init__(self, ports, seconds, clients=CLIENTS, body_bytes=1024, batch=1, pause_s=0.0, bytes_max=1 << 60):
        self.ends, self.processes = [], []
        for i in range(clients):
            ours, theirs = multiprocessing.Pipe(False)
            p = multiprocessing.Process(target=client, args=(ports[i % len(ports)], seconds, body_bytes, batch, pause_s, theirs,
                                                             bytes_max))
            p.start()
            theirs.close()
            self.ends.append(ours)
            self.processes.append(p)

    def wait(self):
        taken = [x for end in self.ends for x in end.recv()]
        for p in self.processes:
            p.join()
            assert p.exitcode == 0, "a client failed"
        return taken


def report(name, taken, seconds):
    print(f"{name}: {len(taken) / seconds:.0f} sends/s, p50 {percentile(taken, 50):.2f} ms, p99 {percentile(taken, 99):.2f} ms",
          flush=True)


def latency(c):
    """One client, then many: a node alone, three brokers asked at the leader, and asked anywhere, in turns."""
    ports = {b: c.config["brokers"][str(b)]["client"] for b in c.brokers}
    tempfile.tempdir = FOLDER
    with Server() as alone:
        alone.client().call("CreateQueue", QueueName=QUEUE)
        for clients in (1, CLIENTS):
            leader = c.wait_in_sync(QUEUE)["leader"]
            asked = {"one node": [alone.port], "three, the leader asked": [ports[leader]], "three, anyone asked": list(ports.values())}
            taken = {name: [] for name in asked}
            for _ in range(TURNS):
                for name, where in asked.items():
                    taken[name] += Load(where, SECONDS, clients).wait()
            for name in asked:
                report(f"{clients} clients, 1 KiB, {name}", taken[name], SECONDS * TURNS)


def copy(c):
    """Bytes a second that are committed on all three: batches of ten bodies of 25 KiB, sent to the leader."""
    p = c.wait_in_sync(QUEUE)
    taken = Load([c.config["brokers"][str(p["leader"])]["client"]], SECONDS * TURNS, CLIENTS, 25000, 10).wait()
    print(f"replication: {len(taken) * 250000 / MIB / (SECONDS * TURNS):.1f} MiB/s committed, "
          f"a batch of 250 kB p50 {percentile(taken, 50):.1f} ms, p99 {percentile(taken, 99):.1f} ms", flush=True)


def catchup(c):
    p = c.wait_in_sync(QUEUE)
    leader, late = p["leader"], next(b for b in p["members"] if b != p["leader"])
    port = c.config["brokers"][str(leader)]["client"]
    report("load before", Load([port], SECONDS, 4, pause_s=0.005).wait(), SECONDS)
    c.kill(late)
    c.wait_partition(lambda p: late not in p["isr"], "it has left the in-sync set", QUEUE)
    total = GIB * 1024 * MIB
    Load([port], 3600, CLIENTS, 25000, 10, bytes_max=total / CLIENTS).wait()
    begin = time.monotonic()
    c.start(late)
    taken, box = [], {}
    while "end" not in box:  # in turns of a second, so that the load ends soon after it
        taken += Load([port], 1, 4, pause_s=0.005).wait()
        now = c.partition(QUEUE)
        if now and late in now["isr"]:
            box["end"] = time.monotonic()
        assert time.monotonic() - begin < 3600 * SLOW
    seconds = box["end"] - begin
    print(f"catch-up: {GIB:.2f} GiB in {seconds:.1f} s, {total / MIB / seconds:.1f} MiB/s", flush=True)
    report("load meanwhile", taken, seconds)


def main():
    if reason := why_not():
        print(f"skipped: {reason}")
        sys.exit(77)
    folder = tempfile.mkdtemp(prefix="leaselog-bench-", dir=FOLDER)
    try:
        with Cluster(folder, ttl_s=6, proxy=False) as c:
            wait_until(lambda: made(c), "the queue is made")
            for name in sys.argv[1:] or ["latency", "copy", "catchup"]:
                {"latency": latency, "copy": copy, "catchup": catchup}[name](c)
            assert not c.crashes(), c.crashes()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
