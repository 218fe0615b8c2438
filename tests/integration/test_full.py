# SPDX-License-Identifier: Apache-2.0
"""A disk that fills up: sends are refused with a time to come back, deletes go on, and nothing answered is lost."""
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
from leaselog import Refused, Server, run_tests, test, wait_until
from rest import Rest, problem

MIB = 1 << 20
DISK_MIB = 300
RESERVE_MIB = DISK_MIB // 4  # sends are refused below it, receives below half of it


class SmallDisk:
    def __enter__(self):
        self.server = Server("--segment-mib", "1")
        self.at = os.path.join(self.server.folder, "disk")
        os.mkdir(self.at)
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={DISK_MIB}m", "tmpfs", self.at], check=True)
        self.server.data = os.path.join(self.at, "data")
        self.ballast = os.path.join(self.at, "ballast")
        self.server.start()
        return self

    def __exit__(self, *_):
        self.server.__exit__()
        subprocess.run(["umount", "--lazy", self.at], check=True)

    def leave(self, mib):
        free = os.statvfs(self.at)
        with open(self.ballast, "ab") as f:
            os.posix_fallocate(f.fileno(), f.tell(), free.f_bavail * free.f_frsize - mib * MIB)


def space(c):
    return c.get("/readyz").json["checks"]["space"]


def refused(f):
    try:
        f()
    except Refused as e:
        return e
    raise AssertionError("it was not refused")


@test
def a_full_disk_refuses_sends_with_a_time_to_come_back_and_takes_deletes():
    with SmallDisk() as d:
        c, sqs = Rest(d.server.port), d.server.client()
        c.topic()
        for i in range(10):
            c.send(f"m{i}")
        leased = c.receive(max=5, visibility="1h")
        assert space(c) == "ok"
        d.leave(RESERVE_MIB - 20)
        wait_until(lambda: space(c) != "ok", "the server has seen it")
        for a in (c.post("/v1/topics/q/messages", "more"), c.put("/v1/topics/new")):
            problem(a, 507, "disk_full")
            assert a.headers["Retry-After"], a.headers
        assert c.post("/v1/topics/q/messages:batch", {"messages": [{"body": "more"}]}).json["failed"] == 1
        for action, members in (("SendMessage", {"MessageBody": "more"}),
                                ("SendMessageBatch", {"Entries": [{"Id": "a", "MessageBody": "more"}]})):
            e = refused(lambda: sqs.call(action, QueueUrl="q", **members))
            assert e.status == 503 and e.headers["Retry-After"], e
        assert len(c.receive(visibility="1h")) == 1, "receives need less room than sends"
        d.leave(RESERVE_MIB // 2 - 20)
        wait_until(lambda: c.post("/v1/topics/q/groups/default/receive?visibility=0").status == 507, "no receives either")
        assert refused(lambda: sqs.call("ReceiveMessage", QueueUrl="q")).status == 503
        assert c.patch(leased[0]["lease_url"], {"visibility": "2h"}).status == 200
        for m in leased[:3]:
            assert c.delete(m["lease_url"]).status == 204
        sqs.call("DeleteMessage", QueueUrl="q", ReceiptHandle=leased[3]["receipt"])
        d.server.kill()
        d.server.start()
        c, sqs = Rest(d.server.port), d.server.client()
        left = [m["body"] for m in c.get("/v1/topics/q/messages").json["messages"]]
        assert left == [f"m{i}" for i in range(4, 10)], left
        problem(c.post("/v1/topics/q/messages", "more"), 507, "disk_full")
        assert c.post("/v1/topics/q/purge").json["messages"] == 6
        os.remove(d.ballast)
        wait_until(lambda: c.post("/v1/topics/q/messages", "again").status == 201, "sends go on by themselves")
        assert space(c) == "ok"
        assert d.server.stop() == 0


run_tests(globals())
