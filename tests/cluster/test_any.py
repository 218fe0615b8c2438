# SPDX-License-Identifier: Apache-2.0
"""Any broker takes any request: clients need not know who leads."""
import glob
import json
import os
import subprocess
import threading
import time

from cases import run_cases
from harness import Cluster
from leaselog import BINARY, Refused, test, wait_until

BROKERS = (1, 2, 3)
PARTITIONS = 6


def following(b):
    return b % len(BROKERS) + 1


def begin(c):
    """One client a broker, and a topic whose partitions all three lead."""
    clients = {b: c.client(b) for b in BROKERS}
    status, _, _ = clients[1].raw("PUT", "/v1/topics/many", json.dumps({"partitions": PARTITIONS}).encode(), {"Content-Type": "application/json"})
    assert status == 201, status
    clients[1].call("CreateQueue", QueueName="q")
    for n in range(PARTITIONS):
        c.wait_in_sync("many", n)
    c.wait_in_sync("q")
    return clients


@test
def what_is_sent_at_one_broker_is_received_at_another_and_deleted_at_a_third():
    with Cluster(etcds=1, proxy=False) as c:
        clients = begin(c)
        want = set()
        for b in BROKERS:
            messages = [{"body": f"{b}-{i}", "key": f"k{i}"} for i in range(30)]
            status, got, _ = clients[b].raw("POST", "/v1/topics/many/messages:batch", json.dumps({"messages": messages}).encode(),
                                            {"Content-Type": "application/json"})
            results = json.loads(got)
            assert status == 200 and results["failed"] == 0, got
            assert {r["partition"] for r in results["results"]} == set(range(PARTITIONS)), got
            want |= {m["body"] for m in messages}
        for b in BROKERS:
            assert clients[b].counts("many") == (len(want), 0, 0)
            assert clients[b].get("/v1/topics/many")["stats"]["visible"] == len(want)
        seen = []
        while True:
            got = clients[2].call("ReceiveMessage", QueueUrl="many", MaxNumberOfMessages=10).get("Messages", [])
            if not got:
                break
            seen += [m["Body"] for m in got]
            done = clients[3].call("DeleteMessageBatch", QueueUrl="many",
                                   Entries=[{"Id": str(i), "ReceiptHandle": m["ReceiptHandle"]} for i, m in enumerate(got)])
            assert len(done["Successful"]) == len(got), done
        assert sorted(seen) == sorted(want), len(seen)
        assert [clients[b].counts("many") for b in BROKERS] == [(0, 0, 0)] * 3


@test
def a_long_poll_at_any_broker_is_woken_by_a_send_at_another():
    with Cluster(etcds=1, proxy=False) as c:
        clients = begin(c)
        for b in BROKERS:
            got = []

            def poll():
                got.extend(c.client(b).call("ReceiveMessage", QueueUrl="q", WaitTimeSeconds=20, VisibilityTimeout=0).get("Messages", []))
            waiter = threading.Thread(target=poll)
            waiter.start()
            wait_until(lambda: any(s["waiting_receivers"] for s in (clients[x].get("/v1/topics/q/groups/default") for x in BROKERS)), "a poll waits")
            begun = time.monotonic()
            clients[following(b)].call("SendMessage", QueueUrl="q", MessageBody="x")
            waiter.join()
            assert [m["Body"] for m in got] == ["x"] and time.monotonic() - begun < 10, got
            clients[b].call("PurgeQueue", QueueUrl="q")


def send_until_told(client, queue):
    """A send that the leader's end leaves without an answer is not repeated by the broker: it says 503, and the client sends
    again. Gives the body that was acknowledged, and those of which nobody knows."""
    unknown = []
    while len(unknown) < 10:
        body = f"try-{len(unknown)}"
        try:
            assert client.call("SendMessage", QueueUrl=queue, MessageBody=body)["MessageId"]
            return body, unknown
        except Refused as e:
            assert e.status == 503, e
            unknown.append(body)
    raise AssertionError(f"nothing was acknowledged: {unknown}")


@test
def a_send_at_another_broker_outlives_the_leader():
    with Cluster(etcds=1, proxy=False, ttl_s=2) as c:
        clients = begin(c)
        leader = c.wait_leader("q")
        other = following(leader)
        c.kill(leader)
        told, unknown = send_until_told(clients[other], "q")
        seen = []
        while got := clients[other].call("ReceiveMessage", QueueUrl="q", MaxNumberOfMessages=10, VisibilityTimeout=600).get("Messages", []):
            seen += [m["Body"] for m in got]
        assert told in seen and len(seen) == len(set(seen)) and set(seen) <= {told, *unknown}, (told, unknown, seen)
        assert clients[other].counts("q") == (0, len(seen), 0)


def ids(client):
    """Message ids in the queue, each as often as it is there."""
    return sorted(m["MessageId"] for m in client.call("ReceiveMessage", QueueUrl="q", MaxNumberOfMessages=10, VisibilityTimeout=0).get("Messages", []))


def dumped(c, b):
    """Records of the one log that the broker has."""
    log = glob.glob(os.path.join(c.data(b), "t", "*", "0"))[0].split(os.sep)
    out = subprocess.run([BINARY, "dump", c.data(b), log[-2], log[-1], "--json"], capture_output=True, check=True).stdout
    return [json.loads(line) for line in out.splitlines()]


@test
def a_send_whose_answer_is_lost_between_two_brokers_is_there_once():
    with Cluster(etcds=1) as c:
        c.client(1).call("CreateQueue", QueueName="q")
        c.wait_in_sync("q")
        leader = c.wait_leader("q")
        other, body, got = following(leader), "x" * 60000, []
        way = f"{other}>{leader}"
        c.way(way, mode="deaf")
        before = c.ask_proxy(ways=True)[way]["bytes"]
        sender = threading.Thread(target=lambda: got.append(c.client(other).raw("POST", "/v1/topics/q/messages", body.encode())))
        sender.start()
        wait_until(lambda: c.ask_proxy(ways=True)[way]["bytes"] > before + len(body), "the leader is asked to store it")
        time.sleep(0.2)  # so that it does; if it does not, the repeat does
        c.ask_proxy(**{"break": way})
        c.heal()
        sender.join()
        status, answer, _ = got[0]
        assert status == 201, got
        c.wait_in_sync("q")
        assert c.client(leader).counts("q") == (1, 0, 0)
        assert ids(c.client(leader)) == [json.loads(answer)["id"]], answer
        c.stop(leader)
        keys = [r.get("repeat_key", {}) for r in dumped(c, leader) if r["type"] == "MESSAGE"]
        assert [k.get("broker") for k in keys] == [other] and keys[0]["life"] > 0, keys


@test
def a_send_outlives_a_leader_that_stands_still_with_it():
    with Cluster(etcds=1, proxy=False, ttl_s=2) as c:
        c.client(1).call("CreateQueue", QueueName="q")
        c.wait_in_sync("q")
        leader = c.wait_leader("q")
        other = following(leader)
        c.pause(leader)
        sent = c.client(other).call("SendMessage", QueueUrl="q", MessageBody="x")["MessageId"]
        c.resume(leader)
        c.wait_in_sync("q")
        assert c.client(other).counts("q") == (1, 0, 0)
        assert ids(c.client(other)) == [sent]


if __name__ == "__main__":
    run_cases(globals())
