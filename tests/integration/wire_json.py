# SPDX-License-Identifier: Apache-2.0
"""What real clients sent, byte for byte (tests/wire/json-requests, js-requests), and what they must be
answered (tests/wire/json-responses): status, headers, members, types, and the values that are fixed.

usage: wire_json.py [http://ADDR:PORT] [TEST…]      without a URL it starts its own server"""
import hashlib
import json
import os
import re
import socket
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
from leaselog import Client, Server, in_thread, memory_folder, run_tests, test

tempfile.tempdir = memory_folder()  # syncs are not what is asked here

WIRE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "wire")
URL = "http://127.0.0.1:9324/000000000000/"  # as the captured requests have it; only its path counts
UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\Z")

port = None


def split(raw):
    """A message as it lies in a file: head lines and body. Line ends of the head may be bare."""
    head, body = raw.split(b"\r\n\r\n" if b"\r\n\r\n" in raw else b"\n\n", 1)
    return [line.rstrip(b"\r") for line in head.split(b"\n")], body


def request(name, *changes):
    """A captured request with (old, new) changes in its body, and its Content-Length to match."""
    with open(os.path.join(WIRE, name + ".http"), "rb") as f:
        lines, body = split(f.read())
    body = body.rstrip(b"\r\n") if not body.endswith(b"}") else body
    for old, new in changes:
        assert old.encode() in body, (name, old)
        body = body.replace(old.encode(), new.encode())
    lines = [b"Content-Length: %d" % len(body) if line.lower().startswith(b"content-length:") else line
             for line in lines]
    return b"\r\n".join(lines) + b"\r\n\r\n" + body


def parsed(raw):
    lines, body = split(raw)
    headers = [line.split(b": ", 1) for line in lines[1:]]
    return int(lines[0].split()[1]), {k.decode().lower(): v.decode() for k, v in headers}, body


class Wire:
    """A connection that is fed bytes."""

    def __init__(self):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=30)
        self.file = self.socket.makefile("rb")

    def send(self, raw):
        self.socket.sendall(raw)
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            line = self.file.readline()
            assert line, "the connection was closed"
            head += line
        status, headers, _ = parsed(head)
        return status, headers, self.file.read(int(headers["content-length"]))


def wanted(name):
    with open(os.path.join(WIRE, "json-responses", name + ".http"), "rb") as f:
        return parsed(f.read())


def same_form(got, want, at="answer"):
    """The same members of the same types; lists by their first element."""
    assert type(got) is type(want), f"{at}: {got!r} is not of {want!r}'s type"
    if isinstance(want, dict):
        assert sorted(got) == sorted(want), f"{at}: members {sorted(got)}, not {sorted(want)}"
        for k in want:
            same_form(got[k], want[k], f"{at}.{k}")
    if isinstance(want, list) and want:
        for i, one in enumerate(got):
            same_form(one, want[0], f"{at}[{i}]")


def compare(answer, name, exactly=False):
    """Status, headers, and the body's form; `exactly`: its values too. Gives the body."""
    status, headers, body = answer
    want_status, want_headers, want_body = wanted(name)
    want_body = want_body.strip()
    assert status == want_status, (status, body)
    own = {k for k in headers if k not in ("connection", "keep-alive", "retry-after")}
    assert own == set(want_headers), f"headers {sorted(own)}, not {sorted(want_headers)}"
    assert UUID.match(headers["x-amzn-requestid"]), headers["x-amzn-requestid"]
    for k in ("content-type", "x-amzn-query-error"):
        assert headers.get(k) == want_headers.get(k), (k, headers.get(k))
    if not want_body:
        assert body == b"" and headers["content-length"] == "0", body
        return {}
    got, want = json.loads(body), json.loads(want_body)
    same_form(got, want)
    assert not exactly or got == want, (got, want)
    return got


def fresh(*queues):
    """No queue but these; a (name, attributes) pair makes one with attributes."""
    c = Client(port)
    while True:
        names = c.call("ListQueues").get("QueueUrls", [])
        if not names:
            break
        for url in names:
            c.call("DeleteQueue", QueueUrl=url)
    for q in queues:
        name, attributes = q if isinstance(q, tuple) else (q, {})
        c.call("CreateQueue", QueueName=name, Attributes=attributes)
    return c


FIFO = ("orders.fifo", {"FifoQueue": "true"})


def received(c, queue="orders", n=1, **members):
    for i in range(n):
        c.call("SendMessage", QueueUrl=URL + queue, MessageBody=f"m{i}")
    got = c.call("ReceiveMessage", QueueUrl=URL + queue, MaxNumberOfMessages=n, **members)
    return got["Messages"]


@test
def a_queue_is_created_and_its_url_is_that_of_the_host_header():
    fresh()
    compare(Wire().send(request("json-requests/CreateQueue")), "CreateQueue", exactly=True)


@test
def a_queue_url_is_found():
    fresh("orders")
    compare(Wire().send(request("json-requests/GetQueueUrl")), "GetQueueUrl", exactly=True)


@test
def queues_are_listed_in_pages():
    c = fresh(*[f"orders-{i}" for i in range(5)], "other")
    token = c.call("ListQueues", QueueNamePrefix="or", MaxResults=2)["NextToken"]
    got = compare(Wire().send(request("json-requests/ListQueues", ("tok==", token))), "ListQueues")
    assert got["QueueUrls"] == [URL + "orders-2", URL + "orders-3"], got
    got = c.call("ListQueues", QueueNamePrefix="or", MaxResults=2, NextToken=got["NextToken"])
    assert [u.rsplit("/")[-1] for u in got["QueueUrls"]] == ["orders-4"] and "NextToken" not in got, got


@test
def no_queue_is_an_empty_object():
    fresh()
    raw = request("json-requests/ListQueues", (', "NextToken": "tok=="', ""))
    compare(Wire().send(raw), "ListQueues.empty", exactly=True)


@test
def all_attributes_are_shown():
    fresh("orders")
    got = compare(Wire().send(request("json-requests/GetQueueAttributes")), "GetQueueAttributes.All")
    want = json.loads(wanted("GetQueueAttributes.All")[2])
    for k, v in want["Attributes"].items():
        assert k.endswith("Timestamp") or got["Attributes"][k] == v, (k, got["Attributes"][k])


@test
def no_attribute_is_shown_when_none_is_asked_for():
    fresh("orders")
    raw = request("json-requests/GetQueueAttributes", (', "AttributeNames": ["All", "QueueArn"]', ""))
    compare(Wire().send(raw), "GetQueueAttributes.none", exactly=True)


@test
def attributes_are_set():
    c = fresh("orders", "dlq")
    compare(Wire().send(request("json-requests/SetQueueAttributes")), "SetQueueAttributes")
    got = c.call("GetQueueAttributes", QueueUrl="orders", AttributeNames=["RedrivePolicy", "Policy"])
    assert json.loads(got["Attributes"].pop("RedrivePolicy"))["maxReceiveCount"] == 3
    assert got["Attributes"] == {}, got


@test
def a_message_is_sent_with_all_digests():
    fresh("orders")
    got = compare(Wire().send(request("json-requests/SendMessage")), "SendMessage")
    body = 'hi <&"\r\n \u00e9 \U0001f600'
    assert got["MD5OfMessageBody"] == hashlib.md5(body.encode()).hexdigest()
    assert got["MD5OfMessageAttributes"] == "d838729972a4b70e2d2acd9d59ac847c"
    assert got["MD5OfMessageSystemAttributes"] == "5ae4d5d7636402d80f4eb6d213245a88"
    assert UUID.match(got["MessageId"])


@test
def a_fifo_message_gets_a_sequence_number_of_20_digits():
    fresh(FIFO)
    w, raw = Wire(), request("json-requests/SendMessage.fifo")
    got = compare(w.send(raw), "SendMessage.fifo")
    assert re.match(r"\d{20}\Z", got["SequenceNumber"]), got
    assert got["MD5OfMessageBody"] == "6f8f57715090da2632453988d9a1501b"
    again = compare(w.send(raw), "SendMessage.fifo")
    assert again == got, "a duplicate gets the first one's id and number"


@test
def a_batch_is_sent_and_a_bad_entry_fails_alone():
    fresh("orders")
    status, _, body = Wire().send(request("json-requests/SendMessageBatch"))
    got = json.loads(body)
    assert status == 200 and [e["Id"] for e in got["Successful"]] == ["a", "b"] and "Failed" not in got
    assert got["Successful"][0]["MD5OfMessageBody"] == "f97c5d29941bfb1b2fdab0874906ab82"
    raw = request("json-requests/SendMessageBatch", ('"MessageBody": "two"', '"MessageBody": "\\u0001"'))
    got = compare(Wire().send(raw), "SendMessageBatch.partial")
    assert got["Failed"][0]["Code"] == "InvalidMessageContents" and got["Failed"][0]["SenderFault"] is True


@test
def a_message_is_received_with_what_was_asked_for():
    c = fresh("orders")
    raw = request("json-requests/SendMessage", ('"DelaySeconds": 5', '"DelaySeconds": 0'),
                  ("hi <&\\\"\\r\\n \\u00e9 \\ud83d\\ude00", "a<&\\\"\\r\\nb"))
    compare(Wire().send(raw), "SendMessage")
    raw = request("json-requests/ReceiveMessage", (', "ReceiveRequestAttemptId": "att-1"', ""))
    status, _, body = Wire().send(raw)
    want = json.loads(wanted("ReceiveMessage")[2])["Messages"][0]
    got = json.loads(body)["Messages"][0]
    trace = got["Attributes"].pop("AWSTraceHeader")
    assert status == 200 and trace.startswith("Root=1-5759e988"), body
    same_form(got, want)
    for k in ("Body", "MD5OfBody", "MD5OfMessageAttributes", "MessageAttributes"):
        assert got[k] == want[k], (k, got[k])
    assert got["Attributes"]["ApproximateReceiveCount"] == "1"
    assert c.counts("orders") == (0, 1, 0)


@test
def an_attempt_id_is_taken_on_a_fifo_queue_only():
    c = fresh("orders", FIFO)
    c.call("SendMessage", QueueUrl=URL + FIFO[0], MessageBody="m", MessageGroupId="g", MessageDeduplicationId="d")
    status, _, body = Wire().send(request("json-requests/ReceiveMessage", ("/orders", "/orders.fifo")))
    got = json.loads(body)["Messages"][0]
    assert status == 200 and got["Attributes"]["MessageGroupId"] == "g", body
    assert got["Attributes"]["MessageDeduplicationId"] == "d" and len(got["Attributes"]["SequenceNumber"]) == 20
    status, headers, _ = Wire().send(request("json-requests/ReceiveMessage"))
    assert (status, headers["x-amzn-query-error"]) == (400, "InvalidParameterValue;Sender")


@test
def only_the_system_attributes_asked_for_are_returned():
    c = fresh("orders")
    c.call("SendMessage", QueueUrl=URL + "orders", MessageBody="m", MessageAttributes={
        "color": {"DataType": "String", "StringValue": "blue"}})
    status, _, body = Wire().send(request("json-requests/ReceiveMessage.system"))
    got = json.loads(body)["Messages"][0]
    assert status == 200 and sorted(got["Attributes"]) == ["ApproximateReceiveCount", "SentTimestamp"], got
    assert "MessageAttributes" not in got and "MD5OfMessageAttributes" not in got


@test
def an_empty_receive_is_an_empty_object():
    fresh("orders")
    compare(Wire().send(request("json-requests/ReceiveMessage.system")), "ReceiveMessage.empty", exactly=True)


@test
def the_digest_covers_the_attributes_that_are_returned():
    c = fresh("orders")
    compare(Wire().send(request("json-requests/SendMessage", ('"DelaySeconds": 5', '"DelaySeconds": 0'))),
            "SendMessage")
    got = c.call("ReceiveMessage", QueueUrl="orders", MessageAttributeNames=["col.*", "nothing"])["Messages"][0]
    assert got["MD5OfMessageAttributes"] == "da1b33cc3cbfe8b1630921e78e6b9880", got
    assert list(got["MessageAttributes"]) == ["color"]


@test
def a_message_is_deleted():
    c = fresh("orders")
    handle = received(c)[0]["ReceiptHandle"]
    w, raw = Wire(), request("json-requests/DeleteMessage", ("AQEB+/x==", handle))
    compare(w.send(raw), "DeleteMessage")
    assert c.counts("orders") == (0, 0, 0)
    compare(w.send(raw), "DeleteMessage")


@test
def messages_are_deleted_in_a_batch():
    c = fresh("orders")
    a, b = [m["ReceiptHandle"] for m in received(c, n=2)]
    raw = request("json-requests/DeleteMessageBatch", ('"r1"', f'"{a}"'), ('"r2"', f'"{b}"'))
    got = compare(Wire().send(raw), "DeleteMessageBatch")
    assert [e["Id"] for e in got["Successful"]] == ["a", "b"] and c.counts("orders") == (0, 0, 0)


@test
def visibility_is_changed():
    c = fresh("orders")
    handle = received(c)[0]["ReceiptHandle"]
    raw = request("json-requests/ChangeMessageVisibility", ('"r1"', f'"{handle}"'))
    compare(Wire().send(raw), "ChangeMessageVisibility")
    assert c.counts("orders") == (1, 0, 0)


@test
def visibility_is_changed_in_a_batch_and_garbage_fails_alone():
    c = fresh("orders")
    handle = received(c)[0]["ReceiptHandle"]
    raw = request("json-requests/ChangeMessageVisibilityBatch", ('"r1"', f'"{handle}"'), ("60}]", (
        '60}, {"Id": "b", "ReceiptHandle": "garbage", "VisibilityTimeout": 60}]')))
    compare(Wire().send(raw), "ChangeMessageVisibilityBatch", exactly=True)


@test
def a_queue_is_purged_and_deleted():
    c = fresh("orders")
    received(c, n=3)
    compare(Wire().send(request("json-requests/PurgeQueue")), "PurgeQueue")
    assert c.counts("orders") == (0, 0, 0)
    raw = request("json-requests/DeleteQueue")
    compare(Wire().send(raw), "DeleteQueue")
    compare(Wire().send(raw), "error.QueueDoesNotExist", exactly=True)


@test
def the_js_client_is_answered_on_any_path():
    c = fresh("q")
    status, _, body = Wire().send(request("js-requests/SendMessage"))
    assert status == 200 and json.loads(body)["MD5OfMessageBody"] == "5d41402abc4b2a76b9719d911017c592", body
    status, _, body = Wire().send(request("js-requests/ReceiveMessage.endpoint-with-path"))
    handle = json.loads(body)["Messages"][0]["ReceiptHandle"]
    assert status == 200
    compare(Wire().send(request("js-requests/DeleteMessage", ('"r"', f'"{handle}"'))), "DeleteMessage")
    assert c.counts("q") == (0, 0, 0)


@test
def a_trace_header_of_the_http_request_goes_with_the_message():
    c = fresh("orders")
    trace = "Root=1-5759e988-bd862e3fe1be46a994272793;Sampled=1"
    for header, kept in ((trace, True), ("hello", False)):
        raw = request("json-requests/SendMessageBatch").replace(
            b"\r\n\r\n", b"\r\nX-Amzn-Trace-Id: " + header.encode() + b"\r\n\r\n", 1).replace(b'"DelaySeconds": 1, ', b"")
        lines, body = split(raw)
        raw = b"\r\n".join(b"Content-Length: %d" % len(body) if line.startswith(b"Content-Length") else line
                           for line in lines) + b"\r\n\r\n" + body
        status, _, body = Wire().send(raw)
        assert status == 200 and "MD5OfMessageSystemAttributes" not in json.loads(body)["Successful"][0], body
        for m in c.call("ReceiveMessage", QueueUrl="orders", MaxNumberOfMessages=10, AttributeNames=["All"])["Messages"]:
            assert (m["Attributes"].get("AWSTraceHeader") == trace) is kept, m
            c.call("DeleteMessage", QueueUrl="orders", ReceiptHandle=m["ReceiptHandle"])


@test
def a_dead_lettered_message_names_its_source_and_counts_on():
    c = fresh("dlq", "orders")
    compare(Wire().send(request("json-requests/SetQueueAttributes", ('maxReceiveCount\\": 3', 'maxReceiveCount\\": 1'))),
            "SetQueueAttributes")
    c.call("SendMessage", QueueUrl="orders", MessageBody="m")
    sent = c.call("ReceiveMessage", QueueUrl="orders", VisibilityTimeout=0)["Messages"][0]
    assert c.call("ReceiveMessage", QueueUrl="orders") == {}
    got = c.call("ReceiveMessage", QueueUrl="dlq", WaitTimeSeconds=10, AttributeNames=["All"])["Messages"][0]
    assert got["MessageId"] == sent["MessageId"] and got["Attributes"]["ApproximateReceiveCount"] == "2", got
    assert got["Attributes"]["DeadLetterQueueSourceArn"] == "arn:aws:sqs:us-east-1:000000000000:orders", got


@test
def a_long_poll_of_a_fifo_queue_is_answered_by_a_send():
    c = fresh(FIFO)

    def poll():
        return Client(port).call("ReceiveMessage", QueueUrl=FIFO[0], WaitTimeSeconds=20, AttributeNames=["All"])

    for i in range(10):
        waiting = in_thread(poll)
        c.call("SendMessage", QueueUrl=FIFO[0], MessageBody=f"m{i}", MessageGroupId="g", MessageDeduplicationId=f"{i}")
        m = waiting.result()["Messages"][0]
        assert m["Body"] == f"m{i}" and m["Attributes"]["MessageGroupId"] == "g", m
        c.call("DeleteMessage", QueueUrl=FIFO[0], ReceiptHandle=m["ReceiptHandle"])
    assert c.counts(FIFO[0]) == (0, 0, 0)


@test
def all_shows_16_attributes_of_a_fifo_queue():
    c = fresh(FIFO)
    got = c.call("GetQueueAttributes", QueueUrl=FIFO[0], AttributeNames=["All"])["Attributes"]
    fifo = {"FifoQueue": "true", "ContentBasedDeduplication": "false", "DeduplicationScope": "queue",
            "FifoThroughputLimit": "perQueue"}
    assert len(got) == 16 and fifo.items() <= got.items(), got


def sources(c, *names):
    """These queues have orders as their dead-letter target."""
    policy = json.dumps({"deadLetterTargetArn": "arn:aws:sqs:us-east-1:000000000000:orders", "maxReceiveCount": 2})
    for name in names:
        c.call("CreateQueue", QueueName=name, Attributes={"RedrivePolicy": policy})


@test
def sources_of_a_dead_letter_queue_are_listed_in_pages():
    c = fresh("orders", "other")
    raw = request("json-requests/ListDeadLetterSourceQueues")
    status, _, body = Wire().send(raw)
    assert status == 200 and json.loads(body) == {}, body
    sources(c, "b", "a")
    got = compare(Wire().send(raw), "ListDeadLetterSourceQueues")
    assert got["queueUrls"] == [URL + "a", URL + "b"], got
    got = c.call("ListDeadLetterSourceQueues", QueueUrl="orders", MaxResults=1)
    rest = c.call("ListDeadLetterSourceQueues", QueueUrl="orders", MaxResults=1, NextToken=got["NextToken"])
    assert [u.rsplit("/")[-1] for u in got["queueUrls"] + rest["queueUrls"]] == ["a", "b"] and "NextToken" not in rest
    assert c.call("ListDeadLetterSourceQueues", QueueUrl="other") == {}


@test
def tags_are_set_listed_and_removed():
    c = fresh("orders")
    compare(Wire().send(request("json-requests/TagQueue")), "TagQueue")
    got = compare(Wire().send(request("json-requests/ListQueueTags")), "ListQueueTags")
    assert got["Tags"] == {"env": "prod", "empty": ""}
    compare(Wire().send(request("json-requests/UntagQueue")), "UntagQueue")
    assert c.call("ListQueueTags", QueueUrl="orders")["Tags"] == {"empty": ""}
    c.call("UntagQueue", QueueUrl="orders", TagKeys=["empty"])
    assert c.call("ListQueueTags", QueueUrl="orders") == {}


@test
def faults_have_their_exact_form():
    fresh("orders")
    w = Wire()
    receive = "json-requests/ReceiveMessage.system"
    more = '"MessageSystemAttributeNames": ["SentTimestamp", "ApproximateReceiveCount"]'
    compare(w.send(request(receive, (more, '"MaxNumberOfMessages": 11'))), "error.InvalidParameterValue", exactly=True)
    raw = request("json-requests/SendMessageBatch", ('"MessageBody": "one"', '"MessageBody": ""'))
    status, _, body = w.send(raw)
    assert status == 200 and json.loads(body)["Failed"][0]["Code"] == "MissingParameter", body
    raw = request("json-requests/SendMessage.fifo", ('"m"', '""'))
    compare(w.send(raw), "error.MissingParameter", exactly=True)
    raw = request("json-requests/DeleteMessageBatch", ('{"Id": "b", "ReceiptHandle": "r2"}', ",".join(
        f'{{"Id":"i{i}","ReceiptHandle":"r"}}' for i in range(19))))
    compare(w.send(raw), "error.TooManyEntriesInBatchRequest", exactly=True)
    raw = request("json-requests/DeleteMessage", ("AQEB+/x==", "garbage"))
    compare(w.send(raw), "error.ReceiptHandleIsInvalid", exactly=True)
    raw = request("json-requests/CreateQueue", ('"DelaySeconds": "0"', '"DelaySeconds": "1"'),
                  ('"VisibilityTimeout": "45", ', ""))
    compare(w.send(raw), "error.QueueNameExists", exactly=True)
    compare(w.send(request("json-requests/DeleteQueue", ('"}', '"'))), "error.MalformedInput")
    raw = request("json-requests/DeleteQueue").replace(b"AmazonSQS.DeleteQueue", b"AmazonSQS.DropQueue")
    compare(w.send(raw), "error.InvalidAction")


@test
def cooldowns_are_enforced_when_asked_for():
    global port
    before = port
    with Server("--sqs-strict-cooldowns") as s:
        port = s.port
        try:
            c = fresh("orders", "other")
            w, raw = Wire(), request("json-requests/PurgeQueue")
            compare(w.send(raw), "PurgeQueue")
            compare(w.send(raw), "error.PurgeQueueInProgress", exactly=True)
            c.call("PurgeQueue", QueueUrl="other")
            compare(w.send(request("json-requests/DeleteQueue")), "DeleteQueue")
            compare(w.send(request("json-requests/CreateQueue")), "error.QueueDeletedRecently", exactly=True)
        finally:
            port = before


def main():
    global port
    if len(sys.argv) > 1 and sys.argv[1].startswith("http://"):
        port = int(sys.argv.pop(1).rstrip("/").rsplit(":", 1)[1])
        run_tests(globals())
    with Server() as s:
        port = s.port
        run_tests(globals())


if __name__ == "__main__":
    main()
