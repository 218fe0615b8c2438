# SPDX-License-Identifier: Apache-2.0
"""Very short lives: start, up to half a second of load, kill -9, start again, and at the end an audit of
everything that was answered.

    test_cycles.py [LIVES]

Standard, FIFO and dead-letter queues, a queue that is purged and one that is deleted and made again.
LEASELOG_SEED replays the choices of a run (not the machine's timing)."""
import http.client
import os
import random
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
from leaselog import Refused, Server

LOST = (OSError, http.client.HTTPException)  # the server was killed: the outcome is unknown
START_S_MAX = 2 * float(os.environ.get("LEASELOG_SLOW", "1"))
RECEIVES_MAX = 3


class Message:
    """What the clients know of one message; answers that never came leave a question open."""

    def __init__(self, queue, group, begun):
        self.queue, self.group, self.begun = queue, group, begun
        self.number = None        # FIFO: the sequence number of the answered send
        self.sent = None          # when its send was answered
        self.counts = []          # (when answered, receive count, life)
        self.asked = False        # somebody tried to delete it
        self.deleted = None       # when a delete was answered
        self.gone = None          # when a purge or delete of its queue was answered
        self.maybe_gone = False   # one was asked for


class History:
    def __init__(self, seed):
        self.lock = threading.Lock()
        self.seed, self.life = seed, 0
        self.messages = {}
        self.groups = {}          # FIFO group -> its messages in the order of their answered sends
        self.wrong = []
        self.floors = {}          # group -> how many of these are finished without a gap
        self.behind = set()       # (earlier, later): later was received while earlier seemed unfinished
        self.answered = 0

    def fail(self, text):
        self.wrong.append(f"life {self.life}: {text}")

    def received(self, got, queue, asked):
        """`got`: the messages of one answer."""
        with self.lock:
            self.answered += 1
            together = set()
            for m in got:
                self.one_received(m, queue, asked, together)

    def one_received(self, m, queue, asked, together):
        body, count = m["Body"], int(m["Attributes"]["ApproximateReceiveCount"])
        known = self.messages.get(body)
        if known is None:
            return self.fail(f"{body[:60]} was never sent")
        if known.deleted is not None and known.deleted < asked and not queue.startswith("dead"):
            self.fail(f"{body[:60]} came back after its delete (count {count}, from {queue})")
        if known.gone is not None and known.gone < asked:
            self.fail(f"{body[:60]} came back after its queue was purged or deleted")
        for when, seen, life in known.counts:
            # A lease of a standard queue that was not committed may be lost with the life that gave it.
            if when < asked and count <= seen and (life == self.life or queue.endswith(".fifo")):
                self.fail(f"{body[:60]}: receive count {count} after {seen}")
        known.counts.append((time.monotonic(), count, self.life))
        if queue == "load.fifo" and known.number is not None:
            # Whoever comes needs all before it in its group to be finished, or in the same answer.
            mine, at = self.groups[known.group], self.floors.get(known.group, 0)
            while at < len(mine) and self.messages[mine[at]].asked:
                at += 1
            self.floors[known.group] = at
            while at < len(mine) and self.messages[mine[at]].number < known.number:
                if not self.messages[mine[at]].asked and mine[at] not in together:
                    self.behind.add((mine[at], body))
                at += 1
        together.add(body)


def send(client, queue, rng, history, name):
    n = rng.choice((1, 1, 3, 10))
    group = name if queue.endswith(".fifo") else None
    bodies = [f"{name}-{rng.getrandbits(48):012x}-{i}" + "x" * rng.choice((0, 100, 3000)) for i in range(n)]
    extra = [{"MessageGroupId": group, "MessageDeduplicationId": b[:100]} if group else {} for b in bodies]
    now = time.monotonic()
    with history.lock:
        for b in bodies:
            history.messages[b] = Message(queue, group, now)
    answer = client.call("SendMessageBatch", QueueUrl=queue, Entries=[
        dict(Id=str(i), MessageBody=b, **extra[i]) for i, b in enumerate(bodies)])
    now = time.monotonic()
    with history.lock:
        history.answered += 1
        for entry in answer.get("Successful", []):
            body = bodies[int(entry["Id"])]
            known = history.messages[body]
            known.sent = now
            if group:
                known.number = int(entry["SequenceNumber"])
                history.groups.setdefault(group, []).append(body)


def receive(client, queue, rng, history):
    asked = time.monotonic()
    answer = client.call("ReceiveMessage", QueueUrl=queue, MaxNumberOfMessages=rng.choice((1, 3, 10)),
                         VisibilityTimeout=rng.choice((0, 0, 1)), AttributeNames=["All"])
    got = answer.get("Messages", [])
    history.received(got, queue, asked)
    kept = [m for m in got if rng.random() < 0.4]
    if not kept:
        return
    with history.lock:
        for m in kept:
            history.messages[m["Body"]].asked = True
    answer = client.call("DeleteMessageBatch", QueueUrl=queue, Entries=[
        {"Id": str(i), "ReceiptHandle": m["ReceiptHandle"]} for i, m in enumerate(kept)])
    now = time.monotonic()
    with history.lock:
        history.answered += 1
        for entry in answer.get("Successful", []):
            known = history.messages[kept[int(entry["Id"])]["Body"]]
            # An old receipt of a FIFO message is refused, one of a standard message works.
            known.deleted = known.deleted or now


def drop_all(history, queue, action):
    """A purge or a delete of the queue: what was answered before must never come again."""
    begun = time.monotonic()
    with history.lock:
        mine = [m for m in history.messages.values() if m.queue == queue and m.gone is None]
        before = [m for m in mine if m.sent is not None and m.sent < begun]
        for m in mine:
            m.maybe_gone = True
    action()
    now = time.monotonic()
    with history.lock:
        history.answered += 1
        for m in before:
            m.gone = now
        for m in history.messages.values():  # sent meanwhile: may be among the dropped
            if m.queue == queue and m.begun <= now:
                m.maybe_gone = True


def worker(number, server, history, stop, failures):
    rng = random.Random(f"{history.seed} {history.life} {number}")
    try:
        client = server.client(timeout=10)
        while not stop.is_set():
            queue = rng.choice(("load", "load", "load.fifo", "load.fifo", "purged", "remade"))
            try:
                if rng.random() < 0.5:
                    send(client, queue, rng, history, f"w{number}")
                else:
                    receive(client, queue, rng, history)
                if number == 0 and rng.random() < 0.05:
                    drop_all(history, "purged", lambda: client.call("PurgeQueue", QueueUrl="purged"))
                if number == 1 and rng.random() < 0.05:
                    drop_all(history, "remade", lambda: client.call("DeleteQueue", QueueUrl="remade"))
                    client.call("CreateQueue", QueueName="remade", Attributes={"VisibilityTimeout": "1"})
            except Refused as e:
                if not (queue == "remade" and e.code.endswith("NonExistentQueue")) and e.code.find("NonExistent") < 0:
                    failures.append(str(e))
                    return
    except LOST:
        return


def drain(server, history):
    """Everything that is left: (queue, body) -> how often it came, with leases that outlive the drain."""
    c, left = server.client(), {}
    try:
        c.call("CreateQueue", QueueName="remade", Attributes={"VisibilityTimeout": "1"})
    except Refused:
        pass
    for queue in ("load", "load.fifo", "purged", "remade", "dead", "dead.fifo"):
        end = time.monotonic() + 60
        while time.monotonic() < end:
            asked = time.monotonic()
            got = c.call("ReceiveMessage", QueueUrl=queue, MaxNumberOfMessages=10, VisibilityTimeout=300,
                         WaitTimeSeconds=1, AttributeNames=["All"]).get("Messages", [])
            history.received(got, queue, asked)
            for m in got:
                key = (queue, m["Body"])
                left[key] = left.get(key, 0) + 1
                history.messages[m["Body"]].asked = True
            if got:
                end = time.monotonic() + 60
                c.call("DeleteMessageBatch", QueueUrl=queue, Entries=[
                    {"Id": str(i), "ReceiptHandle": m["ReceiptHandle"]} for i, m in enumerate(got)])
            elif sum(c.counts(queue)) == 0:
                break
        else:
            raise AssertionError(f"{queue} could not be drained: {c.counts(queue)}")
        states = [p["state"] for p in c.get(f"/v1/topics/{queue}/partitions")["partitions"]]
        assert set(states) == {"ok"}, (queue, states)
    return left


def audit(history, left):
    times = {}
    for (queue, body), n in left.items():
        times.setdefault(body, []).extend([queue] * n)
    for body, queues in times.items():
        if len(queues) > 1:
            history.fail(f"{body[:60]} is there more than once: {queues}")
    for body, m in history.messages.items():
        if m.sent and not m.asked and not m.maybe_gone and body not in times:
            history.fail(f"{body[:60]}: the answered send to {m.queue} is lost ({m.counts})")
        if body in times and times[body][0].startswith("dead") and not m.queue.startswith("load"):
            history.fail(f"{body[:60]} of {m.queue} is in {times[body]}")
    for earlier, later in history.behind:
        if times.get(earlier) != ["dead.fifo"] and not history.messages[earlier].asked:
            history.fail(f"{later[:60]} overtook {earlier[:60]}")


def run(seed, lives):
    rng = random.Random(seed)
    history = History(seed)
    slowest, fifo = 0, {"FifoQueue": "true"}
    with Server(*sys.argv[2:]) as server:
        c = server.client()
        for dead, queue, extra in (("dead", "load", {}), ("dead.fifo", "load.fifo", fifo)):
            c.call("CreateQueue", QueueName=dead, Attributes={**extra, "MessageRetentionPeriod": "1209600"})
            policy = '{"deadLetterTargetArn":"arn:aws:sqs:us-east-1:000000000000:%s","maxReceiveCount":%d}' % (
                dead, RECEIVES_MAX)
            c.call("CreateQueue", QueueName=queue, Attributes=dict(extra, RedrivePolicy=policy))
        c.call("CreateQueue", QueueName="purged")
        c.close()
        for history.life in range(lives):
            stop, failures = threading.Event(), []
            threads = [threading.Thread(target=worker, args=(n, server, history, stop, failures)) for n in range(4)]
            for t in threads:
                t.start()
            time.sleep(rng.uniform(0.01, 0.5))  # the moment of the kill is the test's input
            clean = rng.random() < 0.1
            if clean:
                code = server.stop()
                if code != 0:
                    history.fail(f"a clean stop gave {code}")
            else:
                server.kill()
            stop.set()
            for t in threads:
                t.join(30)
            if failures:
                history.fail(f"refused: {failures[:2]}")
            begun = time.monotonic()
            server.start()
            took = time.monotonic() - begun
            slowest = max(slowest, took)
            if took > START_S_MAX:
                history.fail(f"the start took {took:.2f} s")
            if history.wrong:
                break
        history.life += 1  # the server was started once more
        time.sleep(1.1)  # leases of one second end
        left = drain(server, history)
        audit(history, left)
        sent = sum(m.sent is not None for m in history.messages.values())
        deleted = sum(m.deleted is not None for m in history.messages.values())
        dead = sum(q.startswith("dead") for q, _ in left)
        print(f"seed {seed}: {history.life} lives, {history.answered} answers, {sent} sends, {deleted} deletes, "
              f"{len(left)} left, {dead} dead letters, slowest start {slowest:.2f} s, {len(history.wrong)} wrong",
              flush=True)
        for line in server.notes().splitlines():
            if any(w in line for w in ('"error"', '"warning"', "error:", "Sanitizer", "runtime error")):
                print("   ", line[:300])
                history.fail(line[:200])
        if history.wrong and os.environ.get("LEASELOG_KEEP"):
            import shutil
            shutil.copytree(server.folder, os.environ["LEASELOG_KEEP"], dirs_exist_ok=True)
        assert not history.wrong, history.wrong[:5]
        assert sent > 5 * lives, "hardly any load: the audit means nothing"


def main():
    lives = int(sys.argv[1]) if len(sys.argv) > 1 else 40
    seed = int(os.environ.get("LEASELOG_SEED") or random.SystemRandom().getrandbits(31))
    run(seed, lives)
    print("1 passed, 0 failed")


main()
