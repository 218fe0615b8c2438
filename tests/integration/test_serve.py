# SPDX-License-Identifier: Apache-2.0
"""The server as an operator meets it: starting, refusing to start, stopping, health."""
import os
import shutil
import socket
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
from leaselog import BINARY, Refused, Server, in_thread, run_tests, test, wait_until


def refused_start(*options, prefix=(), env=None):
    got = subprocess.run([*prefix, BINARY, "serve", *options], capture_output=True, text=True, timeout=60,
                         env={**os.environ, **(env or {})}, stdin=subprocess.DEVNULL)
    return got.returncode, got.stderr


@test
def a_data_directory_in_use_is_refused_with_exit_code_1():
    with Server() as s:
        code, text = refused_start("--listen", "127.0.0.1:0", "--data-dir", s.data)
        assert code == 1 and "in use" in text, (code, text)
        assert s.client().get("/readyz")["status"] == "ready"


@test
def a_taken_port_is_named_and_another_address_suggested():
    with Server() as s, socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        code, text = refused_start("--listen", f"127.0.0.1:{port}", "--data-dir", s.folder + "/other")
        assert code == 1 and str(port) in text and "--listen" in text, (code, text)


@test
def an_unreadable_data_directory_exits_with_78_and_writes_nothing():
    folder = tempfile.mkdtemp()
    try:
        os.chmod(folder, 0o755)
        data = os.path.join(folder, "data")
        os.mkdir(data, 0o700)
        prefix = ["setpriv", "--reuid=65534", "--clear-groups"] if os.getuid() == 0 else []
        if not prefix:
            os.chmod(data, 0)
        code, text = refused_start("--listen", "127.0.0.1:0", "--data-dir", data, prefix=prefix)
        assert code == 78 and data in text, (code, text)
        os.chmod(data, 0o700)
        assert os.listdir(data) == []
    finally:
        shutil.rmtree(folder)


def newer(change):
    """Serves once, lets `change` alter the stopped data directory, and tries to start again."""
    with Server() as s:
        c = s.client()
        c.call("CreateQueue", QueueName="q")
        c.call("SendMessage", QueueUrl="q", MessageBody="kept")
        c.close()
        assert s.stop() == 0
        change(s.data)
        before = tree(s.data)
        code, text = refused_start("--listen", "127.0.0.1:0", "--data-dir", s.data)
        assert tree(s.data) == before, "a refused start wrote something"
        return code, text


def tree(folder):
    found = {}
    for at, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(at, name)
            with open(path, "rb") as f:
                found[path] = f.read()
    return found


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


@test
def a_newer_store_format_exits_with_78_and_writes_nothing():
    def change(data):
        path = os.path.join(data, "store.json")
        with open(path) as f:
            line = f.read()
        start = line[: line.index(',"crc32c"')].replace('{"leaselog":1,', '{"leaselog":99,')
        with open(path, "w") as f:
            f.write(f'{start},"crc32c":"{crc32c(start.encode()):08x}"}}\n')

    code, text = newer(change)
    assert code == 78 and "newer" in text, (code, text)


@test
def a_damaged_store_file_exits_with_1_and_names_it():
    def change(data):
        with open(os.path.join(data, "store.json"), "w") as f:
            f.write("{not json")

    code, text = newer(change)
    assert code == 1 and "store.json" in text, (code, text)


@test
def a_damaged_catalogue_exits_with_1_and_names_it():
    def change(data):
        path = os.path.join(data, "catalog.sqlite")
        with open(path, "r+b") as f:
            f.write(b"garbage!" * 16)

    code, text = newer(change)
    assert code == 1 and "catalog" in text, (code, text)


@test
def mistakes_on_the_command_line_exit_with_2_and_in_the_file_with_78():
    assert refused_start("--listen", "nonsense")[0] == 2
    assert refused_start("--listen", "127.0.0.1:99999")[0] == 2
    assert refused_start("--no-such-option")[0] == 2
    assert refused_start("--loops", "-1")[0] == 2
    assert refused_start("stray")[0] == 2
    assert refused_start(env={"LEASELOG_LOOPS": "many"})[0] == 78
    with tempfile.NamedTemporaryFile("w", suffix=".conf") as f:
        f.write("listen = 127.0.0.1:0\nlisten_on = nowhere\n")
        f.flush()
        code, text = refused_start("--config", f.name)
        assert code == 78 and f"{f.name}:2" in text, (code, text)


@test
def too_few_descriptors_are_told_with_78_before_anything_is_written():
    with Server() as s:
        code, text = refused_start("--listen", "127.0.0.1:0", "--data-dir", s.folder + "/other", prefix=("prlimit", "--nofile=63"))
        assert code == 78 and "ulimit -n" in text and not os.path.exists(s.folder + "/other"), (code, text)


@test
def a_second_start_keeps_everything_after_a_clean_stop():
    with Server() as s:
        c = s.client()
        c.call("CreateQueue", QueueName="q")
        for i in range(25):
            c.call("SendMessage", QueueUrl="q", MessageBody=f"m{i}")
        c.call("ReceiveMessage", QueueUrl="q", MaxNumberOfMessages=10)
        before = c.counts("q")
        c.close()
        assert s.stop() == 0
        s.start()
        assert s.client().counts("q") == before == (15, 10, 0)


@test
def a_stop_answers_waiting_polls_with_nothing_and_exits_with_0():
    with Server() as s:
        c = s.client()
        c.call("CreateQueue", QueueName="q")
        waiting = in_thread(lambda: s.client().call("ReceiveMessage", QueueUrl="q", WaitTimeSeconds=20))
        wait_until(lambda: c.get("/v1")["stats"]["waiting_receivers"] == 1, "the poll waits")
        assert s.stop() == 0
        assert waiting.result() == {}


@test
def health_tells_of_readiness_and_unknown_parameters_are_refused():
    with Server() as s:
        c = s.client()
        assert c.get("/livez") == {"status": "ok"}
        assert c.get("/readyz?verbose")["checks"]["data_directory"] == "ok"
        try:
            c.get("/v1/topics?limt=3")
            raise AssertionError("a misspelt parameter was taken")
        except Refused as e:
            assert e.status == 400 and b"limit" in e.body


@test
def a_known_state_is_shown_exactly():
    with Server() as s:
        c = s.client()
        c.call("CreateQueue", QueueName="q")
        for i in range(5):
            c.call("SendMessage", QueueUrl="q", MessageBody=f"m{i}")
        c.call("SendMessage", QueueUrl="q", MessageBody="later", DelaySeconds=900)
        c.call("ReceiveMessage", QueueUrl="q", MaxNumberOfMessages=2)
        topic = c.get("/v1/topics")["topics"][0]
        assert (topic["stats"]["visible"], topic["stats"]["in_flight"], topic["stats"]["delayed"]) == (3, 2, 1), topic
        leases = c.get("/v1/topics/q/groups/default/leases")["leases"]
        assert [x["number"] for x in leases] == [0, 1] and 25 < leases[0]["left_seconds"] <= 30, leases
        assert [x["holder"] for x in leases] == ["127.0.0.1"] * 2, leases
        part = c.get("/v1/topics/q/partitions")["partitions"][0]
        assert part["next_number"] == 6 and part["state"] == "ok", part


@test
def a_server_without_stdin_stdout_and_stderr_prints_into_none_of_its_files():
    with Server() as s, socket.socket() as free:
        assert s.stop() == 0
        free.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        free.bind(("127.0.0.1", 0))
        s.port = free.getsockname()[1]
        free.close()
        s.process = subprocess.Popen(["sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh", BINARY, "serve", "--listen",
                                      f"127.0.0.1:{s.port}", "--data-dir", s.data], stdout=subprocess.PIPE)

        def ready():
            try:
                return s.client().get("/readyz")["status"] == "ready"
            except OSError:
                assert s.process.poll() is None, "it ended"
                return False

        wait_until(ready, "it serves")
        files = [os.readlink(f"/proc/{s.process.pid}/fd/{n}") for n in range(3)]
        assert files == ["/dev/null"] * 3, files
        c = s.client()
        c.call("CreateQueue", QueueName="q")
        c.call("SendMessage", QueueUrl="q", MessageBody="kept")
        c.close()
        s.kill()  # so that the next start reads the journal
        s.start()
        assert s.client().counts("q") == (1, 0, 0)


@test
def a_help_that_cannot_be_written_is_told():
    with open("/dev/full", "w") as full:
        for words in (["serve", "--help"], ["help"], ["help", "--man"], ["version"], ["completion", "bash"], ["send", "--help"]):
            got = subprocess.run([BINARY, *words], stdout=full, stderr=subprocess.PIPE, text=True, timeout=60)
            assert got.returncode == 1 and "stdout" in got.stderr, (words, got)


run_tests(globals())
