# SPDX-License-Identifier: Apache-2.0
"""Disks that fill up, fail, rot or are lost, of leaders and of followers."""
import contextlib
import glob
import os
import re
import shutil
import signal
import subprocess
import threading

from cases import HOLD_S, dice, others, pass_time, run_cases, scene, skip
from harness import SLOW
from leaselog import BINARY, test, wait_until

MIB = 1 << 20
DISK_MIB = 300


# ---- full ----

def mount_small_disk(c, b):
    c.folders[b] = os.path.join(c.mount(f"disk-{b}", DISK_MIB), "data")


def ballast(c, b):
    return os.path.join(c.folder, f"disk-{b}", "ballast")


def fill(c, b, leave_mib):
    def is_filled():
        free = os.statvfs(os.path.dirname(ballast(c, b)))
        more = free.f_bavail * free.f_frsize - leave_mib * MIB
        with open(ballast(c, b), "ab") as f:
            with contextlib.suppress(OSError):  # the broker may have taken some of it since
                if more > 0:
                    os.posix_fallocate(f.fileno(), f.tell(), more)
                return True
        return False

    wait_until(is_filled, "the disk is filled")


def why_no_mount():
    if os.getuid() != 0:
        return "mounting a small disk needs root"
    got = subprocess.run(["unshare", "--mount", "true"], capture_output=True)
    return "nothing may be mounted here" if got.returncode else None


@contextlib.contextmanager
def small_disk(which):
    """A scene in which one broker's disk is small: the leader's, or a follower's."""
    if reason := why_no_mount():
        skip(reason)
        yield None, None, None
        return

    def prepare(c):
        for b in c.brokers:
            mount_small_disk(c, b)

    with scene(prepare=prepare, queues={"q": {}}) as (c, w, _):
        leader = c.wait_leader()
        yield c, w, leader if which == "leader" else others(c, leader)[0]


@test
def a_leader_whose_disk_is_full_refuses_sends_takes_deletes_and_recovers():
    with small_disk("leader") as (c, w, b):
        if c is None:
            return
        asker, held = w.asker("holder"), []
        wait_until(lambda: held.extend(w.receive(asker, "q", visibility_s=120)) or len(held) >= 5, "some are leased")
        fill(c, b, DISK_MIB // 8 - 20)
        wait_until(lambda: w.send(asker, "q")["outcome"] != "ok", "sends are refused")
        for m in held:
            wait_until(lambda: w.delete(asker, "q", m) == "ok", "deletes are taken")
        pass_time(HOLD_S)
        os.unlink(ballast(c, b))
        w.wait_progress(20)


@test
def a_follower_whose_disk_is_full_stops_nobody():
    with small_disk("follower") as (c, w, b):
        if c is None:
            return
        fill(c, b, 0)
        w.wait_progress(20)
        pass_time(HOLD_S)
        w.wait_progress(20)
        os.unlink(ballast(c, b))
        c.restart(b)  # a failed write is final until then
        c.wait_in_sync()


# ---- failing ----

def why_no_strace():
    if not shutil.which("strace"):
        return "strace is not installed (scripts/packages faults)"
    got = subprocess.run(["strace", "-qq", "-o", "/dev/null", "true"], capture_output=True)
    return "strace may not trace here" if got.returncode else None


@contextlib.contextmanager
def failing_syncs(c, b):
    """Every sync of broker b says that the disk failed."""
    p = subprocess.Popen(["strace", "-f", "-qq", "-o", "/dev/null", "-p", str(c.processes[b].pid()),
                          "-e", "inject=fdatasync,fsync,syncfs,sync_file_range:error=EIO"])
    try:
        yield
    finally:
        c.kill(b)
        p.send_signal(signal.SIGINT)
        p.wait(30)


def sync_fails(which):
    if reason := why_no_strace():
        return skip(reason)
    with scene() as (c, w, _):
        leader = c.wait_leader()
        b = leader if which == "leader" else others(c, leader)[0]
        with failing_syncs(c, b):
            if which == "leader":
                c.wait_leader(other_than=b, of=others(c, b)[0])
            w.wait_progress(20)
        c.start(b)
        c.wait_in_sync()


@test
def a_leader_whose_disk_fails_resigns_and_loses_nothing():
    sync_fails("leader")


@test
def a_follower_whose_disk_fails_acknowledges_nothing_more():
    sync_fails("follower")


# ---- rotten ----

def flip(path, place, rng):
    """One bit, in the first, middle or last part of what a file holds."""
    size = os.path.getsize(path)
    at = {"head": rng.randrange(0, min(size, 200)), "middle": size // 2, "tail": max(0, size - 1 - rng.randrange(100))}[place]
    with open(path, "r+b") as f:
        f.seek(at)
        byte = f.read(1)[0]
        f.seek(at)
        f.write(bytes([byte ^ 1 << rng.randrange(8)]))


NOTICED = re.compile(r"kept, partition 0: .* rotten|\.log at byte \d+:|journal/\S+ is damaged|[^\n]*\.snap[^\n]*|The log stays closed")
KEPT = 300
KEPT_BYTES = 4000


def lead_is_moved(c, queue, to):
    got = subprocess.run([*BINARY.split(), "cluster", "move-leader", queue, "0", str(to), "--server",
                          f"http://127.0.0.1:{c.config['brokers'][str(to)]['client']}"], capture_output=True, text=True, timeout=60 * SLOW)
    return got.returncode == 0


def take_all(w, asker, queue, n):
    seen = set()

    def all_came():
        for m in w.receive(asker, queue, visibility_s=10, wait_s=0):
            seen.add(m["body"])
            w.delete(asker, queue, m)
        return len(seen) >= n

    wait_until(all_came, f"{n} messages come", 60 * SLOW)


def rot(which, place, pattern):
    """A file of one broker rots while it is stopped; the others have what it had. It holds messages that nobody has received
    yet, and is asked for them."""
    rng = dice(f"rot {which} {place}")
    with scene(disks_lost=True, options=("--segment-mib", "1")) as (c, w, _):
        keeper = w.asker("keeper")
        w.history.queue("kept")
        w.insist(keeper, "CreateQueue", QueueName="kept")
        leader = c.wait_in_sync("kept")["leader"]
        for _ in range(KEPT):
            w.send(keeper, "kept", body=w.body().ljust(KEPT_BYTES, "-"))
        b = leader if which == "leader" else others(c, leader)[0]
        assert c.stop(b) == 0
        files = [f for f in glob.glob(os.path.join(c.data(b), "t", "*", "*", pattern)) if os.path.getsize(f)]
        assert files, f"there is no {pattern}"
        said = len(c.processes[b].text())
        flip(max(files, key=os.path.getsize), place, rng)
        c.start(b)
        c.wait_in_sync("kept")
        # What is asked for is read from what has rotted. A copy that has seen it by itself is begun anew before it can lead.
        wait_until(lambda: lead_is_moved(c, "kept", b), "it leads", 60 * SLOW)
        take_all(w, keeper, "kept", KEPT)
        noticed = NOTICED.findall(c.processes[b].text()[said:])
        print(f"    seen: {noticed[:1] or 'not yet'}", flush=True)  # another may lead by now, and have answered
        for queue in ("kept", "q"):
            c.wait_in_sync(queue)
        # It leads nobody astray: the other two go, one by one, and what it has is all there is to go by.
        for other in others(c, b):
            c.kill(other)
            c.wait_leader(other_than=other)
            w.wait_progress(5)
            c.start(other)
            c.wait_in_sync()


@test
def a_rotten_head_of_a_followers_log_is_fetched_anew():
    rot("follower", "head", "*.log")


@test
def a_rotten_middle_of_a_followers_log_is_fetched_anew():
    rot("follower", "middle", "*.log")


@test
def a_rotten_tail_of_a_followers_log_is_fetched_anew():
    rot("follower", "tail", "*.log")


@test
def a_rotten_head_of_a_leaders_log_is_fetched_anew():
    rot("leader", "head", "*.log")


@test
def a_rotten_middle_of_a_leaders_log_is_fetched_anew():
    rot("leader", "middle", "*.log")


@test
def a_rotten_tail_of_a_leaders_log_is_fetched_anew():
    rot("leader", "tail", "*.log")


@test
def a_rotten_snapshot_is_not_believed():
    rot("follower", "middle", "*.snap")


@test
def a_partition_whose_folder_is_gone_is_fetched_anew():
    with scene(disks_lost=True) as (c, w, _):
        b = others(c, c.wait_leader())[0]
        assert c.stop(b) == 0
        shutil.rmtree(glob.glob(os.path.join(c.data(b), "t", "*", "0"))[0])
        c.start(b)
        c.wait_in_sync()


@test
def two_brokers_whose_folders_were_swapped_do_not_start_as_each_other():
    with scene(queues={"q": {}}) as (c, w, _):
        a, b = others(c, c.wait_leader())
        for x in (a, b):
            assert c.stop(x) == 0
        os.rename(c.data(a), c.data(a) + "-kept")
        os.rename(c.data(b), c.data(a))
        got = subprocess.run(c.broker_command(a), capture_output=True, text=True, timeout=60 * SLOW)
        assert got.returncode != 0 and got.stderr.strip(), got
        os.rename(c.data(a), c.data(b))
        os.rename(c.data(a) + "-kept", c.data(a))


# ---- far behind ----

@test
def a_follower_far_behind_catches_up_under_load():
    with scene(disks_lost=True, options=("--segment-mib", "1"), clients=3) as (c, w, _):
        leader = c.wait_leader()
        b = others(c, leader)[0]
        c.kill(b)
        shutil.rmtree(c.data(b))
        filler = w.asker("filler", only=leader)
        done = threading.Event()

        def fill_log():
            for _ in range(400):
                w.send(filler, "q", body=w.body().ljust(8000, "-"))
            done.set()

        threading.Thread(target=fill_log, daemon=True).start()
        wait_until(done.is_set, "some segments are written", 120 * SLOW)
        c.more[b] = ["--replace"]
        c.start(b)
        c.more[b] = []
        c.wait_in_sync(timeout=120 * SLOW)
        c.kill(leader)
        c.wait_leader(other_than=leader)


if __name__ == "__main__":
    run_cases(globals())
