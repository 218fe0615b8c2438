# SPDX-License-Identifier: Apache-2.0
"""Behind HAProxy, with the configuration that deploy/haproxy.cfg recommends: a receiver that goes away
loses nothing, and queue URLs name the proxy."""
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
from leaselog import WAIT_S, Client, Server, in_thread, memory_folder, run_tests, test, wait_until
from poller import abort, poller, polls

tempfile.tempdir = memory_folder()  # syncs are not what is asked here

CONFIG = os.path.join(os.path.dirname(__file__), "..", "..", "deploy", "haproxy.cfg")
HAPROXY = shutil.which("haproxy", path=os.environ["PATH"] + ":/usr/sbin:/sbin")
if HAPROXY is None:
    print("SKIP: haproxy is not installed (Debian's package haproxy)")
    sys.exit(77)


class Proxy:
    """haproxy before a server, on a free port; the socket is ours, so that the port is never lost."""

    def __init__(self, server, checks=True):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        with open(CONFIG) as f:
            config = f.read()
        config, binds = re.subn(r"\bbind \S+", f"bind fd@{self.listener.fileno()}", config)
        config, servers = re.subn(r"\b127\.0\.0\.1:9324\b", f"127.0.0.1:{server.port}", config)
        assert binds == 1 and servers == 1, config
        if not checks:
            config = re.sub(r"(server n1 \S+) check .*", r"\1", config)
        self.path = os.path.join(server.folder, "haproxy.cfg")
        with open(self.path, "w") as f:
            f.write(config)

    def __enter__(self):
        self.process = subprocess.Popen([HAPROXY, "-db", "-q", "-f", self.path], pass_fds=[self.listener.fileno()],
                                        stdin=subprocess.DEVNULL)
        self.client = Client(self.port)
        return self

    def __exit__(self, *_):
        self.client.close()
        self.process.kill()
        self.process.wait(WAIT_S)
        self.listener.close()

    def receive(self, queue="q"):
        """The bodies that a new receiver gets through the proxy."""
        client = Client(self.port)
        got = client.call("ReceiveMessage", QueueUrl=queue, WaitTimeSeconds=20, VisibilityTimeout=600)
        client.close()
        return [m["Body"] for m in got.get("Messages", [])]


@test
def haproxy_finds_nothing_to_warn_of_in_the_configuration():
    got = subprocess.run([HAPROXY, "-c", "-f", CONFIG], capture_output=True, text=True, timeout=WAIT_S)
    assert got.returncode == 0 and "WARNING" not in got.stderr + got.stdout, got


@test
def queue_urls_name_the_proxy():
    with Server() as s, Proxy(s) as p:
        made = p.client.call("CreateQueue", QueueName="q")["QueueUrl"]
        assert made.startswith(f"http://127.0.0.1:{p.port}/"), made
        assert p.client.call("GetQueueUrl", QueueName="q")["QueueUrl"] == made
        assert p.client.call("ListQueues")["QueueUrls"] == [made]


def gone_receiver_costs_nothing(leave):
    with Server() as s, Proxy(s) as p:
        c = s.client()
        p.client.call("CreateQueue", QueueName="q")
        first = poller(p.port)
        wait_until(lambda: polls(c) == 1, "the first poll waits")
        second = in_thread(p.receive)
        wait_until(lambda: polls(c) == 2, "the second poll waits")
        leave(first)
        wait_until(lambda: polls(c) == 1, "the proxy hangs up on behalf of the first receiver")
        p.client.call("SendMessage", QueueUrl="q", MessageBody="precious")
        assert second.result() == ["precious"]
        assert c.counts("q") == (0, 1, 0), c.counts("q")


@test
def a_receiver_that_aborts_its_long_poll_costs_nobody_a_message():
    gone_receiver_costs_nothing(abort)


@test
def a_receiver_that_closes_its_long_poll_costs_nobody_a_message():
    gone_receiver_costs_nothing(lambda s: s.close())


@test
def a_receiver_that_half_closes_its_long_poll_costs_nobody_a_message():
    gone_receiver_costs_nothing(lambda s: s.shutdown(socket.SHUT_WR))


@test
def a_receiver_that_goes_between_lease_and_answer_costs_nobody_a_message():
    """The server is held while the receiver goes and a message comes: it finds both at the same time, and
    leases to the receiver or not, as it happens to look first. Each round has its own queue, since a message
    may come twice: HAProxy resets its connection once a receiver has gone, also one that was answered."""
    with Server() as s, Proxy(s, checks=False) as p:
        c = s.client()
        for i in range(20):
            queue = f"q{i}"
            p.client.call("CreateQueue", QueueName=queue)
            first = poller(p.port, queue)
            wait_until(lambda: polls(c) == 1, "the poll waits")
            sender = s.client()
            sender.raw("GET", "/livez")  # so that its connection is accepted
            s.process.send_signal(signal.SIGSTOP)
            try:
                wait_until(lambda: thread_states(s.process.pid) == {"T"}, "every thread of the server is held")
                sent = in_thread(lambda: sender.call("SendMessage", QueueUrl=queue, MessageBody="precious"))
                wait_until(lambda: waiting_bytes(s.port, sender) > 0, "the send is in the server's socket")
                before = proxy_connections(s.port, p.process.pid)
                abort(first)
                wait_until(lambda: proxy_connections(s.port, p.process.pid) < before, "the proxy hangs up")
            finally:
                s.process.send_signal(signal.SIGCONT)
            sent.result()
            sender.close()
            assert p.receive(queue) == ["precious"]


@test
def a_hundred_aborted_polls_in_a_row_cost_nobody_a_message():
    with Server() as s, Proxy(s) as p:
        c = s.client()
        p.client.call("CreateQueue", QueueName="q")
        for _ in range(100):
            abort(poller(p.port))
        wait_until(lambda: polls(c) == 0, "no aborted poll waits any more")
        p.client.call("SendMessage", QueueUrl="q", MessageBody="precious")
        assert p.receive() == ["precious"]


def thread_states(pid):
    """The letters of proc(5): T is stopped."""
    states = set()
    for thread in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{thread}/stat") as f:
            states.add(f.read().rpartition(")")[2].split()[0])
    return states


def sockets():
    """The connections of this machine, as (local port, remote port, bytes unread, name of the socket)."""
    with open("/proc/net/tcp") as f:
        for line in f.readlines()[1:]:
            words = line.split()
            yield (*(int(w.split(":")[1], 16) for w in (*words[1:3], words[4])), f"socket:[{words[9]}]")


def waiting_bytes(port, client):
    """What this client has sent and the server at `port` has not read."""
    mine = client.conn.sock.getsockname()[1]
    return sum(unread for local, remote, unread, _ in sockets() if (local, remote) == (port, mine))


def proxy_connections(port, pid):
    """How many connections to the server's port the proxy's process holds."""
    held = set()
    for fd in os.listdir(f"/proc/{pid}/fd"):
        try:
            held.add(os.readlink(f"/proc/{pid}/fd/{fd}"))
        except OSError:
            pass  # closed meanwhile
    return sum(1 for _, remote, _, name in sockets() if remote == port and name in held)


run_tests(globals())
