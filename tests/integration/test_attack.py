# SPDX-License-Identifier: Apache-2.0
"""Clients that are slow, rude or many at once: the others go on being served, and nothing is lost."""
import json
import os
import socket
import struct
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
from leaselog import Refused, Server, in_thread, memory_folder, run_tests, test, wait_until

tempfile.tempdir = memory_folder()  # syncs are not what is asked here

LARGE = "b" * (100 * 1024)


def request(action, **members):
    body = json.dumps(members).encode()
    return (f"POST / HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-amz-json-1.0\r\nX-Amz-Target: AmazonSQS.{action}\r\n"
            f"Content-Length: {len(body)}\r\n\r\n").encode() + body


def raw(port, data, receive_bytes=None):
    s = socket.socket()
    if receive_bytes:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
    s.settimeout(20)
    s.connect(("127.0.0.1", port))
    s.sendall(data)
    return s


def reset(s):
    s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    s.close()


def all_of(s):
    got = b""
    while more := s.recv(1 << 16):
        got += more
    return got


def large_batch(c):
    c.call("SendMessageBatch", QueueUrl="q", Entries=[{"Id": str(i), "MessageBody": LARGE} for i in range(10)])


def workers(server, n, work):
    """n clients that repeat work(client, i) until it says False; gives their errors at the end."""
    errors, stop = [], threading.Event()

    def run(i):
        c = server.client()
        try:
            while not stop.is_set() and work(c, i) is not False:
                pass
        except Exception as e:
            errors.append(repr(e))

    threads = [threading.Thread(target=run, args=(i,), daemon=True) for i in range(n)]
    for t in threads:
        t.start()

    def finish(tell=True):
        if tell:
            stop.set()
        for t in threads:
            t.join(30)
        assert not any(t.is_alive() for t in threads), "a client still waits"
        return errors

    return finish


def or_no_queue(f):
    try:
        f()
        return True
    except Refused as e:
        if e.code != "AWS.SimpleQueueService.NonExistentQueue":
            raise
        return False


@test
def a_client_that_leaves_in_the_middle_of_a_large_answer_gives_its_messages_back_at_once():
    with Server() as s:
        c = s.client()
        c.call("CreateQueue", QueueName="q")
        large_batch(c)
        for leave in (reset, socket.socket.close):
            for reads in (False, True):
                r = raw(s.port, request("ReceiveMessage", QueueUrl="q", MaxNumberOfMessages=10, VisibilityTimeout=600), 4096)
                wait_until(lambda: c.counts("q") == (0, 10, 0), "leased")
                assert not reads or r.recv(100)
                leave(r)
                wait_until(lambda: c.counts("q") == (10, 0, 0), "the messages are back", timeout=10)
        assert s.stop() == 0


@test
def a_client_that_says_its_end_with_its_last_byte_is_answered_and_let_go():
    with Server() as s:
        for data, answers in ((request("ListQueues"), 1), (request("ListQueues") * 100, 100), (request("ListQueues")[:-1], 0),
                              (request("ListQueues")[:50], 0), (request("ListQueues") + b"POST", 1)):
            r = raw(s.port, data)
            r.shutdown(socket.SHUT_WR)
            assert all_of(r).count(b"HTTP/1.1 200 ") == answers  # the socket's timeout is shorter than the idle one


@test
def pollers_that_leave_are_forgotten_at_once():
    with Server() as s:
        c = s.client()
        c.call("CreateQueue", QueueName="q")
        pollers = [raw(s.port, request("ReceiveMessage", QueueUrl="q", WaitTimeSeconds=20)) for _ in range(40)]
        wait_until(lambda: c.get("/v1")["stats"]["waiting_receivers"] == 40, "the polls wait")
        begin = time.monotonic()
        for i, p in enumerate(pollers):
            reset(p) if i % 2 else p.shutdown(socket.SHUT_WR)
        wait_until(lambda: c.get("/v1")["stats"]["waiting_receivers"] == 0, "no poll waits")
        assert time.monotonic() - begin < 10, "not their wait time later"


@test
def five_hundred_tricklers_keep_nobody_waiting():
    with Server("--idle-timeout", "1") as s:
        c = s.client()
        c.call("CreateQueue", QueueName="q")
        data = request("ListQueues")
        slow = [raw(s.port, data[:1]) for _ in range(500)]
        begin, at = time.monotonic(), 1
        while time.monotonic() - begin < 1.5:
            for k in slow:
                try:
                    k.send(data[at:at + 1])
                except OSError:
                    pass  # cut off
            assert c.call("SendMessage", QueueUrl="q", MessageBody="x")["MessageId"]
            at += 1
            time.sleep(0.1)
        for k in slow:
            assert k.recv(1) == b"", "who only trickles is cut off"


@test
def heads_that_promise_large_bodies_shut_nobody_out():
    with Server() as s:
        c = s.client()
        c.call("CreateQueue", QueueName="q")
        head = request("SendMessage").replace(b"Content-Length: 2", b"Content-Length: 8388608")[:-1]
        idle = [raw(s.port, head) for _ in range(100)]
        wait_until(lambda: c.get("/v1")["stats"]["connections"] > 100, "all are connected")
        large_batch(c)
        assert c.counts("q") == (10, 0, 0)
        for k in idle:
            k.close()


@test
def beyond_the_most_connections_those_that_are_there_are_served_and_room_comes_back():
    with Server("--connections-max", "50") as s:
        c = s.client()
        c.call("CreateQueue", QueueName="q")
        held = [raw(s.port, b"P") for _ in range(49)]
        wait_until(lambda: c.get("/v1")["stats"]["connections"] == 50, "all places are taken")
        beyond = [raw(s.port, request("ListQueues")) for _ in range(100)]
        assert beyond[0].recv(100).startswith(b"HTTP/1.1 503 ")
        large_batch(c)
        for k in held + beyond:
            k.close()

        def a_new_one_is_served():
            try:
                return s.client().call("ListQueues") is not None
            except (Refused, OSError):
                return False

        wait_until(a_new_one_is_served, "there is room again")
        assert c.counts("q") == (10, 0, 0)
        assert s.stop() == 0


@test
def more_connections_than_descriptors_do_not_cost_the_data_directory():
    with Server(prefix=("prlimit", "--nofile=800")) as s:
        c = s.client()
        c.call("CreateQueue", QueueName="q")
        held = [raw(s.port, b"P") for _ in range(800)]
        for i in range(20):
            large_batch(c)
            c.call("CreateQueue", QueueName=f"q-{i}")
            c.call("SendMessage", QueueUrl=f"q-{i}", MessageBody="x")
        assert c.counts("q") == (200, 0, 0)
        for k in held:
            k.close()
        assert s.stop() == 0


@test
def with_64_descriptors_every_request_is_served_and_topics_are_made():
    with Server(prefix=("prlimit", "--nofile=64")) as s:
        c = s.client()
        for i in range(60):
            c.call("CreateQueue", QueueName=f"q-{i}")
        held = [raw(s.port, b"P") for _ in range(100)]
        for i in range(60):
            c.call("SendMessage", QueueUrl=f"q-{i}", MessageBody="x")
            c.call("SetQueueAttributes", QueueUrl=f"q-{i}", Attributes={"VisibilityTimeout": "7"})
            assert len(c.get(f"/v1/topics/q-{i}/messages")["messages"]) == 1
        c.call("CreateQueue", QueueName="new")
        for k in held:
            k.sendall(b"OST")
            k.close()
        c.call("DeleteQueue", QueueUrl="new")
        assert s.stop() == 0


@test
def clients_that_never_read_keep_nobody_waiting_and_do_not_hold_up_the_end():
    with Server("--stop-timeout", "1") as s:
        c = s.client()
        c.call("CreateQueue", QueueName="q")
        for _ in range(5):
            large_batch(c)
        _deaf = [raw(s.port, request("ReceiveMessage", QueueUrl="q", MaxNumberOfMessages=10), 4096) for _ in range(5)]
        wait_until(lambda: c.counts("q") == (0, 50, 0), "all is on its way")
        c.call("SendMessage", QueueUrl="q", MessageBody="x")
        assert c.call("ReceiveMessage", QueueUrl="q")["Messages"][0]["Body"] == "x"
        begin = time.monotonic()
        assert s.stop() == 0
        assert time.monotonic() - begin < 10


@test
def a_deleted_queue_ends_everything_that_runs_on_it():
    with Server() as s:
        c = s.client()
        for fifo in (False, True):
            name = "q.fifo" if fifo else "q"
            group = {"MessageGroupId": "g"} if fifo else {}
            for purge in (False, True):
                c.call("CreateQueue", QueueName=name, Attributes={"FifoQueue": "true", "ContentBasedDeduplication": "true"}
                       if fifo else {})

                def work(d, i):
                    if i % 2:
                        return or_no_queue(lambda: d.call("ReceiveMessage", QueueUrl=name, WaitTimeSeconds=20))
                    return or_no_queue(lambda: d.call("SendMessage", QueueUrl=name, MessageBody=str(i), **group))

                finish = workers(s, 32, work)
                wait_until(lambda: c.counts(name) != (0, 0, 0), "they are at work")
                if purge:
                    c.call("PurgeQueue", QueueUrl=name)
                c.call("DeleteQueue", QueueUrl=name)
                assert finish(tell=False) == []
        assert s.stop() == 0


@test
def a_queue_may_be_recreated_changed_and_purged_under_load():
    with Server() as s:
        c = s.client()
        c.call("CreateQueue", QueueName="q")

        def work(d, i):
            or_no_queue(lambda: d.call("SendMessage", QueueUrl="q", MessageBody="x"))
            or_no_queue(lambda: [d.call("DeleteMessage", QueueUrl="q", ReceiptHandle=m["ReceiptHandle"]) for m in
                                 d.call("ReceiveMessage", QueueUrl="q", MaxNumberOfMessages=5).get("Messages", [])])

        def recreate_safe(d, i):
            try:
                work(d, i)
            except Refused as e:
                assert e.code == "ReceiptHandleIsInvalid", e  # of the queue that was there before

        finish = workers(s, 16, recreate_safe)
        for i in range(30):
            c.call("SetQueueAttributes", QueueUrl="q", Attributes={"VisibilityTimeout": str(10 + i)})
            c.call("PurgeQueue", QueueUrl="q")
            c.call("DeleteQueue", QueueUrl="q")
            c.call("CreateQueue", QueueName="q")
        assert finish() == []
        c.call("PurgeQueue", QueueUrl="q")
        assert c.counts("q") == (0, 0, 0)
        assert s.stop() == 0


@test
def a_stop_under_load_ends_in_time_and_loses_no_answered_send():
    with Server() as s:
        c = s.client()
        for name in ("q", "empty"):
            c.call("CreateQueue", QueueName=name)
        sent = []

        def send(d, i):
            body = f"{i} {len(sent)} {time.monotonic_ns()}"
            try:
                d.call("SendMessage", QueueUrl="q", MessageBody=body)
            except (OSError, Refused):
                return False
            sent.append(body)

        polls = [in_thread(lambda: s.client().call("ReceiveMessage", QueueUrl="empty", WaitTimeSeconds=20)) for _ in range(50)]
        wait_until(lambda: c.get("/v1")["stats"]["waiting_receivers"] == 50, "the polls wait")
        finish = workers(s, 16, send)
        wait_until(lambda: len(sent) > 200, "they send")
        begin = time.monotonic()
        assert s.stop() == 0
        assert time.monotonic() - begin < 8
        assert finish() == []
        assert [p.result() for p in polls] == [{}] * 50
        s.start()
        c, there = s.client(), []
        while got := c.call("ReceiveMessage", QueueUrl="q", MaxNumberOfMessages=10, VisibilityTimeout=600).get("Messages"):
            there += [m["Body"] for m in got]
        assert not set(sent) - set(there)
        assert len(there) == len(set(there))


run_tests(globals(), lanes=2)
