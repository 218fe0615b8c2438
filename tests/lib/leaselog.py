# SPDX-License-Identifier: Apache-2.0
"""Starts the real server on a free port of loopback, and speaks SQS JSON to it. Standard library only."""
import contextlib
import http.client
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback

BINARY = os.environ.get("LEASELOG", os.path.join(os.environ.get("builddir", "."), "leaselog"))
WAIT_S = 30
MEMORY_BYTES_MIN = 1 << 30  # a container's has 64 MiB, which a load fills; so does etcd's first log

# nohup and jobs in the background have these ignored, which the programs that are tested would inherit.
signal.signal(signal.SIGHUP, signal.SIG_DFL)
signal.signal(signal.SIGQUIT, signal.SIG_DFL)
signal.signal(signal.SIGINT, signal.default_int_handler)


def memory_folder():
    """A folder in memory with room for what tests write, or None, which tempfile takes for its usual one."""
    try:
        room = os.statvfs("/dev/shm")
    except OSError:
        return None
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) and room.f_bavail * room.f_frsize >= MEMORY_BYTES_MIN else None


class Refused(Exception):
    """The server answered with a fault."""

    def __init__(self, status, body, headers):
        super().__init__(f"{status} {body[:300]!r}")
        self.status, self.body, self.headers = status, body, headers
        self.code = (headers.get("x-amzn-query-error") or "").split(";")[0]


class Client:
    """One kept-alive connection."""

    def __init__(self, port, timeout=WAIT_S):
        self.conn = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout)

    def raw(self, method, path, body=None, headers=None):
        self.conn.request(method, path, body, headers or {})
        answer = self.conn.getresponse()
        return answer.status, answer.read(), answer.headers

    def call(self, action, **members):
        body = json.dumps(members).encode()
        headers = {"Content-Type": "application/x-amz-json-1.0", "X-Amz-Target": "AmazonSQS." + action}
        status, got, answered = self.raw("POST", "/", body, headers)
        if status != 200:
            raise Refused(status, got, answered)
        return json.loads(got) if got else {}

    def get(self, path):
        status, got, headers = self.raw("GET", path)
        if status != 200:
            raise Refused(status, got, headers)
        return json.loads(got)

    def counts(self, queue):
        got = self.call("GetQueueAttributes", QueueUrl=queue, AttributeNames=["All"])["Attributes"]
        return tuple(int(got["ApproximateNumberOfMessages" + k]) for k in ("", "NotVisible", "Delayed"))

    def close(self):
        self.conn.close()


class Server:
    """`with Server() as s:` serves from a temporary folder; s.kill() and s.start() again keep the data."""

    def __init__(self, *options, data=None, prefix=()):
        self.options, self.prefix = options, list(prefix)
        self.folder = tempfile.mkdtemp(prefix="leaselog-test-")
        self.data = data or os.path.join(self.folder, "data")
        self.process = None

    def start(self):
        self.log = open(os.path.join(self.folder, "log"), "ab")
        self.process = subprocess.Popen(
            self.prefix + [BINARY, "serve", "--listen", "127.0.0.1:0", "--data-dir", self.data, *self.options],
            stdout=subprocess.PIPE, stderr=self.log)
        line = self.process.stdout.readline().decode()
        if not line.startswith("http://"):
            self.process.wait(WAIT_S)
            raise RuntimeError(f"the server did not start (exit {self.process.returncode}): {self.notes()[-2000:]}")
        self.url = line.strip()
        self.port = int(self.url.rsplit(":", 1)[1])
        return self

    def notes(self):
        with open(os.path.join(self.folder, "log"), errors="replace") as f:
            return f.read()

    def client(self, **kw):
        return Client(self.port, **kw)

    def kill(self):
        self.process.kill()
        self.process.wait(WAIT_S)
        self.process.stdout.close()

    def stop(self):
        """A clean stop; gives the exit code."""
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(60)
        self.process.stdout.close()
        return code

    def rss_kib(self):
        with open(f"/proc/{self.process.pid}/status") as f:
            return next(int(line.split()[1]) for line in f if line.startswith("VmRSS"))

    def __enter__(self):
        return self.start()

    def __exit__(self, *_):
        if self.process and self.process.poll() is None:
            self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)


def wait_until(condition, what, timeout=WAIT_S):
    """Polls a condition on the server's state; it must become true within the time."""
    end = time.monotonic() + timeout
    while not condition():
        if time.monotonic() > end:
            raise AssertionError(f"not within {timeout} s: {what}")
        time.sleep(0.01)


def in_thread(f, *args):
    """Runs f beside the test; .result() waits and gives its value or raises its exception."""
    box = {}

    def run():
        try:
            box["value"] = f(*args)
        except BaseException as e:
            box["error"] = e

    t = threading.Thread(target=run, daemon=True)
    t.start()

    def result():
        t.join(WAIT_S + 30)
        assert not t.is_alive(), "still running"
        if "error" in box:
            raise box["error"]
        return box["value"]

    t.result = result
    return t


def run_each(tests):
    """How many passed, how many failed."""
    passed = failed = 0
    for name, f in tests:
        try:
            f()
            print(f"ok - {name}", flush=True)
            passed += 1
        except BaseException as e:
            traceback.print_exc()
            print(f"not ok - {name}: {e}", flush=True)
            failed += 1
    return passed, failed


def lane_start(tests, within):
    """A process of its own for these tests; its output goes to a file. Gives (pid, file)."""
    out = tempfile.TemporaryFile("w+", errors="replace")
    sys.stdout.flush()
    pid = os.fork()
    if pid:
        return pid, out
    os.dup2(out.fileno(), 1)
    os.dup2(out.fileno(), 2)
    failed = 1
    try:
        with within():
            _, failed = run_each(tests)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(1 if failed else 0)


def run_tests(names, lanes=1, within=contextlib.nullcontext):
    """Runs every function of `names` (a module's globals) that is a test, those of each lane one after the other, the
    lanes beside each other: for tests that mostly wait, and share nothing. Each lane runs in a `within()` of its own."""
    only = sys.argv[1:]
    tests = [(name, f) for name, f in list(names.items())
             if callable(f) and getattr(f, "is_test", False) is True and (not only or name in only)]
    if lanes == 1:
        with within():
            passed, failed = run_each(tests)
    else:
        passed = failed = 0
        for pid, out in [lane_start(tests[k::lanes], within) for k in range(min(lanes, len(tests)))]:
            status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
            out.seek(0)
            text = out.read()
            print(text, end="", flush=True)
            passed += len(re.findall("^ok - ", text, re.M))
            failed += max(len(re.findall("^not ok - ", text, re.M)), status != 0)
    if passed + failed < len(tests):
        failed += len(tests) - passed - failed  # a lane that ended early
    print(f"{passed} passed, {failed} failed")
    sys.exit(1 if failed or not passed else 0)


def test(f):
    f.is_test = True
    return f
