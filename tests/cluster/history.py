# SPDX-License-Identifier: Apache-2.0
"""What clients asked and what they were told: one entry an operation, with the times of question and answer and the
outcome. `ok`: answered; `fail`: refused, and certainly not done; `unknown`: no answer, or one that does not say, so it
was done, was not done, or will be done later. Times are of the monotonic clock, which all processes of a machine share.

Entries are plain dicts, so that a history can be written by hand (test_checker.py), saved and read again:

    send     queue body group dedup attributes delay_s → id
    receive  queue visibility_s final → messages: [{body id handle count group attributes}]
    delete   queue handle id               extend  queue handle id visibility_s
    drained  queue                         nothing was left in it, leases waited out
    fault    what                          from when it begins until all is well again
    healed                                 no fault is left: from here on it must work soon
    crash    what                          a process ended that nobody ended
"""
import json
import threading
import time

KINDS = ("send", "receive", "delete", "extend", "drained", "fault", "healed", "crash")


class Entry(dict):
    """One operation under way; say ok(), fail() or unknown() once."""

    def _end(self, outcome, **results):
        self.update(results)
        self["end"], self["outcome"] = time.monotonic(), outcome

    def ok(self, **results):
        self._end("ok", **results)

    def fail(self, why=""):
        self._end("fail", why=why)

    def unknown(self, why=""):
        self._end("unknown", why=why)


class History:
    """`queues`: name → {"fifo": bool, "dead": name or None, "receives_max": n}; `moved_to` when a redrive goes there."""

    def __init__(self, queues=None):
        self.queues, self.entries, self.lock = dict(queues or {}), [], threading.Lock()

    def queue(self, name, fifo=False, dead=None, receives_max=None):
        self.queues[name] = {"fifo": fifo, "dead": dead, "receives_max": receives_max}

    def begin(self, kind, **arguments):
        assert kind in KINDS, kind
        entry = Entry(kind=kind, at=time.monotonic(), end=None, outcome="unknown", **arguments)
        with self.lock:
            self.entries.append(entry)
        return entry

    def note(self, kind, **arguments):
        self.begin(kind, **arguments).ok()

    def of(self, kind):
        return [e for e in self.entries if e["kind"] == kind]

    def save(self, path):
        with open(path, "w") as f:
            f.write(json.dumps({"queues": self.queues}) + "\n")
            for e in self.entries:
                f.write(json.dumps(e) + "\n")

    @staticmethod
    def load(path):
        with open(path) as f:
            h = History(json.loads(f.readline())["queues"])
            h.entries = [Entry(json.loads(line)) for line in f]
        return h
