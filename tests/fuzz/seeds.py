#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes first inputs for the fuzzing targets, made of what the repository has: recorded requests, and the formats' own examples.
    seeds.py FOLDER       (makes FOLDER/TARGET/NAME; run from anywhere; scripts/fuzz reads the corpus, not these)
How an input is laid out is said at the head of each target_*.c."""
import glob
import json
import os
import re
import struct
import sys

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
OUT = sys.argv[1]


def write(target, name, data):
    folder = os.path.join(OUT, target)
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, name), "wb") as f:
        f.write(data)


def requests(kind):
    for path in sorted(glob.glob(os.path.join(ROOT, "tests", "wire", kind, "*.http"))):
        with open(path, "rb") as f:
            yield os.path.basename(path)[:-5], f.read()


def actions():
    with open(os.path.join(ROOT, "api", "actions.def")) as f:
        return re.findall(r"^ACTION\((\w+),", f.read(), re.M)


def varint(n):
    out = b""
    while n > 127:
        out += bytes([n & 127 | 128])
        n >>= 7
    return out + bytes([n])


def time(ms):
    return varint(2 * ms if ms >= 0 else -2 * ms - 1)


def sized(data):
    return varint(len(data)) + data


SETTINGS = {"DelaySeconds": "5", "MaximumMessageSize": "2048", "MessageRetentionPeriod": "60", "ReceiveMessageWaitTimeSeconds": "20", "VisibilityTimeout": "0",
            "RedrivePolicy": '{"deadLetterTargetArn":"arn:aws:sqs:us-east-1:000000000000:dead","maxReceiveCount":"5"}',
            "RedriveAllowPolicy": '{"redrivePermission":"byQueue","sourceQueueArns":["arn:aws:sqs:us-east-1:000000000000:q"]}',
            "Policy": '{"Version":"2012-10-17","Statement":[{"Sid":"a","Effect":"Allow","Principal":"*","Action":"sqs:*","Resource":"*"}]}',
            "KmsMasterKeyId": "alias/k", "KmsDataKeyReusePeriodSeconds": "300", "SqsManagedSseEnabled": "false"}
FIFO = {"FifoQueue": "true", "ContentBasedDeduplication": "true", "DeduplicationScope": "messageGroup", "FifoThroughputLimit": "perMessageGroupId"}


def aws_json():
    names = actions()
    for name, text in requests("json-requests"):
        action = name.split(".")[0]
        write("aws_json", name, bytes([names.index(action)]) + text.split(b"\r\n\r\n" if b"\r\n\r\n" in text else b"\n\n", 1)[1])
    create = names.index("CreateQueue")
    for name, attributes in (("settings", SETTINGS), ("fifo", FIFO)):
        body = {"QueueName": "q.fifo" if name == "fifo" else "q", "Attributes": attributes, "tags": {"team": "a", "é": ""}}
        write("aws_json", name, bytes([create]) + json.dumps(body).encode())
    for name, value in SETTINGS.items():
        write("aws_json", "set-" + name, bytes([names.index("SetQueueAttributes")]) + json.dumps({"QueueUrl": "q", "Attributes": {name: value}}).encode())


def query():
    for name, text in requests("query-requests"):
        write("query", name, b"\0" + text.split(b"\r\n\r\n" if b"\r\n\r\n" in text else b"\n\n", 1)[1])
    write("query", "both", b"\0Action=ReceiveMessage&QueueUrl=q&AttributeName.10=All&AttributeName.2=SentTimestamp\0MaxNumberOfMessages=10")
    write("query", "escapes", b"\0Action=TagQueue&QueueUrl=q&Tags.1.Key=a%20b&Tags.1.Value=c+d&Tag.member.2.Key=%C3%A9&Tag.member.2.Value=")


def http():
    for kind in ("json-requests", "query-requests"):
        for name, text in list(requests(kind))[:6]:
            write("http", kind[:5] + name, b"\1" + text)
    plain = b"GET /v1/topics?limit=1 HTTP/1.1\r\nHost: a\r\n"
    shapes = {
        "get": plain + b"\r\n", "two": (plain + b"\r\n") * 2, "close": plain + b"Connection: close\r\n\r\n", "old": plain.replace(b"1.1", b"1.0") + b"\r\n",
        "head": plain.replace(b"GET", b"HEAD") + b"\r\n", "put": plain.replace(b"GET", b"PUT") + b"Content-Length: 2\r\n\r\nab",
        "chunked": plain.replace(b"GET", b"POST") + b"Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n" + plain + b"\r\n",
        "expect": plain.replace(b"GET", b"POST") + b"Expect: 100-continue\r\nContent-Length: 3\r\n\r\nabc",
        "big": plain.replace(b"GET", b"POST") + b"Content-Length: 9999999\r\n\r\nabc", "both": plain + b"Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "twice": plain + b"Content-Length: 3\r\nContent-Length: 4\r\n\r\nabcd", "sign": plain + b"Content-Length: +3\r\n\r\nabc",
        "fold": plain + b"A: b\r\n c\r\n\r\n", "bare": plain.replace(b"\r", b"") + b"\n", "nul": plain + b"A: b\0c\r\n\r\n", "space": plain + b"A : b\r\n\r\n",
        "hosts": plain + b"Host: b\r\n\r\n", "no-host": b"GET / HTTP/1.1\r\n\r\n", "long": plain + b"A: " + b"x" * 2100 + b"\r\n\r\n",
    }
    for name, text in shapes.items():
        write("http", name, bytes([len(name) % 4]) + text)


def json_texts():
    texts = (b"{}", b"[]", b'{"a":[1,-2.5e+3,true,false,null,"\\u00e4\\ud83d\\ude00\\n"]}', b"[9223372036854775807,9223372036854775808,1e999]", b' { "a" : { "b" : [ ] } } ',
             b'{"a":1,"a":2}', b'"\xc3\xa4"', b"[" * 40 + b"]" * 40, b"[" * 32 + b"]" * 32, b'["\\ud800"]', b"[0123]", b"[1,]", b"\xef\xbb\xbf[]", b"[1\0]",
             b"{" + b",".join(b'"k%d":%d' % (i, i) for i in range(40)) + b"}")
    for i, text in enumerate(texts):
        write("json", "text-%02d" % i, text)
    for name, text in list(requests("json-requests"))[:8]:
        write("json", name, text.split(b"\r\n\r\n" if b"\r\n\r\n" in text else b"\n\n", 1)[1])


def message(delay=0, group=b"", dedup=b"", body=b"body", repeat=None):
    flags = 1 | (2 if delay else 0) | (32 if group else 0) | (64 if dedup else 0) | (1024 if repeat else 0)
    out = varint(flags) + bytes(range(16)) + bytes(16) + time(1000) + time(7)
    out += time(delay) if delay else b""
    out += sized(group) + b"g" * 16 if group else b""
    out += sized(dedup) + b"d" * 16 + time(300000) if dedup else b""
    out += b"".join(varint(v) for v in repeat or ())
    return 1, out + body


GROUP = (2, varint(1) + varint(0) + varint(1) + varint(0) + sized(b"default"))


def lease(numbers, until=2000):
    return 3, varint(1) + varint(3) + varint(1) + time(1000) + time(7) + time(until - 1000) + sized(b"me") + varint(numbers[0]) + varint(numbers[1] - 1)


def records():
    moved = varint(1 | 4 | 8 | 16 | 128) + bytes(32) + time(1000) + time(0) + varint(3) + sized(sized(b"a") + sized(b"String") + b"\1" + sized(b"v")) + sized(b"Root=1") + \
        b"t" * 16 + sized(b"source") + varint(2) + varint(5) + varint(1) + b"body"
    done, extend = (4, varint(1) + varint(0) + varint(1) + varint(3) + varint(0)), (5, varint(1) + varint(2) + time(5000))
    move, closed, called_off = (6, varint(1) + varint(1) + varint(1) + varint(2) + b"T" * 16), (7, varint(1)), (8, varint(1))
    rest = [(9, varint(1) + varint(1) + varint(2)), (10, varint(2)), (11, varint(4) + time(9000))]
    steps = bytes([0x22]) + bytes(range(12)) * 3 + bytes([1, 5, 4, 0, 9, 10, 255, 1, 7, 2, 8, 1, 11, 50, 1, 9])
    life = [GROUP] + [message(), message(5000), message(0, b"g", b"d"), message(0, b"g")] * 2
    again = [message(repeat=key) for key in ((2, 7, 5, 0), (2, 7, 6, 1), (2, 7, 5, 0), (3, 2**40, 900, 1023), (3, 2**40, 900, 800), (2, 8, 1, 1))]
    for name, wanted in (("life", life), ("leases", life + [lease((0, 4)), done, extend]), ("moves", life + [lease((0, 4)), move, (1, moved), closed]), ("repeats", [GROUP] + again),
                         ("called-off", life + [lease((0, 2)), move, called_off]), ("rest", life + rest), ("dropped", life + [(2, varint(1) + varint(1) + varint(2) + varint(0) + b"\0")])):
        text = b"".join(bytes([t, len(p)]) + p for t, p in wanted)
        write("record", name, text + b"\0" + steps)
        write("record", name + "-plain", text)


def snapshots():
    head = varint(1) + varint(8) + varint(1) + varint(3) + varint(2) + time(1000) + time(1500)
    delays = varint(1) + varint(5) + time(1400) + time(1500)
    entry = lambda n, flags, until, lease=b"": varint(n) + bytes([flags]) + time(until) + lease
    held = varint(2) + varint(3) + varint(1) + time(7) + time(900) + sized(b"me")
    group = varint(1) + varint(1) + varint(1) + varint(4) + varint(1) + varint(2) + varint(3) + \
        varint(4) + entry(1, 4, 2000, held) + entry(3, 6, 900, held) + entry(5, 1, 1400) + entry(6, 0, 0)
    move = varint(2) + varint(1) + varint(1) + varint(1) + varint(1) + varint(3) + varint(2) + b"T" * 16
    dedup = varint(1) + b"h" * 16 + b"i" * 16 + varint(3) + time(301000)
    origins = varint(1) + b"o" * 16 + varint(2) + varint(1) + varint(1) + varint(5) + varint(3)
    empty = varint(1) + varint(0) * 4 + varint(2**64 - 1) * 2 + varint(0) * 6
    full = head + delays + varint(1) + group + move + dedup + origins
    fronts = varint(2) + varint(2) + varint(7) + varint(5) + varint(2) + varint(5) + varint(1) + b"i" * 16 + varint(6) + varint(3) + b"j" * 16 + \
        varint(9) + varint(2**40) + varint(900) + varint(1) + varint(1023) + varint(0) + b"k" * 16
    with_fronts = varint(3) + full[1:] + varint(60) + b"\1" + varint(0) + fronts
    steps = bytes([0x22]) + bytes([1, 5, 4, 0, 9, 10, 255, 1, 7, 2, 8, 1, 11, 50, 1, 9, 3, 4, 8, 0, 1, 0, 33, 0, 48, 6, 2, 10, 15, 1])
    for name, state in (("empty", empty), ("full", full), ("fronts", with_fronts), ("no-moves", head + delays + varint(1) + group + varint(0) * 4)):
        for fifo in (0, 1):
            write("snapshot", "%s-%d" % (name, fifo), struct.pack("<H", len(state)) + state + bytes([steps[0] | fifo]) + steps[1:])


def batch(records, flags=0):
    body = b"".join(varint(len(p) + 1) + bytes([t]) + p for t, p in records)
    return b"LLB\1" + struct.pack("<IIIQIIQQqQ", 0, 64 + len(body), flags, 5, max(1, len(records)), sum(t == 1 for t, p in records), 3, 1, 77, 5) + body


def batches():
    for name, text in (("one", batch([message()])), ("many", batch([GROUP, message(), (4, b"\1\0\0")])), ("gap", batch([], 8)), ("empty", b"")):
        write("batch", name, b"\1" + text)
        write("batch", name + "-unsealed", b"\0" + text)


def raws():
    def sized(text):
        return text[:8] + struct.pack("<I", len(text)) + text[12:]
    one, many, gap = batch([message()]), batch([GROUP, message(), (4, b"\1\0\0")]), batch([], 8)
    for name, text in (("one", sized(one)), ("three", sized(one) + sized(gap) + sized(many)), ("gap", sized(gap)), ("cut", sized(many) + sized(one)[:70]), ("miscounted", sized(many)[:24] + b"\7" + sized(many)[25:])):
        write("raw", name, b"\1" + text)
    write("raw", "unsealed", b"\0" + sized(one))


def receipts():
    text = b"AQECAwQFBgcICQoLDA0ODxAHAAAAAQAAAAIAAAAAAAAAWQEAAAAAAAAGAAAAAAAAABUDAAAAAAAA0000000000000000000000"
    write("receipt", "text", b"\0" + text[:98])
    write("receipt", "edits", b"\1\5A\60b\141A")
    write("receipt", "cut", b"\1\140\0")
    write("receipt", "ours", b"\2" + bytes(range(48)))
    write("receipt", "forged", b"\3" + bytes(range(48)) + b"another key")


def catalog():
    topic = {"format": 1, "id": "a7" * 16, "name": "orders.fifo", "state": "ready", "fifo": True, "partitions": 3}
    values = {"t": topic, "k-ids": "0" * 64, "n": "0" * 32}
    write("catalog", "topic-part", b"\0" + json.dumps(values["t"]).encode())
    write("catalog", "group", b"\2" + b'{"format":1,"gid":1,"generation":"1","state":"ready"}')
    write("catalog", "partition", b"\3" + b'{"format":1,"replicas":[1],"leader":1,"epoch":"1","isr":[1]}')
    write("catalog", "name", b"\4" + values["n"].encode())
    write("catalog", "epoch", b"\5" + b'{"format":1,"epoch":"7"}')
    write("catalog", "receipt", b"\6" + json.dumps({"format": 1, "current": "1f" * 32, "previous": "1f" * 32}).encode())
    write("catalog", "ids", b"\7" + values["k-ids"].encode())


def rest():
    for i, path in enumerate(("v1/topics", "v1/topics/orders.fifo/messages", "v1/topics/a/groups/default/leases/x", "v1/topics/%C3%A9/partitions/0", "a/../b", "a%2Fb", "problems/not-found")):
        write("rest", "path-%d" % i, bytes([0, i]) + path.encode())
    texts = ("pretty=true", "limit=10&cursor=0-5", "max=10&wait=20s&visibility=30&holder=me", "state=ready,leased&from=newest", "prefix=a%20b+c", "format=ndjson&x=", "limit=0", "delay=900s&wait=5m")
    for i, text in enumerate(texts):
        for operation in (1, 5, 6, 9, 12, 16):
            write("rest", "query-%d-%d" % (i, operation), bytes([1, operation]) + text.encode())
    put = {"delay": "5s", "retention": "4d", "visibility": 30, "receive_wait": "20s", "message_bytes_max": 2048, "redrive": {"topic": "dead", "receives_max": 5}, "tags": {"a": "b", "c": None}}
    fifo = {"fifo": True, "content_deduplication": True, "deduplication_scope": "group", "partitions": 1, "redrive": None}
    for i in range(8):
        write("rest", "settings-%d" % i, bytes([2, i]) + json.dumps(fifo if i % 2 else put).encode())
    one = {"body": "text", "attributes": {"a": 1, "b": "text", "c": {"type": "Binary", "value_base64": "AQID"}, "d": {"type": "Number.int", "value": "-1.5e3"}}, "delay": "5s"}
    grouped = {"body_base64": "AAEC", "group_id": "g", "dedup_id": "d", "attributes": {}}
    for i in range(8):
        write("rest", "message-%d" % i, bytes([3, i]) + json.dumps(grouped if i % 2 else one).encode())
    for i, text in enumerate(("30s", "12", "500ms", 'W/"7", "8"', "*", "a%20b+c", "application/octet-stream;q=0.5, */*", "orders.fifo", "%zz")):
        write("rest", "small-%d" % i, bytes([4, 7 + i % 2]) + text.encode())


def stores():
    for which in range(24):
        # Each field of the headers there are, one after the other, with the values at the ends.
        for at in [0, 4, 8, 12, 16, 20, 24, 28, 32, 40, 48, 56, 64, 72, 80, 96, 100, 104, 112, 120, 128, 136, 144, 152, 160, 4096, 4104, 4108, 4112, 4120, 4192, 4196, 4200, 4216, 4224, 4228]:
            for value in (0, 1, 2**31, 2**32 - 1, 2**63 - 1, 2**64 - 1):
                write("store", "field-%02d-%04d-%x" % (which, at, value), bytes([which, 2]) + struct.pack("<HBQ", at, 8, value))
        write("store", "cut-%02d" % which, bytes([which, 2]) + struct.pack("<HB", 40, 0))
        write("store", "edit-%02d" % which, bytes([which, 2]) + struct.pack("<HB", 20, 8) + b"\7\0\0\0\0\0\0\0")
        write("store", "gone-%02d" % which, bytes([which, 3]))
        write("store", "empty-%02d" % which, bytes([which, 0]))


GET, POST, PUT, PATCH, DELETE = 0, 2, 3, 4, 5


def front(method, path="", query="", body=b"", headers=0, action=0, value="", time=0):
    body = body if isinstance(body, bytes) else body.encode()
    out = bytes([method, time, headers, action])
    for text in (path, query, value):
        out += bytes([len(text.encode())]) + text.encode()
    return out + struct.pack("<H", len(body)) + body


def fronts():
    names = actions()

    def put(name, data):
        write("fronts", name, bytes([len(name) % 3]) + data)

    def sqs(action, time=0, **members):
        return front(POST, body=json.dumps(members), headers=1, action=names.index(action), time=time)
    def life(q):
        fifo = q.endswith(".fifo")
        extra = {"MessageGroupId": "g", "MessageDeduplicationId": "d"} if fifo else {"DelaySeconds": 0}
        return sqs("CreateQueue", QueueName=q, Attributes={"FifoQueue": "true"} if fifo else {"VisibilityTimeout": "5"}) + \
            sqs("SendMessage", QueueUrl=q, MessageBody="one", **extra) + sqs("ReceiveMessage", QueueUrl=q, AttributeNames=["All"], WaitTimeSeconds=1)
    for q in ("q", "q.fifo"):
        put("delete-" + q, life(q) + sqs("DeleteMessage", QueueUrl=q, ReceiptHandle="$R") + sqs("GetQueueAttributes", QueueUrl=q, AttributeNames=["All"]))
        put("change-" + q, life(q) + sqs("ChangeMessageVisibility", QueueUrl=q, ReceiptHandle="$R", VisibilityTimeout=0) + sqs("ReceiveMessage", time=7, QueueUrl=q))
        put("purge-" + q, life(q) + sqs("PurgeQueue", QueueUrl=q) + sqs("DeleteQueue", QueueUrl=q) + sqs("ListQueues"))
    dead = '{"deadLetterTargetArn":"arn:aws:sqs:us-east-1:000000000000:dead","maxReceiveCount":1}'
    put("redrive", sqs("CreateQueue", QueueName="dead") + life("q") + sqs("SetQueueAttributes", QueueUrl="q", Attributes={"RedrivePolicy": dead}) +
          sqs("ReceiveMessage", time=9, QueueUrl="q") + sqs("ReceiveMessage", time=9, QueueUrl="dead") +
          sqs("StartMessageMoveTask", time=99, SourceArn="arn:aws:sqs:us-east-1:000000000000:dead") + sqs("ListMessageMoveTasks", SourceArn="arn:aws:sqs:us-east-1:000000000000:dead"))
    for name, text in requests("query-requests"):
        body = text.split(b"\r\n\r\n" if b"\r\n\r\n" in text else b"\n\n", 1)[1].replace(b"orders", b"q")
        create = b"Action=CreateQueue&QueueName=q" + (b".fifo&Attribute.1.Name=FifoQueue&Attribute.1.Value=true" if b"q.fifo" in body else b"")
        put("query-" + name, front(POST, body=create, headers=2) + front(POST, body=body, headers=2) * 2)
    t = "v1/topics/q"
    begin = front(PUT, t, body='{"visibility":"5s","tags":{"a":"b"}}', headers=4) + front(POST, t + "/messages", body="text", headers=8 * 4, value="v")
    begin += front(POST, t + "/messages:batch", body='{"messages":[{"body":"a","delay":"1s"},{"body_base64":"AAE=","attributes":{"n":1}}]}', headers=4)
    take = front(POST, t + "/groups/default/receive", "max=10&wait=1s&holder=me")
    with open(os.path.join(ROOT, "api", "rest.def")) as f:
        routes = re.findall(r'^ROUTE\((\w+), "/([^"]*)", (\w+)\)', f.read(), re.M)
    methods = {"GET": GET, "POST": POST, "PUT": PUT, "PATCH": PATCH, "DELETE": DELETE}
    bodies = {"change_leases": '{"done":["$R"],"extend":[{"receipt":"$R","visibility":"9s"}],"release":["$R"]}', "extend_lease": '{"visibility":"9s"}',
              "patch_topic": '{"delay":"1s","tags":{"a":null}}', "send_messages": '{"messages":[{"body":"x"}]}', "put_topic": "{}"}
    for method, path, name in routes:
        path = path.replace("{topic}", "q").replace("{group}", "default").replace("{receipt}", "$R")
        path = re.sub(r"{\w+}", "0", path)
        put("rest-" + name, begin + take + front(methods[method], path, body=bodies.get(name, ""), headers=4 if name in bodies else 0) + take)


def peers():
    of = bytes(range(16)) + struct.pack("<I", 3)
    fetch = struct.pack("<III", 500, 1 << 20, 2) + (of + struct.pack("<I6Q", 2, 11, 4, 99, 1000, 3, 5)) * 2
    answer = struct.pack("<I", 0) + of + struct.pack("<I8Q", 0, 11, 4, 77, 900, 10, 2, 0, 0) + struct.pack("<I", 5) + b"batch" + \
        of + struct.pack("<I8Q", 4, 11, 4, 77, 900, 10, 2, 3, 800) + struct.pack("<I", 0)
    state = struct.pack("<I", 2) + of + struct.pack("<7I8Q", 15, 2, 0, 0, 1, 2, 2, 9, 4, 7, 0, 10, 4, 9, 8) + of + bytes(92)
    forms = [b"LQF\1" + fetch, b"LQA\1" + answer, b"LQS\1" + struct.pack("<I", 2) + of * 2, b"LQT\1" + state, b"LQN\1" + of + struct.pack("<Q", 4),
             b"1 3 2 1790000000000 0123456789abcdef0000000000000001 a-cluster", b"LQU\1" + struct.pack("<IQ", 3, 7)]
    for i, (name, data) in enumerate(zip(("fetch", "answer", "ask", "state", "snapshot", "head", "silent"), forms)):
        write("peer", name, bytes([i, 0]) + data)
        write("peer", name + "-cut", bytes([i, 1]) + data[:-1])
        write("peer", name + "-long", bytes([i, 1]) + data + b"\0")



def hops():
    def head(kind, left=1000):
        return struct.pack("<BBBB16sI", 2, kind, 1, 1, b"t" * 16, left) + sized(b"default")

    attribute = b"\1" + sized(b"n") + sized(b"Binary") + b"\1" + sized(b"\0v")
    message = struct.pack("<IQQQBq16s", 2, 7, 1030, 7, 0, -1, b"m" * 16) + sized(b"body") + sized(b"") + sized(b"g") + sized(b"d") + sized(b"k") + attribute
    write("hop", "send", b"\0" + head(1) + struct.pack("<H", 2) + message * 2)
    write("hop", "change", b"\0" + head(2) + struct.pack("<HIBq", 1, 3, 0, 5000) + sized(b"receipt"))
    write("hop", "purge", b"\0" + head(3) + struct.pack("<HII", 2, 0, 1))
    write("hop", "count", b"\0" + head(4) + struct.pack("<HI", 1, 7))
    write("hop", "receive", b"\0" + head(5) + struct.pack("<Bq", 10, -1) + sized(b"me") + sized(b"again"))
    write("hop", "wait", b"\0" + head(6) + struct.pack("<I", 20))
    write("hop", "give_back", b"\0" + head(7, 0) + struct.pack("<H", 2) + sized(b"r1") + sized(b"r2"))
    write("hop", "move", b"\0" + head(8) + struct.pack("<IQq", 3, 7, 60000) + sized(b"a record"))
    write("hop", "answer-move", b"\7" + struct.pack("<BBHI", 2, 8, 19, 2))
    items = {1: struct.pack("<HI16sIQBQQ", 10, 2, b"i" * 16, 1, 2, 0, 3, 4), 2: struct.pack("<HI", 19, 3), 3: struct.pack("<HIQ", 0, 0, 9), 4: struct.pack("<HIQQQQ", 0, 0, 1, 2, 3, 4)}
    for kind, item in items.items():
        write("hop", f"answer-{kind}", bytes([kind]) + struct.pack("<BBHH", 2, kind, 0, 3) + item * 3)
    got = struct.pack("<16s16sqqIIQB", b"i" * 16, b"m" * 16, 1, 2, 3, 0, 4, 0) + b"".join(sized(x) for x in (b"body", b"", b"g", b"d", b"k", b"o", b"receipt")) + attribute
    write("hop", "answer-5", b"\5" + struct.pack("<BBHH", 2, 5, 0, 2) + got * 2)
    write("hop", "answer-6", b"\6" + struct.pack("<BBHI", 2, 6, 0, 3))


def answers():
    head = b"HTTP/1.1 200 OK\r\nDate: Mon, 30 Nov 2026 02:28:40 GMT\r\nContent-Type: application/x-amz-json-1.0\r\nContent-Length: %d\r\n\r\n"
    message = {"MessageId": "i", "ReceiptHandle": "r\u00e9", "MD5OfBody": "0" * 32, "Body": "00000000000000000042xxxx"}
    bodies = {"empty": {}, "received": {"Messages": [message, dict(message, Attributes={"SentTimestamp": "1"})]},
              "batch": {"Successful": [{"Id": "0"}], "Failed": [{"Id": "1", "Code": "InternalError", "Message": "m", "SenderFault": False}]},
              "fault": {"__type": "com.amazonaws.sqs#QueueDoesNotExist", "message": "there is no such queue"}}
    for name, body in bodies.items():
        text = json.dumps(body).encode()
        write("answer", name, head % len(text) + text)
        write("answer", "body-" + name, text)
    for name, lines in (("closes", "1.0 503 Busy\r\nConnection: x, keep-alive ,close\r\nContent-Length: 0"), ("bodiless", "1.1 204 No Content"),
                        ("chunked", "1.1 200 OK\r\nTransfer-Encoding: chunked"), ("too-long", "1.1 200 OK\r\nContent-Length: 99999999999999999999"),
                        ("folded", "1.1 200 OK\r\nA: b\r\n c\r\nContent-Length: 1"), ("interim", "1.1 100 Continue")):
        write("answer", name, b"HTTP/" + lines.encode() + b"\r\n\r\n")


for make in (answers, fronts, aws_json, query, http, json_texts, records, snapshots, batches, raws, hops, receipts, catalog, rest, stores, peers):
    make()
