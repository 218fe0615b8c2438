# SPDX-License-Identifier: Apache-2.0
"""A node that was alone becomes the first broker of a cluster, and loses nothing on the way."""
import json
import os
import subprocess
import time

from cases import run_cases
from harness import WAIT_S, Cluster
from leaselog import BINARY, Server, test, wait_until

MESSAGES = 1000
LEASE_S = 600


def filled(data):
    """Makes the data of a node that was alone: what is in it, as a dictionary."""
    with Server(data=data) as s:
        c = s.client()
        for name, attributes in (("dead", {}), ("q", {"RedrivePolicy": json.dumps(
                {"deadLetterTargetArn": "arn:aws:sqs:us-east-1:000000000000:dead", "maxReceiveCount": 1})}),
                ("o.fifo", {"FifoQueue": "true", "ContentBasedDeduplication": "true"})):
            c.call("CreateQueue", QueueName=name, Attributes=attributes)
        status, _, _ = c.raw("PUT", "/v1/topics/many", b'{"partitions": 5}', {"Content-Type": "application/json"})
        assert status == 201
        # Two die: they were received once, and are given back.
        c.call("SendMessage", QueueUrl="q", MessageBody="dying-0")
        c.call("SendMessage", QueueUrl="q", MessageBody="dying-1")
        for _ in range(2):
            m = c.call("ReceiveMessage", QueueUrl="q", VisibilityTimeout=0)["Messages"]
            assert len(m) == 1
        c.call("ReceiveMessage", QueueUrl="q")
        wait_until(lambda: c.counts("dead")[0] == 2, "both are dead letters")
        for i in range(0, MESSAGES, 100):
            messages = [{"body": f"m-{k}", "key": f"k{k}"} for k in range(i, i + 100)]
            status, got, _ = c.raw("POST", "/v1/topics/many/messages:batch", json.dumps({"messages": messages}).encode(),
                                   {"Content-Type": "application/json"})
            assert status == 200, got
        for i in range(20):
            c.call("SendMessage", QueueUrl="o.fifo", MessageBody=f"f-{i}", MessageGroupId=f"g{i % 3}")
        c.call("SendMessage", QueueUrl="q", MessageBody="later", DelaySeconds=900)
        for i in range(10):
            c.call("SendMessage", QueueUrl="q", MessageBody=f"held-{i}")
        held = {}
        while len(held) < 10:
            for m in c.call("ReceiveMessage", QueueUrl="q", MaxNumberOfMessages=10, VisibilityTimeout=LEASE_S)["Messages"]:
                held[m["Body"]] = m["ReceiptHandle"]
        assert c.counts("q") == (0, 10, 1), c.counts("q")
        assert s.stop() == 0
    return held


def received(c, queue, n):
    got = []
    end = time.monotonic() + WAIT_S
    while len(got) < n and time.monotonic() < end:
        for m in c.call("ReceiveMessage", QueueUrl=queue, MaxNumberOfMessages=10, VisibilityTimeout=LEASE_S).get("Messages", []):
            c.call("DeleteMessage", QueueUrl=queue, ReceiptHandle=m["ReceiptHandle"])
            got.append(m["Body"])
    return got


def audit(c, held):
    wait_until(lambda: c.counts("q") == (0, 10, 1), "leases and what is delayed are there")
    assert c.counts("dead")[0] == 2
    for body in list(held)[:5]:  # receipts of the node are good here
        c.call("DeleteMessage", QueueUrl="q", ReceiptHandle=held[body])
    assert c.counts("q") == (0, 5, 1), c.counts("q")
    assert sorted(received(c, "dead", 2)) == ["dying-0", "dying-1"]
    assert sorted(received(c, "many", MESSAGES), key=lambda b: int(b[2:])) == [f"m-{i}" for i in range(MESSAGES)]
    # A duplicate is still known as one.
    c.call("SendMessage", QueueUrl="o.fifo", MessageBody="f-19", MessageGroupId="g1")
    order = {}
    for body in received(c, "o.fifo", 20):
        order.setdefault(int(body[2:]) % 3, []).append(int(body[2:]))
    assert order == {g: list(range(g, 20, 3)) for g in range(3)}, order
    assert c.counts("o.fifo")[0] == 0, "no duplicate"
    c.call("SendMessage", QueueUrl="q", MessageBody="new")
    assert received(c, "q", 1) == ["new"]


def alone_is_refused(data):
    got = subprocess.run([*BINARY.split(), "serve", "--listen", "127.0.0.1:0", "--data-dir", data], capture_output=True, text=True, timeout=30)
    assert got.returncode != 0 and "start it with --etcd" in got.stderr, got


@test
def a_node_becomes_a_cluster_of_one_with_all_that_it_held():
    with Cluster(brokers=1, etcds=1, proxy=False) as c:
        c.stop(1)
        # The empty cluster that the harness has begun is forgotten.
        c.etcd("/v3/kv/deleterange", {"key": "AA==", "range_end": "AA=="})
        c.folders[1] = os.path.join(c.folder, "node")
        held = filled(c.data(1))
        c.start(1)
        client = c.client(1)
        audit(client, held)
        state = c.wait_for(lambda s: len(s["partitions"]) == 8 and all(p["leader"] == 1 and p["isr"] == [1] for p in s["partitions"]), "all are led")
        assert all(p["min_isr"] == 1 and p["epoch"] > 1 for p in state["partitions"]), state
        c.restart(1)
        assert c.client(1).counts("q") == (0, 5, 1)
        alone_is_refused(c.data(1))


@test
def a_kill_at_any_moment_of_the_taking_over_loses_nothing():
    with Cluster(brokers=1, etcds=1, proxy=False) as c:
        c.stop(1)
        c.etcd("/v3/kv/deleterange", {"key": "AA==", "range_end": "AA=="})
        c.folders[1] = os.path.join(c.folder, "node")
        held = filled(c.data(1))
        kills, wait_s = 0, 0.02
        old = os.path.join(c.data(1), "catalog.sqlite.taken-over")
        while not os.path.exists(old):
            c.start(1, wait=False)
            end = time.monotonic() + wait_s
            while time.monotonic() < end and not os.path.exists(old):
                time.sleep(0.001)
            c.kill(1)
            kills, wait_s = kills + 1, wait_s * 1.15
        print(f"{kills} kills")
        c.start(1)
        audit(c.client(1), held)


@test
def a_node_does_not_come_into_a_cluster_that_is_there():
    with Cluster(brokers=1, etcds=1, proxy=False) as c:
        c.client(1).call("CreateQueue", QueueName="theirs", Attributes={"allow_single_copy": "true"})
        c.stop(1)
        before = c.etcd("/v3/kv/range", {"key": "AA==", "range_end": "AA=="})[1]["kvs"]
        c.folders[1] = os.path.join(c.folder, "node")
        with Server(data=c.data(1)) as s:
            s.client().call("CreateQueue", QueueName="ours")
            s.client().call("SendMessage", QueueUrl="ours", MessageBody="x")
            s.stop()
        key = c.folder + "/key"
        for more, text in ((["--cluster-key", key + "-nonesuch", "--cluster", "fresh"], "No such file"),
                           ([], "cannot be added to the cluster that etcd holds already")):
            c.more[1] = more
            c.start(1, wait=False)
            wait_until(lambda: c.processes[1].pid() is None, "it is refused", WAIT_S)
            c.expected.discard(1)
            said = c.processes[1].text()[-1000:]
            assert text in said and said.rsplit("leaselog: ")[-1].startswith(("cannot serve from", key)), said
        assert c.etcd("/v3/kv/range", {"key": "AA==", "range_end": "AA=="})[1]["kvs"] == before
        with Server(data=c.data(1)) as s:  # it serves on as it was
            assert s.client().counts("ours") == (1, 0, 0)


if __name__ == "__main__":
    run_cases(globals())
