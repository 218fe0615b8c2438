# SPDX-License-Identifier: Apache-2.0
"""`leaselog bench` against the real server: what it counts is what the broker counts, it leaves nothing behind, and it touches
nothing that is not its own."""
import contextlib
import http.server
import json
import os
import re
import signal
import sys
import tempfile
import threading

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
from cli import Running, cli
from leaselog import Server, memory_folder, run_tests, test, wait_until

tempfile.tempdir = memory_folder()  # how long syncs take is not what is asked here


@contextlib.contextmanager
def served():
    """One server for all tests of a lane."""
    global server
    with Server() as server:
        yield


def topics(c):
    return [t["name"] for t in c.get("/v1/topics")["topics"]]


def stats(c):
    return c.get("/v1")["stats"]


@test
def what_bench_has_sent_is_what_the_broker_has_counted():
    c = server.client()
    before = stats(c)["messages_sent"]
    code, out, err = cli(server, "bench", "send", "--connections", "4", "--seconds", "0.4", "--body-bytes", "100", "--json", "-q")
    assert code == 0, (code, out, err)
    got = json.loads(out)
    assert got["totals"]["sent"] == stats(c)["messages_sent"] - before > 0, (got, before, stats(c))
    send = got["operations"]["send"]
    assert 0 < send["messages"] == send["requests"] <= got["totals"]["sent"], got
    assert 0 < send["latency"]["p50_us"] <= send["latency"]["p99.9_us"] <= send["latency"]["max_us"], got
    assert got["errors"] == [] and got["load"]["connections"] == 4 and got["broker"]["version"] == c.get("/v1")["version"], got
    assert got["broker"]["process"]["pid"] == server.process.pid, (got, server.process.pid)
    assert topics(c) == []


@test
def every_kind_of_load_gets_messages_through_and_leaves_nothing():
    c = server.client()
    loads = (("receive", "--batch", "10"), ("cycle", "--fifo", "--groups", "8"), ("latency", "--rate", "200"), ("fanout", "--rate", "50"))
    runs = [Running(server, "bench", *words, "-c", "3", "--seconds", "0.4", "--json", "-q") for words in loads]
    for words, run in zip(loads, runs):
        code, out, err = run.end()
        assert code == 0, (words, code, out, err)
        got = json.loads(out)
        assert got["messages_per_second"] > 0 and 0 < got["totals"]["received"] <= got["totals"]["sent"], (words, got)
        if words[0] in ("latency", "fanout"):
            assert got["delivery"]["messages"] > 0 and got["delivery"]["undelivered"] == 0, (words, got)
    assert topics(c) == []


@test
def a_signal_ends_it_with_a_report_and_the_topic_is_gone():
    c = server.client()
    before = stats(c)["messages_sent"]
    with Running(server, "bench", "send", "--seconds", "60", "--json") as run:
        wait_until(lambda: stats(c)["messages_sent"] > before, "a first message")
        assert re.fullmatch(rf"leaselog-bench-{run.process.pid}-[0-9a-f]{{8}}", topics(c)[0]), topics(c)
        run.signal(signal.SIGINT)
        code, out, err = run.end()
    got = json.loads(out)
    assert code == 7 and got["interrupted"], (code, out, err)
    assert got["totals"]["sent"] == stats(c)["messages_sent"] - before and topics(c) == [], (got, stats(c), topics(c))


@test
def a_topic_that_is_there_is_loaded_only_when_that_is_meant():
    c = server.client()
    c.call("CreateQueue", QueueName="jobs")
    c.call("SendMessage", QueueUrl="jobs", MessageBody="x")
    code, _, err = cli(server, "bench", "send", "--queue", "jobs")
    assert code == 2 and "--yes" in err, (code, err)
    assert c.counts("jobs") == (1, 0, 0)
    with Running(server, "bench", "send", "--queue", "jobs", "--yes", "--seconds", "60", "--json") as run:
        wait_until(lambda: c.counts("jobs")[0] > 1, "a first message")
        run.signal(signal.SIGINT)
        code, out, err = run.end()
    assert code == 7 and c.counts("jobs") == (1 + json.loads(out)["totals"]["sent"], 0, 0), (code, err, out)
    assert topics(c) == ["jobs"]
    c.call("DeleteQueue", QueueUrl="jobs")


@test
def what_is_not_on_this_machine_or_cannot_be_meant_is_refused_before_anything_is_asked():
    # 192.0.2.0/24 is for documentation (RFC 5737): nobody is there, and a connection would hang.
    for words, part in ((("send", "--server", "http://192.0.2.1:9324"), "--yes"), (("send", "--endpoint", "https://127.0.0.1:1"), "TLS"),
                        (("dance",), "fanout"), ((), "fanout"), (("send", "--rate", "5"), "--rate"), (("send", "--groups", "5"), "--fifo"),
                        (("latency", "--body-bytes", "19"), "20"), (("send", "-b", "10", "--body-bytes", "200000"), "--batch"),
                        (("send", "--seconds", "0.05"), "0.1"), (("send", "--batch", "11"), "10")):
        code, out, err = cli(None, "bench", *words)
        assert code == 2 and out == "" and part in err, (words, code, err)
    code, _, err = cli(None, "bench", "send")
    assert code == 5 and "leaselog serve" in err, (code, err)


@test
def an_answer_that_it_cannot_read_ends_it_at_once_and_is_named():
    posts = []

    class Chunked(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self):
            self.send_error(404)

        def do_POST(self):
            posts.append(self.headers["X-Amz-Target"].split(".")[1])
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(200)
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            self.wfile.write(b"2\r\n{}\r\n0\r\n\r\n")

        def log_message(self, *_):
            pass

    front = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Chunked)
    front.daemon_threads, front.handle_error = True, lambda *_: None  # the connection is dropped under its hands
    thread = threading.Thread(target=front.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        code, out, err = cli(None, "bench", "send", "-c", "1", "--seconds", "60", "--server", f"http://127.0.0.1:{front.server_port}")
        assert code == 1 and "chunked" in err, (code, out, err)
        assert posts == ["CreateQueue", "SendMessage", "DeleteQueue"], posts
    finally:
        front.shutdown()
        front.server_close()


run_tests(globals(), lanes=2, within=served)
