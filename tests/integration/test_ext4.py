# SPDX-License-Identifier: Apache-2.0
"""A small ext4 of its own: it fills up and empties again; and it is made read-only under load."""
import json
import os
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
from leaselog import Refused, Server, in_thread, memory_folder, run_tests, test, wait_until

MIB = 1 << 20
SIZE_MIB = 64
tempfile.tempdir = memory_folder()  # the image


class SmallExt4:
    """A server whose data directory is on a loop device of 64 MiB."""

    def __enter__(self):
        self.server = Server()
        self.at, self.image = os.path.join(self.server.folder, "disk"), os.path.join(self.server.folder, "image")
        os.mkdir(self.at)
        with open(self.image, "wb") as f:
            f.truncate(SIZE_MIB * MIB)
        self.mounted = False
        for command in (["mkfs.ext4", "-q", "-m", "0", self.image], ["mount", "-o", "loop", self.image, self.at]):
            got = subprocess.run(command, capture_output=True, text=True)
            if got.returncode != 0:
                self.__exit__()
                raise OSError(f"{' '.join(command[:1])}: {got.stderr.splitlines()[0]}")
        self.mounted = True
        self.server.data = os.path.join(self.at, "data")
        return self

    def abort(self):
        """What ext4 does after an I/O error with errors=remount-ro. An ordinary remount is refused while files are
        open for writing."""
        subprocess.run(["mount", "-o", "remount,abort", self.at], check=True)

    def mount_again(self):
        subprocess.run(["umount", self.at], check=True)
        subprocess.run(["mount", "-o", "loop", self.image, self.at], check=True)

    def free_mib(self):
        got = os.statvfs(self.at)
        return got.f_bavail * got.f_frsize / MIB

    def __exit__(self, *_):
        if self.server.process and self.server.process.poll() is None:
            self.server.kill()
        if self.mounted:
            subprocess.run(["umount", self.at], check=True)
        self.server.__exit__()


def mounts():
    """None, or why no loop device can be mounted here."""
    try:
        with SmallExt4():
            return None
    except OSError as e:
        return str(e)


def send_many(c, first, n, size):
    """Gives the bodies whose sends were answered with success."""
    bodies = [f"{i}-" + "x" * size for i in range(first, first + n)]
    answer = c.call("SendMessageBatch", QueueUrl="q", Entries=[{"Id": str(i), "MessageBody": b} for i, b in enumerate(bodies)])
    return [bodies[int(e["Id"])] for e in answer.get("Successful", [])]


def receive(c, n=10, visibility=43200):
    return c.call("ReceiveMessage", QueueUrl="q", MaxNumberOfMessages=n, VisibilityTimeout=visibility).get("Messages", [])


def delete(c, messages):
    answer = c.call("DeleteMessageBatch", QueueUrl="q", Entries=[
        {"Id": str(i), "ReceiptHandle": m["ReceiptHandle"]} for i, m in enumerate(messages)])
    assert "Failed" not in answer, answer


@test
def a_small_disk_fills_up_refuses_sends_takes_deletes_and_takes_sends_again():
    with SmallExt4() as d:
        s = d.server.start()
        c, there = s.client(), []
        c.call("CreateQueue", QueueName="q")
        try:
            while len(there) < 100000:
                there += send_many(c, len(there), 10, 20000)
        except Refused as e:
            assert e.status == 503 and e.headers["Retry-After"], e
        sent_mib = len(there) * 20000 / MIB
        print(f"  {sent_mib:.0f} MiB of bodies were taken, {d.free_mib():.0f} MiB are left")
        assert sent_mib > SIZE_MIB / 6, "most of the disk was kept back"
        assert d.free_mib() > SIZE_MIB / 8, "the reserve for deletes is gone"
        space = c.get("/readyz")["checks"]["space"]
        assert space != "ok", space
        c.conn.request("POST", "/v1/topics/q/messages", "more")
        answer = c.conn.getresponse()
        assert answer.status == 507 and json.loads(answer.read())["type"].endswith("disk_full")
        s.kill()
        c = s.start().client()  # a start needs no more room than there is
        gone = []
        while len(gone) < len(there) * 3 // 4:
            got = receive(c)
            assert got, (len(gone), len(there), c.counts("q"))
            delete(c, got)
            gone += [m["Body"] for m in got]
        begin, again = time.monotonic(), []
        while not again and time.monotonic() - begin < 60:
            try:
                again = send_many(c, len(there), 1, 20000)
            except Refused as e:
                assert e.status == 503, e
                time.sleep(0.2)  # the disk is looked at once a second
        print(f"  sends are taken again after {time.monotonic() - begin:.1f} s, {d.free_mib():.0f} MiB are free")
        assert again, f"{len(gone)} of {len(there)} are deleted and sends are refused; {d.free_mib():.0f} MiB are free"
        assert '"level":"error"' not in s.notes(), s.notes()[-2000:]
        assert s.stop() == 0
        c = s.start().client()
        left = []
        while got := receive(c):
            left += [m["Body"] for m in got]
        assert sorted(left) == sorted(set(there) - set(gone) | set(again))


@test
def a_disk_that_becomes_read_only_stops_the_data_directory_and_a_restart_finds_all():
    with SmallExt4() as d:
        s = d.server.start()
        c, there, gone = s.client(), [], []
        c.call("CreateQueue", QueueName="q")
        there += send_many(c, 0, 10, 100)
        leased = receive(c, 2)

        def load(k):
            own, answered = s.client(), []
            try:
                for i in range(100000):
                    answered += send_many(own, 1000 + 1000000 * k + 10 * i, 10, 1000)
            except Refused as e:
                return answered, e
            raise AssertionError("it was never refused")

        loads = [in_thread(load, k) for k in range(4)]
        wait_until(lambda: c.counts("q")[0] > 200, "there is load")
        delete(c, leased[:1])
        gone.append(leased[0]["Body"])
        d.abort()
        for answered, e in (x.result() for x in loads):
            there += answered
            assert e.status in (500, 503), e
        for f in (lambda: send_many(c, 1, 1, 1), lambda: c.call(
                "DeleteMessage", QueueUrl="q", ReceiptHandle=leased[1]["ReceiptHandle"])):
            try:
                f()
                raise AssertionError("it was answered on a read-only disk")
            except Refused as e:
                assert e.status in (500, 503), e
        status, body, _ = c.raw("GET", "/readyz")
        assert status == 503 and json.loads(body)["checks"]["data_directory"].startswith("failed"), body
        assert c.raw("GET", "/livez")[0] == 200
        notes = s.notes()
        assert "until a restart" in notes and "nothing more is accepted" in notes, notes
        assert s.stop() != 0, "a stop that could not write all says so"
        d.mount_again()
        c = s.start().client()
        wait_until(lambda: c.raw("GET", "/readyz")[0] == 200, "it is ready")
        left = [m["Body"] for m in leased[1:]]
        while got := receive(c):
            left += [m["Body"] for m in got]
        assert len(left) == len(set(left))
        lost = set(there) - set(gone) - set(left)
        assert not lost and not set(gone) & set(left), (len(lost), sorted(lost)[:2])
        assert s.stop() == 0


reason = mounts()
if reason:
    print(f"SKIP test_ext4: no ext4 can be mounted here: {reason}")
    sys.exit(77)
run_tests(globals())
