# SPDX-License-Identifier: Apache-2.0
"""Runs the command line against a server, and remembers which commands were run."""
import contextlib
import http.server
import os
import re
import signal
import subprocess
import tempfile
import threading

from leaselog import BINARY, wait_until

asked = set()  # the first words of all command lines so far


def words_of(words):
    asked.update(w for w in words[:2] if re.fullmatch("[a-z]+", w))
    return [BINARY, *words]


def environment(server):
    return dict(os.environ, LEASELOG_URL=server.url if server else "http://127.0.0.1:1")


def cli(server, *words, stdin="", stdout=subprocess.PIPE, text=True):
    """Gives exit status, stdout and stderr. Without a server nobody listens."""
    got = subprocess.run(words_of(words), input=stdin, stdout=stdout, stderr=subprocess.PIPE, text=text,
                         env=environment(server), timeout=60)
    return got.returncode, got.stdout, got.stderr


class Running:
    """A command line that runs beside the test: `with Running(server, "work", …) as w:`."""

    def __init__(self, server, *words, stdout=subprocess.PIPE):
        self.process = subprocess.Popen(words_of(words), stdin=subprocess.DEVNULL, stdout=stdout,
                                        stderr=subprocess.PIPE, text=True, env=environment(server))

    def signal(self, number=signal.SIGTERM):
        self.process.send_signal(number)

    def end(self, timeout=30):
        """Waits for its end: exit status, stdout, stderr."""
        out, err = self.process.communicate(timeout=timeout)
        return self.process.returncode, out, err

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
            self.process.communicate()


class Folder:
    """Where the commands of a test leave their marks."""

    def __enter__(self):
        self.folder = tempfile.TemporaryDirectory(prefix="leaselog-test-")
        self.path = self.folder.name
        return self

    def __exit__(self, *_):
        self.folder.cleanup()

    def at(self, name):
        return os.path.join(self.path, name)

    def put(self, name):
        open(self.at(name), "w").close()

    def names(self, prefix=""):
        return sorted(n for n in os.listdir(self.path) if n.startswith(prefix))

    def lines(self, name):
        try:
            with open(self.at(name)) as f:
                return f.read().splitlines()
        except FileNotFoundError:
            return []

    def await_names(self, prefix, n):
        wait_until(lambda: len(self.names(prefix)) >= n, f"{n} files {prefix}*")


@contextlib.contextmanager
def sqs_only(server):
    """A front of the server that knows nothing but the SQS protocol. While it is `away` it answers
    503; `actions` are those that it has passed on."""

    class Front(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def answer(self, status, body):
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if front.away:
                return self.answer(503, b"")
            front.actions.append(self.headers["X-Amz-Target"].split(".")[1])
            client = server.client()
            status, got, _ = client.raw("POST", "/", body, dict(self.headers))
            client.close()
            return self.answer(status, got)

        def do_PATCH(self):
            self.rfile.read(int(self.headers["Content-Length"]))
            self.answer(404, b"no such thing")

        def log_message(self, *_):
            pass

    front = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Front)
    front.daemon_threads = True
    front.url = f"http://127.0.0.1:{front.server_port}"
    front.away, front.actions = False, []
    thread = threading.Thread(target=front.serve_forever, daemon=True)
    thread.start()
    try:
        yield front
    finally:
        front.shutdown()
        front.server_close()
