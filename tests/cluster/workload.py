# SPDX-License-Identifier: Apache-2.0
"""Clients that send, receive, extend and delete while brokers fail, and write down what they were told (history.py).

    w = Workload(cluster, {"q": {}, "o.fifo": {"fifo": True}, "s": {"dead": "d", "receives_max": 3}, "d": {}})
    with w.running(clients=4):
        w.wait_progress(100)
        with w.fault("the leader is killed"):
            cluster.kill(leader); w.wait_progress(100)
    wrong, summary = w.audit()

LEASELOG_SEED replays the choices of a run (not the machine's timing)."""
import contextlib
import http.client
import json
import os
import random
import threading
import time
import traceback

from checker import SETTLE_S, check
from harness import SLOW
from history import History
from leaselog import Refused, wait_until

ARN = "arn:aws:sqs:us-east-1:000000000000:"
LOST = (OSError, http.client.HTTPException, ValueError)
ANSWER_S = 12 * SLOW  # a client waits no longer for an answer
LEASE_S = 3
GROUPS = 4


class Asker:
    """One client: stays with a broker until that one fails it, then goes to the next."""

    def __init__(self, cluster, rng, through_proxy=False, only=None):
        self.cluster, self.rng, self.through_proxy, self.only = cluster, rng, through_proxy, only
        self.connection, self.broker = None, None

    def call(self, action, **members):
        """Gives ("ok", answer), ("fail", why) when certainly nothing was done, or ("unknown", why)."""
        try:
            if self.connection is None:
                self.broker = self.only or self.rng.choice([b for b in self.cluster.brokers if b != self.broker] or [self.broker])
                self.connection = self.cluster.client(self.broker, self.through_proxy, ANSWER_S)
                self.connection.conn.connect()
        except LOST as e:
            self.leave()
            return "fail", f"no connection: {e}"
        try:
            return "ok", self.connection.call(action, **members)
        except Refused as e:
            # A fault of the server's may say that nothing was done, but it need not, so it is not believed.
            if e.status >= 500:
                self.leave()
            return ("unknown" if e.status >= 500 else "fail"), f"{e.status} {e.code} {e.body[:200]!r}"
        except LOST as e:
            self.leave()
            return "unknown", repr(e)

    def leave(self):
        if self.connection:
            self.connection.close()
        self.connection = None


class Workload:
    def __init__(self, cluster, queues, through_proxy=False, body_bytes=40, pause_s=0.0, careful=False,
                 seed=None):
        """`careful` consumers delete all that they receive at once; senders pause, so that the others keep up."""
        self.careful = careful
        self.cluster, self.through_proxy, self.body_bytes, self.pause_s = cluster, through_proxy, body_bytes, pause_s
        self.seed = seed if seed is not None else int(os.environ.get("LEASELOG_SEED", "1"))
        print(f"LEASELOG_SEED={self.seed}", flush=True)
        self.history, self.end, self.threads = History(), threading.Event(), []
        self.sent, self.lock, self.broken = 0, threading.Lock(), []
        for name, s in queues.items():
            self.history.queue(name, s.get("fifo", False), s.get("dead"), s.get("receives_max"))
        self.dead = {s["dead"] for s in self.history.queues.values() if s["dead"]}
        self.make(queues)

    def asker(self, who, only=None):
        return Asker(self.cluster, random.Random(f"{self.seed} {who}"), self.through_proxy, only)

    def make(self, queues):
        a = self.asker("maker")
        for name in sorted(queues, key=lambda n: n not in self.dead):  # targets first
            s, attributes = queues[name], dict(queues[name].get("attributes", {}))
            if s.get("fifo"):
                attributes["FifoQueue"] = "true"
            if s.get("dead"):
                attributes["RedrivePolicy"] = json.dumps({"deadLetterTargetArn": ARN + s["dead"],
                                                          "maxReceiveCount": s["receives_max"]})
            self.insist(a, "CreateQueue", QueueName=name, Attributes=attributes)

    def insist(self, asker, action, **members):
        box = {}

        def done():
            box["got"] = asker.call(action, **members)
            return box["got"][0] == "ok"

        try:
            wait_until(done, f"{action} {members}", 30 * SLOW)
        except AssertionError as e:
            raise AssertionError(f"{e}: {box['got']}") from None
        return box["got"][1]

    # ---- operations, each written down ----

    def body(self):
        with self.lock:
            self.sent += 1
            n = self.sent
        return f"m{n}-{self.seed}".ljust(self.body_bytes, ".")

    def send(self, asker, queue, body=None, group=None, dedup=None, attributes=None, delay_s=None):
        body = body or self.body()
        members = {"MessageGroupId": group, "MessageDeduplicationId": dedup, "DelaySeconds": delay_s}
        if attributes:
            members["MessageAttributes"] = {k: {"DataType": "String", "StringValue": v} for k, v in attributes.items()}
        e = self.history.begin("send", queue=queue, body=body, group=group, dedup=dedup, attributes=attributes,
                               delay_s=delay_s)
        outcome, got = asker.call("SendMessage", QueueUrl=queue, MessageBody=body,
                                  **{k: v for k, v in members.items() if v is not None})
        e.ok(id=got["MessageId"]) if outcome == "ok" else getattr(e, outcome)(got)
        return e

    def receive(self, asker, queue, visibility_s=LEASE_S, wait_s=1, most=10, final=False):
        e = self.history.begin("receive", queue=queue, visibility_s=visibility_s, final=final)
        outcome, got = asker.call("ReceiveMessage", QueueUrl=queue, MaxNumberOfMessages=most, VisibilityTimeout=visibility_s,
                                  WaitTimeSeconds=wait_s, AttributeNames=["All"], MessageAttributeNames=["All"])
        e["asked"] = asker.broker
        if outcome != "ok":
            getattr(e, outcome)(got)
            return []
        messages = [{"body": m["Body"], "id": m["MessageId"], "handle": m["ReceiptHandle"],
                     "count": int(m["Attributes"]["ApproximateReceiveCount"]), "group": m["Attributes"].get("MessageGroupId"),
                     "attributes": {k: v["StringValue"] for k, v in m.get("MessageAttributes", {}).items()} or None}
                    for m in got.get("Messages", [])]
        e.ok(messages=messages)
        return messages

    def delete(self, asker, queue, m):
        e = self.history.begin("delete", queue=queue, handle=m["handle"], id=m["id"])
        outcome, got = asker.call("DeleteMessage", QueueUrl=queue, ReceiptHandle=m["handle"])
        e.ok() if outcome == "ok" else getattr(e, outcome)(got)
        return outcome

    def extend(self, asker, queue, m, visibility_s):
        e = self.history.begin("extend", queue=queue, handle=m["handle"], id=m["id"], visibility_s=visibility_s)
        outcome, got = asker.call("ChangeMessageVisibility", QueueUrl=queue, ReceiptHandle=m["handle"],
                                  VisibilityTimeout=visibility_s)
        e.ok() if outcome == "ok" else getattr(e, outcome)(got)

    # ---- clients under load ----

    def sender(self, asker, queue):
        s = self.history.queues[queue]
        if not s["fifo"]:
            attributes = {"shade": str(asker.rng.randrange(9))} if asker.rng.random() < 0.2 else None
            return self.send(asker, queue, attributes=attributes)["outcome"]
        body, group = self.body(), f"g{asker.rng.randrange(GROUPS)}"
        for _ in range(20):  # the id makes it safe to ask again
            outcome = self.send(asker, queue, body, group, dedup=body)["outcome"]
            if outcome == "ok" or self.end.is_set():
                break
            self.end.wait(0.05)
        return outcome

    def consumer(self, asker, queue):
        s, rng = self.history.queues[queue], asker.rng
        for m in self.receive(asker, queue, visibility_s=0 if s["dead"] else 30 if self.careful else LEASE_S):
            what = 0.5 if self.careful else rng.random()
            if s["dead"] and what < 0.7:
                continue  # given up, so that some become dead letters
            if what < 0.05 and not s["dead"]:
                self.extend(asker, queue, m, rng.choice((1, LEASE_S, 2 * LEASE_S)))
            elif what > 0.1 or s["dead"]:
                self.delete(asker, queue, m)
        return "ok"

    def client(self, what, queue, who, only):
        asker = self.asker(who, only)
        try:
            while not self.end.is_set():
                if what(asker, queue) != "ok":
                    self.end.wait(0.02)
                elif self.pause_s and what == self.sender:
                    self.end.wait(self.pause_s)
        except Exception:
            self.broken.append(traceback.format_exc())
        asker.leave()

    @contextlib.contextmanager
    def running(self, clients=2, only=None):
        """So many senders and so many consumers for each queue but the dead letters'."""
        self.end.clear()
        self.threads = [threading.Thread(target=self.client, args=(what, queue, f"{name} {queue} {i}", only), daemon=True)
                        for queue in self.history.queues if queue not in self.dead for i in range(clients)
                        for name, what in (("sender", self.sender), ("consumer", self.consumer))]
        for t in self.threads:
            t.start()
        try:
            yield self
        finally:
            self.end.set()
            for t in self.threads:
                t.join(3 * ANSWER_S)
        assert not self.broken, self.broken[0]

    def worked(self, kind, since=0):
        return sum(1 for e in self.history.entries if e["kind"] == kind and e["outcome"] == "ok" and e["at"] >= since
                   and (kind != "receive" or e["messages"]))

    def wait_progress(self, n, kinds=("send", "delete"), timeout=60 * SLOW):
        """So many more of each kind are asked and answered from now on."""
        begin = time.monotonic()
        wait_until(lambda: self.broken or all(self.worked(k, begin) >= n for k in kinds), f"{n} more of {kinds}", timeout)

    @contextlib.contextmanager
    def fault(self, what):
        """Around a fault, from before its beginning until all is well again."""
        e = self.history.begin("fault", what=what)
        yield e
        e.ok()

    def healed(self):
        self.cluster.heal()
        self.history.note("healed")

    # ---- the end ----

    def drain(self, timeout=120 * SLOW):
        """Receives and deletes all that is left, in all queues, leases and delays waited out."""
        asker, end = self.asker("drain"), time.monotonic() + timeout
        while time.monotonic() < end:
            if all(self.is_empty(asker, q) for q in self.history.queues):
                for q in self.history.queues:
                    self.history.note("drained", queue=q)
                return True
            for q in self.history.queues:
                while messages := self.receive(asker, q, visibility_s=4 * LEASE_S, wait_s=0, final=True):
                    for m in messages:
                        self.delete(asker, q, m)
            time.sleep(0.05)  # leases of clients that left must end
        return False

    def is_empty(self, asker, queue):
        outcome, got = asker.call("GetQueueAttributes", QueueUrl=queue, AttributeNames=["All"])
        return outcome == "ok" and not any(int(got["Attributes"]["ApproximateNumberOfMessages" + k])
                                           for k in ("", "NotVisible", "Delayed"))

    def audit(self):
        """Drains, and gives (what is wrong, a summary)."""
        drained = self.drain()
        for text in self.cluster.crashes():
            self.history.note("crash", what=text)
        self.history.save(os.path.join(self.cluster.folder, "history.jsonl"))
        wrong, summary = check(self.history, settle_s=SETTLE_S * SLOW)
        if not drained:
            wrong.append(("H11", "the queues could not be drained"))
        return wrong, summary

    def longest_gap_s(self, kind, begin=None, end=None):
        """The longest time between two answers of this kind that were good."""
        times = sorted(e["end"] for e in self.history.of(kind) if e["outcome"] == "ok" and (kind != "receive" or e["messages"]))
        times = [t for t in times if (begin is None or t >= begin) and (end is None or t <= end)]
        return max((b - a for a, b in zip(times, times[1:])), default=0.0)
