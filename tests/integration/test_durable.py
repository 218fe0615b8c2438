# SPDX-License-Identifier: Apache-2.0
"""Answers and syncs in the real process, seen and bent with strace: nothing is answered before its sync, a failed
sync is final, and a slow disk slows clients down instead of filling the memory."""
import glob
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
from leaselog import Refused, Server, in_thread, memory_folder, run_tests, test, wait_until

SYNCS = "fdatasync,fsync,syncfs,sync_file_range"
WRITES = "pwrite64,pwritev,pwritev2,write,writev,sendmsg,sendto"
MIB = 1 << 20
tempfile.tempdir = memory_folder()  # how fast syncs are is for the tests to say


class Strace:
    """`with Strace(server, ...)` traces or bends the calls of a running server."""

    def __init__(self, server, *options):
        self.file = os.path.join(server.folder, "trace")
        self.process = subprocess.Popen(["strace", "-f", "-s", "40", "-p", str(server.process.pid), "-o", self.file, *options],
                                        stderr=subprocess.PIPE, text=True)
        line = self.process.stderr.readline()
        assert "attached" in line, line
        # Its threads are attached one after another.
        tasks = f"/proc/{server.process.pid}/task/*/status"
        wait_until(lambda: all(re.search(r"TracerPid:\t[1-9]", open(t).read()) for t in glob.glob(tasks)), "all are traced")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGINT)
        self.process.wait(30)
        self.process.stderr.close()


def may_trace():
    try:
        got = subprocess.run(["strace", "-qq", "-o", "/dev/null", "true"], capture_output=True, text=True, timeout=20)
    except OSError:
        return "strace is not installed"
    try:
        with open("/proc/sys/kernel/yama/ptrace_scope") as f:
            if int(f.read()) > 0 and os.getuid() != 0:
                return "strace may not attach to a process that it has not started (kernel.yama.ptrace_scope)"
    except OSError:
        pass
    return None if got.returncode == 0 else f"strace may not trace here: {got.stderr.strip()[:100]}"


def check_order(trace, answers):
    """Between two answers a file was written and then synced, and the sync had come back."""
    written, syncing, synced, seen = set(), {}, False, 0
    for line in open(trace, errors="replace"):
        call = re.match(r"(\d+) +(?:<\.\.\. )?(\w+)(?:\((\d+)| resumed>)", line)
        thread, name, fd = call.groups() if call else (None, "", None)
        if name.startswith("pwrite") and fd:
            written.add(fd)
        if name == "fdatasync":
            syncing[thread] = fd or syncing[thread]
            if line.rstrip().endswith("= 0") and syncing[thread] in written:
                written.discard(syncing[thread])
                synced = True
        if "HTTP/1.1 200" in line:
            seen += 1
            assert synced, f"answer {seen} of {answers} came before a sync: {line}"
            synced = False
    assert seen == answers, (seen, answers)


@test
def each_answer_comes_after_the_sync_of_what_it_says():
    with Server() as s:
        c = s.client()
        c.call("CreateQueue", QueueName="q")
        c.call("CreateQueue", QueueName="q.fifo", Attributes={"FifoQueue": "true"})
        with Strace(s, "-e", f"trace={SYNCS},{WRITES}"):
            answers = 0

            def call(action, **members):
                nonlocal answers
                answers += 1
                return c.call(action, QueueUrl="q.fifo", **members)

            for i in range(5):
                group = {"MessageGroupId": "g", "MessageDeduplicationId": str(i)}
                call("SendMessage", MessageBody=f"one-{i}", **group)
                call("SendMessageBatch", Entries=[{"Id": "a", "MessageBody": f"two-{i}", **group, "MessageDeduplicationId": f"b{i}"}])
                m = call("ReceiveMessage", MaxNumberOfMessages=1)["Messages"][0]
                call("ChangeMessageVisibility", ReceiptHandle=m["ReceiptHandle"], VisibilityTimeout=600)
                call("DeleteMessage", ReceiptHandle=m["ReceiptHandle"])
            call("PurgeQueue")
        check_order(os.path.join(s.folder, "trace"), answers)


@test
def after_a_failed_sync_nothing_is_answered_until_a_restart_and_all_that_was_answered_is_there():
    with Server() as s:
        c = s.client()
        c.call("CreateQueue", QueueName="q")
        for i in range(10):
            c.call("SendMessage", QueueUrl="q", MessageBody=f"m{i}")
        with Strace(s, "-e", f"trace={SYNCS}", "-e", f"inject={SYNCS}:error=EIO"):
            try:
                c.call("SendMessage", QueueUrl="q", MessageBody="unsure")
                raise AssertionError("it was answered though its sync failed")
            except Refused as e:
                assert e.status in (500, 503), e
        for _ in range(3):  # the disk is well again, but what it has is not known any more
            try:
                c.call("SendMessage", QueueUrl="q", MessageBody="never")
                raise AssertionError("it was answered after a failed sync")
            except Refused as e:
                assert e.status in (500, 503), e
        status, body, _ = c.raw("GET", "/readyz")
        assert status == 503, (status, body)
        assert '"level":"error"' in s.notes() and "until a restart" in s.notes(), s.notes()
        s.stop()
        c = s.start().client()
        got = c.call("ReceiveMessage", QueueUrl="q", MaxNumberOfMessages=10)["Messages"]
        got += c.call("ReceiveMessage", QueueUrl="q", MaxNumberOfMessages=10).get("Messages", [])
        assert {m["Body"] for m in got} - {"unsure"} == {f"m{i}" for i in range(10)}, got


def flood(server, key, until):
    """Sends one request after another without reading answers, as much as the server takes; then reads
    those that are there."""
    body = f"{key}-".encode() + b"x" * 100000
    request = (f"POST /v1/topics/q/messages HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n").encode() + body
    sock = socket.create_connection(("127.0.0.1", server.port), 60)
    sock.settimeout(0.2)
    taken, answers, rest = 0, b"", b""
    while time.monotonic() < until:
        rest = rest or request
        try:
            n = sock.send(rest)
            rest, taken = rest[n:], taken + n
        except TimeoutError:
            continue
    try:
        while got := sock.recv(1 << 20):  # those that are there; what is still under way is given up
            answers += got
    except OSError:
        pass
    sock.close()
    return taken, answers.count(b"HTTP/1.1 201"), answers.count(b"HTTP/1.1 503") + answers.count(b"HTTP/1.1 429")


@test
def a_slow_disk_makes_writers_wait_and_memory_stays_bounded():
    writers, seconds, most = 32, 1, 0
    with Server() as s:
        c = s.client()
        c.call("CreateQueue", QueueName="q")
        before = s.rss_kib()
        with Strace(s, "--seccomp-bpf", "-e", f"trace={SYNCS}", "-e", f"inject={SYNCS}:delay_exit=100000"):
            until = time.monotonic() + seconds
            floods = [in_thread(flood, s, i, until) for i in range(writers)]
            while any(f.is_alive() for f in floods):
                most = max(most, s.rss_kib())
                time.sleep(0.02)  # what is watched is the server's memory over time
        results = [f.result() for f in floods]
        taken, stored, refused = (sum(r[i] for r in results) for i in range(3))
        print(f"  {taken / MIB:.0f} MiB taken, {stored} stored, {refused} refused, RSS {before / 1024:.0f} to {most / 1024:.0f} MiB")
        assert stored >= writers // 2, "hardly any load: nothing was tested"
        assert (most - before) / 1024 < 160, f"RSS grew to {most / 1024:.0f} MiB"
        assert sum(c.counts("q")) >= stored


reason = may_trace()
if reason:
    print(f"SKIP test_durable: {reason}")
    sys.exit(77)
run_tests(globals())
