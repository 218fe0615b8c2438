# SPDX-License-Identifier: Apache-2.0
"""`leaselog fsck` and `leaselog dump`: they find what is damaged and name it, find nothing where nothing is, and
change nothing. LEASELOG_SEED replays a run, FSCK_ROUNDS asks for more."""
import hashlib
import json
import os
import random
import shutil
import sqlite3
import struct
import subprocess
import sys
import tarfile
import tempfile
import threading

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
from leaselog import BINARY, Refused, Server, in_thread, memory_folder, run_tests, test, wait_until

tempfile.tempdir = memory_folder()  # syncs are not what is asked here

SEED = int(os.environ.get("LEASELOG_SEED") or 1)
ROUNDS = int(os.environ.get("FSCK_ROUNDS") or 6)
PAGE = 4096


# ---- running the commands ----

def leaselog(*words):
    got = subprocess.run([BINARY, *words], capture_output=True, timeout=120)
    return got.returncode, got.stdout.decode(), got.stderr.decode()


def fsck(data, *options):
    """The exit status, the findings, and the summary."""
    code, out, err = leaselog("fsck", data, "--json", *options)
    lines = [json.loads(line) for line in out.splitlines()]
    assert lines and lines[-1]["kind"] == "summary", (code, out, err)
    faults = [f for f in lines if f["kind"] == "fault"]
    assert lines[-1]["faults"] == len(faults) and code == (1 if faults else 0), (code, out)
    assert all(f["todo"] for f in faults), faults
    return code, lines[:-1], lines[-1]


def dump_tree(data):
    """By kind."""
    code, out, err = leaselog("dump", data, "--json")
    things = {}
    for line in out.splitlines():
        thing = json.loads(line)
        things.setdefault(thing["kind"], []).append(thing)
    return things


def dump_log(data, topic, partition=0, *options):
    code, out, err = leaselog("dump", data, topic, str(partition), "--json", "--bodies", *options)
    assert code == 0, (code, err)
    return [json.loads(line) for line in out.splitlines()]


def dump_all(data, logs):
    """Every log's records as text, with what could not be read."""
    return [leaselog("dump", data, *log.split("/")[1:], "--bodies") for log in logs]


def fingerprint(data):
    """Of each name, its bytes, size and time of change."""
    found = {}
    for at, folders, names in os.walk(data):
        for name in folders + names:
            path = os.path.join(at, name)
            stat = os.lstat(path)
            body = open(path, "rb").read() if name in names else b""
            found[os.path.relpath(path, data)] = (hashlib.sha256(body).hexdigest(), stat.st_size, stat.st_mtime_ns)
    return found


def files(data, suffix):
    return sorted(n for n, (_, size, _) in fingerprint(data).items()
                  if n.endswith(suffix) and size and os.path.isfile(os.path.join(data, n)))


# ---- a directory with some of everything ----

def send(c, queue, first, n, size=700):
    for i in range(first, first + n, 10):
        c.call("SendMessageBatch", QueueUrl=queue, Entries=[
            {"Id": str(k), "MessageBody": f"{queue}-{i + k}-" + "x" * size,
             **({"MessageGroupId": str(k % 3), "MessageDeduplicationId": f"{i + k}"} if queue.endswith(".fifo") else {})}
            for k in range(10)])


def receive(c, queue, n, delete):
    done = 0
    while done < n:
        got = c.call("ReceiveMessage", QueueUrl=queue, MaxNumberOfMessages=10, VisibilityTimeout=3600).get("Messages", [])
        if not got:
            break
        for m in got:
            if delete:
                c.call("DeleteMessage", QueueUrl=queue, ReceiptHandle=m["ReceiptHandle"])
        done += len(got)


def fill(c, first):
    send(c, "bulk", first, 800, 2000)
    send(c, "jobs", first, 40)
    send(c, "orders.fifo", first, 20)
    receive(c, "jobs", 20, delete=True)
    receive(c, "orders.fifo", 5, delete=False)
    receive(c, "bulk", 20, delete=True)


def make_queues(c):
    for name in ("bulk", "jobs", "dead"):
        c.call("CreateQueue", QueueName=name)
    c.call("CreateQueue", QueueName="orders.fifo", Attributes={"FifoQueue": "true"})
    policy = json.dumps({"deadLetterTargetArn": "arn:aws:sqs:us-east-1:000000000000:dead", "maxReceiveCount": 1})
    c.call("CreateQueue", QueueName="poison", Attributes={"RedrivePolicy": policy})
    c.call("SendMessage", QueueUrl="poison", MessageBody="bad")
    c.call("ReceiveMessage", QueueUrl="poison", VisibilityTimeout=0)
    c.call("ReceiveMessage", QueueUrl="poison")


SAMPLE = {}


def sample():
    """A directory after two clean stops and a kill, made once: two snapshots of each log that grew enough for them,
    sealed segments, and a journal that goes on behind the marks."""
    if SAMPLE:
        return SAMPLE["data"]
    SAMPLE["folder"] = tempfile.mkdtemp(prefix="leaselog-fsck-")
    SAMPLE["data"] = os.path.join(SAMPLE["folder"], "data")
    with Server("--segment-mib", "1") as s:
        make_queues(s.client())
        for i in range(3):
            fill(s.client(), 1000 * i)
            if i < 2:
                assert s.stop() == 0
                s.start()
        s.kill()
        shutil.copytree(s.data, SAMPLE["data"])
    return SAMPLE["data"]


def sample_dumped(logs):
    """What dump_all gives of it, asked once."""
    if "dumped" not in SAMPLE:
        SAMPLE["dumped"] = dump_all(sample(), logs)
    return SAMPLE["dumped"]


class Copy:
    """A copy of a directory to do harm to."""

    def __init__(self, data):
        self.folder = tempfile.mkdtemp(prefix="leaselog-fsck-")
        self.data = os.path.join(self.folder, "data")
        shutil.copytree(data, self.data)

    def __enter__(self):
        return self.data

    def __exit__(self, *_):
        shutil.rmtree(self.folder, ignore_errors=True)


def crc32c(data, crc=0):
    crc ^= 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


# ---- nothing is found where nothing is ----

@test
def a_directory_after_load_and_a_kill_is_clean_and_stays_as_it_is():
    before = fingerprint(sample())
    code, findings, summary = fsck(sample())
    assert code == 0 and not findings, findings
    assert summary["records"] > 2400 and summary["logs"] == 5, summary
    tree = dump_tree(sample())
    snapshots = {log["topic"]: sum(n["name"].startswith(log["name"]) for n in tree["snapshot"]) for log in tree["log"]}
    assert snapshots["bulk"] == snapshots["jobs"] == 2 and snapshots["orders.fifo"] >= 1, snapshots
    assert len(tree["segment"]) >= 8, tree["segment"]
    assert sum(log["batches_in_journal"] for log in tree["log"]) > 100
    dump_all(sample(), [log["name"] for log in tree["log"]])
    assert fingerprint(sample()) == before, "fsck or dump changed something"


@test
def directories_killed_at_any_moment_are_clean():
    with Server("--segment-mib", "1") as s:
        make_queues(s.client())
        rng = random.Random(SEED)
        for i in range(4):
            sent = threading.Event()

            def load():
                c = s.client()
                try:
                    for k in range(1000):
                        send(c, "jobs", 10 * k, 10)
                        receive(c, "jobs", rng.randrange(10), delete=True)
                        if k == 3:
                            sent.set()
                except (OSError, ValueError, Refused):
                    pass
                except Exception as e:  # the connection's end, as http.client has it
                    assert "http" in type(e).__module__, e

            loaders = [in_thread(load) for _ in range(2)]
            assert sent.wait(30)
            s.kill()
            for loader in loaders:
                loader.result()
            code, findings, _ = fsck(s.data)
            assert code == 0, (SEED, i, findings)
            s.start()
        assert s.stop() == 0
        assert fsck(s.data)[0:2] == (0, []), fsck(s.data)


@test
def a_directory_of_the_first_format_is_clean():
    with tempfile.TemporaryDirectory(prefix="leaselog-fsck-") as folder:
        packed = os.path.join(os.path.dirname(__file__), "..", "compat", "format-1.tar.gz")
        with tarfile.open(packed) as t:
            t.extractall(folder)
        code, findings, summary = fsck(folder)
        assert code == 0 and summary["records"] == 48, (findings, summary)
        assert [f["file"] for f in findings] == ["receipt"], "a file of no meaning is remarked upon"


# ---- damage is found ----

def rows(data):
    """What SQLite gives of the catalogue; None when it gives nothing."""
    try:
        with sqlite3.connect(f"file:{os.path.join(data, 'catalog.sqlite')}?mode=ro", uri=True) as db:
            return db.execute("SELECT key, value FROM kv ORDER BY key").fetchall()
    except sqlite3.Error:
        return None


def flip(path, at, rng):
    with open(path, "r+b") as f:
        f.seek(at)
        byte = f.read(1)[0]
        f.seek(at)
        f.write(bytes([byte ^ 1 << rng.randrange(8)]))


def told(findings, name, at):
    """A finding that names the file, and no byte behind the damage."""
    return [f for f in findings if f["file"] == name and (f["byte"] is None or f["byte"] <= at)]


def flips(kind, suffix, must, places=None, also=lambda data: None, matters=lambda name, at: False):
    """Each flipped byte is told of with its file and place, or all that is stored reads as before. Of the flips at
    least `must` in ten have to be told of, and each that `matters`."""
    rng = random.Random(f"{SEED} {kind}")
    found = 0
    logs = [log["name"] for log in dump_tree(sample())["log"]]
    as_before = sample_dumped(logs), also(sample())
    with Copy(sample()) as data:
        for i in range(ROUNDS):
            name = rng.choice(files(data, suffix))
            path = os.path.join(data, name)
            good = open(path, "rb").read()
            at = places(rng, data, name) if places else rng.randrange(len(good))
            flip(path, at, rng)
            what = f"{kind}, seed {SEED}, round {i}: {name}, byte {at}"
            before = fingerprint(data)
            code, findings, _ = fsck(data)
            assert fingerprint(data) == before, f"{what}: fsck changed something"
            if told(findings, name, at):
                found += 1
            else:
                assert not matters(name, at), f"{what}: not found"
                assert code == 0, f"{what}: told of elsewhere only: {findings}"
                assert (dump_all(data, logs), also(data)) == as_before, f"{what}: not found, and it matters"
            with open(path, "wb") as f:
                f.write(good)
    # Of a few flips a share says little, unless it is all.
    assert 10 * found >= must * ROUNDS or (must < 10 and ROUNDS < 12), f"{kind}: only {found} of {ROUNDS} were found"
    print(f"  {kind}: {found} of {ROUNDS} were found, the others do not matter")


@test
def a_flipped_byte_of_a_segment_is_named():
    marks = {log["name"]: (log["mark_segment"], log["mark_position"]) for log in dump_tree(sample())["log"]}

    def below_the_mark(name, at):
        """What lies behind, a start writes again from the journal."""
        log, _, segment = name.rpartition("/")
        return (int(segment.removesuffix(".log")), at) < marks[log]

    flips("segment", ".log", 0, matters=below_the_mark)


@test
def a_flipped_byte_of_a_snapshot_is_named():
    flips("snapshot", ".snap", 10)


@test
def a_flipped_byte_of_an_index_is_named():
    flips("index", ".index", 7)


@test
def a_flipped_byte_of_the_marks_is_named():
    flips("marks", "marks", 10)


@test
def a_flipped_byte_of_store_json_is_named():
    flips("store.json", "store.json", 10)


@test
def a_flipped_byte_of_the_journal_is_named():
    def in_a_round(rng, data, name):
        journal = next(j for j in dump_tree(data)["journal"] if j["name"] == name)
        return rng.randrange(40) if rng.random() < 0.3 or not journal["end"] else rng.randrange(PAGE, journal["end"])

    flips("journal", ".wal", 3, places=in_a_round)


@test
def a_flipped_byte_of_the_catalogue_is_named_or_no_key_changes_its_kind():
    # SQLite keeps no checksums. A byte in the middle of a value that makes another good value is not found.
    def shape(data):
        found = rows(data)
        return found and [(key, len(value)) for key, value in found]

    rng = random.Random(f"{SEED} catalogue")
    found = 0
    with Copy(sample()) as data:
        path = os.path.join(data, "catalog.sqlite")
        good, whole = open(path, "rb").read(), shape(data)
        for i in range(ROUNDS):
            at = rng.randrange(100) if i % 3 == 0 else rng.randrange(len(good))
            flip(path, at, rng)
            code, findings, _ = fsck(data)
            if told(findings, "catalog.sqlite", at):
                found += 1
            else:
                assert code == 0 and shape(data) == whole, f"seed {SEED}, byte {at}: {findings}"
            with open(path, "wb") as f:
                f.write(good)
        assert shape(data) == whole and found > 0, found
    print(f"  catalogue: {found} of {ROUNDS} were found")


@test
def a_bad_batch_is_named_with_its_place_and_the_rest_is_still_checked():
    with Copy(sample()) as data:
        log = next(log for log in dump_tree(data)["log"] if log["topic"] == "bulk")
        name = log["name"] + "/" + "0" * 20 + ".log"
        with open(os.path.join(data, name), "rb") as f:
            head = f.read(64)
        second = struct.unpack_from("<I", head, 8)[0]  # the first batch's length is where the second begins
        flip(os.path.join(data, name), second + 70, random.Random(SEED))
        flip(os.path.join(data, "store.json"), 20, random.Random(SEED))
        _, findings, summary = fsck(data)
        assert [(f["file"], f["byte"]) for f in findings if f["kind"] == "fault"] == [("store.json", 0), (name, second)], findings
        assert summary["records"] > 2400, summary
        code, out, err = leaselog("dump", data, "bulk", "0", "--json")
        assert code == 1 and f"{name}, byte {second}" in err, err
        assert len(out.splitlines()) > 2000, "what follows the bad batch is shown"


@test
def a_state_that_the_log_does_not_give_is_named():
    with Copy(sample()) as data:
        name = [n for n in files(data, ".snap") if "/" in n][-1]
        path = os.path.join(data, name)
        whole = bytearray(open(path, "rb").read())
        # The floor of dedup and the rest stay; partition time, a varint early in the state, is another one.
        for at in range(56 + 2, len(whole)):
            changed = bytearray(whole)
            changed[at] ^= 1
            changed[4:8] = struct.pack("<I", crc32c(bytes(changed[0:4]) + bytes(changed[8:])))
            with open(path, "wb") as f:
                f.write(changed)
            _, findings, _ = fsck(data)
            whats = [f["what"] for f in findings if f["file"] == name]
            if any("do not give the state" in w for w in whats):
                return
            assert whats, f"byte {at} of {name} was changed unseen"
        raise AssertionError("no change made another good state")


@test
def what_is_gone_is_named():
    def gone(data, name):
        path = os.path.join(data, name)
        shutil.rmtree(path) if os.path.isdir(path) else os.remove(path)

    tree = {log["topic"]: log for log in dump_tree(sample())["log"]}
    logs = {topic: log["name"] for topic, log in tree.items()}
    segments = [n for n in files(sample(), ".log") if n.startswith(logs["bulk"])
                and int(n[-24:-4]) <= tree["bulk"]["mark_segment"]]  # what is behind is in the journal
    assert len(segments) >= 3, segments
    jobs = files(sample(), ".snap")
    for name, word in (("marks", "marks"), ("store.json", "store.json"), ("journal", "journal"),
                       ("journal/00000001.wal", "journal/00000002.wal"), ("catalog.sqlite", "catalog.sqlite"),
                       (logs["jobs"], logs["jobs"]), ("t", "t"),
                       (segments[1], segments[2]),  # the batch behind the hole does not follow
                       (segments[-1], segments[-1])):
        with Copy(sample()) as data:
            gone(data, name)
            code, findings, _ = fsck(data)
            assert code == 1 and word in [f["file"] for f in findings], (name, findings)
    with Copy(sample()) as data:  # one snapshot may go: the other one is enough
        gone(data, jobs[-1])
        assert fsck(data)[0] == 0
    with Copy(sample()) as data:  # the first segment may have been released, but here its messages are wanted
        gone(data, segments[0])
        _, findings, _ = fsck(data)
        assert any("are wanted and not stored" in f["what"] for f in findings), findings


# ---- cleaned segments ----

def clean_by_hand(data, from_number, to_number, name=None):
    """The first segment of bulk as the cleaner would leave it if the messages of that range were not wanted, which
    takes whole batches here; in the place of the old one and without an index, or as a file of the name given."""
    log = next(log for log in dump_tree(data)["log"] if log["topic"] == "bulk")
    path = os.path.join(data, log["name"], "0" * 20)
    old, new, at, gaps = open(path + ".log", "rb").read(), b"", 0, 0
    while at < len(old):
        size, = struct.unpack_from("<I", old, at + 8)
        _, records, messages, first = struct.unpack_from("<QIIQ", old, at + 16)
        batch = old[at:at + size]
        if records == messages and from_number <= first and first + messages <= to_number:
            rest = struct.pack("<II", 64, 8) + batch[16:56] + bytes(8)  # bit 3: a GAP; no hint
            batch = b"LLB\1" + struct.pack("<I", crc32c(b"LLB\1" + rest)) + rest
            gaps += 1
        new += batch
        at += size
    with open(os.path.join(data, log["name"], name) if name else path + ".log", "wb") as f:
        f.write(new)
    if not name:
        os.remove(path + ".index")
    assert gaps > 0
    return log["name"], gaps


@test
def a_cleaned_segment_is_clean_and_its_index_can_be_made_again():
    with Copy(sample()) as data:
        _, gaps = clean_by_hand(data, 0, 20)
        _, findings, _ = fsck(data)
        assert [f["what"] for f in findings] == ["the index is missing"], findings
        assert fsck(data, "--repair")[0] == 0 and fsck(data)[0:2] == (0, [])
        shown = [r for r in dump_log(data, "bulk") if r["type"] == "GAP"]
        assert len(shown) == gaps and shown[0]["number"] == 0 and shown[0]["messages"] > 0, shown
        before = dump_log(sample(), "bulk")
        offset = shown[0]["offset"] + 3
        assert dump_log(data, "bulk", 0, "--from", str(offset))[0] == shown[0], "an offset within a GAP shows it"
        left = [r for r in dump_log(data, "bulk") if r["type"] != "GAP"]
        assert left == [r for r in before if not (r["type"] == "MESSAGE" and r["number"] < 20)]


@test
def a_message_that_is_wanted_must_be_stored():
    with Copy(sample()) as data:
        log, _ = clean_by_hand(data, 100, 120)
        _, findings, _ = fsck(data, "--repair")
        faults = [(f["file"], f["what"]) for f in findings if f["kind"] == "fault"]
        assert faults == [(log, "20 messages from number 100 on are wanted and not stored")], findings


@test
def a_cleaning_that_a_crash_cut_short_is_checked_as_it_will_be():
    with Copy(sample()) as data:
        log = next(log for log in dump_tree(data)["log"] if log["topic"] == "bulk")["name"]
        second = sorted(n for n in files(data, ".log") if n.startswith(log))[1]
        name = "0" * 20 + "-" + os.path.basename(second)[:20] + ".clean"
        clean_by_hand(data, 0, 20, name)
        flip(os.path.join(data, log, "0" * 20 + ".log"), 100, random.Random(SEED))  # it counts no more
        code, findings, _ = fsck(data)
        assert code == 0 and [f["file"] for f in findings] == [f"{log}/{name}"], findings
        assert [r for r in dump_log(data, "bulk") if r["type"] == "GAP"]
        end = "0" + "9" * 19
        os.rename(os.path.join(data, log, name), os.path.join(data, log, "0" * 20 + "-" + end + ".clean"))
        code, findings, _ = fsck(data)
        assert code == 1 and any("reaches above the segment that the mark names" in f["what"] for f in findings), findings


@test
def a_topic_without_a_log_and_a_log_without_a_topic_are_named():
    with Server() as s:
        s.client().call("CreateQueue", QueueName="early")
        assert s.stop() == 0
        early = os.path.join(s.folder, "early.sqlite")
        shutil.copy(os.path.join(s.data, "catalog.sqlite"), early)
        s.start()
        s.client().call("CreateQueue", QueueName="late")
        assert s.stop() == 0
        late = next(log["name"] for log in dump_tree(s.data)["log"] if log["topic"] == "late")
        newest = os.path.join(s.folder, "late.sqlite")
        shutil.move(os.path.join(s.data, "catalog.sqlite"), newest)
        shutil.copy(early, os.path.join(s.data, "catalog.sqlite"))
        _, findings, _ = fsck(s.data)
        assert [(f["file"], f["what"]) for f in findings] == [(late, "the log belongs to no topic of the catalogue")], findings
        shutil.copy(newest, os.path.join(s.data, "catalog.sqlite"))
        with sqlite3.connect(os.path.join(s.data, "catalog.sqlite")) as db:
            db.execute("DELETE FROM kv WHERE key = 'n/early'")
            db.execute("UPDATE kv SET value = CAST('{' AS BLOB) WHERE key = 'k/epoch'")
        db.close()
        _, findings, _ = fsck(s.data)
        whats = " ".join(f["what"] for f in findings)
        assert len(findings) == 2 and "n/early" in whats and "k/epoch" in whats, findings


@test
def a_transaction_that_a_crash_cut_short_is_left_to_the_next_start():
    with Copy(sample()) as data:
        path, kept = os.path.join(data, "catalog.sqlite"), os.path.join(data, "..", "kept")
        db = sqlite3.connect(path, isolation_level=None)
        db.execute("PRAGMA cache_size = 2")
        db.execute("BEGIN IMMEDIATE")
        for i in range(200):  # more than the cache holds, so that pages and the journal are written before the commit
            db.execute("INSERT INTO kv VALUES (?, ?, 1, 1, 1, 0)", (f"x/{i}", bytes(2000)))
        for name in ("catalog.sqlite", "catalog.sqlite-journal"):
            shutil.copy(os.path.join(data, name), kept + name)
        db.close()
        for name in ("catalog.sqlite", "catalog.sqlite-journal"):
            os.replace(kept + name, os.path.join(data, name))
        assert os.path.getsize(path + "-journal") > 512
        before = fingerprint(data)
        code, findings, _ = fsck(data)
        assert code == 0 and len(findings) == 1 and "rolls it back" in findings[0]["what"], findings
        code, _, err = leaselog("dump", data, "jobs", "0")
        assert code == 3 and "named by its id" in err, err
        assert fingerprint(data) == before, "the transaction was rolled back"
        with Server("--segment-mib", "1", data=data) as s:
            assert s.client().counts("jobs")[0] > 0
            assert s.stop() == 0
        assert fsck(data)[0:2] == (0, [])


@test
def what_is_left_over_is_remarked_upon_and_no_fault():
    with Copy(sample()) as data:
        log = dump_tree(data)["log"][0]["name"]
        made = ["notes.txt", "t/readme", "t/" + "0" * 32 + "/0", log + "/marks.tmp", log + "/other", "journal/x"]
        for name in made:
            path = os.path.join(data, name)
            os.makedirs(path) if name.endswith("/0") else open(path, "w").close()
        code, findings, _ = fsck(data)
        assert code == 0 and {f["file"] for f in findings} == set(made), findings
        assert {f["kind"] for f in findings} == {"remark"}, findings


@test
def no_damage_makes_fsck_or_dump_fall_over():
    rng = random.Random(f"{SEED} any")
    logs = [log["name"] for log in dump_tree(sample())["log"]]
    for i in range(ROUNDS):
        with Copy(sample()) as data:
            harmed = []
            for _ in range(rng.randrange(1, 4)):
                name = rng.choice(files(data, ""))
                path = os.path.join(data, name)
                size = os.path.getsize(path)
                at = rng.randrange(min(size, rng.choice((100, 5000, size))))
                harmed.append((name, at))
                with open(path, "r+b") as f:
                    f.seek(at)
                    if rng.random() < 0.3:
                        f.truncate(at)
                    else:
                        f.write(rng.choice((bytes, rng.randbytes))(rng.randrange(1, 200)))
            for words in ([["fsck", data, "--repair"], ["fsck", data], ["dump", data]]
                          + [["dump", data, *log.split("/")[1:]] for log in logs]):
                code, out, err = leaselog(*words)
                assert code in (0, 1, 3) and "runtime error" not in err, (SEED, i, harmed, words, code, err[-2000:])


# ---- repair ----

@test
def a_bad_index_is_made_again_by_repair_and_the_server_starts_on_it():
    with Copy(sample()) as data:
        bulk = next(log["name"] for log in dump_tree(data)["log"] if log["topic"] == "bulk")
        indexes = [n for n in files(data, ".index") if n.startswith(bulk)]
        assert len(indexes) >= 3, indexes
        os.remove(os.path.join(data, indexes[0]))
        flip(os.path.join(data, indexes[1]), 30, random.Random(SEED))
        before = fingerprint(data)
        _, findings, _ = fsck(data)
        assert sorted(f["file"] for f in findings) == indexes[:2], findings
        assert fingerprint(data) == before
        code, findings, summary = fsck(data, "--repair")
        assert code == 0 and summary["indexes_made"] == 2, (findings, summary)
        assert {f["kind"] for f in findings} == {"remark"}, findings
        after = fingerprint(data)
        changed = {n for n in after if after[n] != before.get(n) and os.path.isfile(os.path.join(data, n))}
        assert changed == set(indexes[:2]), changed
        assert fsck(data)[0:2] == (0, []), "what was made is good"
        # As the server made it in one life; over a restart it begins to count anew at the mark.
        one_life = [open(os.path.join(folder, indexes[0]), "rb").read() for folder in (data, sample())]
        assert one_life[0] == one_life[1], indexes[0]
        with Server("--segment-mib", "1", data=data) as s:
            c = s.client()
            send(c, "bulk", 9000, 10)
            assert c.counts("bulk")[0] > 2000
            assert s.stop() == 0 and "was bad" not in s.notes(), s.notes()
        assert fsck(data)[0] == 0


@test
def repair_changes_nothing_but_indexes():
    with Copy(sample()) as data:
        flip(os.path.join(data, "marks"), 100, random.Random(SEED))
        flip(os.path.join(data, files(data, ".snap")[0]), 60, random.Random(SEED))
        before = fingerprint(data)
        assert fsck(data, "--repair")[0] == 1
        assert fingerprint(data) == before


# ---- dump ----

@test
def a_dump_shows_what_was_sent_leased_and_done():
    with Server() as s:
        c = s.client()
        c.call("CreateQueue", QueueName="jobs")
        ids = [c.call("SendMessage", QueueUrl="jobs", MessageBody=body, MessageAttributes={
            "shop": {"DataType": "String", "StringValue": "north"}})["MessageId"] for body in ("one", "zwei ☕")]
        got = c.call("ReceiveMessage", QueueUrl="jobs", MaxNumberOfMessages=10)["Messages"]
        c.call("DeleteMessage", QueueUrl="jobs", ReceiptHandle=got[0]["ReceiptHandle"])
        c.call("ChangeMessageVisibility", QueueUrl="jobs", ReceiptHandle=got[1]["ReceiptHandle"], VisibilityTimeout=900)

        def check():
            records = dump_log(s.data, "jobs")
            assert [r["offset"] for r in records] == list(range(len(records))), records
            assert [r["type"] for r in records] == ["EPOCH", "GROUP", "MESSAGE", "MESSAGE", "SIZES", "LEASE", "DONE", "EXTEND"], records
            messages = records[2:4]
            assert [(m["id"], m["body"], m["number"]) for m in messages] == [(ids[0], "one", 0), (ids[1], "zwei ☕", 1)]
            assert messages[0]["attributes"] == [{"name": "shop", "type": "String", "value": "north"}], messages
            assert records[4]["numbers"] == [[0, 1]] and records[4]["message_bytes"] == [18, 23], records  # bodies and attributes
            assert records[5]["numbers"] == [[0, 1]] and records[6]["numbers"] == [[0, 0]], records
            assert records[7]["until_ms"] - records[5]["granted_ms"] >= 900000, records
            return records

        served = check()  # while a broker serves it
        s.kill()
        assert check() == served  # from the journal
        s.start()
        assert s.stop() == 0
        before = fingerprint(s.data)
        assert check() == served  # from the segment
        assert dump_log(s.data, "jobs", 0, "--from", "3", "--limit", "2") == served[3:5]
        topic = next(t["id"] for t in dump_tree(s.data)["topic"])
        assert dump_log(s.data, topic) == served, "a topic may be named by its id"
        code, words, _ = leaselog("dump", s.data, "jobs", "0")
        assert code == 0 and len(words.splitlines()) == 8 and "one" not in words.split("offset 4")[0].split("MESSAGE")[1].split()
        assert "bytes of messages: 0:18 1:23\n" in words, words
        assert "group 1 takes 0-1 from" in words and "group 1 is finished with 0\n" in words, words
        assert '"zwei ☕"' in leaselog("dump", s.data, "jobs", "0", "--bodies")[1]
        assert fingerprint(s.data) == before


@test
def usage_is_told_apart_from_damage():
    with Copy(sample()) as data:
        for words, code, said in (
                (("fsck",), 2, "which data directory"), (("fsck", data, "x"), 2, "not expected: x"),
                (("fsck", data, "--bodies"), 2, "--bodies"), (("dump", data, "jobs"), 2, "which partition"),
                (("dump", data, "jobs", "x"), 2, "a partition is a number"), (("dump", data, "jobs", "1"), 3, "no such log"),
                (("dump", data, "jobs", "0", "--from", "-1"), 2, "--from takes a whole number"),
                (("dump", data, "nothing", "0"), 3, "no topic 'nothing'"), (("fsck", "/dev/null"), 2, "Not a directory"),
                (("fsck", os.path.dirname(data)), 2, "no data directory"),
                (("fsck", data, "--repair", "--online"), 2, "no broker serves")):
            got, _, err = leaselog(*words)
            assert got == code and said in err, (words, got, err)
        assert leaselog("fsck", "--help")[1] == leaselog("help", "fsck")[1] != ""
        assert "fsck DIR" in leaselog("help")[1] and "leaselog dump" in leaselog("help", "--man")[1]


# ---- beside a broker ----

@test
def a_served_directory_is_refused_or_checked_online_while_it_changes():
    with Server("--segment-mib", "1") as s:
        c = s.client()
        make_queues(c)
        fill(c, 0)
        code, out, err = leaselog("fsck", s.data)
        assert code == 5 and out == "" and "--online" in err, (code, out, err)
        stop = threading.Event()

        def load():
            mine, first = s.client(), 1000
            while not stop.is_set():
                send(mine, "bulk", first, 20, 2000)
                receive(mine, "bulk", 20, delete=True)
                mine.call("CreateQueue", QueueName=f"q{first % 60}")
                mine.call("DeleteQueue", QueueUrl=f"q{first % 60}")
                first += 20
            return first

        loader = in_thread(load)
        for _ in range(5):
            code, findings, _ = fsck(s.data, "--online")
            assert code == 0, findings
            records = dump_log(s.data, "bulk")
            offsets = [r["offset"] for r in records]
            assert offsets == list(range(offsets[0], offsets[0] + len(offsets))), "the dump has a hole"
        stop.set()
        sent = loader.result()
        assert len([r for r in dump_log(s.data, "bulk") if r["type"] == "MESSAGE"]) == 800 + sent - 1000
        assert s.stop() == 0
        assert fsck(s.data)[0] == 0


print(f"seed {SEED}")
try:
    run_tests(globals())
finally:
    shutil.rmtree(SAMPLE.get("folder", "/nonexistent"), ignore_errors=True)
