# SPDX-License-Identifier: Apache-2.0
"""Ten thousand consumers in long polls on a thousand queues: memory of each, processor time while nothing happens, and
how long a message takes to a waiting consumer beside the same with ten consumers.

    polls.py [CONSUMERS] [QUEUES]

A poll lasts 20 s at most, so all is asked within that time; where the machine is too slow for it, polls.py says so.
Bounds (README.md): 12 KiB of RSS a consumer, twice the time of ten consumers, 1 % of a core."""
import os
import resource
import select
import statistics
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
from leaselog import Server, wait_until
from poller import polls

FEW, WAKES, IDLE_S, REST_S = 10, 50, 4, 0.02
KIB_MAX, IDLE_MAX, TIMES_MAX = 12, 0.01, 2


def cpu_s(server):
    with open(f"/proc/{server.process.pid}/stat") as f:
        fields = f.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def request(queue, wait_s=20):
    body = b'{"QueueUrl":"q%d","WaitTimeSeconds":%d}' % (queue, wait_s)
    return (b"POST / HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-amz-json-1.0\r\n"
            b"X-Amz-Target: AmazonSQS.ReceiveMessage\r\nContent-Length: %d\r\n\r\n" % len(body) + body)


class Consumers:
    """Connections; each has asked once before, as a consumer's has."""

    def __init__(self, server, count, queues):
        self.server, self.queues = server, queues
        self.clients = [server.client() for _ in range(count)]
        for i, c in enumerate(self.clients):
            c.conn.connect()
            c.conn.sock.sendall(request(i % queues, 0))
            assert c.conn.sock.recv(65536).startswith(b"HTTP/1.1 200 ")

    def wait(self, control):
        for i, c in enumerate(self.clients):
            c.conn.sock.sendall(request(i % self.queues))
        wait_until(lambda: polls(control) == len(self.clients), "all of them wait", 20)

    def wake_us(self, control, times):
        """Each of so many messages: from its sending until one of its queue's consumers has it."""
        took = []
        for i in range(times):
            queue = i * (self.queues // times or 1) % self.queues
            ready = select.poll()
            for c in self.clients[queue::self.queues]:
                ready.register(c.conn.sock, select.POLLIN)
            time.sleep(REST_S)
            begin = time.perf_counter()
            control.call("SendMessage", QueueUrl=f"q{queue}", MessageBody="x")
            assert ready.poll(10000), "nobody was woken"
            took.append((time.perf_counter() - begin) * 1e6)
            fd = ready.poll(0)[0][0]
            woken = next(c for c in self.clients[queue::self.queues] if c.conn.sock.fileno() == fd)
            assert b'"Messages"' in woken.conn.sock.recv(65536)
            woken.conn.sock.sendall(request(queue))  # it waits again
        return took

    def close(self):
        for c in self.clients:
            c.close()


def few_wake_us(server, control):
    """With few consumers and no others."""
    few = Consumers(server, FEW, FEW)
    few.wait(control)
    took = few.wake_us(control, WAKES)
    few.close()
    wait_until(lambda: polls(control) == 0, "they are gone")
    for i in range(FEW):  # the messages' leases would end among the next ones
        control.call("PurgeQueue", QueueUrl=f"q{i}")
    return took


def main():
    count, queues = (int(a) for a in (sys.argv[1:] + ["10000", "1000"][len(sys.argv) - 1:]))
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    if hard < count + 100:
        print(f"skipped: {hard} descriptors are allowed")
        sys.exit(77)
    with Server("--connections-max", str(count + 100)) as s:
        control = s.client()
        for i in range(queues):
            control.call("CreateQueue", QueueName=f"q{i}")
        few_us = few_wake_us(s, control)
        before_kib = s.rss_kib()
        many = Consumers(s, count, queues)
        open_kib = (s.rss_kib() - before_kib) / count
        begin = time.monotonic()
        many.wait(control)
        each_kib = (s.rss_kib() - before_kib) / count
        cpu = cpu_s(s)
        time.sleep(IDLE_S)
        idle = (cpu_s(s) - cpu) / IDLE_S
        if polls(control) != count:
            print("too slow: polls have ended before they could be measured")
            sys.exit(1)
        many_us = many.wake_us(control, WAKES)
        if time.monotonic() - begin > 20:
            print("too slow: polls have ended while they were measured")
            sys.exit(1)
        many.close()
        wait_until(lambda: polls(control) == 0, "they are gone")
        few_us += few_wake_us(s, control)  # before and after: the machine's other load changes
        times = statistics.median(many_us) / statistics.median(few_us)
        print(f"{count} consumers on {queues} queues: {each_kib:.1f} KiB of RSS each ({open_kib:.1f} before they wait); "
              f"idle {idle:.2%} of a core; send to receive, median of {WAKES}: {statistics.median(many_us):.0f} µs, "
              f"with {FEW} consumers {statistics.median(few_us):.0f} µs: {times:.2f} times")
    assert each_kib <= KIB_MAX and idle <= IDLE_MAX and times <= TIMES_MAX, "a bound is exceeded"


main()
