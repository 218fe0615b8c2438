# SPDX-License-Identifier: Apache-2.0
"""What each answer promises, over kill -9 under load: leases, extensions, delays, deduplication, order, dead letters
and their way back, purges, queues made and deleted.

    test_promises.py [LIVES [OPTION_OF_THE_SERVER]...]

Each worker has queues of its own and knows exactly what was answered, so it can say at each answer whether it may be.
LEASELOG_SEED replays the choices of a run (not the machine's timing)."""
import http.client
import json
import os
import random
import sys
import tempfile
import threading
import time
import traceback

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
from leaselog import Refused, Server, memory_folder

ARN = "arn:aws:sqs:us-east-1:000000000000:"
LOST = (OSError, http.client.HTTPException)
SLOW = float(os.environ.get("LEASELOG_SLOW", "1"))
tempfile.tempdir = memory_folder()  # a kill asks nothing of the disk
CLOCK_S = 0.002  # the server counts in milliseconds
now = time.monotonic


class Lost(Exception):
    """The server was killed: whether it was done is unknown."""


class Run:
    def __init__(self, seed):
        self.seed, self.life, self.server = seed, 0, None
        self.up, self.end = threading.Event(), threading.Event()
        self.lock, self.wrong, self.answers = threading.Lock(), [], 0

    def fail(self, text):
        with self.lock:
            self.wrong.append(f"life {self.life}: {text}")


class Message:
    """One that was sent; `sure`: its send was answered; `gone`: True, False or None (asked for, not answered)."""

    def __init__(self, body, queue, free_at):
        self.body, self.queue, self.sure, self.gone = body, queue, False, False
        self.free_at = free_at  # nobody may get it before
        self.soft = (0, -1)     # a lease that need not outlive a kill: until when, in which life


class Worker(threading.Thread):
    QUEUES = {}

    def __init__(self, run, number):
        super().__init__()
        self.run_, self.number = run, number
        self.rng = random.Random(f"{run.seed} {number}")
        self.client, self.messages, self.sent = None, {}, 0

    def call(self, action, **members):
        try:
            if self.client is None:
                self.run_.up.wait(30)
                self.client = self.run_.server.client(timeout=20 * SLOW)
            got = self.client.call(action, **members)
        except LOST as e:
            self.client = None
            raise Lost() from e
        self.run_.answers += 1
        return got

    def run(self):
        try:
            while not self.run_.end.is_set():
                try:
                    self.step()
                except Lost:
                    pass
                except Refused as e:
                    self.run_.fail(f"{type(self).__name__}: {e}")
        except Exception:
            self.run_.fail(traceback.format_exc())

    def body(self):
        self.sent += 1
        return f"{type(self).__name__}-{self.number}-{self.sent}"

    def put(self, queue, delay_s=0, **members):
        """Sends one message; when it is lost, the message may be there or not."""
        body, begin = self.body(), now()
        m = self.messages[body] = Message(body, queue, begin + delay_s)
        if delay_s:
            members["DelaySeconds"] = delay_s
        self.call("SendMessage", QueueUrl=queue, MessageBody=body, **members)
        m.sure = True
        return m

    def take(self, queue, n, visibility_s):
        """Receives, and says what may not be; gives pairs of message and handle."""
        begin, life = now(), self.run_.life
        got = self.call("ReceiveMessage", QueueUrl=queue, MaxNumberOfMessages=n, VisibilityTimeout=visibility_s,
                        AttributeNames=["All"]).get("Messages", [])
        end, pairs = now(), []
        for x in got:
            m = self.messages.get(x["Body"])
            if m is None:
                self.run_.fail(f"{x['Body']} was never sent")
                continue
            if m.gone is True:
                self.run_.fail(f"{m.body} came back from {queue} after its end was answered")
            if end < m.free_at - CLOCK_S:
                self.run_.fail(f"{m.body} came {m.free_at - end:.3f} s too early from {queue}")
            if end < m.soft[0] - CLOCK_S and m.soft[1] == life == self.run_.life:
                self.run_.fail(f"{m.body} came {m.soft[0] - end:.3f} s before its lease's end, in the same life")
            m.sure = True
            pairs.append((m, x))
        for m, _ in pairs:
            m.soft = (begin + visibility_s, life)
        return pairs

    def finish(self, queue, m, x):
        m.gone = None
        self.call("DeleteMessage", QueueUrl=queue, ReceiptHandle=x["ReceiptHandle"])
        m.gone = True

    def extend(self, queue, m, x, visibility_s):
        """From its answer on an extension holds over any kill."""
        m.free_at, m.soft, begin = 0, (0, -1), now()
        self.call("ChangeMessageVisibility", QueueUrl=queue, ReceiptHandle=x["ReceiptHandle"], VisibilityTimeout=visibility_s)
        m.free_at = begin + visibility_s

    def drain(self, queues):
        """How often each message is there, in the end; all leases and delays are waited out."""
        left, end = {}, now() + 60 * SLOW
        while now() < end:
            for q in queues:
                for m, x in self.take(q, 10, 3000):
                    left[m.body] = left.get(m.body, 0) + 1
                    self.call("DeleteMessage", QueueUrl=q, ReceiptHandle=x["ReceiptHandle"])
            counts = [self.client.counts(q) for q in queues]
            if not any(sum(c) for c in counts):
                break
            time.sleep(0.05)  # leases of clients that were cut off end
        else:
            self.run_.fail(f"{queues} could not be drained: {counts}")
        for m in self.messages.values():
            n = left.get(m.body, 0)
            if n > 1 or (n == 0 and m.sure and m.gone is False):
                self.run_.fail(f"{m.body} is there {n} times (gone: {m.gone})")
        return left

    def audit(self):
        self.drain(list(self.QUEUES))


class Standard(Worker):
    """Delays and extensions of a standard queue."""
    QUEUES = {"standard": {}}

    def step(self):
        if self.rng.random() < 0.5:
            self.put("standard", self.rng.choice((0, 0, 0, 1, 2)))
            return
        for m, x in self.take("standard", self.rng.choice((1, 10)), self.rng.choice((0, 1, 2))):
            what = self.rng.random()
            if what < 0.4:
                self.finish("standard", m, x)
            elif what < 0.7 and now() < m.soft[0]:
                try:
                    self.extend("standard", m, x, self.rng.choice((0, 1, 2)))
                except Refused as e:  # its lease has just ended
                    if e.status != 400:
                        raise


class Fifo(Worker):
    """Order, leases and deduplication of a FIFO queue."""
    QUEUES = {"ordered.fifo": {"FifoQueue": "true"}}

    def __init__(self, run, number):
        super().__init__(run, number)
        self.groups = {g: [] for g in "abc"}

    def step(self):
        if self.rng.random() < 0.5:
            return self.put_grouped()
        pairs = self.take("ordered.fifo", self.rng.choice((1, 3, 10)), self.rng.choice((1, 2)))
        for m, _ in pairs:
            m.free_at = max(m.free_at, m.soft[0])  # a FIFO lease is answered once it is stored
        self.check_order(pairs)
        for m, x in pairs:
            what = self.rng.random()
            if now() > m.soft[0] - 0.2:
                return
            if what < 0.6:
                self.finish("ordered.fifo", m, x)
            elif what < 0.8:
                self.extend("ordered.fifo", m, x, self.rng.choice((0, 1, 2)))
                return  # it blocks those behind it

    def put_grouped(self):
        group, body, first = self.rng.choice("abc"), self.body(), None
        m = self.messages[body] = Message(body, "ordered.fifo", 0)
        self.groups[group].append(m)
        for attempt in range(5):
            try:
                got = self.call("SendMessage", QueueUrl="ordered.fifo", MessageBody=body, MessageGroupId=group,
                                MessageDeduplicationId=body)
            except Lost:
                continue  # tried again, in the next life: one message all the same
            m.sure = True
            if first is not None and got != first:
                self.run_.fail(f"{body}: a second send of its id was answered {got} after {first}")
            first = got
            if self.rng.random() < 0.7:
                return

    def check_order(self, pairs):
        for group, sent in self.groups.items():
            came = [m for m, x in pairs if x["Attributes"]["MessageGroupId"] == group]
            places = [sent.index(m) for m in came]
            if places != sorted(places):
                self.run_.fail(f"group {group} came in the order {[m.body for m in came]}")
            if places:
                skipped = [m.body for m in sent[:places[-1]] if m.sure and m.gone is False and m not in came]
                if skipped:
                    self.run_.fail(f"{came[-1].body} overtook {skipped}")
            self.groups[group] = [m for m in sent if m.gone is not True]


class Letters(Worker):
    """Dead letters, and their way back."""
    QUEUES = {"letters": {}, "source": {"RedrivePolicy": json.dumps({"deadLetterTargetArn": ARN + "letters", "maxReceiveCount": 2})}}

    def step(self):
        what = self.rng.random()
        if what < 0.4:
            self.put("source")
        elif what < 0.85:
            for m, x in self.take("source", 10, 0):
                if self.rng.random() < 0.1:
                    self.finish("source", m, x)
        elif what < 0.95:
            # A handle of a letter that a task has taken away ends nothing, and says so to nobody.
            if not self.running():
                for m, x in self.take("letters", 10, 0)[:3]:
                    self.finish("letters", m, x)
        else:
            try:
                self.call("StartMessageMoveTask", SourceArn=ARN + "letters")
            except Refused as e:  # one is running
                if e.status != 400:
                    raise

    def running(self):
        tasks = self.call("ListMessageMoveTasks", SourceArn=ARN + "letters", MaxResults=10).get("Results", [])
        return any(t["Status"] == "RUNNING" for t in tasks)

    def audit(self):
        end = now() + 60 * SLOW
        while self.running() and now() < end:
            time.sleep(0.05)  # the task goes on by itself after a start
        if now() >= end:
            self.run_.fail("a move task never ends")
        self.drain(["source", "letters"])


class Emptied(Worker):
    """Purges, and a queue that is deleted and made again."""
    QUEUES = {"purged": {}, "remade": {}}

    def step(self):
        queue = self.rng.choice(("purged", "remade"))
        for _ in range(self.rng.randrange(1, 6)):
            self.ensure(queue)
            self.put(queue)
        for m, x in self.take(queue, 10, 0):
            if self.rng.random() < 0.3:
                self.finish(queue, m, x)
        if self.rng.random() < 0.3:
            mine = [m for m in self.messages.values() if m.queue == queue and m.gone is not True]
            for m in mine:
                m.gone = None
            if queue == "purged":
                self.call("PurgeQueue", QueueUrl=queue)
            else:
                self.exists = None
                self.call("DeleteQueue", QueueUrl=queue)
                self.exists = False
            for m in mine:
                m.gone = True

    exists = True

    def ensure(self, queue):
        if queue != "remade" or self.exists is True:
            return
        was = [u.rsplit("/", 1)[1] for u in self.call("ListQueues", QueueNamePrefix="remade").get("QueueUrls", [])]
        if self.exists is False and was:
            self.run_.fail("a queue whose deletion was answered is there again")
        self.exists = None
        self.call("CreateQueue", QueueName="remade")
        self.exists = True

    def audit(self):
        self.ensure("remade")
        super().audit()


def play(seed, lives, options):
    rng, run = random.Random(seed), Run(seed)
    with Server(*options) as run.server:
        c = run.server.client()
        workers = [kind(run, i) for i, kind in enumerate((Standard, Fifo, Letters, Emptied))]
        for w in workers:
            for name, attributes in w.QUEUES.items():
                c.call("CreateQueue", QueueName=name, Attributes=attributes)
        run.up.set()
        for w in workers:
            w.start()
        for run.life in range(lives):
            time.sleep(rng.uniform(0.05, 0.8))  # the moment of the kill is the test's input
            run.up.clear()
            run.server.kill()
            run.server.start()
            run.up.set()
        run.life += 1
        time.sleep(0.2)  # some load in the last life too
        run.end.set()
        for w in workers:
            w.join(120 * SLOW)
            assert not w.is_alive(), w
        for w in workers:
            w.client = run.server.client()
            w.audit()
        if run.server.stop() != 0:
            run.fail("the stop failed")
        for line in run.server.notes().splitlines():
            if '"level":"error"' in line or "Sanitizer" in line or "runtime error" in line:
                run.fail(line[:300])
    n = sum(len(w.messages) for w in workers)
    gone = sum(m.gone is True for w in workers for m in w.messages.values())
    print(f"seed {seed}: {lives} kills, {run.answers} answers, {n} messages, {gone} of them ended, {len(run.wrong)} wrong", flush=True)
    for text in run.wrong[:20]:
        print("WRONG", text[:1500])
    assert n > 20 * lives, "hardly any load: nothing was tested"
    return not run.wrong


def main():
    lives = int(sys.argv[1]) if len(sys.argv) > 1 else 4
    seed = int(os.environ.get("LEASELOG_SEED") or random.SystemRandom().getrandbits(31))
    good = play(seed, lives, sys.argv[2:])
    print("1 passed, 0 failed" if good else "0 passed, 1 failed")
    sys.exit(0 if good else 1)


main()
