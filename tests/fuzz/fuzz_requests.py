# SPDX-License-Identifier: Apache-2.0
"""Real requests, bent at random, against the real server. Whatever comes in, the server goes on: each request gets an
answer of HTTP or a clean close, each fault names its code twice, nothing is a 5xx, and the stop is clean.

usage: fuzz_requests.py [COUNT]      (2,000; LEASELOG_SEED=N plays a run again)"""
import base64
import glob
import json
import os
import random
import re
import socket
import sys
import tempfile
import time
import xml.etree.ElementTree as ElementTree
from urllib.parse import parse_qsl, quote_plus

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
sys.path.insert(0, os.path.dirname(__file__))
import bent_rest
from leaselog import Client, Refused, Server, memory_folder

tempfile.tempdir = memory_folder()  # syncs are not what is asked here

FIXTURES = os.path.join(os.path.dirname(__file__), "..", "wire", "json-requests", "*.http")
FORMS = os.path.join(os.path.dirname(__file__), "..", "wire", "query-requests", "*.http")
QUEUES = ("orders", "orders.fifo", "other")
# Answers which libmicrohttpd gives of its own accord: no front is asked, so they carry no code.
BARE = {400, 413, 414, 431, 501, 505}
WAIT_S = 10


# ---- JSON that is valid but odd ----

def nested(rng):
    kind = rng.choice("[{")
    n = rng.choice((2, 31, 32, 33, 64, 65, 1000, 50000))
    return b"[" * n + b"]" * n if kind == "[" else b'{"a":' * n + b"1" + b"}" * n


def odd_text(rng):
    return rng.choice((
        "", " ", "\0", "a\0b", "..", "../../etc/passwd", "%00", "%2e%2e", "\ufffd", "\ufffe", "\U0010ffff", "a" * 80,
        "a" * 81, "a" * 256, "a" * 257, "x" * 5000, "\U0001f600" * 1000, "orders", "orders.fifo", ".fifo", "a.fifo", "é", "null",
        "-1", "0", "1", "99999999999999999999", "1e3", "true", "All", "*", ".*", "{}", "[]", '{"a":', "AQ==", "====",
        "AWS.x", "a..b", ".a", "String", "Number", "Binary", "String.", "Number.int", "http://h/", "/", "//", "\r\nA: b",
        '{"deadLetterTargetArn":"arn:aws:sqs:us-east-1:000000000000:other","maxReceiveCount":"3"}',
        '{"redrivePermission":"byQueue","sourceQueueArns":["a"]}', '{"Statement":[{}]}'))


def odd_value(rng, depth=0):
    which = rng.randrange(12)
    if which < 4:
        return odd_text(rng)
    if which < 7:
        return rng.choice((0, -1, 1, 10, 11, 12, 900, 43200, 2**31, 2**32, 2**63, 2**64, 10**30, -2**63, 1.5, 1e300))
    if which == 7:
        return rng.choice((None, True, False))
    if which == 8 and depth < 4:
        return [odd_value(rng, depth + 1) for _ in range(rng.choice((0, 1, 3, 11, 257)))] if depth == 0 else []
    if which == 9 and depth < 4:
        return {odd_text(rng): odd_value(rng, depth + 1) for _ in range(rng.choice((0, 1, 3, 12)))}
    return rng.choice(([], {}, [[]], [{}], {"": None}, [None], ["a", None, 1]))


def bend(rng, value):
    """One random place of a tree is changed."""
    if isinstance(value, dict) and value and rng.random() < 0.85:
        key = rng.choice(list(value))
        which = rng.randrange(8)
        if which == 0:
            del value[key]
        elif which == 1:
            value[odd_text(rng)] = value[key]
        else:
            value[key] = bend(rng, value[key])
        return value
    if isinstance(value, list) and value and rng.random() < 0.85:
        at = rng.randrange(len(value))
        which = rng.randrange(8)
        if which == 0:
            del value[at]
        elif which == 1:
            value += [value[at]] * rng.choice((1, 9, 300))
        else:
            value[at] = bend(rng, value[at])
        return value
    return odd_value(rng)


def special(rng, tree):
    """Large and awkward bodies, in bytes."""
    which = rng.randrange(9)
    if which == 0:
        return json.dumps({**tree, "MessageBody": "é" * 10}).encode().replace(b"\\u00e9", b"\\u00e9" * 17000)
    if which == 1:
        return json.dumps({**tree, "MessageBody": "\U0001f600" * 26000}, ensure_ascii=False).encode()
    if which == 2:
        return json.dumps({**tree, "MessageBody": "".join(chr(rng.randrange(32)) for _ in range(50))}).encode()
    if which == 3:
        return json.dumps({**tree, **{f"m{i}": i for i in range(10000)}}).encode()
    if which == 4:
        return json.dumps({**tree, "Attributes": {f"m{i}": str(i) for i in range(rng.choice((256, 257, 10000)))}}).encode()
    if which == 5:
        return json.dumps({**tree, "x": 0}).encode().replace(b'"x": 0', b'"x": ' + nested(rng))
    if which == 6:
        names = [rng.choice(("a", "é", "A.b", "-")) * rng.choice((1, 128, 255, 256, 257)) + str(i)
                 for i in range(rng.choice((1, 10, 11)))]
        kinds = {"String": "StringValue", "Number": "StringValue", "Binary": "BinaryValue"}
        attributes = {}
        for name in names:
            kind = rng.choice(list(kinds))
            value = {"String": "v" * rng.choice((1, 5000)), "Number": "1e" + str(rng.choice((1, 126, 127, -128, -129))),
                     "Binary": base64.b64encode(rng.randbytes(rng.choice((0, 1, 3000)))).decode()}[kind]
            attributes[name] = {"DataType": kind + rng.choice(("", ".x", "." + "l" * 249, "." + "l" * 250)), kinds[kind]: value}
        return json.dumps({**tree, "MessageAttributes": attributes}).encode()
    if which == 7:
        return json.dumps({**tree, "Entries": [{"Id": str(i), "MessageBody": "b" * 102400, "MessageGroupId": "g",
                                                "MessageDeduplicationId": str(rng.random())}
                                               for i in range(10)]}).encode()
    text = json.dumps(tree).encode()
    return text[:-1] + b"," + text[1:] if len(tree) else b"{}{}"  # every member twice


# ---- forms that are valid but odd ----

def bend_name(rng, name):
    words = name.split(".")
    at = rng.randrange(len(words))
    words[at] = rng.choice((words[at] + "s", words[at].lower(), "", "member", "0", "1", "2", "10", "999999999", "9999999999",
                            "-1", "Name", "Key", "Value", "Value.StringListValue.1", "Id", "MessageBody", odd_text(rng)))
    if rng.random() < 0.2:
        del words[at]
    return ".".join(words)


def bend_pairs(rng, pairs):
    """One random parameter is dropped, doubled, renamed, given another value or another place."""
    if not pairs:
        return [("Action", "ListQueues")]
    at = rng.randrange(len(pairs))
    name, value = pairs[at]
    which = rng.randrange(7)
    if which == 0:
        del pairs[at]
    elif which == 1:
        pairs += [pairs[at]] * rng.choice((1, 9, 300))
    elif which == 2:
        pairs[at] = (bend_name(rng, name), value)
    elif which == 3:
        pairs.append((name, odd_text(rng)))
    elif which == 4:
        rng.shuffle(pairs)
    else:
        odd = odd_value(rng)
        pairs[at] = (name, odd if isinstance(odd, str) else json.dumps(odd) if rng.random() < 0.1 else str(odd)[:400])
    return pairs


def special_form(rng, pairs):
    """Large and awkward forms, in bytes."""
    which = rng.randrange(7)
    if which == 0:
        more = b"&".join(b"a%d=%d" % (i, i) for i in range(rng.choice((4000, 4097, 10000))))
    elif which == 1:
        more = b"&".join(b"SendMessageBatchRequestEntry.%d.Id=i%d" % (i, i) for i in range(rng.choice((11, 3000))))
    elif which == 2:
        more = b"&" * rng.choice((1000, 100000))
    elif which == 3:
        more = b"MessageBody=" + b"%C3%A9" * rng.choice((1000, 600000))
    elif which == 4:
        more = b"&".join(b"MessageAttribute.%d.Name=n%d&MessageAttribute.%d.Value.DataType=String"
                         b"&MessageAttribute.%d.Value.StringValue=v" % (i, i, i, i) for i in range(rng.choice((10, 11, 1000))))
    elif which == 5:
        more = b"&".join(b"AttributeName.%d=All" % i for i in range(rng.choice((256, 257, 4000))))
    else:
        more = bytes(rng.choice((b"%", b"%%", b"%0", b"%zz", b"%00", b"%ff", b"\xff", b"+", b"=", b"&", b";", b"\0")))
    return form_bytes(rng, pairs) + b"&" + more


def form_bytes(rng, pairs):
    def code(text):
        return quote_plus(text.encode("utf-8", "surrogatepass")) if rng.random() < 0.97 else text.replace("&", "").replace("\r", "")

    return "&".join(code(k) + "=" + code(v) for k, v in pairs).encode("utf-8", "surrogatepass")


def path_of(rng):
    return rng.choice((b"/", b"/000000000000/orders", b"/000000000000/none", b"/p/000000000000/orders.fifo", b"//", b"/..",
                       b"/000000000000/..%2forders", b"/000000000000/../orders", b"/000000000000/%00", b"/a%"))


# ---- bytes ----

def bend_bytes(rng, data, others):
    data = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 5))):
        if not data:
            break
        at = rng.randrange(len(data))
        which = rng.randrange(7)
        if which == 0:
            data[at] ^= 1 << rng.randrange(8)
        elif which == 1:
            data[at] = rng.choice((0, 9, 10, 13, 32, 34, 58, 92, 127, 128, 255))
        elif which == 2:
            del data[at:]
        elif which == 3:
            del data[at:at + rng.randrange(1, 9)]
        elif which == 4:
            data[at:at] = rng.randbytes(rng.randrange(1, 9))
        elif which == 5:
            other = rng.choice(others)
            cut = rng.randrange(len(other))
            data[at:] = other[cut:]
        else:
            data[at:at] = data[at:at + rng.randrange(1, 200)]
    return bytes(data)


def bend_head(rng, lines, body):
    """Lines of the head doubled, dropped, swapped, refilled."""
    lines = list(lines)
    for _ in range(rng.choice((1, 1, 2, 4))):
        at = rng.randrange(len(lines))
        which = rng.randrange(9)
        if which == 0:
            lines.insert(at, lines[at])
        elif which == 1 and len(lines) > 1:
            del lines[at]
        elif which == 2:
            name = lines[at].split(b":")[0]
            odd = rng.choice((odd_text(rng).encode().replace(b"\n", b""), b"\xff\xfe", b'"', b"\\"))
            if name == b"Authorization" and rng.random() < 0.7:
                odd = b"AWS4-HMAC-SHA256 Credential=A/20261129/" + odd + b"/sqs/aws4_request, SignedHeaders=host, Signature=0"
            lines[at] = name + b": " + odd
        elif which == 3:
            lines.append(b"Content-Length: " + rng.choice((b"0", b"1", b"-1", b"+5", b"1e3", b"9" * 30, b"18446744073709551616",
                                                            b"9223372036854775807", b"99999999", b"0x10", b"", b"5, 5")))
        elif which == 4:
            lines.append(rng.choice((b"Transfer-Encoding: chunked", b"Transfer-Encoding: gzip, chunked", b"Expect: 100-continue",
                                     b"Connection: close", b"Connection: upgrade", b"Expect: 42", b"Host: b")))
        elif which == 5:
            lines.append(b"X-Long: " + b"l" * rng.choice((1000, 8000, 16000, 33000, 70000)))
        elif which == 6:
            lines += [b"X-%d: y" % i for i in range(rng.choice((10, 100, 2000)))]
        elif which == 7:
            lines[0] = rng.choice((b"GET / HTTP/1.1", b"HEAD / HTTP/1.1", b"PUT / HTTP/1.1", b"DELETE /x HTTP/1.1",
                                   b"POST /000000000000/orders HTTP/1.1", b"POST /" + b"p" * 9000 + b" HTTP/1.1",
                                   b"POST / HTTP/1.0", b"POST / HTTP/2.0", b"POST / HTTP/1.9", b"POST /?a=%00&b HTTP/1.1",
                                   b"POST http://h/%2e%2e/x HTTP/1.1", b"OPTIONS * HTTP/1.1", b"CONNECT a:1 HTTP/1.1",
                                   b"GET /v1/topics/%00/../orders HTTP/1.1", b"GET /v1/topics/orders/groups/default/leases?from=z "
                                   b"HTTP/1.1", b"POST", b"", b"\0", b"PRI * HTTP/2.0"))
        else:
            lines[at] = rng.choice((b" ", b"\t", b"")) + lines[at]
    return b"\r\n".join(lines) + b"\r\n\r\n" + body


def chunked(rng, body):
    at = rng.randrange(len(body) + 1)
    parts = [p for p in (body[:at], body[at:]) if p] + [b""]
    return b"".join(b"%x\r\n" % len(p) + p + b"\r\n" for p in parts)


# ---- one request, one answer ----

class Fixture:
    def __init__(self, path):
        with open(path, "rb") as f:
            self.raw = f.read().replace(b'"WaitTimeSeconds": 20', b'"WaitTimeSeconds": 0')
        head, _, body = self.raw.partition(b"\r\n\r\n")
        self.lines = [line for line in head.split(b"\r\n") if not line.lower().startswith(b"content-length")]
        self.tree = json.loads(body or b"{}")
        self.tree.pop("WaitTimeSeconds", None)

    def with_body(self, body):
        return b"\r\n".join(self.lines + [b"Content-Length: %d" % len(body)]) + b"\r\n\r\n" + body


class Form:
    """A captured Query request as its parameters."""

    def __init__(self, path):
        with open(path, "rb") as f:
            self.raw = f.read()
        head, _, body = self.raw.partition(b"\r\n\r\n")
        self.lines = [line for line in head.split(b"\r\n") if not line.lower().startswith(b"content-length")]
        self.pairs = [(k, v) for k, v in parse_qsl(body.decode(), keep_blank_values=True) if k != "WaitTimeSeconds"]

    def with_body(self, body):
        return b"\r\n".join(self.lines + [b"Content-Length: %d" % len(body)]) + b"\r\n\r\n" + body


def with_handles(rng, tree, handles):
    """Handles of messages that were received stand where the fixtures have theirs."""
    for entry in [tree, *tree.get("Entries", [])]:
        if handles and "ReceiptHandle" in entry and rng.random() < 0.7:
            entry["ReceiptHandle"] = rng.choice(handles)


def make(rng, fixtures, handles):
    """A request, and whether it is whole: then it must be answered, and the connection stays usable."""
    f = rng.choice(fixtures)
    tree = json.loads(json.dumps(f.tree))
    with_handles(rng, tree, handles)
    if "QueueUrl" in tree and rng.random() < 0.7:
        tree["QueueUrl"] = rng.choice(QUEUES)
    which = rng.randrange(10)
    if which < 4:
        for _ in range(rng.choice((1, 1, 2, 4))):
            bent = bend(rng, tree)
            tree = bent if isinstance(bent, dict) else tree
        tree.pop("WaitTimeSeconds", None)
        return f.with_body(json.dumps(tree, ensure_ascii=rng.random() < 0.5).encode("utf-8", "surrogatepass")), True
    if which == 4 and rng.random() < 0.3:
        return f.with_body(special(rng, tree)), True
    if which < 6:
        return f.with_body(bend_bytes(rng, json.dumps(tree).encode(), [g.raw for g in fixtures])), True
    if which == 6:
        body = chunked(rng, json.dumps(tree).encode())
        raw = b"\r\n".join(f.lines + [b"Transfer-Encoding: chunked"]) + b"\r\n\r\n"
        return raw + (body if rng.random() < 0.5 else bend_bytes(rng, body, [g.raw for g in fixtures])), False
    if which < 8:
        body = json.dumps(tree).encode()
        return bend_head(rng, f.lines + [b"Content-Length: %d" % len(body)], body), False
    return bend_bytes(rng, f.with_body(json.dumps(tree).encode()), [g.raw for g in fixtures]), False


def make_form(rng, forms, handles):
    """The same for a Query request."""
    f = rng.choice(forms)
    pairs = [(k, rng.choice(handles) if handles and k.endswith("ReceiptHandle") and rng.random() < 0.7 else v)
             for k, v in f.pairs]
    pairs = [(k, rng.choice(QUEUES) if k == "QueueUrl" and rng.random() < 0.7 else v) for k, v in pairs]
    raws = [g.raw for g in forms]
    which = rng.randrange(10)
    if which < 5:
        for _ in range(rng.choice((0, 1, 1, 2, 4))):
            pairs = bend_pairs(rng, pairs)
        pairs = [(k, v) for k, v in pairs if "WaitTime" not in k]
        body = form_bytes(rng, pairs)
        if which == 4 and len(body) < 8000:  # everything in the query string
            if any(c <= 32 or c == 127 for c in body):
                return b"GET " + path_of(rng) + b"?" + body + b" HTTP/1.1\r\nHost: h\r\n\r\n", False
            return b"GET " + path_of(rng) + b"?" + body + b" HTTP/1.1\r\nHost: h\r\n\r\n", True
        lines = [b"POST " + path_of(rng) + b" HTTP/1.1"] + f.lines[1:] if rng.random() < 0.5 else f.lines
        return b"\r\n".join(lines + [b"Content-Length: %d" % len(body)]) + b"\r\n\r\n" + body, True
    if which == 5 and rng.random() < 0.3:
        return f.with_body(special_form(rng, pairs)), True
    body = form_bytes(rng, pairs)
    if which < 7:
        return f.with_body(bend_bytes(rng, body, raws)), True
    if which == 7:
        return b"\r\n".join(f.lines + [b"Transfer-Encoding: chunked"]) + b"\r\n\r\n" + chunked(rng, body), False
    if which == 8:
        return bend_head(rng, f.lines + [b"Content-Length: %d" % len(body)], body), False
    return bend_bytes(rng, f.with_body(body), raws), False


class Broken(Exception):
    pass


def read_answers(s, one, head_only):
    """Gives [(status, headers, body)], of one answer or of all until the end."""
    got, answers = b"", []
    while True:
        head, mark, rest = got.partition(b"\r\n\r\n")
        if mark:
            lines = head.split(b"\r\n")
            words = lines[0].split(b" ", 2)
            if not words[0].startswith(b"HTTP/1.") or len(words) < 2 or not words[1].isdigit():
                raise Broken(f"no status line: {got[:200]!r}")
            status = int(words[1])
            headers = {k.strip().lower(): v.strip() for k, _, v in (line.partition(b":") for line in lines[1:])}
            n = 0 if status == 100 or head_only else int(headers.get(b"content-length", b"0"))
            if len(rest) >= n:
                got = rest[n:]
                if status != 100:
                    answers.append((status, headers, rest[:n]))
                    if one:
                        return answers
                continue
        try:
            more = s.recv(1 << 20)
        except ConnectionResetError:
            more = b""
        if not more:
            if got and not (answers and answers[-1][0] in BARE):
                raise Broken(f"half an answer: {got[:200]!r}")
            return answers
        got += more


def judge_xml(status, headers, body):
    try:
        root = ElementTree.fromstring(body.decode())
    except (ElementTree.ParseError, UnicodeDecodeError) as e:
        raise Broken(f"no XML: {e}: {body[:300]!r}")
    if not body.startswith(b"<?xml") or root.tag.endswith("}ErrorResponse") != (status >= 400):
        raise Broken(f"a {status} in the wrong form: {body[:300]!r}")
    ids = [e.text.encode() for e in root.iter() if e.tag.endswith("}RequestId")]
    if ids != [headers[b"x-amzn-requestid"]]:
        raise Broken(f"not the header's request id: {headers} {body[:300]!r}")


def judge(status, headers, body, head_only):
    if status >= 500 and status not in BARE:
        raise Broken(f"a {status}: {body[:300]!r}")
    kind = headers.get(b"content-type", b"")
    if head_only or (status < 400 and not body):
        return
    if kind == b"text/xml":
        judge_xml(status, headers, body)
        return
    if status < 400 and (b"leaselog-receipt" in headers or kind in (b"application/yaml", b"text/plain; charset=utf-8")):
        return  # of the REST API: a message as it was sent, the description, a page
    if status < 400:
        lines = body.splitlines() if kind == b"application/x-ndjson" else [body]
        for line in lines:
            json.loads(line.decode())  # UTF-8 without exception
        return
    if kind == b"application/x-amz-json-1.0":
        fault = json.loads(body)
        if "#" not in fault["__type"] or b";" not in headers[b"x-amzn-query-error"]:
            raise Broken(f"a fault without its codes: {headers} {body[:300]!r}")
    elif kind == b"application/problem+json":
        problem = json.loads(body)
        if problem["status"] != status or not problem["type"].startswith("/problems/"):
            raise Broken(f"a problem of another status: {status} {body[:300]!r}")
    elif kind == b"application/json":  # of the Query protocol, where Accept asks for JSON
        if not json.loads(body)["Error"]["Code"]:
            raise Broken(f"a fault without its code: {body[:300]!r}")
    elif status not in BARE:
        raise Broken(f"a fault of no form: {status} {headers} {body[:300]!r}")


class Attack:
    def __init__(self, port):
        self.port, self.kept = port, None
        self.statuses, self.handles = {}, []

    def connect(self):
        s = socket.create_connection(("127.0.0.1", self.port), timeout=WAIT_S)
        s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return s

    def send(self, raw, whole):
        head_only = raw.startswith(b"HEAD ")
        s = self.kept if whole and self.kept else self.connect()
        self.kept = None
        try:
            s.sendall(raw)
            if not whole:
                s.shutdown(socket.SHUT_WR)
        except (BrokenPipeError, ConnectionResetError, OSError):
            pass  # refused in the middle; the answer may still be there
        answers = read_answers(s, whole, head_only)
        for status, headers, body in answers:
            judge(status, headers, body, head_only)
            self.statuses[status] = self.statuses.get(status, 0) + 1
            if b'"ReceiptHandle"' in body and status == 200:
                self.handles = (self.handles + [m["ReceiptHandle"] for m in json.loads(body)["Messages"]])[-20:]
            self.handles = (self.handles + re.findall("<ReceiptHandle>(.*?)</", body.decode("latin-1")))[-20:]
            if b'"receipt":' in body and b'"lease_url":' in body:
                self.handles = (self.handles + [m["receipt"] for m in json.loads(body)["messages"]])[-20:]
        if whole and not answers:
            raise Broken("a whole request without an answer")
        if not answers:
            self.statuses["closed"] = self.statuses.get("closed", 0) + 1
        if whole and answers[-1][1].get(b"connection", b"").lower() != b"close":
            self.kept = s
        else:
            s.close()


def queues_there(c):
    for name in QUEUES:
        try:
            fifo = {"FifoQueue": "true"} if name.endswith(".fifo") else {}
            c.call("CreateQueue", QueueName=name, Attributes=fifo)
        except Refused as e:
            if e.code != "QueueAlreadyExists":
                raise


def still_serves(c):
    c.call("CreateQueue", QueueName="last")
    c.call("SendMessage", QueueUrl="last", MessageBody="still here")
    got = c.call("ReceiveMessage", QueueUrl="last", WaitTimeSeconds=5)["Messages"]
    assert [m["Body"] for m in got] == ["still here"], got


def main():
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    seed = int(os.environ.get("LEASELOG_SEED") or 1)
    print(f"LEASELOG_SEED={seed}", flush=True)
    rng = random.Random(seed)
    fixtures = [Fixture(path) for path in sorted(glob.glob(FIXTURES))]
    forms = [Form(path) for path in sorted(glob.glob(FORMS))]
    assert len(fixtures) > 10 and len(forms) > 10
    bad, begin = 0, time.monotonic()
    with Server() as server:
        control, attack = Client(server.port), Attack(server.port)
        for i in range(count):
            if i % 50 == 0:
                queues_there(control)
            which = rng.random()
            if which < 0.33:
                raw, whole = make_form(rng, forms, attack.handles)
            elif which < 0.67:
                raw, whole = make(rng, fixtures, attack.handles)
            else:
                raw, whole = bent_rest.make(rng, attack.handles), True
            try:
                attack.send(raw, whole)
            except (Broken, OSError, ValueError, KeyError) as e:
                bad += 1
                attack.kept = None
                print(f"not ok - request {i}: {type(e).__name__}: {e}\n  {raw[:1200]!r} ({len(raw)} bytes)", flush=True)
                if server.process.poll() is not None or bad > 20:
                    break
        if server.process.poll() is None:
            still_serves(control)
            code = server.stop()
        else:
            code = server.process.returncode
        notes = server.notes()
        reports = [w for w in ("ERROR: AddressSanitizer", "runtime error", "LeakSanitizer", "ThreadSanitizer") if w in notes]
        if code != 0 or reports:
            bad += 1
            print(f"not ok - exit {code}, {reports}: {notes[-6000:]}")
    print(f"{'not ok' if bad else 'ok'} - {count} bent requests in {time.monotonic() - begin:.1f} s: "
          + ", ".join(f"{k}: {v}" for k, v in sorted(attack.statuses.items(), key=str)))
    sys.exit(1 if bad else 0)


main()
