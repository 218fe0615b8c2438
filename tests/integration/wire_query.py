# SPDX-License-Identifier: Apache-2.0
"""The Query protocol: what real clients sent, byte for byte (tests/wire/query-requests, but for a second Host header that
the capture had), and what they must be answered (tests/wire/query-responses): status, headers, elements and their order,
and the values that are fixed. Then the rules that no capture shows: paths, GET, odd spellings, the form of queue URLs.

usage: wire_query.py [http://ADDR:PORT] [TEST…]      without a URL it starts its own server"""
import hashlib
import itertools
import json
import os
import re
import socket
import sys
import xml.etree.ElementTree as ElementTree
from urllib.parse import quote_plus

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
import wire_json
from leaselog import Client, Refused, Server, in_thread, run_tests, test
from wire_json import FIFO, URL, UUID, Wire, fresh, parsed, received, request, sources

NAMESPACE = "http://queue.amazonaws.com/doc/2012-11-05/"
FORM = "application/x-www-form-urlencoded; charset=utf-8"
NO_QUEUE = "AWS.SimpleQueueService.NonExistentQueue"
ON_QUEUE = "/000000000000/orders"
MORE = 256  # values that a list may hold


# ---- answers ----

def wanted(name):
    with open(os.path.join(wire_json.WIRE, "query-responses", name + ".http"), "rb") as f:
        status, headers, body = parsed(f.read())
    return status, headers, body.strip()


def tree(body):
    """The document of an answer; it begins at the very first byte, for some parsers take nothing before it."""
    assert body.startswith(b'<?xml version="1.0"?><'), body[:60]
    root = ElementTree.fromstring(body.decode())
    for e in root.iter():
        assert e.tag.startswith("{" + NAMESPACE + "}"), e.tag
        e.tag = e.tag.split("}")[1]
    return root


def runs(element):
    return [(tag, list(run)) for tag, run in itertools.groupby(element, lambda child: child.tag)]


def same_form(got, want, at):
    """The same elements in the same order; of repeated ones each like its counterpart, or like the first."""
    got_runs, want_runs = runs(got), runs(want)
    assert [t for t, _ in got_runs] == [t for t, _ in want_runs], \
        f"{at}: {[t for t, _ in got_runs]}, not {[t for t, _ in want_runs]}"
    for (tag, got_run), (_, want_run) in zip(got_runs, want_runs):
        pairs = zip(got_run, want_run) if len(got_run) == len(want_run) else ((g, want_run[0]) for g in got_run)
        for g, w in pairs:
            same_form(g, w, f"{at}/{tag}")


def compare(answer, name, exactly=False):
    """Status, headers, and the body's form; `exactly`: each of its bytes but the request's id. Gives the result."""
    status, headers, body = answer
    want_status, want_headers, want_body = wanted(name)
    assert status == want_status, (status, body)
    own = {k for k in headers if k not in ("connection", "keep-alive", "retry-after")}
    assert own == set(want_headers), f"headers {sorted(own)}, not {sorted(want_headers)}"
    assert headers["content-type"] == "text/xml", headers["content-type"]
    got, want = tree(body), tree(want_body)
    id_got, id_want = got.find(".//RequestId").text, want.find(".//RequestId").text
    assert UUID.match(id_got) and headers["x-amzn-requestid"] == id_got, (headers, id_got)
    assert got.tag == want.tag, (got.tag, want.tag)
    same_form(got, want, got.tag)
    assert not exactly or body == want_body.replace(id_want.encode(), id_got.encode()), (body, want_body)
    return got[0]


def play(name, *changes):
    """The captured request on a new connection."""
    return Wire().send(request("query-requests/" + name, *changes))


def texts(result, name):
    return [e.text for e in result.findall(name)]


def pairs(result, item, key="Name"):
    return {e.find(key).text: e.find("Value").text for e in result.findall(item)}


# ---- requests of our own ----

def encode(parameters):
    return "&".join(f"{k}={quote_plus(v)}" for k, v in parameters)


def ask(action, *more, path="/", method="POST", headers=(), **named):
    """(status, headers, body). `more`: (name, value) pairs, in their order, for names that have dots."""
    parameters = [("Action", action)] if action else []
    parameters += [*named.items(), *more]
    text = encode(parameters)
    c = Client(wire_json.port)
    if method == "GET":
        status, body, got = c.raw("GET", path + "?" + text if text else path, None, dict(headers))
    else:
        status, body, got = c.raw(method, path, text.encode(), {"Content-Type": FORM, **dict(headers)})
    return status, {k.lower(): v for k, v in got.items()}, body


def answered(*a, **kw):
    """The result of a request that succeeds."""
    status, _, body = ask(*a, **kw)
    assert status == 200, (status, body)
    return tree(body)[0]


def is_fault(answer, status, code, text=None):
    got_status, headers, body = answer
    root = tree(body)
    assert got_status == status and root.tag == "ErrorResponse", (got_status, body)
    assert [e.tag for e in root] == ["Error", "RequestId"], body
    assert [e.tag for e in root[0]] == ["Type", "Code", "Message", "Detail"], body
    assert root.find("RequestId").text == headers["x-amzn-requestid"]
    assert headers["content-type"] == "text/xml"
    assert root[0][0].text == ("Sender" if status < 500 else "Receiver"), body
    assert root[0][1].text == code, body
    assert text is None or root[0][2].text == text, root[0][2].text
    return root[0][2].text


def raw_exchange(data):
    """What comes back on a connection that is closed after it."""
    with socket.create_connection(("127.0.0.1", wire_json.port), timeout=30) as s:
        s.sendall(data)
        got = b""
        while True:
            more = s.recv(1 << 16)
            if not more:
                return parsed(got)
            got += more


# ---- what real clients send ----

@test
def a_queue_is_created_with_attributes_and_tags():
    c = fresh()
    compare(play("CreateQueue"), "CreateQueue", exactly=True)
    got = c.call("GetQueueAttributes", QueueUrl="orders", AttributeNames=["VisibilityTimeout"])["Attributes"]
    assert got == {"VisibilityTimeout": "45"}, got
    assert c.call("ListQueueTags", QueueUrl="orders")["Tags"] == {"env": "dev", "team": "a b"}


@test
def a_queue_url_is_found():
    fresh("orders")
    compare(play("GetQueueUrl"), "GetQueueUrl", exactly=True)


@test
def queues_are_listed_in_pages():
    c = fresh(*[f"orders-{i}" for i in range(4)], "other")
    token = c.call("ListQueues", QueueNamePrefix="or", MaxResults=2)["NextToken"]
    got = answered("ListQueues", QueueNamePrefix="or", MaxResults="2", NextToken=token)
    assert texts(got, "QueueUrl") == [f"http://127.0.0.1:{wire_json.port}/000000000000/orders-{i}" for i in (2, 3)]
    assert texts(got, "NextToken") == []
    got = compare(play("ListQueues", ("&NextToken=tok%3D%3D", "")), "ListQueues")
    assert texts(got, "QueueUrl") == [URL + "orders-0", URL + "orders-1"]
    assert texts(got, "NextToken") == [token]


@test
def no_queue_is_an_empty_result():
    fresh()
    compare(play("ListQueues", ("&NextToken=tok%3D%3D", "")), "ListQueues.empty", exactly=True)


@test
def all_attributes_are_shown():
    fresh("orders")
    got = pairs(compare(play("GetQueueAttributes"), "GetQueueAttributes.All"), "Attribute")
    for k, v in pairs(tree(wanted("GetQueueAttributes.All")[2])[0], "Attribute").items():
        assert k.endswith("Timestamp") or got[k] == v, (k, got[k])


@test
def no_attribute_is_shown_when_none_is_asked_for():
    fresh("orders")
    compare(play("GetQueueAttributes", ("&AttributeName.1=All&AttributeName.2=QueueArn", "")), "GetQueueAttributes.none",
            exactly=True)


@test
def attributes_are_set():
    c = fresh("orders", "dlq")
    compare(play("SetQueueAttributes"), "SetQueueAttributes", exactly=True)
    got = c.call("GetQueueAttributes", QueueUrl="orders", AttributeNames=["RedrivePolicy", "Policy"])["Attributes"]
    assert json.loads(got.pop("RedrivePolicy"))["maxReceiveCount"] == 3 and got == {}, got


@test
def a_message_is_sent_with_all_digests():
    fresh("orders")
    got = compare(play("SendMessage"), "SendMessage")
    body = 'hi <&"\r\n \u00e9 \U0001f600'
    assert texts(got, "MD5OfMessageBody") == [hashlib.md5(body.encode()).hexdigest()]
    assert texts(got, "MD5OfMessageAttributes") == ["d838729972a4b70e2d2acd9d59ac847c"]
    assert texts(got, "MD5OfMessageSystemAttributes") == ["5ae4d5d7636402d80f4eb6d213245a88"]
    assert UUID.match(got.find("MessageId").text)


@test
def a_fifo_message_gets_a_sequence_number_of_20_digits():
    fresh(FIFO)
    got = compare(play("SendMessage.fifo"), "SendMessage.fifo")
    assert re.match(r"\d{20}\Z", got.find("SequenceNumber").text)
    assert texts(got, "MD5OfMessageBody") == ["6f8f57715090da2632453988d9a1501b"]
    again = compare(play("SendMessage.fifo"), "SendMessage.fifo")
    assert texts(again, "MessageId") == texts(got, "MessageId"), "a duplicate gets the first one's id"


@test
def a_batch_is_sent_and_a_bad_entry_fails_alone():
    fresh("orders")
    status, _, body = play("SendMessageBatch")
    got = tree(body)[0]
    assert status == 200 and [t for t, _ in runs(got)] == ["SendMessageBatchResultEntry"], body
    assert [e.find("Id").text for e in got] == ["a", "b"]
    got = compare(play("SendMessageBatch", ("MessageBody=two&SendMessageBatchRequestEntry.2.DelaySeconds=1",
                                            "MessageBody=%01")), "SendMessageBatch.partial")
    assert texts(got, "BatchResultErrorEntry/Code") == ["InvalidMessageContents"]
    assert texts(got, "BatchResultErrorEntry/SenderFault") == ["true"]
    assert texts(got, "SendMessageBatchResultEntry/MD5OfMessageBody") == ["f97c5d29941bfb1b2fdab0874906ab82"]


@test
def a_message_is_received_with_what_was_asked_for():
    c = fresh("orders")
    play("SendMessage", ("DelaySeconds=5&", ""), ("MessageBody=hi+%3C%26%22%0D%0A+%C3%A9+%F0%9F%98%80",
                                                   "MessageBody=a%3C%26%22%0D%0Ab"))
    answer = play("ReceiveMessage", ("&ReceiveRequestAttemptId=att-1", ""))
    status, _, body = answer
    assert b"<Body>a&lt;&amp;&quot;&#xD;\nb</Body>" in body, body
    message = compare(answer, "ReceiveMessage")[0]
    want = tree(wanted("ReceiveMessage")[2])[0][0]
    for k in ("Body", "MD5OfBody", "MD5OfMessageAttributes"):
        assert message.find(k).text == want.find(k).text, k
    for got, wanted_one in zip(message.findall("MessageAttribute"), want.findall("MessageAttribute")):
        assert ElementTree.tostring(got) == ElementTree.tostring(wanted_one)
    system = pairs(message, "Attribute")
    assert system["ApproximateReceiveCount"] == "1" and system["AWSTraceHeader"].startswith("Root=1-5759e988")
    assert {"SenderId", "SentTimestamp", "ApproximateFirstReceiveTimestamp"} <= set(system), system
    assert c.counts("orders") == (0, 1, 0)


@test
def only_the_system_attributes_asked_for_are_returned():
    c = fresh("orders")
    c.call("SendMessage", QueueUrl="orders", MessageBody="m", MessageAttributes={
        "color": {"DataType": "String", "StringValue": "blue"}})
    _, _, body = play("ReceiveMessage.system")
    message = tree(body)[0][0]
    assert sorted(pairs(message, "Attribute")) == ["ApproximateReceiveCount", "SentTimestamp"], body
    assert [t for t, _ in runs(message)] == ["MessageId", "ReceiptHandle", "MD5OfBody", "Body", "Attribute"], body


@test
def an_empty_receive_is_an_empty_result():
    fresh("orders")
    compare(play("ReceiveMessage.system"), "ReceiveMessage.empty", exactly=True)


@test
def a_message_is_deleted_and_deleting_again_is_fine():
    c = fresh("orders")
    handle = quote_plus(received(c)[0]["ReceiptHandle"])
    for _ in range(2):
        compare(play("DeleteMessage", ("AQEB%2B%2Fx%3D%3D", handle)), "DeleteMessage", exactly=True)
    assert c.counts("orders") == (0, 0, 0)


@test
def messages_are_deleted_in_a_batch():
    c = fresh("orders")
    a, b = [quote_plus(m["ReceiptHandle"]) for m in received(c, n=2)]
    got = compare(play("DeleteMessageBatch", ("=r1", "=" + a), ("=r2", "=" + b)), "DeleteMessageBatch")
    assert texts(got, "DeleteMessageBatchResultEntry/Id") == ["a", "b"] and c.counts("orders") == (0, 0, 0)


@test
def visibility_is_changed():
    c = fresh("orders")
    handle = quote_plus(received(c)[0]["ReceiptHandle"])
    compare(play("ChangeMessageVisibility", ("=r1", "=" + handle)), "ChangeMessageVisibility", exactly=True)
    assert c.counts("orders") == (1, 0, 0)


@test
def visibility_is_changed_in_a_batch_and_garbage_fails_alone():
    c = fresh("orders")
    handle = quote_plus(received(c)[0]["ReceiptHandle"])
    entry = "&ChangeMessageVisibilityBatchRequestEntry.2."
    more = f"VisibilityTimeout=60{entry}Id=b{entry}ReceiptHandle=garbage{entry}VisibilityTimeout=60"
    compare(play("ChangeMessageVisibilityBatch", ("=r1", "=" + handle), ("VisibilityTimeout=60", more)),
            "ChangeMessageVisibilityBatch", exactly=True)


@test
def a_queue_is_purged_and_deleted():
    c = fresh("orders")
    received(c, n=3)
    compare(play("PurgeQueue"), "PurgeQueue", exactly=True)
    assert c.counts("orders") == (0, 0, 0)
    compare(play("DeleteQueue"), "DeleteQueue", exactly=True)
    compare(play("DeleteQueue"), "error.QueueDoesNotExist", exactly=True)


@test
def sources_of_a_dead_letter_queue_are_listed():
    c = fresh("orders")
    assert len(answered("ListDeadLetterSourceQueues", QueueUrl="orders")) == 0
    sources(c, "a")
    got = compare(play("ListDeadLetterSourceQueues"), "ListDeadLetterSourceQueues")
    assert texts(got, "QueueUrl") == [URL + "a"]


@test
def tags_are_set_listed_and_removed():
    c = fresh("orders")
    compare(play("TagQueue"), "TagQueue", exactly=True)
    assert c.call("ListQueueTags", QueueUrl="orders")["Tags"] == {"env": "prod", "empty": ""}
    got = pairs(compare(play("ListQueueTags"), "ListQueueTags"), "Tag", "Key")
    assert got == {"env": "prod", "empty": None}, got  # ElementTree's None is empty text
    compare(play("UntagQueue"), "UntagQueue", exactly=True)
    assert c.call("ListQueueTags", QueueUrl="orders")["Tags"] == {"empty": ""}
    c.call("UntagQueue", QueueUrl="orders", TagKeys=["empty", "never there"])
    assert c.call("ListQueueTags", QueueUrl="orders") == {}
    assert len(answered("ListQueueTags", QueueUrl="orders")) == 0


@test
def faults_have_their_exact_form():
    fresh("orders")
    compare(play("ReceiveMessage", ("MaxNumberOfMessages=10", "MaxNumberOfMessages=11"),
                 ("&ReceiveRequestAttemptId=att-1", "")), "error.InvalidParameterValue", exactly=True)
    compare(play("SendMessage.fifo", ("orders.fifo", "orders"), ("MessageBody=m", "MessageBody=")),
            "error.MissingParameter", exactly=True)
    entry = "DeleteMessageBatchRequestEntry.2.Id=b&DeleteMessageBatchRequestEntry.2.ReceiptHandle=r2"
    many = "&".join(f"DeleteMessageBatchRequestEntry.{i}.Id=i{i}&DeleteMessageBatchRequestEntry.{i}.ReceiptHandle=r"
                    for i in range(2, 21))
    compare(play("DeleteMessageBatch", (entry, many)), "error.TooManyEntriesInBatchRequest", exactly=True)
    compare(play("DeleteMessage", ("AQEB%2B%2Fx%3D%3D", "garbage")), "error.ReceiptHandleIsInvalid", exactly=True)
    compare(play("CreateQueue", ("DelaySeconds&Attribute.2.Value=0", "DelaySeconds&Attribute.2.Value=1"),
                 ("VisibilityTimeout&Attribute.1.Value=45", "VisibilityTimeout&Attribute.1.Value=30")),
            "error.QueueNameExists", exactly=True)
    compare(play("DeleteQueue", ("orders", "%zz")), "error.MalformedInput")
    compare(play("DeleteQueue", ("Action=DeleteQueue", "Action=DropQueue")), "error.InvalidAction")


@test
def cooldowns_are_enforced_when_asked_for():
    before = wire_json.port
    with Server("--sqs-strict-cooldowns") as s:
        wire_json.port = s.port
        try:
            fresh("orders")
            compare(play("PurgeQueue"), "PurgeQueue")
            compare(play("PurgeQueue"), "error.PurgeQueueInProgress", exactly=True)
            compare(play("DeleteQueue"), "DeleteQueue")
            compare(play("CreateQueue"), "error.QueueDeletedRecently", exactly=True)
        finally:
            wire_json.port = before


@test
def the_text_of_a_missing_queue_differs_by_protocol():
    c = fresh()
    is_fault(ask("SendMessage", QueueUrl="nothing", MessageBody="x"), 400, NO_QUEUE,
             "The specified queue does not exist for this wsdl version.")
    is_fault(ask("GetQueueUrl", QueueName="nothing"), 400, NO_QUEUE,
             "The specified queue does not exist for this wsdl version.")
    try:
        c.call("SendMessage", QueueUrl="nothing", MessageBody="x")
        raise AssertionError("there is no such queue")
    except Refused as e:
        assert json.loads(e.body)["message"] == "The specified queue does not exist.", e.body


@test
def a_long_poll_is_answered_by_a_send():
    c = fresh("orders")
    waiting = in_thread(lambda: answered("ReceiveMessage", QueueUrl="orders", WaitTimeSeconds="20"))
    c.call("SendMessage", QueueUrl="orders", MessageBody="m")
    assert texts(waiting.result(), "Message/Body") == ["m"]


# ---- how parameters may be spelled ----

@test
def get_carries_everything_in_the_query_string():
    c = fresh()
    got = answered("CreateQueue", ("Attribute.1.Name", "DelaySeconds"), ("Attribute.1.Value", "7"), method="GET",
                   QueueName="orders")
    assert texts(got, "QueueUrl") == [f"http://127.0.0.1:{wire_json.port}/000000000000/orders"]
    c.call("SetQueueAttributes", QueueUrl="orders", Attributes={"DelaySeconds": "0"})
    answered("SendMessage", method="GET", QueueUrl="orders", MessageBody="a b&c=d+é%")
    message = answered("ReceiveMessage", method="GET", path=ON_QUEUE)[0]
    assert message.find("Body").text == "a b&c=d+é%"
    answered("DeleteMessage", method="GET", path=ON_QUEUE, ReceiptHandle=message.find("ReceiptHandle").text)
    assert c.counts("orders") == (0, 0, 0)
    answered("DeleteQueue", method="GET", path=ON_QUEUE)


@test
def a_post_may_have_parameters_in_both_places_and_the_body_needs_none():
    c = fresh("orders")
    answered(None, ("MessageBody", "m"), path="/?Action=SendMessage&QueueUrl=orders")
    status, body, _ = Client(wire_json.port).raw("POST", "/?Action=SendMessage&QueueUrl=orders&MessageBody=m", b"",
                                                 {"Content-Type": FORM})
    assert status == 200, body
    assert c.counts("orders") == (2, 0, 0)


@test
def a_form_is_query_even_with_an_x_amz_target():
    c = fresh("orders")
    answered("SendMessage", ("HASH(0x55d0c8f0)", ""), path=ON_QUEUE, MessageBody="m", Version="2009-02-01",
             headers={"X-Amz-Target": "AmazonSQSv20121105.SendMessage"})
    assert c.counts("orders") == (1, 0, 0)


@test
def plus_and_percent_20_are_both_a_space_and_hex_digits_of_any_case():
    c = fresh("orders")
    raw = b"Action=SendMessage&QueueUrl=orders&MessageBody=a+b%20c%2Bd%2bd%C3%A9%c3%a9"
    status, body, _ = Client(wire_json.port).raw("POST", "/", raw, {"Content-Type": "application/x-www-form-urlencoded"})
    assert status == 200, body
    assert c.call("ReceiveMessage", QueueUrl="orders")["Messages"][0]["Body"] == "a b c+d+déé"


@test
def list_items_are_taken_in_the_order_of_their_numbers():
    fresh("orders")
    entries = []
    for n in (10, 2, 700, 9, 1, 33):
        entries += [(f"SendMessageBatchRequestEntry.{n}.MessageBody", f"m{n}"), (f"SendMessageBatchRequestEntry.{n}.Id", f"i{n}")]
    got = answered("SendMessageBatch", *entries, QueueUrl="orders")
    assert texts(got, "SendMessageBatchResultEntry/Id") == ["i1", "i2", "i9", "i10", "i33", "i700"]


@test
def a_list_may_come_without_numbers_with_member_and_under_its_members_name():
    c = fresh("orders")
    for name in ("AttributeName", "AttributeName.1", "AttributeName.member.1", "AttributeNames.1", "AttributeName.7"):
        got = answered("GetQueueAttributes", (name, "DelaySeconds"), QueueUrl="orders")
        assert pairs(got, "Attribute") == {"DelaySeconds": "0"}, name
    answered("SetQueueAttributes", ("Attribute.Name", "DelaySeconds"), ("Attribute.Value", "3"), path=ON_QUEUE)
    answered("SetQueueAttributes", ("Attributes.1.Name", "VisibilityTimeout"), ("Attributes.1.Value", "4"), path=ON_QUEUE)
    got = c.call("GetQueueAttributes", QueueUrl="orders", AttributeNames=["DelaySeconds", "VisibilityTimeout"])["Attributes"]
    assert got == {"DelaySeconds": "3", "VisibilityTimeout": "4"}, got
    answered("TagQueue", ("Tags.1.Key", "a"), ("Tags.1.Value", "b"), path=ON_QUEUE)
    assert c.call("ListQueueTags", QueueUrl="orders")["Tags"] == {"a": "b"}
    answered("UntagQueue", ("TagKeys.1", "a"), path=ON_QUEUE)
    assert c.call("ListQueueTags", QueueUrl="orders") == {}
    got = answered("SendMessage", ("MessageAttributes.1.Name", "color"), ("MessageAttributes.1.Value.DataType", "String"),
                   ("MessageAttributes.1.Value.StringValue", "blue"), path=ON_QUEUE, MessageBody="m", DelaySeconds="0")
    assert texts(got, "MD5OfMessageAttributes") == ["da1b33cc3cbfe8b1630921e78e6b9880"]


@test
def system_attribute_names_may_come_under_either_name():
    c = fresh("orders")
    for name in ("AttributeName.1", "MessageSystemAttributeName.1", "MessageSystemAttributeNames.1"):
        c.call("SendMessage", QueueUrl="orders", MessageBody="m")
        message = answered("ReceiveMessage", (name, "SentTimestamp"), QueueUrl="orders")[0]
        assert list(pairs(message, "Attribute")) == ["SentTimestamp"], name


@test
def unknown_parameters_and_those_of_a_presigned_url_are_ignored():
    fresh("orders")
    answered("GetQueueUrl", ("X-Amz-Algorithm", "AWS4-HMAC-SHA256"), ("X-Amz-Signature", "00"), ("SignatureVersion", "2"),
             ("AWSAccessKeyId", "k"), ("Timestamp", "now"), ("What.1.Ever", "x"), ("", "y"), ("Attribute", "z"),
             QueueName="orders", Version="1999-01-01")


@test
def a_binary_value_comes_back_as_it_was():
    fresh("orders")
    answered("SendMessage", ("MessageAttribute.1.Name", "b"), ("MessageAttribute.1.Value.DataType", "Binary.x"),
             ("MessageAttribute.1.Value.BinaryValue", "AP/+"), QueueUrl="orders", MessageBody="m")
    message = answered("ReceiveMessage", ("MessageAttributeName.1", "b"), QueueUrl="orders")[0]
    assert texts(message, "MessageAttribute/Value/BinaryValue") == ["AP/+"]
    assert texts(message, "MessageAttribute/Value/DataType") == ["Binary.x"]


@test
def every_allowed_character_survives_both_ways():
    c = fresh("orders")
    text = "\t\n\r \r\n&<>\"']]>\u0085\u00a0\u2028\ud7ff\ue000\ufffd\U00010000\U0010ffff<![CDATA[&#xD;"
    answered("SendMessage", ("MessageAttribute.1.Name", "n"), ("MessageAttribute.1.Value.DataType", "String"),
             ("MessageAttribute.1.Value.StringValue", text), QueueUrl="orders", MessageBody=text)
    status, _, body = ask("ReceiveMessage", ("MessageAttributeName", "All"), QueueUrl="orders", VisibilityTimeout="0")
    message = tree(body)[0][0]
    assert message.find("Body").text == text and message.find("MessageAttribute/Value/StringValue").text == text, body
    assert b"\r" not in body, "a raw carriage return would come out of a parser as a line feed"
    assert c.call("ReceiveMessage", QueueUrl="orders")["Messages"][0]["Body"] == text


@test
def a_megabyte_goes_through_percent_encoding():
    c = fresh("orders")
    text = "é" * (1 << 19)
    answered("SendMessage", QueueUrl="orders", MessageBody=text)
    assert answered("ReceiveMessage", QueueUrl="orders")[0].find("Body").text == text
    status, _, body = ask("SendMessage", QueueUrl="orders", MessageBody=text + "x")
    is_fault((status, _, body), 400, "InvalidParameterValue")
    assert c.counts("orders") == (0, 1, 0)


# ---- which queue ----

@test
def the_path_names_the_queue_unless_queue_url_does():
    c = fresh("orders", "other")
    answered("SendMessage", path=ON_QUEUE, MessageBody="m")
    assert c.counts("orders") == (1, 0, 0)
    answered("SendMessage", path=ON_QUEUE, MessageBody="m", QueueUrl=URL + "other")
    assert c.counts("orders") == (1, 0, 0) and c.counts("other") == (1, 0, 0)
    # As Celery receives: no QueueUrl, no Version.
    got = answered("ReceiveMessage", ("AttributeName.1", "ApproximateReceiveCount"), path=ON_QUEUE,
                   MaxNumberOfMessages="4", headers={"Accept-Encoding": "gzip"})
    assert texts(got, "Message/Body") == ["m"]


@test
def what_stands_before_account_and_queue_does_not_matter():
    c = fresh("orders")
    for prefix in ("/sqs", "/a/b/c", "/000000000001"):
        answered("SendMessage", path=prefix + ON_QUEUE, MessageBody="m")
        answered("SendMessage", path=prefix + "/", MessageBody="m", QueueUrl=f"https://elsewhere:1{prefix}{ON_QUEUE}")
        answered("ListQueues", path=prefix)
    assert c.counts("orders") == (6, 0, 0)


@test
def a_queue_url_of_any_host_or_a_bare_name_is_taken():
    c = fresh("orders")
    for url in ("orders", "/000000000000/orders", "https://sqs.eu-west-1.amazonaws.com/000000000000/orders", URL + "orders"):
        answered("SendMessage", QueueUrl=url, MessageBody="m")
    assert c.counts("orders") == (4, 0, 0)
    for url in ("", "http://h/000000000000/", "http://h/000000000000/nothing", "..", "a b"):
        is_fault(ask("SendMessage", QueueUrl=url, MessageBody="m"), 400, NO_QUEUE)


@test
def a_queues_path_takes_no_actions_of_the_whole():
    fresh("orders")
    for method in ("GET", "POST"):
        for action in ("CreateQueue", "ListQueues", "Nothing"):
            is_fault(ask(action, path=ON_QUEUE, method=method, QueueName="n"), 400, "InvalidAction",
                     f"The action {action} is not valid for this endpoint.")
        got = answered("GetQueueUrl", path="/000000000000/whatever", method=method, QueueName="orders")
        assert texts(got, "QueueUrl")[0].endswith(ON_QUEUE)
    is_fault(ask("Nothing"), 400, "InvalidAction", "The action Nothing is not valid for this endpoint.")


@test
def paths_are_not_resolved_or_decoded_into_other_queues():
    c = fresh("orders")
    for path in ("/000000000000/other/../orders/..", "/000000000000/..", "/../../etc/passwd", "/000000000000/%2e%2e",
                 "/000000000000/a%2Forders", "/000000000000/orders%00", "/000000000000/orders%", "//"):
        status, _, body = ask("SendMessage", path=path, MessageBody="m")
        is_fault((status, _, body), 400, NO_QUEUE)
    assert c.counts("orders") == (0, 0, 0)


# ---- no action ----

@test
def a_plain_get_of_a_queues_url_is_404():
    fresh("orders")
    status, headers, body = ask(None, path=ON_QUEUE, method="GET")
    assert status == 404 and headers["content-type"] == "text/xml", (status, body)
    is_fault((status, headers, body), 404, "UnknownOperationException")


@test
def a_request_without_an_action_says_so():
    fresh("orders")
    for answer in (ask(None, method="GET"), ask(None), ask(None, path=ON_QUEUE), ask(None, ("Action", ""))):
        assert "?Action=ListQueues" in is_fault(answer, 400, "MissingAction")


@test
def head_does_nothing():
    c = fresh("orders")
    for path in ("/?Action=SendMessage&QueueUrl=orders&MessageBody=x", ON_QUEUE + "?Action=DeleteQueue", "/"):
        status, _, _ = ask(None, path=path, method="HEAD")
        assert status >= 400, status
    assert c.counts("orders") == (0, 0, 0)


# ---- refused before it is read ----

@test
def what_http_refuses_is_xml_for_query_and_json_for_json():
    fresh("orders")
    head = "POST / HTTP/1.1\r\nHost: h\r\nContent-Type: %s\r\nContent-Length: 9000000\r\n\r\n"
    status, headers, body = raw_exchange((head % FORM).encode())
    assert status == 413, (status, body)
    is_fault((status, headers, body), 413, "MalformedInput")
    status, headers, body = raw_exchange((head % "application/x-amz-json-1.0").encode())
    assert status == 413 and json.loads(body)["__type"].endswith("SerializationException"), (status, body)
    status, headers, body = raw_exchange(b"PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
    assert status == 405, (status, body)


# ---- the form of queue URLs ----

def url_of(*options, headers=(), version="1.1", host="example.com:81"):
    """The QueueUrl that a request with this Host and these headers is answered."""
    lines = [f"GET /?Action=GetQueueUrl&QueueName=orders HTTP/{version}", "Connection: close"]
    lines += [f"Host: {host}"] if host else []
    lines += [f"{k}: {v}" for k, v in headers]
    status, _, body = raw_exchange("\r\n".join(lines).encode() + b"\r\n\r\n")
    assert status == 200, (status, body)
    return tree(body)[0].find("QueueUrl").text


FORWARDED = (("X-Forwarded-Proto", "https"), ("X-Forwarded-Host", "queues.example"), ("X-Forwarded-Port", "8443"))


@test
def a_queue_url_begins_with_the_host_header():
    fresh("orders")
    for host in ("example.com", "example.com:81", "127.0.0.1:9", "[::1]", "[2001:db8::1]:9324", "a_b-c"):
        assert url_of(host=host) == f"http://{host}{ON_QUEUE}", host


@test
def our_port_is_added_for_clients_that_leave_it_out():
    fresh("orders")
    for host in ("127.0.0.1", "localhost"):
        assert url_of(host=host) == f"http://{host}:{wire_json.port}{ON_QUEUE}", host


@test
def a_host_that_is_none_is_not_repeated():
    fresh("orders")
    for host in ("a/b", "a@b", "a b", "<b>", "a\"", "é", "a:b:c:"):
        got = url_of(host=host)
        assert host not in got and got.endswith(ON_QUEUE) and got.count("/") == 4, got
    got = url_of(host=None, version="1.0")
    assert got == f"http://127.0.0.1:{wire_json.port}{ON_QUEUE}", got


@test
def a_stranger_does_not_choose_the_url_by_forwarding_headers():
    fresh("orders")
    assert url_of(headers=FORWARDED) == f"http://example.com:81{ON_QUEUE}"


@test
def a_trusted_proxy_chooses_scheme_host_and_port():
    before = wire_json.port
    with Server("--trusted-proxies", "192.0.2.1,127.0.0.0/8,::1") as s:
        wire_json.port = s.port
        try:
            fresh("orders")
            assert url_of(headers=FORWARDED) == f"https://queues.example:8443{ON_QUEUE}"
            assert url_of(headers=FORWARDED[:2]) == f"https://queues.example{ON_QUEUE}"
            assert url_of(headers=FORWARDED[:1]) == f"https://example.com:81{ON_QUEUE}"
            assert url_of(headers=FORWARDED[1:2]) == f"http://queues.example{ON_QUEUE}"
            assert url_of(host="lb", headers=(FORWARDED[0], ("X-Forwarded-Port", "443"))) == f"https://lb{ON_QUEUE}"
            assert url_of() == f"http://example.com:81{ON_QUEUE}"
            for k, v in (("X-Forwarded-Proto", "javascript"), ("X-Forwarded-Host", "a/b"), ("X-Forwarded-Host", "a b"),
                         ("X-Forwarded-Port", "8x"), ("X-Forwarded-Host", "")):
                assert url_of(headers=((k, v),)) == f"http://example.com:81{ON_QUEUE}", (k, v)
        finally:
            wire_json.port = before


@test
def a_proxy_that_is_not_listed_is_not_believed():
    before = wire_json.port
    with Server("--trusted-proxies", "192.0.2.0/24,2001:db8::/32,127.0.0.2") as s:
        wire_json.port = s.port
        try:
            fresh("orders")
            assert url_of(headers=FORWARDED) == f"http://example.com:81{ON_QUEUE}"
        finally:
            wire_json.port = before


@test
def a_list_of_proxies_that_does_not_read_stops_the_start():
    for wrong in ("localhost", "127.0.0.1/33", "127.0.0.1/", "::1/129", "1.2.3", "127.0.0.1;::1", "127.0.0.1/-1", "127.0.0.1/8x"):
        s = Server("--trusted-proxies", wrong)
        try:
            s.start()
            s.kill()
            raise AssertionError(f"served with --trusted-proxies {wrong}")
        except RuntimeError as e:
            assert "trusted-proxies" in str(e), e
        finally:
            s.__exit__()


@test
def a_public_url_comes_before_all_and_keeps_its_path():
    before = wire_json.port
    with Server("--public-url", "https://queues.example/sqs/", "--trusted-proxies", "127.0.0.1") as s:
        wire_json.port = s.port
        try:
            fresh("orders")
            url = url_of(headers=FORWARDED[:1])
            assert url == f"https://queues.example/sqs{ON_QUEUE}", url
            answered("SendMessage", path="/sqs" + ON_QUEUE, MessageBody="m")
            answered("SendMessage", path="/sqs/", MessageBody="m", QueueUrl=url)
        finally:
            wire_json.port = before


def main():
    if len(sys.argv) > 1 and sys.argv[1].startswith("http://"):
        wire_json.port = int(sys.argv.pop(1).rstrip("/").rsplit(":", 1)[1])
        run_tests(globals())
    with Server() as s:
        wire_json.port = s.port
        run_tests(globals())


if __name__ == "__main__":
    main()
