# SPDX-License-Identifier: Apache-2.0
"""Damaged data directories: the server serves exactly what was stored, or says what is damaged; it never
hands out a wrong message. LEASELOG_SEED replays a run, DAMAGE_ROUNDS asks for more."""
import os
import random
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
from leaselog import BINARY, Refused, Server, memory_folder, run_tests, test

tempfile.tempdir = memory_folder()  # syncs are not what is asked here

SEED = int(os.environ.get("LEASELOG_SEED") or 1)
ROUNDS = int(os.environ.get("DAMAGE_ROUNDS") or 60)


def fill(server, messages):
    """Two queues, the first with finished, leased and waiting messages; gives what must not be lost."""
    c = server.client()
    for q in ("hit", "other"):
        c.call("CreateQueue", QueueName=q)
        for i in range(0, messages, 10):
            c.call("SendMessageBatch", QueueUrl=q, Entries=[
                {"Id": str(k), "MessageBody": f"{q}-{i + k}-" + "x" * 700} for k in range(10)])
    for m in c.call("ReceiveMessage", QueueUrl="hit", MaxNumberOfMessages=10)["Messages"][:5]:
        c.call("DeleteMessage", QueueUrl="hit", ReceiptHandle=m["ReceiptHandle"])
    c.close()


def files(data, suffix):
    found = []
    for at, _, names in os.walk(data):
        found += [os.path.join(at, n) for n in names if n.endswith(suffix)]
    return sorted(found)


def drain(c, queue):
    bodies = []
    while True:
        got = c.call("ReceiveMessage", QueueUrl=queue, MaxNumberOfMessages=10, VisibilityTimeout=600)
        if not got:
            return bodies
        bodies += [m["Body"] for m in got["Messages"]]


def damage(path, rng):
    size = os.path.getsize(path)
    with open(path, "r+b") as f:
        if size and rng.random() < 0.8:
            at = rng.randrange(size)
            f.seek(at)
            byte = f.read(1)[0]
            f.seek(at)
            f.write(bytes([byte ^ 1 << rng.randrange(8)]))
            return f"a bit at byte {at} of {size}"
        cut = rng.randrange(size + 1)
        f.truncate(cut)
        return f"cut at byte {cut} of {size}"


def judge(server, messages, what):
    """Starts on the damaged directory. True when it served all; False when it said what is damaged."""
    try:
        server.start()
    except RuntimeError:
        assert server.process.returncode in (1, 78), f"{what}: exit {server.process.returncode}: {server.notes()}"
        last = server.notes()
        assert any(w in last for w in ("store.json", "marks", "journal", "catalog", "segment", ".log")), f"{what}: {last}"
        return False
    c = server.client()
    told = True
    for q in ("hit", "other"):
        expected = {f"{q}-{i}-" + "x" * 700 for i in range(messages)}
        try:
            got = drain(c, q)
        except Refused as e:
            assert e.status in (503, 500), f"{what}: {e}"
            assert ".log" in server.notes() or ".snap" in server.notes() or "t/" in server.notes(), f"{what}: not named"
            told = False
            continue
        assert set(got) <= expected, f"{what}: a wrong message was handed out"
        assert len(got) == len(set(got)), f"{what}: a message came twice"
        waiting = c.counts(q)[1]
        if len(got) < messages - 10:
            # Fewer than were stored: only when it was said, or when the last round could not be told from a torn one.
            assert "error" in server.notes() or "warning" in server.notes() or what.startswith("journal"), (
                f"{what}: {len(got)} of {messages} in silence ({waiting} in flight)")
    c.close()
    return told


def damage_kind(kind, suffix, clean):
    rng = random.Random(f"{SEED} {kind}")
    messages, served = 40, 0
    with Server("--segment-mib", "1") as made:
        fill(made, messages)
        made.stop() if clean else made.kill()
        original = made.data + ".original"
        shutil.copytree(made.data, original)
        for i in range(ROUNDS // 6):
            shutil.rmtree(made.data)
            shutil.copytree(original, made.data)
            path = rng.choice(files(made.data, suffix))
            open(os.path.join(made.folder, "log"), "w").close()
            what = f"{kind}, seed {SEED}, round {i}: {os.path.relpath(path, made.data)}, {damage(path, rng)}"
            served += judge(made, messages, what)
            if made.process.poll() is None:
                assert made.stop() == 0, f"{what}: a clean stop failed: {made.notes()[-500:]}"
    print(f"  {kind}: {served} of {ROUNDS // 6} served all")


@test
def damage_to_a_segment_is_named_or_harmless():
    damage_kind("segment", ".log", clean=True)


@test
def damage_to_an_index_is_mended():
    damage_kind("index", ".index", clean=True)


@test
def damage_to_a_snapshot_is_named_or_harmless():
    damage_kind("snapshot", ".snap", clean=True)


@test
def damage_to_the_journal_is_named_or_the_last_round_is_torn():
    damage_kind("journal", ".wal", clean=False)


@test
def damage_to_the_marks_is_named_or_harmless():
    damage_kind("marks", "marks", clean=False)


@test
def damage_to_the_catalogue_is_named_or_harmless():
    damage_kind("catalogue", "catalog.sqlite", clean=True)


@test
def a_damaged_queue_is_closed_and_the_others_are_served():
    with Server() as s:
        fill(s, 40)
        assert s.stop() == 0
        c = None
        segments = [p for p in files(s.data, ".log") if os.path.getsize(p) > 0]
        assert len(segments) == 2
        os.remove(segments[0])
        s.start()
        c = s.client()
        served = refused = 0
        for q in ("hit", "other"):
            try:
                c.call("ReceiveMessage", QueueUrl=q)
                served += 1
            except Refused as e:
                assert e.status == 503 and e.code == "ServiceUnavailable", e
                refused += 1
        assert (served, refused) == (1, 1), (served, refused)
        assert os.path.basename(segments[0]) in s.notes(), s.notes()
        shown = c.get("/v1/topics/hit/partitions")["partitions"] + c.get("/v1/topics/other/partitions")["partitions"]
        assert sorted(p["state"] for p in shown) == ["damaged", "ok"], shown


def topic_folders(data):
    return sorted(os.path.join(data, "t", n, "0") for n in os.listdir(os.path.join(data, "t")))


def tree(data):
    return sorted(os.path.relpath(p, data) for p in files(data, ""))


def replaced_by_folder(path):
    os.remove(path)
    os.mkdir(path)


def replaced_by_file(folder):
    shutil.rmtree(folder)
    open(folder, "w").close()


def refused_start(server, word):
    """The start must fail with 1, and a line above its last one must hold the word."""
    open(os.path.join(server.folder, "log"), "w").close()
    before = {n for n in tree(server.data) if n.endswith(".log")}
    try:
        server.start()
    except RuntimeError:
        pass
    else:
        raise AssertionError(f"it was served: {word}")
    assert server.process.returncode == 1, server.process.returncode
    assert word in server.notes(), f"{word} is not named: {server.notes()}"
    assert before <= set(tree(server.data)), "messages were given away"


@test
def a_lost_part_of_the_directory_is_named_and_nothing_is_given_away():
    def gone(name):
        return lambda data: os.remove(os.path.join(data, name))

    def empty(name):
        return lambda data: os.truncate(os.path.join(data, name), 0)

    def folder_gone(name):
        return lambda data: shutil.rmtree(os.path.join(data, name))

    for word, harm in (("catalog.sqlite", gone("catalog.sqlite")), ("catalog.sqlite", empty("catalog.sqlite")),
                       ("catalog.sqlite", lambda data: replaced_by_folder(os.path.join(data, "catalog.sqlite"))),
                       ("store.json", gone("store.json")), ("store.json", empty("store.json")),
                       ("store.json", lambda data: replaced_by_folder(os.path.join(data, "store.json"))),
                       ("marks", gone("marks")), ("marks", empty("marks")), ("journal", folder_gone("journal")),
                       ("journal", gone("journal/00000001.wal")), ("folder t", folder_gone("t"))):
        with Server() as s:
            fill(s, 20)
            s.kill()
            original = s.data + ".original"
            shutil.copytree(s.data, original)
            harm(s.data)
            refused_start(s, word)
            refused_start(s, word)  # and the first refusal has not made it look right
            shutil.rmtree(s.data)
            os.rename(original, s.data)
            s.start()
            assert len(drain(s.client(), "other")) == 20


@test
def logs_that_the_catalogue_does_not_know_are_kept_and_named():
    with Server() as s:
        c = s.client()
        c.call("CreateQueue", QueueName="early")
        assert s.stop() == 0
        shutil.copy(os.path.join(s.data, "catalog.sqlite"), os.path.join(s.folder, "backup"))
        s.start()
        fill(s, 20)
        assert s.stop() == 0
        newest = os.path.join(s.folder, "newest")
        os.rename(os.path.join(s.data, "catalog.sqlite"), newest)
        shutil.copy(os.path.join(s.folder, "backup"), os.path.join(s.data, "catalog.sqlite"))
        s.start()  # an old backup of the catalogue: two topics are unknown to it
        assert s.notes().count("belongs to no topic") == 2, s.notes()
        assert s.client().counts("early") == (0, 0, 0)
        assert s.stop() == 0
        os.replace(newest, os.path.join(s.data, "catalog.sqlite"))
        s.start()
        assert len(drain(s.client(), "other")) == 20


@test
def a_thing_of_another_kind_in_a_log_s_place_closes_that_log_only():
    for harm in (lambda folder: replaced_by_folder(os.path.join(folder, "0" * 20 + ".log")), replaced_by_file):
        with Server() as s:
            fill(s, 20)
            assert s.stop() == 0
            harm(topic_folders(s.data)[0])
            s.start()
            c, refused = s.client(), []
            for q in ("hit", "other"):
                try:
                    drain(c, q)
                except Refused as e:
                    refused.append(e.status)
            assert refused == [503], refused
            assert os.path.relpath(topic_folders(s.data)[0], s.data) in s.notes(), s.notes()


@test
def a_data_directory_that_is_none_is_named():
    with Server() as s:
        s.stop()
        file = os.path.join(s.folder, "file")
        open(file, "w").close()
        for path in (file, os.path.join(file, "below")):
            s.data = path
            try:
                s.start()
            except RuntimeError:
                assert s.process.returncode == 1, s.process.returncode
                assert f"{path}: Not a directory" in s.notes(), s.notes()
            else:
                raise AssertionError(f"{path} was served")


@test
def of_two_servers_started_at_once_on_one_directory_exactly_one_serves():
    with Server() as s:
        s.stop()
        started = [subprocess.Popen([BINARY, "serve", "--listen", "127.0.0.1:0", "--data-dir", s.data],
                                    stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) for _ in range(2)]
        lines = [p.stdout.readline() for p in started]
        for p in started:
            p.terminate()
        codes = [p.wait(30) for p in started]
        for p in started:
            p.stdout.close()
        assert sorted(bool(line) for line in lines) == [False, True], lines
        assert sorted(codes) == [0, 1], codes


print(f"seed {SEED}")
run_tests(globals())
