# SPDX-License-Identifier: Apache-2.0
"""A backlog of ten million messages of 1 KiB (P6): memory, receives beside those from a queue that holds 10,000, and the
time to start again, after a clean stop and after kill -9 amid sends.

    backlog.py [MESSAGES] [--turns N] [--json]

--turns: 15. 0 is for a busy machine (scripts/check-long): receives are not compared, and the start after kill -9 is
told and not judged.
The bounds (README.md) are the broker's promise that memory, receives and start do not depend on the backlog. Takes
1.2 KiB of disk a message, and the time to fill: it says how fast that went."""
import argparse
import shutil
import statistics
import sys
import threading
import time

from figures import load, load_end, load_start, spread, tell
from leaselog import Server, wait_until

FEW, TAKEN = 10000, 8000  # a few messages wait; so many of them are received in a turn
CONNECTIONS, BATCH = 16, 10
FILL_MIN_PER_S, TURN_S = 5000, 60
MESSAGE_BYTES = 1300
CRASH_S = 2  # of sends, before kill -9 ends them
RSS_KIB_MAX, CLEAN_S_MAX, CRASHED_S_MAX, RECEIVES_MIN = 64 * 1024, 2, 10, 0.9


class Rss:
    """`with Rss(server) as r:` looks at its memory again and again; r.most_kib."""

    def __init__(self, server):
        self.server, self.most_kib, self.over = server, server.rss_kib(), threading.Event()
        self.thread = threading.Thread(target=self.look, daemon=True)

    def look(self):
        while not self.over.wait(0.02):
            self.most_kib = max(self.most_kib, self.server.rss_kib())

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.thread.join()


def fill(server, queue, messages):
    """Messages a second."""
    got = load(server, "send", queue, max(TURN_S, messages / FILL_MIN_PER_S), connections=CONNECTIONS, batch=BATCH, messages=messages)
    waits = server.client().counts(queue)
    assert waits == (messages, 0, 0), f"{waits} wait, after {got['seconds']:.0f} s, of {messages}"
    return got["messages"] / got["seconds"]


def take(server, queue):
    """Messages received and deleted a second."""
    got = load(server, "cycle", queue, TURN_S, connections=CONNECTIONS, batch=BATCH, messages=TAKEN)
    assert got["messages"] >= TAKEN, f"{got['messages']} of {TAKEN} were received"
    return got["messages"] / got["seconds"]


def compare(server, turns):
    """Receives a second from the deep queue and from one with a few messages, in turns."""
    deep, few = [], []
    c = server.client()
    for number in range(turns):
        queue = f"few{number}"  # each with as many, however the turn before has ended
        c.call("CreateQueue", QueueName=queue)
        fill(server, queue, FEW)
        for name, found in ((queue, few), ("deep", deep))[::1 if number % 2 == 0 else -1]:
            found.append(take(server, name))
        c.call("DeleteQueue", QueueUrl=queue)
    c.close()
    return deep, few


def started_s(server):
    """From exec to the first message received."""
    begin = time.monotonic()
    server.start()
    got = server.client().call("ReceiveMessage", QueueUrl="deep")
    assert got.get("Messages"), "nothing is received after a start"
    return time.monotonic() - begin


def crash(server):
    """kill -9, while messages are sent."""
    before = server.client().counts("deep")[0]
    sends = load_start(server, "send", "deep", connections=CONNECTIONS, batch=BATCH, seconds=TURN_S)
    wait_until(lambda: server.client().counts("deep")[0] > before or sends.poll() is not None, "messages are sent")
    time.sleep(CRASH_S)
    assert sends.poll() is None, "the sends have ended too early"
    server.kill()
    try:
        load_end(sends, TURN_S)
    except RuntimeError:
        return  # its connections are gone
    raise AssertionError("the sends did not notice the kill")


def room_or_skip(server, messages):
    needed, free = messages * MESSAGE_BYTES + (2 << 30), shutil.disk_usage(server.folder).free
    if free < needed:
        print(f"skipped: {needed >> 20} MiB of disk are needed in {server.folder}, {free >> 20} are free")
        sys.exit(77)


def measure(messages, turns):
    f = {"messages": messages}
    with Server() as s:
        room_or_skip(s, messages)
        c = s.client()
        c.call("CreateQueue", QueueName="deep")
        c.close()
        f["filled_per_s"] = fill(s, "deep", messages)
        f["rest_kib"] = s.rss_kib()
        with Rss(s) as rss:
            f["deep_per_s"], f["few_per_s"] = compare(s, turns)
        f["receiving_kib"] = rss.most_kib
        crash(s)
        f["crashed_s"] = started_s(s)
        begin = time.monotonic()
        assert s.stop() == 0
        f["stop_s"] = time.monotonic() - begin
        f["clean_s"] = started_s(s)
        f["again_kib"] = s.rss_kib()
    return f


def main():
    p = argparse.ArgumentParser(prog="backlog.py")
    p.add_argument("messages", type=int, nargs="?", default=10000000)
    p.add_argument("--turns", type=int, default=15)
    p.add_argument("--json", action="store_true")
    args = p.parse_args()
    messages = max(args.messages, (args.turns + 2) * FEW) // BATCH * BATCH
    f = measure(messages, args.turns)
    ratios = [a / b for a, b in zip(f["deep_per_s"], f["few_per_s"])] or [1.0]
    most_kib = max(f["rest_kib"], f["receiving_kib"], f["again_kib"])
    text = (f"{messages:,}, filled at {f['filled_per_s']:,.0f}/s: RSS {f['rest_kib'] / 1024:.0f} MiB at rest, "
            f"{f['receiving_kib'] / 1024:.0f} during receives, {f['again_kib'] / 1024:.0f} after a start; "
            f"{f'receives {spread(ratios)} × those with {FEW:,}; ' if args.turns else ''}first message {f['clean_s']:.2f} s after a clean start, "
            f"{f['crashed_s']:.2f} s after kill -9; stop {f['stop_s']:.2f} s")
    met = (most_kib <= RSS_KIB_MAX and statistics.median(ratios) >= RECEIVES_MIN and f["clean_s"] <= CLEAN_S_MAX
           and (not args.turns or f["crashed_s"] <= CRASHED_S_MAX))
    tell("P6", text, met, args.json, **f)


main()
