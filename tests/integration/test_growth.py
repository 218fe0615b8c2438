# SPDX-License-Identifier: Apache-2.0
"""Memory, disk and work of the real process under traffic that goes on and on.

    GROWTH_MESSAGES=1000000 test_growth.py [TEST]...

By default a tenth of what check-long asks for. Rates are told in processor time of the server a message, which
does not depend on what else the machine does."""
import json
import os
import socket
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
from leaselog import Server, in_thread, memory_folder, run_tests, test, wait_until

N = int(os.environ.get("GROWTH_MESSAGES") or 100000)
WINDOW_S = 300
MIB = 1 << 20
THREADS = 4
tempfile.tempdir = memory_folder()


def post(c, path, body=None):
    data = None if body is None else json.dumps(body).encode()
    status, got, _ = c.raw("POST", path, data, {"Content-Type": "application/json"})
    assert status in (200, 201, 204), (status, got[:300])
    return json.loads(got) if got else None


def send(c, topic, first, n, **members):
    """n messages; members may be functions of the place."""
    for i in range(first, first + n, 100):
        batch = [{"body": f"{k}", **{m: v(k) if callable(v) else v for m, v in members.items()}}
                 for k in range(i, min(i + 100, first + n))]
        assert post(c, f"/v1/topics/{topic}/messages:batch", {"messages": batch})["failed"] == 0


def work_off(c, topic, n):
    while n > 0:
        got = post(c, f"/v1/topics/{topic}/groups/default/receive?max=10&visibility=12h")["messages"]
        if got:
            post(c, f"/v1/topics/{topic}/groups/default/leases:batch", {"done": [m["receipt"] for m in got]})
        n -= len(got)


def in_threads(f):
    for t in [in_thread(f, k) for k in range(THREADS)]:
        t.join()
        t.result()


def cpu_s(server):
    with open(f"/proc/{server.process.pid}/stat") as f:
        fields = f.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def bytes_below(folder):
    return sum(os.path.getsize(os.path.join(at, name)) for at, _, names in os.walk(folder) for name in names
               if os.path.exists(os.path.join(at, name)))


def warm(server):
    """Fills the caches whose size is bounded, so that what grows after it is what is asked for."""
    c = server.client()
    c.call("CreateQueue", QueueName="warm")
    for i in range(40):
        post(c, "/v1/topics/warm/messages:batch", {"messages": [{"body": "x" * 20000} for _ in range(50)]})
    post(c, "/v1/topics/warm/purge")
    return c


@test
def a_gap_and_a_delayed_message_make_neither_work_nor_memory_nor_disk_grow():
    segment_mib, tenths = 4, []
    with Server("--segment-mib", str(segment_mib)) as s:
        c = warm(s)
        c.call("CreateQueue", QueueName="q")
        send(c, "q", 0, 1)
        post(c, "/v1/topics/q/groups/default/receive?max=1&visibility=12h")
        send(c, "q", 0, 1, delay=900)
        for k in range(11):
            begin = cpu_s(s)

            def through(thread):
                own = s.client()
                for _ in range(N // 10 // THREADS // 100):
                    send(own, "q", 0, 100)
                    work_off(own, "q", 100)

            in_threads(through)
            tenths.append((cpu_s(s) - begin) / (N / 10) * 1e6)
            rss = s.rss_kib()
            if k == 1:
                rss_first = rss
            print(f"  {tenths[-1]:.1f} us a message, RSS {rss // 1024} MiB, "
                  f"logs {bytes_below(os.path.join(s.data, 't')) // MIB} MiB", flush=True)
        wait_until(lambda: bytes_below(os.path.join(s.data, "t")) < 10 * segment_mib * MIB, "the log is cleaned", 120)
        assert min(tenths[-3:]) < min(tenths[1:4]) / 0.8, tenths  # the least disturbed ones
        assert rss < rss_first + 24 * 1024, (rss_first, rss)  # a window may come to be full meanwhile


@test
def one_message_received_for_ever_keeps_the_directory_bounded():
    with Server("--segment-mib", "4") as s:
        c = s.client()
        c.call("CreateQueue", QueueName="q")
        c.call("SendMessage", QueueUrl="q", MessageBody="m")
        most = 0
        request = b"POST /v1/topics/q/groups/default/receive?visibility=0 HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n"
        sock = socket.create_connection(("127.0.0.1", s.port), 60)
        for i in range(N // 1000):
            sock.sendall(request * 1000)
            answers = b""
            while answers.count(b'"receive_count"') < 1000:
                answers += sock.recv(1 << 20)
            most = max(most, bytes_below(os.path.join(s.data, "t")))
        sock.close()
        print(f"  at most {most / MIB:.1f} MiB of log")
        assert most < 200 * MIB, most
        c = s.client()  # the first one has been idle for longer than the broker allows
        count = int(c.call("ReceiveMessage", QueueUrl="q", AttributeNames=["All"])["Messages"][0]["Attributes"]["ApproximateReceiveCount"])
        assert count == N // 1000 * 1000 + 1, count


@test
def ids_leave_memory_when_their_window_has_ended():
    with Server() as s:
        c = warm(s)
        c.call("CreateQueue", QueueName="q.fifo", Attributes={"FifoQueue": "true"})
        before, n = s.rss_kib(), min(N, 500000)

        def load(thread):
            send(s.client(), "q.fifo", thread * n // THREADS, n // THREADS, group_id="g", dedup_id=lambda k: str(k))

        in_threads(load)
        full = s.rss_kib()
        time.sleep(WINDOW_S + 30)  # the window is real time, and nothing else happens
        after = s.rss_kib()
        print(f"  RSS {before // 1024}, {full // 1024}, {after // 1024} MiB for {n} ids")
        assert after < before + 8 * 1024 + (full - before) // 8, (before, full, after)


@test
def many_delayed_messages_cost_little_memory():
    n = min(N, 200000)
    with Server() as s:
        c = warm(s)
        c.call("CreateQueue", QueueName="q")
        before = s.rss_kib()
        send(c, "q", 0, n, delay=900)
        each = (s.rss_kib() - before) * 1024 / n
        print(f"  {each:.0f} bytes each, RSS {s.rss_kib() // 1024} MiB")
        assert each < 100, each


run_tests(globals())
