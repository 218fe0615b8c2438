# SPDX-License-Identifier: Apache-2.0
"""All fronts at once, in short lives: SQS JSON, SQS Query, REST and the views, on the same topics, with clients
that leave at any stage, kill -9, start again, and at the end an audit of everything that was answered.

    test_fronts.py [LIVES [SECONDS_OF_A_LIFE [OPTION_OF_THE_SERVER]...]]

LEASELOG_SEED replays the choices of a run (not the machine's timing)."""
import base64
import http.client
import json
import os
import random
import re
import socket
import struct
import sys
import threading
import time
import traceback
from urllib.parse import quote, urlencode
from xml.etree import ElementTree

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
from leaselog import Server

LOST = (OSError, http.client.HTTPException)
SLOW = float(os.environ.get("LEASELOG_SLOW", "1"))
FINE = {200, 201, 202, 204, 304, 400, 404, 409, 410, 412, 429, 503}


class History:
    def __init__(self, seed):
        self.seed, self.life, self.lock, self.wrong = seed, 0, threading.Lock(), []
        self.sent, self.begun, self.asked, self.deleted = {}, {}, set(), {}
        self.answered, self.ending = 0, False

    def fail(self, text):
        with self.lock:
            self.wrong.append(f"life {self.life}: {text}")

    def key(self, body):
        if isinstance(body, str):
            body = body.encode() if body.startswith("k-") else base64.b64decode(body)
        return re.match(rb"k-[0-9a-f]+", body).group().decode()

    def got(self, body, asked, where):
        k = self.key(body)
        if k not in self.begun:
            self.fail(f"{k} was never sent ({where})")
        if self.deleted.get(k, asked) < asked:
            self.fail(f"{k} came back after its delete ({where})")
        return k


class Worker:
    def __init__(self, n, server, h, stop):
        self.n, self.server, self.h, self.stop = n, server, h, stop
        self.rng = random.Random(f"{h.seed} {h.life} {n}")
        self.c = server.client(timeout=30 * SLOW)

    def ask(self, method, path, body=None, headers=None, fine=FINE):
        got = self.c.raw(method, path, body, headers)
        with self.h.lock:
            self.h.answered += 1
        if got[0] not in fine:
            self.h.fail(f"{method} {path[:120]}: {got[0]} {got[1][:300]}")
        return got

    def sqs(self, action, **members):
        status, body, _ = self.ask("POST", "/", json.dumps(members).encode(), {
            "Content-Type": "application/x-amz-json-1.0", "X-Amz-Target": "AmazonSQS." + action})
        return json.loads(body or b"{}") if status == 200 else None

    def query(self, topic, **form):
        status, body, _ = self.ask("POST", f"/000000000000/{topic}", urlencode(form).encode(),
                                   {"Content-Type": "application/x-www-form-urlencoded"})
        root = ElementTree.fromstring(body)
        for e in root.iter():
            e.tag = e.tag.rpartition("}")[2]
        return root if status == 200 else None

    # ---- sending ----
    def send(self, topic="load"):
        r, n = self.rng, self.rng.choice((1, 1, 3, 10))
        keys = [f"k-{r.getrandbits(64):016x}" for _ in range(n)]
        pad = "é" * r.choice((0, 50, 3000, 20000)) if n < 4 else "y" * r.choice((0, 300))
        now = time.monotonic()
        for k in keys:
            self.h.begun[k] = now
        ok = []
        how = r.randrange(6)
        if how == 0:
            if self.sqs("SendMessage", QueueUrl=topic, MessageBody=keys[0] + pad) is not None:
                ok = keys[:1]
        elif how == 1:
            a = self.sqs("SendMessageBatch", QueueUrl=topic, Entries=[
                {"Id": str(i), "MessageBody": k + pad} for i, k in enumerate(keys)])
            ok = [keys[int(e["Id"])] for e in a.get("Successful", [])] if a else []
        elif how == 2:
            if self.query(topic, Action="SendMessage", MessageBody=keys[0] + pad) is not None:
                ok = keys[:1]
        elif how == 3:
            body = keys[0].encode() + r.choice((b"", b"\xff\x00\x80" * 30))
            if self.ask("POST", f"/v1/topics/{topic}/messages", body, {"Idempotency-Key": keys[0]})[0] == 201:
                ok = keys[:1]
        elif how == 4:
            s, body, _ = self.ask("POST", f"/v1/topics/{topic}/messages:batch",
                                  json.dumps({"messages": [{"body": k + pad, "attributes": {"N": 3}} for k in keys]}).encode(),
                                  {"Content-Type": "application/json"})
            ok = [k for k, e in zip(keys, json.loads(body)["results"]) if "id" in e] if s == 200 else []
        else:
            s, body, _ = self.ask("POST", f"/v1/topics/{topic}/messages:batch",
                                  "\n".join(json.dumps({"body": k, "delay": "500ms" if r.random() < .1 else 0}) for k in keys).encode(),
                                  {"Content-Type": "application/x-ndjson"})
            ok = [k for k, e in zip(keys, json.loads(body)["results"]) if "id" in e] if s == 200 else []
        now = time.monotonic()
        if topic == "load":
            for k in ok:
                self.h.sent[k] = now

    # ---- receiving ----
    def receive(self, topic="load"):
        r, asked = self.rng, time.monotonic()
        n, vis, wait, how = r.choice((1, 3, 10)), r.choice((0, 1, 1, 5)), r.choice((0, 0, 1)), r.randrange(4)
        got = []  # (key, receipt)
        if how == 0:
            a = self.sqs("ReceiveMessage", QueueUrl=topic, MaxNumberOfMessages=n, VisibilityTimeout=vis, WaitTimeSeconds=wait)
            got = [(m["Body"], m["ReceiptHandle"]) for m in (a or {}).get("Messages", [])]
        elif how == 1:
            a = self.query(topic, Action="ReceiveMessage", MaxNumberOfMessages=n, VisibilityTimeout=vis, WaitTimeSeconds=wait)
            got = [(m.find("Body").text, m.find("ReceiptHandle").text) for m in a.iter("Message")] if a is not None else []
        elif how == 2:
            s, body, _ = self.ask("POST", f"/v1/topics/{topic}/groups/default/receive?max={n}&visibility={vis}&wait={wait}")
            got = [(m["body"] if "body" in m else m["body_base64"], m["receipt"]) for m in json.loads(body)["messages"]] if s == 200 else []
        else:
            s, body, head = self.ask("POST", f"/v1/topics/{topic}/groups/default/receive?raw&visibility={vis}s&wait={wait}s")
            got = [(body, head["Leaselog-Receipt"])] if s == 200 else []
        got = [(self.h.got(b, asked, f"{topic} how {how}"), rc) for b, rc in got]
        if got:
            self.settle(topic, got)

    def settle(self, topic, got):
        r, how = self.rng, self.rng.randrange(8)
        if how < 5:
            for k, _ in got:
                self.h.asked.add(k)
        done = []
        base = f"/v1/topics/{topic}/groups/default/leases"
        if how == 0:
            done = [k for k, rc in got if self.sqs("DeleteMessage", QueueUrl=topic, ReceiptHandle=rc) is not None]
        elif how == 1:
            a = self.sqs("DeleteMessageBatch", QueueUrl=topic, Entries=[{"Id": str(i), "ReceiptHandle": rc} for i, (_, rc) in enumerate(got)])
            done = [got[int(e["Id"])][0] for e in (a or {}).get("Successful", [])]
        elif how == 2:
            done = [k for k, rc in got if self.query(topic, Action="DeleteMessage", ReceiptHandle=rc) is not None]
        elif how == 3:
            done = [k for k, rc in got if self.ask("DELETE", f"{base}/{rc}")[0] == 204]
        elif how == 4:
            s, body, _ = self.ask("POST", base + ":batch", json.dumps({"done": [rc for _, rc in got for _ in (0, 1)]}).encode(),
                                  {"Content-Type": "application/json"})
            if s == 200:
                for (k, rc), e, f in zip(got, json.loads(body)["done"][::2], json.loads(body)["done"][1::2]):
                    if e["status"] // 100 == 2 or f["status"] // 100 == 2:
                        done.append(k)
        elif how == 5:
            for _, rc in got:
                self.ask("PATCH", f"{base}/{rc}", json.dumps({"visibility": r.choice((0, 1, "1500ms"))}).encode(), {"Content-Type": "application/json"})
        elif how == 6:
            self.ask("POST", base + ":batch", json.dumps({"release": [rc for _, rc in got], "extend": [
                {"receipt": rc, "visibility": 1} for _, rc in got]}).encode(), {"Content-Type": "application/json"})
        now = time.monotonic()
        if topic == "load":
            for k in done:
                self.h.deleted.setdefault(k, now)

    # ---- looking, changing, leaving ----
    def look(self, topic="load"):
        r = self.rng
        base, asked = f"/v1/topics/{topic}", time.monotonic()
        path = r.choice((base, base + "/groups", base + "/groups/default", base + "/groups/default/leases?limit=7", base + "/partitions",
                         base + "/partitions/0", "/v1/topics?limit=2", "/v1", "/readyz", "/livez", "/v1/openapi.yaml", base + "/messages/0-5",
                         base + "/messages?match=k-1&limit=5", base + "/messages?state=leased", base + "/messages?from=newest&limit=20",
                         base + "/messages?from=number:17&limit=3&pretty"))
        for _ in range(4):
            status, body, _ = self.ask("GET", path)
            if status != 200 or path.endswith("yaml"):
                return
            a = json.loads(body)
            for m in a.get("messages", []):
                if topic == "load":
                    self.h.got(m["body"] if "body" in m else m["body_base64"], asked, path)
            if "next_cursor" not in a:
                return
            asked = time.monotonic()
            path = re.sub(r"[?&]cursor=.*", "", path)
            path += ("&" if "?" in path else "?") + "cursor=" + quote(a["next_cursor"])

    def change(self):
        r, how = self.rng, self.rng.randrange(8)
        head = {"Content-Type": "application/json"}
        if how == 0:
            self.ask("DELETE", "/v1/topics/churn")
        elif how == 1:
            self.sqs("DeleteQueue", QueueUrl="churn")
        elif how == 2:
            self.ask("PUT", "/v1/topics/churn", json.dumps({"visibility": r.randrange(9), "partitions": 3}).encode(), head)
        elif how == 3:
            self.sqs("CreateQueue", QueueName="churn")
        elif how == 4:
            s, body, h = self.ask("GET", "/v1/topics/churn")
            if s == 200:
                self.ask("PATCH", "/v1/topics/churn", json.dumps({"delay": 0, "tags": {"a": str(r.random())}}).encode(), dict(head, **{"If-Match": h["ETag"]}))
        elif how == 5:
            self.ask("POST", f"/v1/topics/{r.choice(('churn', 'purged'))}/purge")
        elif how == 6:
            self.sqs("PurgeQueue", QueueUrl="purged")
        else:
            self.sqs("SetQueueAttributes", QueueUrl="churn", Attributes={"VisibilityTimeout": str(r.randrange(9))})

    def leave(self):
        r = self.rng
        topic = r.choice(("load", "purged", "churn"))
        data = r.choice((
            f"POST /v1/topics/{topic}/groups/default/receive?raw&wait=5&visibility=5 HTTP/1.1\r\nHost: x\r\n\r\n",
            f"POST /v1/topics/{topic}/groups/default/receive?max=10&wait=5&visibility=5 HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n",
            f"GET /000000000000/{topic}?Action=ReceiveMessage&WaitTimeSeconds=5&VisibilityTimeout=5&MaxNumberOfMessages=10 HTTP/1.1\r\nHost: x\r\n\r\n",
            f"GET /v1/topics/{topic}/messages?limit=1000 HTTP/1.1\r\nHost: x\r\n\r\n" * 5)).encode()
        s = socket.create_connection(("127.0.0.1", self.server.port), 10)
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        s.sendall(data[:r.choice((len(data), len(data), r.randrange(len(data))))])
        if r.random() < .5:
            time.sleep(r.random() * .02)  # when it leaves is the test's input
        if r.random() < .3:
            s.settimeout(.05)
            try:
                s.recv(100)
            except OSError:
                pass
        if r.random() < .5:
            s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        elif r.random() < .3:
            s.shutdown(socket.SHUT_WR)
        s.close()

    def run(self):
        try:
            while not self.stop.is_set():
                x = self.rng.random()
                other = self.rng.choice(("churn", "purged"))
                if x < .3:
                    self.send()
                elif x < .6:
                    self.receive()
                elif x < .7:
                    self.look(self.rng.choice(("load", other)))
                elif x < .78:
                    self.leave()
                elif x < .86:
                    self.change()
                elif x < .93:
                    self.send(other)
                else:
                    self.receive(other)
        except LOST as e:
            if not self.h.ending:
                self.h.fail(f"a connection was lost while the server lives: {e!r}")
        except Exception:
            self.h.fail(traceback.format_exc())


def drain(server, h):
    c, left, end = server.client(), {}, time.monotonic() + 60 * SLOW
    while time.monotonic() < end:
        asked = time.monotonic()
        got = c.call("ReceiveMessage", QueueUrl="load", MaxNumberOfMessages=10, VisibilityTimeout=600, WaitTimeSeconds=1).get("Messages", [])
        for m in got:
            k = h.got(m["Body"], asked, "drain")
            left[k] = left.get(k, 0) + 1
        if got:
            end = time.monotonic() + 60 * SLOW
            c.call("DeleteMessageBatch", QueueUrl="load", Entries=[{"Id": str(i), "ReceiptHandle": m["ReceiptHandle"]} for i, m in enumerate(got)])
        elif sum(c.counts("load")) == 0:
            break
    else:
        h.fail(f"could not be drained: {c.counts('load')}")
    return left


def main():
    seed = os.environ.get("LEASELOG_SEED") or str(random.SystemRandom().getrandbits(32))
    lives = int(sys.argv[1]) if len(sys.argv) > 1 else 10
    seconds = float(sys.argv[2]) if len(sys.argv) > 2 else 1.0
    clean_share = 1 if seconds > 10 else 0.2  # sanitizers report at a clean end
    print(f"LEASELOG_SEED={seed}", flush=True)
    rng, h = random.Random(seed), History(seed)
    with Server(*sys.argv[3:]) as server:
        c = server.client()
        for topic, n in (("load", 3), ("purged", 2), ("churn", 1)):
            assert c.raw("PUT", f"/v1/topics/{topic}", json.dumps({"partitions": n}).encode(), {"Content-Type": "application/json"})[0] == 201
        for h.life in range(lives):
            stop = threading.Event()
            workers = [Worker(n, server, h, stop) for n in range(8)]
            threads = [threading.Thread(target=w.run) for w in workers]
            for t in threads:
                t.start()
            time.sleep(rng.uniform(.05, 1) * seconds)  # the moment of the end is the test's input
            h.ending = True
            if rng.random() < clean_share:
                code = server.stop()
                if code != 0:
                    h.fail(f"a clean stop gave {code}")
            else:
                server.kill()
            stop.set()
            for t in threads:
                t.join(60 * SLOW)
                assert not t.is_alive()
            server.start()
            h.ending = False
        left = drain(server, h)
        states = {p["state"] for p in server.client().get("/v1/topics/load/partitions")["partitions"]}
        assert states == {"ok"}, states
        code = server.stop()
        if code:
            h.fail(f"the last stop gave {code}")
        notes = server.notes()
    for k, n in left.items():
        if n > 1:
            h.fail(f"{k} came {n} times while leased")
    for k in h.sent:
        if k not in h.asked and k not in left:
            h.fail(f"{k}: the answered send is lost")
    for line in notes.splitlines():
        if re.search(r'"level":"error"|ERROR: |WARNING: ThreadSanitizer|runtime error', line):
            h.fail(line[:300])
    print(f"{lives} lives, {h.answered} answers, {len(h.sent)} sends, {len(h.deleted)} deletes, {len(left)} left")
    for w in h.wrong[:30]:
        print("WRONG", w[:1500])
    print(f"{len(h.wrong)} faults")
    sys.exit(1 if h.wrong else 0)


if __name__ == "__main__":
    main()
