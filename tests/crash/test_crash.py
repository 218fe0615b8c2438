# SPDX-License-Identifier: Apache-2.0
"""kill -9 under load, restart, audit: every answered send is there, no answered delete comes back.

    test_crash.py [ROUNDS] [SECONDS]

Each round: SECONDS of load from 16 connections, in which the server is killed and started again at random
moments, on a standard and a FIFO queue with a dead-letter queue. LEASELOG_SEED replays the choices of a run
(not the machine's timing)."""
import http.client
import os
import random
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
from leaselog import Refused, Server, in_thread

CONNECTIONS = 16
QUEUES = ("load", "load.fifo")
LOST = (OSError, http.client.HTTPException)  # the server was killed: the outcome is unknown


class History:
    """What clients were told. Bodies are unique."""

    def __init__(self):
        self.lock = threading.Lock()
        self.sent = {}          # body -> queue, answered sends
        self.unknown_sends = set()
        self.deleted = {}       # body -> when its delete was answered
        self.unknown_deletes = set()
        self.back = []          # received after its delete was answered
        self.phantoms = []
        self.tried = set()
        self.order = {}         # FIFO: group -> bodies in the order of their first receive
        self.operations = 0

    def received(self, body, asked):
        with self.lock:
            if body not in self.tried:
                self.phantoms.append(body)
            if body in self.deleted and self.deleted[body] < asked:
                self.back.append(body)


def send(client, queue, rng, history, name):
    n = rng.choice((1, 1, 3, 10))
    bodies = [f"{name}-{rng.getrandbits(48):012x}-{i}" + "x" * rng.choice((0, 100, 1000)) for i in range(n)]
    extra = {"MessageGroupId": name} if queue.endswith(".fifo") else {}
    with history.lock:
        history.tried.update(bodies)
    entries = [dict(Id=str(i), MessageBody=b, **(dict(extra, MessageDeduplicationId=b[:100]) if extra else {}))
               for i, b in enumerate(bodies)]
    try:
        answer = client.call("SendMessageBatch", QueueUrl=queue, Entries=entries)
    except LOST:
        with history.lock:
            history.unknown_sends.update(bodies)
        raise
    with history.lock:
        for entry in answer.get("Successful", []):
            history.sent[bodies[int(entry["Id"])]] = queue
        assert "Failed" not in answer, answer["Failed"]


def receive(client, queue, rng, history):
    asked = time.monotonic()
    answer = client.call("ReceiveMessage", QueueUrl=queue, MaxNumberOfMessages=rng.choice((1, 10)),
                         VisibilityTimeout=rng.choice((1, 3)), WaitTimeSeconds=rng.choice((0, 1)))
    messages = answer.get("Messages", [])
    for m in messages:
        history.received(m["Body"], asked)
    kept = [m for m in messages if rng.random() < 0.9]
    if not kept:
        return
    bodies = [m["Body"] for m in kept]
    try:
        answer = client.call("DeleteMessageBatch", QueueUrl=queue, Entries=[
            {"Id": str(i), "ReceiptHandle": m["ReceiptHandle"]} for i, m in enumerate(kept)])
    except LOST:
        with history.lock:
            history.unknown_deletes.update(bodies)
        raise
    now = time.monotonic()
    with history.lock:
        for entry in answer.get("Successful", []):
            history.deleted.setdefault(bodies[int(entry["Id"])], now)


def worker(number, seed, state, history):
    rng = random.Random(seed * 1000 + number)
    client = None
    while not state["end"].is_set():
        try:
            if client is None:
                client = state["server"].client(timeout=10)
            queue = rng.choice(QUEUES)
            if rng.random() < 0.5:
                send(client, queue, rng, history, f"w{number}")
            else:
                receive(client, queue, rng, history)
            with history.lock:
                history.operations += 1
        except LOST:
            client = None
            state["up"].wait(30)
        except Refused as e:
            if e.status != 503:
                state["failures"].append(str(e))
                return


def drain_queue(server, queue, feeder, history, left):
    """In-flight leases are waited out, and those of the queue whose dead letters come here."""
    c = server.client()
    idle_until = time.monotonic() + 60
    while time.monotonic() < idle_until:
        asked = time.monotonic()
        feeds = feeder is not None and sum(c.counts(feeder)) > 0
        got = c.call("ReceiveMessage", QueueUrl=queue, MaxNumberOfMessages=10, WaitTimeSeconds=1).get("Messages", [])
        with history.lock:
            for m in got:
                left[m["Body"]] = left.get(m["Body"], 0) + 1
        for m in got:
            history.received(m["Body"], asked)
        if got:
            c.call("DeleteMessageBatch", QueueUrl=queue, Entries=[
                {"Id": str(i), "ReceiptHandle": m["ReceiptHandle"]} for i, m in enumerate(got)])
        elif not feeds and sum(c.counts(queue)) == 0:
            return
    raise AssertionError(f"{queue} could not be drained: {c.counts(queue)}")


def drain(server, history):
    """Everything that is left, by receiving and deleting it."""
    left = {}
    drains = [in_thread(drain_queue, server, queue, feeder, history, left) for queue, feeder in
              (("load", None), ("load.fifo", None), ("dead", "load"), ("dead.fifo", "load.fifo"))]
    for d in drains:
        d.result()
    return left


def round_of(seed, seconds):
    rng = random.Random(seed)
    history = History()
    with Server() as server:
        c = server.client()
        for dead, queue, fifo in (("dead", "load", {}), ("dead.fifo", "load.fifo", {"FifoQueue": "true"})):
            c.call("CreateQueue", QueueName=dead, Attributes=fifo)
            policy = '{"deadLetterTargetArn":"arn:aws:sqs:us-east-1:000000000000:%s","maxReceiveCount":5}' % dead
            c.call("CreateQueue", QueueName=queue, Attributes=dict(fifo, RedrivePolicy=policy))
        state = {"server": server, "end": threading.Event(), "up": threading.Event(), "failures": []}
        state["up"].set()
        threads = [threading.Thread(target=worker, args=(n, seed, state, history)) for n in range(CONNECTIONS)]
        for t in threads:
            t.start()
        kills, end = 0, time.monotonic() + seconds
        while time.monotonic() < end:
            time.sleep(rng.uniform(seconds / 10, seconds / 3))  # the moment of the kill is the test's input
            state["up"].clear()
            server.kill()
            server.start()
            kills += 1
            state["up"].set()
        state["end"].set()
        for t in threads:
            t.join(60)
        assert not state["failures"], state["failures"][:3]
        left = drain(server, history)
        gone = set(history.deleted) | history.unknown_deletes
        lost = [b for b in history.sent if b not in left and b not in gone]
        back = history.back + [b for b in left if b in history.deleted]
        print(f"seed {seed}: {kills} kills, {history.operations} operations, {len(history.sent)} sends answered, "
              f"{len(history.deleted)} deletes answered, {len(left)} drained, {len(lost)} lost, {len(back)} came back",
              flush=True)
        assert not lost, f"answered sends are lost: {lost[:3]}"
        assert not back, f"answered deletes came back: {back[:3]}"
        assert not history.phantoms, f"never sent: {history.phantoms[:3]}"
        assert len(history.sent) > 100 and len(history.deleted) > 100, "hardly any load: the audit means nothing"


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 1
    seconds = float(sys.argv[2]) if len(sys.argv) > 2 else 6
    seed = int(os.environ.get("LEASELOG_SEED") or random.SystemRandom().getrandbits(31))
    for i in range(rounds):
        round_of(seed + i, seconds)
    print(f"{rounds} passed, 0 failed")


main()
