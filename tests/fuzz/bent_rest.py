# SPDX-License-Identifier: Apache-2.0
"""Requests of the REST API, bent at random: paths, queries, headers, bodies. Used by fuzz_requests.py."""
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
from openapi import Document

DOCUMENT = Document()
OPERATIONS = sorted((method, path, operation) for method, path, operation in
                    ((m, p, o["operationId"]) for m, p, o in DOCUMENT.operations.values()))
TEXTS = ("", " ", "orders", "orders.fifo", "other", "default", "0", "1", "-1", "9" * 30, "30s", "5m", "1.5s", "0-0", "0-1-newest", "1-0", "..", ".", "a/b",
         "\0", "\r\nA: b", "\ufffe", "\U0001f600", "x" * 81, "x" * 300, "number:0", "newest", "true", "null", "%", "&a=b", "=", "200", "ready", "leased", "*",
         '"1"', "W/\"1\"", "application/octet-stream", "application/json", "text/plain", "application/x-ndjson", "{}", "[]", "AAE=", "=")
MEMBERS = ("messages", "body", "body_base64", "attributes", "type", "value", "value_base64", "delay", "group_id", "dedup_id", "key", "key_base64", "cleanup",
           "delete_retention", "visibility", "visibility_seconds",
           "retention", "receive_wait", "message_bytes_max", "content_deduplication", "deduplication_scope", "redrive", "topic", "receives_max", "tags", "fifo",
           "partitions", "name", "stats", "done", "extend", "release", "receipt", "x", "a/b~c", "")
HEADERS = ("Leaselog-Attr-A", "Leaselog-Attr-", "Leaselog-Attr-a..b", "Leaselog-Delay", "Leaselog-Group-Id", "Leaselog-Deduplication-Id", "Leaselog-Key",
           "Leaselog-Tombstone", "Idempotency-Key",
           "Leaselog-Nonsense", "If-Match", "If-None-Match", "Accept", "Request-Id", "X-Amzn-Trace-Id", "Content-Type")


def escape(rng, text):
    """A text for a path or a query: escaped well, twice, or badly."""
    raw = text.encode("utf-8", "surrogatepass")
    how = rng.random()
    if how < 0.05:
        return rng.choice((b"%", b"%2", b"%zz", b"%ff", b"%00", b"%2f", b"%2e%2e", b"%c0%af", b"%0d%0a"))
    plain = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.~:"
    return b"".join(bytes([c]) if c in plain and how < 0.9 else b"%%%02x" % c for c in raw)


def value(rng, receipts, depth=0):
    which = rng.randrange(10)
    if which < 3:
        return rng.choice(TEXTS)
    if which < 5:
        return rng.choice((0, 1, -1, 10, 30, 43200, 43201, 2**31, 2**63, 10**30, 1.5, 0.001, 1e300))
    if which == 5:
        return rng.choice((None, True, False))
    if which == 6 and receipts:
        return rng.choice(receipts)
    if depth > 3:
        return "deep"
    if which < 9:
        return {rng.choice(MEMBERS): value(rng, receipts, depth + 1) for _ in range(rng.choice((0, 1, 2, 4)))}
    return [value(rng, receipts, depth + 1) for _ in range(rng.choice((0, 1, 2, 11, 101) if depth < 2 else (0, 1)))]


def sound_body(rng, operation, receipts):
    receipt = rng.choice(receipts) if receipts else "x"
    if operation == "put_topic" or operation == "patch_topic":
        return rng.choice(({}, {"visibility": "10s"}, {"delay": 0, "tags": {"a": "b"}}, {"redrive": {"topic": "other", "receives_max": 2}}, {"redrive": None},
                           {"cleanup": "compact", "delete_retention": "1s"}))
    if operation == "send_messages":
        keyed = rng.random() < 0.3
        return {"messages": [{"key": str(i), "body": rng.choice(("b", None))} if keyed else
                             {"body": "b" * rng.choice((1, 10, 3000)), "attributes": {"a": 1, "b": "c"}, "group_id": "g", "dedup_id": str(rng.random())}
                             for i in range(rng.choice((1, 2, 100)))]}
    if operation == "extend_lease":
        return {"visibility": rng.choice(("0s", "10s", 5))}
    if operation == "change_leases":
        return {"done": [receipt], "release": [receipt, {"receipt": receipt, "delay": "1s"}], "extend": [{"receipt": receipt, "visibility": 1}]}
    return None


def bend_tree(rng, tree, receipts):
    if isinstance(tree, dict) and tree and rng.random() < 0.8:
        key = rng.choice(list(tree))
        tree[rng.choice((key, key, key, rng.choice(MEMBERS)))] = bend_tree(rng, tree[key], receipts)
        return tree
    if isinstance(tree, list) and tree and rng.random() < 0.8:
        at = rng.randrange(len(tree))
        tree[at] = bend_tree(rng, tree[at], receipts)
        return tree
    return value(rng, receipts)


def body_bytes(rng, operation, receipts):
    tree = sound_body(rng, operation, receipts)
    if tree is None:
        return rng.choice((b"", b"", b"hello", rng.randbytes(rng.choice((1, 50, 20000)))))
    for _ in range(rng.choice((0, 1, 1, 2, 4))):
        tree = bend_tree(rng, tree, receipts)
    data = bytearray(json.dumps(tree, ensure_ascii=rng.random() < 0.5).encode("utf-8", "surrogatepass"))
    if rng.random() < 0.2 and data:
        at = rng.randrange(len(data))
        data[at:at + rng.randrange(3)] = rng.choice((b"", b"\xff", b"\0", b'"', b"{", b"]", b","))
    return bytes(data)


def make(rng, receipts):
    """The bytes of one request. It is whole, so it must be answered."""
    method, path, operation = rng.choice(OPERATIONS)
    if rng.random() < 0.08:
        method = rng.choice(("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "BREW"))
    names = {"topic": ("orders", "other", "orders.fifo", "users"), "group": ("default",), "message": ("0-0", "0-1"), "partition": ("0",), "problem": ("internal",),
             "receipt": receipts or ("x",)}
    segments = []
    for part in path.split("/")[1:]:
        good = rng.choice(names[part[1:-1]]) if part.startswith("{") else part
        segments.append(good.encode() if rng.random() < 0.93 else escape(rng, rng.choice(TEXTS)))
    target = b"/" + b"/".join(segments)
    pairs = []
    for name, schema in DOCUMENT.parameters(DOCUMENT.operations[operation][2], "query").items():
        if rng.random() < 0.35 and (name != "wait" or rng.random() < 0.1):
            good = str(DOCUMENT.resolve(schema).get("default", "1"))
            pairs.append(name.encode() + b"=" + (good.encode() if rng.random() < 0.7 else escape(rng, rng.choice(TEXTS))))
    if rng.random() < 0.03:
        pairs += rng.choice(([b"x"] * 300, [b""] * 5, [b"limit"], [b"=" * 9]))
    # No receive may wait for long: the next request goes over the same connection.
    if operation == "receive_messages" and not any(p.startswith(b"wait") for p in pairs):
        pairs.append(b"wait=0")
    pairs = [b"wait=50ms" if p.startswith(b"wait=") and rng.random() < 0.5 else b"wait=0s" if p.startswith(b"wait=") else p for p in pairs]
    if pairs:
        target += b"?" + b"&".join(pairs)
    body = body_bytes(rng, operation, receipts) if method not in ("GET", "HEAD", "OPTIONS") or rng.random() < 0.05 else b""
    lines = [method.encode() + b" " + target + b" HTTP/1.1", b"Host: x", b"Content-Length: %d" % len(body)]
    if body and rng.random() < 0.8:
        lines.append(b"Content-Type: application/json")
    for _ in range(rng.choice((0, 0, 0, 1, 2, 12))):
        text = rng.choice(TEXTS).encode("utf-8", "surrogatepass").replace(b"\r", b"").replace(b"\n", b"").replace(b"\0", b"")
        name = rng.choice(HEADERS).encode()
        if name != b"Content-Type" or not body:
            lines.append(name + b": " + text)
    return b"\r\n".join(lines) + b"\r\n\r\n" + body
