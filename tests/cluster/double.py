# SPDX-License-Identifier: Apache-2.0
"""Stands in for a broker of a cluster, so that the tools beside it can be tested without one. It takes the command line
of `leaselog serve`, and looks like a member: GET /v1/cluster names a leader, which moves to the lowest broker that
etcd knows to live. But all of them pass their clients' requests to one real broker (DOUBLE_PORT), so what it
promises holds whatever happens to the doubles. DOUBLE_FAULT=lose: every tenth send is answered and forgotten."""
import base64
import http.client
import http.server
import json
import os
import socketserver
import sys
import threading
import time

TOPICS = ("demo", "q", "o.fifo", "s", "d")
FAULT = os.environ.get("DOUBLE_FAULT", "")


def option(name):
    return sys.argv[sys.argv.index("--" + name) + 1]


def text(value):
    return base64.b64encode(value.encode()).decode()


class Membership(threading.Thread):
    """Keeps a session in etcd and reads who else has one."""

    def __init__(self):
        super().__init__(daemon=True)
        self.id, self.etcds, self.alive = int(option("broker-id")), option("etcd").split(","), [int(option("broker-id"))]
        self.lease, self.revision, self.known = None, 0, threading.Event()

    def ask(self, path, body):
        for url in self.etcds:
            try:
                conn = http.client.HTTPConnection(url.split("//")[1], timeout=1)
                conn.request("POST", path, json.dumps(body))
                return json.loads(conn.getresponse().read())
            except (OSError, http.client.HTTPException, ValueError):
                pass
        return {}

    def run(self):
        while True:
            if self.lease and not self.ask("/v3/lease/keepalive", {"ID": self.lease}).get("result", {}).get("TTL"):
                self.lease = None
            if not self.lease:
                self.lease = self.ask("/v3/lease/grant", {"TTL": option("session-ttl")}).get("ID")
                self.ask("/v3/kv/put", {"key": text(f"s/{self.id}"), "value": text("x"), "lease": self.lease or "0"})
            got = self.ask("/v3/kv/range", {"key": text("s/"), "range_end": text("s0")})
            if "header" in got:
                # Who lives is a function of the revision, so it can stand for the epoch.
                self.revision = int(got["header"]["revision"])
                self.alive = sorted(int(base64.b64decode(kv["key"])[2:]) for kv in got.get("kvs", []))
                self.known.set()
            time.sleep(0.1)


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    members = None
    sends = 0

    def log_message(self, *_):
        pass

    def answer(self, status, body, headers=()):
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def cluster(self):
        alive, epoch = self.members.alive, self.members.revision
        leader = alive[0] if len(alive) > 1 else 0
        return {"cluster": option("cluster"), "broker": self.members.id, "controller": leader,
                "brokers": [{"id": b, "live": b in alive, "draining": False, "peer_url": "", "client_url": ""} for b in (1, 2, 3)],
                "partitions": [{"topic": t, "partition": 0, "leader": leader, "epoch": epoch, "isr": alive,
                                "members": [1, 2, 3], "min_isr": 2, "state": "ok"} for t in TOPICS]}

    def do_ANY(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.path == "/v1/cluster":
            return self.answer(200, json.dumps(self.cluster()).encode())
        if len(self.members.alive) < 2:
            return self.answer(503, b"{}")
        Handler.sends += "SendMessage" in self.headers.get("X-Amz-Target", "")
        if FAULT == "lose" and self.headers.get("X-Amz-Target", "").endswith("SendMessage") and Handler.sends % 10 == 0:
            return self.answer(200, json.dumps({"MessageId": "forgotten"}).encode())
        conn = http.client.HTTPConnection("127.0.0.1", int(os.environ["DOUBLE_PORT"]), timeout=60)
        conn.request(self.command, self.path, body, {k: v for k, v in self.headers.items() if k != "Content-Length"})
        got = conn.getresponse()
        headers = [(k, v) for k, v in got.getheaders() if k.lower() not in ("content-length", "connection", "date")]
        self.answer(got.status, got.read(), headers)
        conn.close()

    do_GET = do_POST = do_PUT = do_DELETE = do_PATCH = do_ANY


class Threads(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = allow_reuse_address = True
    request_queue_size = 100


def main():
    if "--help" not in sys.argv and "--etcd" not in sys.argv:
        os.execv(os.environ["DOUBLE_REAL"], [os.environ["DOUBLE_REAL"], *sys.argv[1:]])  # one that serves alone is a real one
    if "--help" in sys.argv:
        print("a double of leaselog serve --etcd URL,...")
        return
    Handler.members = Membership()
    Handler.members.start()
    Handler.members.known.wait(10)
    address, port = option("listen").rsplit(":", 1)
    server = Threads((address, int(port)), Handler)
    # Nobody asks it anything on its peers' port; that it listens is enough.
    peers = Threads(("127.0.0.1", int(option("peer-listen").rsplit(":", 1)[1])), Handler)
    threading.Thread(target=peers.serve_forever, daemon=True).start()
    print(f"http://{address}:{port}", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
