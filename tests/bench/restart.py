# SPDX-License-Identifier: Apache-2.0
"""How long sends and receives do not work around restarts, and whether anything is lost by them:

    whole     all brokers are stopped, idle, and started again: the time from when most of them serve until sends and
              receives work (all clients ask at those that are back; a third one comes 2 s later)
    killed    the same, but they are killed
    rolling   one broker after the other is stopped and started, the next one when all copies are in sync: the longest
              time without a good answer to any of the clients, which sit at every broker

    restart.py [whole] [killed] [rolling]

RESTART_ROUNDS (5) of each kind; FAILOVER_TTL_S (6): the brokers' --session-ttl. Prints a line a kind, in seconds; fails when a
message is lost."""
import os
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE]
from failover import LOST, PATIENCE_S, QUEUE, TTL_S, Cluster, Probes, Refused, made, percentile, wait_until, why_not

ROUNDS = int(os.environ.get("RESTART_ROUNDS", "5"))
KEPT, MESSAGES = "kept", 50
LATE_S = 2.0


def tried(f):
    try:
        return f()
    except (Refused, *LOST):
        return None


def keep(c):
    """Messages that must be there at the end."""
    wait_until(lambda: tried(lambda: c.client(1).call("CreateQueue", QueueName=KEPT)), "the queue is made")
    for i in range(MESSAGES):
        wait_until(lambda i=i: tried(lambda: c.client(1).call("SendMessage", QueueUrl=KEPT, MessageBody=str(i))), "it is sent")


def all_kept(c):
    found = set()

    def look():
        got = tried(lambda: c.client(1).call("ReceiveMessage", QueueUrl=KEPT, VisibilityTimeout=600, MaxNumberOfMessages=10))
        found.update(m["Body"] for m in (got or {}).get("Messages", []))
        return len(found) == MESSAGES

    try:
        wait_until(look, "all messages are there", 30)
    except Exception as e:  # whatever says that the time is over
        print(f"lost: {sorted(set(map(str, range(MESSAGES))) - found)}", flush=True)
        raise AssertionError("messages are lost") from e


def until_works(c, brokers, what):
    begin, k = time.monotonic(), 0
    while True:
        k += 1
        client = tried(lambda: c.client(brokers[k % len(brokers)], timeout=PATIENCE_S))
        if client and tried(lambda: what(client)):
            return time.monotonic() - begin
        if time.monotonic() - begin > 60:
            raise AssertionError("nothing works after 60 s")
        time.sleep(0.02)


def send(client):
    return client.call("SendMessage", QueueUrl=QUEUE, MessageBody="x")


def receive(client):
    return client.call("ReceiveMessage", QueueUrl=QUEUE, VisibilityTimeout=0).get("Messages")


def whole(c, end, k):
    late = c.brokers[k % len(c.brokers)]
    first = [b for b in c.brokers if b != late]
    c.wait_in_sync(QUEUE)
    for b in c.brokers:
        end(b)
    for b in first:
        c.start(b, wait=False)
    for b in first:
        c.wait_serving(b)
    begin = time.monotonic()
    found = {"send": until_works(c, first, send)}
    found["receive"] = found["send"] + until_works(c, first, receive)
    time.sleep(max(0.0, LATE_S - (time.monotonic() - begin)))
    c.start(late)
    return found


def rolling(c, probes):
    probes.wait_working()
    begin = time.monotonic()
    for b in c.brokers:
        c.stop(b)
        c.start(b)
        c.wait_in_sync(QUEUE)
    probes.wait_working()
    return probes.longest_gaps(begin)


def main():
    if reason := why_not():
        print(f"skipped: {reason}")
        sys.exit(77)
    for kind in sys.argv[1:] or ["whole", "killed", "rolling"]:
        with Cluster(ttl_s=TTL_S) as c:
            wait_until(lambda: made(c), "the queue is made")
            keep(c)
            if kind == "rolling":
                probes = Probes(c)
                found = [rolling(c, probes) for _ in range(ROUNDS)]
                probes.stop()
            else:
                found = [whole(c, {"whole": c.stop, "killed": c.kill}[kind], k) for k in range(ROUNDS)]
            c.wait_in_sync(QUEUE)
            all_kept(c)
            for what in ("send", "receive"):
                times = [f[what] for f in found]
                print(f"{kind}, no {what} for: p50 {percentile(times, 50):.2f} s, worst {max(times):.2f} s "
                      f"({len(times)} rounds, session {TTL_S} s): {' '.join(f'{t:.2f}' for t in times)}", flush=True)
            assert not c.crashes(), c.crashes()


if __name__ == "__main__":
    main()
