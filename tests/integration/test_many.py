# SPDX-License-Identifier: Apache-2.0
"""Many queues and many receivers that have nothing to do cost next to nothing.

    MANY=long test_many.py [TEST]...      as check-long does: thousands of each; without it, a hundred

Memory is told as growth of RSS; processor time is the server's own, from /proc."""
import os
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
from leaselog import Server, in_thread, memory_folder, run_tests, test, wait_until
from poller import poller, polls

LONG = os.environ.get("MANY") == "long"
CREATORS = 8
KIB_A_QUEUE_MAX = 7  # of RSS: structs of topic, partition, log, copy and group, cached batches, and SQLite's pages
CREATE_S_MAX = 10  # for 10,000, on a disk whose sync takes less than 0.16 ms; a queue costs up to ...
SYNCS_A_QUEUE = 6
if not LONG:
    tempfile.tempdir = memory_folder()  # syncs are not what is asked here


def create(server, queues):
    """Makes them from several connections; gives the seconds it took."""

    def some(first):
        c = server.client()
        for i in range(first, queues, CREATORS):
            c.call("CreateQueue", QueueName=f"q{i:05}")
        c.close()

    begin = time.monotonic()
    for t in [in_thread(some, first) for first in range(CREATORS)]:
        t.join()  # however long it takes: a test has its own bound
        t.result()
    return time.monotonic() - begin


def sync_s(server, times=100):
    """How long the disk takes to append 4 KiB and sync it: the mean, as all that is made waits for all of them."""
    path = os.path.join(server.folder, "sync")
    fd = os.open(path, os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o600)
    begin = time.monotonic()
    for _ in range(times):
        os.write(fd, b"s" * 4096)
        os.fdatasync(fd)
    os.close(fd)
    return (time.monotonic() - begin) / times


def receive_nothing(c, queue):
    got = c.call("ReceiveMessage", QueueUrl=f"q{queue:05}")
    assert got == {}, got


def cpu_s(server):
    with open(f"/proc/{server.process.pid}/stat") as f:
        fields = f.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def cpu_share(server, seconds):
    """Of one core, over some seconds in which nothing is asked of it."""
    before = cpu_s(server)
    time.sleep(seconds)
    return (cpu_s(server) - before) / seconds


def is_sanitized(server):
    """Sanitizers keep what was freed, so RSS says nothing."""
    with open(f"/proc/{server.process.pid}/maps") as f:
        maps = f.read()
    return "libasan" in maps or "libtsan" in maps


@test
def empty_receives_on_idle_queues_leave_memory_as_it_is():
    queues, rounds = (300, 334) if LONG else (20, 10)
    with Server() as s:
        create(s, queues)
        c = s.client()

        def ask_all(times):
            for _ in range(times):
                for queue in range(queues):
                    receive_nothing(c, queue)

        ask_all(5)  # what is made once, is made
        before_kib = s.rss_kib()
        ask_all(rounds)
        grown_kib = s.rss_kib() - before_kib
        print(f"{queues * rounds} empty receives on {queues} queues: RSS {before_kib} KiB, and {grown_kib} more")
        if is_sanitized(s):
            print("SKIP its memory: a sanitizer keeps what was freed")
            return
        assert grown_kib <= 128, f"RSS has grown by {grown_kib} KiB"


@test
def idle_queues_are_made_fast_all_work_and_cost_little_memory_and_no_time():
    queues, page = (10000, 1000) if LONG else (50, 20)
    with Server() as s:
        c = s.client()
        c.call("CreateQueue", QueueName="first")
        c.call("ReceiveMessage", QueueUrl="first")
        before_kib = s.rss_kib()
        one_sync_s = sync_s(s) if LONG else 0
        took_s = create(s, queues)
        one_sync_s = max(one_sync_s, sync_s(s)) if LONG else 0
        each_kib = (s.rss_kib() - before_kib) / queues
        c.close()
        c = s.client()  # the first one may have been idle for too long
        listed, token = [], {}
        while True:
            got = c.call("ListQueues", QueueNamePrefix="q", MaxResults=page, **token)
            listed += [url.rsplit("/")[-1] for url in got["QueueUrls"]]
            if "NextToken" not in got:
                break
            token = {"NextToken": got["NextToken"]}
        assert listed == [f"q{i:05}" for i in range(queues)], listed[:3]
        c.call("SendMessage", QueueUrl=f"q{queues - 1:05}", MessageBody="the last one works")
        for queue in range(queues - 1):
            receive_nothing(c, queue)
        received_kib = (s.rss_kib() - before_kib) / queues
        assert c.call("ReceiveMessage", QueueUrl=f"q{queues - 1:05}")["Messages"][0]["Body"] == "the last one works"
        share = cpu_share(s, 5) if LONG else 0
        print(f"{queues} queues in {took_s:.2f} s (a sync: {one_sync_s * 1000:.2f} ms); RSS a queue {each_kib:.2f} KiB, after a receive on each "
              f"{received_kib:.2f} KiB; idle: {share:.2%} of a core")
        if LONG:
            bound_s = max(CREATE_S_MAX, queues * SYNCS_A_QUEUE * one_sync_s)
            assert took_s < bound_s, f"it took {took_s:.1f} s to make them, and {bound_s:.1f} s were given"
            assert received_kib < KIB_A_QUEUE_MAX, f"each takes {received_kib:.2f} KiB"
            assert share <= 0.004, f"idle queues take {share:.2%} of a core"


if LONG:

    @test
    def five_hundred_waiting_receivers_cost_less_than_two_hundredths_of_a_core():
        with Server() as s:
            create(s, 50)
            sockets = [poller(s.port, f"q{i % 50:05}") for i in range(500)]
            c = s.client()
            wait_until(lambda: polls(c) == 500, "all of them wait")
            share = cpu_share(s, 8)
            assert polls(c) == 500, polls(c)
            print(f"500 waiting receivers: {share:.2%} of a core")
            assert share < 0.02, f"they cost {share:.2%} of a core"
            for sock in sockets:
                sock.close()


run_tests(globals())
