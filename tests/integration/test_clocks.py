# SPDX-License-Identifier: Apache-2.0
"""Clocks that are wrong or jump by an hour, the server's and its clients': leases, delays, polls, windows of
deduplication and retention go by time that has passed. The server's wall clock is shifted with libfaketime."""
import glob
import os
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
from leaselog import BINARY, Server, in_thread, memory_folder, run_tests, test

FAKETIME = next(iter(glob.glob("/usr/lib/*/faketime/libfaketimeMT.so.1")), None)
HOUR_S = 3600
LEASE_S = 2
EARLY_S = 0.002  # the broker counts whole milliseconds: when it takes a message, and again over a restart
LATE_S = 3 * float(os.environ.get("LEASELOG_SLOW", "1"))
tempfile.tempdir = memory_folder()


class ShiftedServer(Server):
    """A server whose wall clock is `shift(s)` seconds off; its monotonic clocks are the machine's."""

    def __init__(self, off_s):
        super().__init__()
        self.file = os.path.join(self.folder, "shift")
        self.shift(off_s)
        self.prefix = ["env", f"LD_PRELOAD={FAKETIME}", f"FAKETIME_TIMESTAMP_FILE={self.file}", "FAKETIME_NO_CACHE=1",
                       "FAKETIME_DONT_FAKE_MONOTONIC=1", "NO_FAKE_STAT=1"]

    def shift(self, off_s):
        with open(self.file + ".new", "w") as f:
            f.write(f"{off_s:+d}\n")
        os.rename(self.file + ".new", self.file)


def send(c, body, queue="q", **members):
    return c.call("SendMessage", QueueUrl=queue, MessageBody=body, **members)


def receive(c, queue="q", **members):
    return c.call("ReceiveMessage", QueueUrl=queue, MaxNumberOfMessages=10, AttributeNames=["All"], **members).get("Messages", [])


def bodies(messages):
    return sorted(m["Body"] for m in messages)


def after_jumps(first_s, jumps):
    """One life of a queue, and a second one after a kill; `jumps` are where the wall clock goes, each in turn."""
    with ShiftedServer(first_s) as s:
        c, jumps = s.client(), list(jumps)
        c.call("CreateQueue", QueueName="q", Attributes={"MessageRetentionPeriod": "60"})
        c.call("CreateQueue", QueueName="q.fifo", Attributes={"FifoQueue": "true"})
        once = {"queue": "q.fifo", "MessageGroupId": "g", "MessageDeduplicationId": "d"}
        first = send(c, "once", **once)
        send(c, "leased")
        begin = time.monotonic()  # before the request, so the lease may end a little later
        got = receive(c, VisibilityTimeout=LEASE_S)
        off_s = int(got[0]["Attributes"]["SentTimestamp"]) / 1000 - time.time()
        assert abs(off_s - first_s) < 60, f"the clock was not shifted: {off_s}"
        sending = time.monotonic()
        send(c, "delayed", DelaySeconds=LEASE_S)
        s.shift(jumps.pop(0))
        came = {}

        def look(wait_s):
            got = receive(c, WaitTimeSeconds=wait_s, VisibilityTimeout=HOUR_S)
            came.update((m["Body"], time.monotonic()) for m in got)
            return got

        look(0)
        poll = time.monotonic()
        assert look(1) or 0.9 < time.monotonic() - poll < 1 + LATE_S, time.monotonic() - poll
        s.kill()
        s.shift(jumps.pop(0))
        c = s.start().client()
        while len(came) < 2 and time.monotonic() - begin < 60:
            look(2)
        assert LEASE_S - EARLY_S <= came["leased"] - begin < LEASE_S + LATE_S, came["leased"] - begin
        assert LEASE_S - EARLY_S <= came["delayed"] - sending < LEASE_S + LATE_S, came["delayed"] - sending
        assert send(c, "once", **once) == first and c.counts("q.fifo") == (1, 0, 0), "the window is where it was"
        send(c, "kept")
        s.shift(jumps.pop(0))
        time.sleep(1.2)  # the housekeeper looks at retention once a second
        assert bodies(receive(c)) == ["kept"], "and nothing has expired"
        assert s.stop() == 0
        assert '"level":"error"' not in s.notes(), s.notes()


def test_of_the_server_s_clock(f):
    if not FAKETIME:
        print(f"SKIP {f.__name__}: libfaketime is not installed")
        return f
    got = subprocess.run(["env", f"LD_PRELOAD={FAKETIME}", BINARY, "--version"], capture_output=True, text=True)
    if got.returncode != 0:  # a sanitizer wants to be loaded first
        print(f"SKIP {f.__name__}: no clock can be shifted here: {got.stderr.strip()[:100]}")
        return f
    with open(BINARY, "rb") as binary:
        if b"libtsan" in binary.read():
            print(f"SKIP {f.__name__}: libfaketime waits for conditions behind the thread sanitizer's back")
            return f
    return test(f)


@test_of_the_server_s_clock
def a_wall_clock_that_is_an_hour_off_or_jumps_ends_nothing_early_and_keeps_nothing_longer():
    runs = [in_thread(after_jumps, first, jumps) for first, jumps in (
        (0, (HOUR_S, -HOUR_S, HOUR_S)),
        (HOUR_S, (0, -HOUR_S, HOUR_S)),   # the data directory comes from the future
        (-HOUR_S, (HOUR_S, 24 * HOUR_S, 0)))]
    for run in runs:
        run.result()


@test
def a_client_s_own_idea_of_the_time_decides_nothing():
    with Server() as s:
        c = s.client()
        c.call("CreateQueue", QueueName="q")
        for date in ("Sun, 06 Nov 1994 08:49:37 GMT", "Fri, 01 Jan 2100 00:00:00 GMT", "never"):
            begin = time.time()
            status, body, _ = c.raw("POST", "/", b'{"QueueUrl":"q","MessageBody":"m","DelaySeconds":1}', {
                "Content-Type": "application/x-amz-json-1.0", "X-Amz-Target": "AmazonSQS.SendMessage",
                "Date": date, "X-Amz-Date": "21000101T000000Z", "If-Unmodified-Since": date})
            assert status == 200, (status, body)
        assert receive(c) == [] and c.counts("q") == (0, 0, 3)
        got = receive(c, WaitTimeSeconds=5)
        assert got and time.time() - begin < 1 + LATE_S
        for m in got:
            assert abs(int(m["Attributes"]["SentTimestamp"]) / 1000 - begin) < 1 + LATE_S


run_tests(globals())
