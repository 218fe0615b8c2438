# SPDX-License-Identifier: Apache-2.0
"""Bad input of the Query front, case by case: the exact code and status in XML, nothing stored, the server well afterwards.

usage: bad_query.py [http://ADDR:PORT] [TEST…]      without a URL it starts its own server"""
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
import wire_json
from leaselog import Client, Server, run_tests, test
from wire_json import fresh
from wire_query import FORM, NO_QUEUE, answered, ask, is_fault, pairs, texts, tree

BATCH = "AWS.SimpleQueueService."
PARAMETERS_MAX = 4096
LIST_MAX = 256


def post(raw, path="/", method="POST", kind=FORM):
    """These bytes as a form, and the connection still answers afterwards."""
    c = Client(wire_json.port)
    if method == "GET":
        status, body, headers = c.raw("GET", path + "?" + raw.decode("latin-1"))
    else:
        status, body, headers = c.raw("POST", path, raw, {"Content-Type": kind})
    before = c.conn.sock
    assert c.raw("GET", "/?Action=ListQueues")[0] == 200 and c.conn.sock is before, "the connection was closed"
    return status, {k.lower(): v for k, v in headers.items()}, body


def send(raw, **kw):
    return post(b"Action=SendMessage&QueueUrl=q&" + raw, **kw)


def nothing_stored(c):
    assert c.counts("q") == (0, 0, 0), c.counts("q")
    c.call("SendMessage", QueueUrl="q", MessageBody="still here")
    message = answered("ReceiveMessage", QueueUrl="q")[0]
    assert message.find("Body").text == "still here"
    answered("DeleteMessage", QueueUrl="q", ReceiptHandle=message.find("ReceiptHandle").text)


# ---- form ----

@test
def a_percent_sign_without_two_hex_digits_is_malformed_and_named():
    c = fresh("q")
    for bad in (b"%", b"a%", b"%4", b"%zz", b"%4g", b"%-1", b"% 41", b"%%41", b"%u0041"):
        for method in ("POST", "GET"):
            text = is_fault(send(b"MessageBody=" + bad.replace(b" ", b"+"), method=method), 400, "MalformedInput")
            assert "MessageBody" in text, text
            is_fault(send(b"MessageBody=x&a" + bad.replace(b" ", b"+") + b"=1", method=method), 400, "MalformedInput")
    nothing_stored(c)


@test
def bytes_that_are_not_utf_8_are_malformed():
    c = fresh("q")
    for bad in (b"%ff", b"%c0%80", b"%ed%a0%80", b"%f4%90%80%80", b"%e2%82", b"\xff", b"\xe9", b"%00", b"a%00b"):
        text = is_fault(send(b"MessageBody=a" + bad), 400, "MalformedInput")
        assert "MessageBody" in text, text
        is_fault(send(b"MessageBody=a&x" + bad + b"=1"), 400, "MalformedInput")
    nothing_stored(c)


@test
def characters_that_sqs_does_not_take_are_refused_as_in_json():
    c = fresh("q")
    for bad in (b"%01", b"%0b", b"%1f", b"%ef%bf%be", b"%ef%bf%bf"):
        is_fault(send(b"MessageBody=a" + bad), 400, "InvalidMessageContents")
    nothing_stored(c)


@test
def odd_but_sound_forms_are_taken():
    c = fresh("q")
    for raw in (b"&&&MessageBody=x&", b"MessageBody=x&a&=&=b&&", b"MessageBody==&a=b=c", b"MessageBody=x;y", b"MessageBody=\xc3\xa9",
                b"%4dessageBody=x"):
        status, _, body = send(raw)
        assert status == 200, (raw, body)
    assert c.counts("q") == (6, 0, 0)
    status, _, body = post(b"Action=SendMessage&QueueUrl=q&MessageBody=x", kind="Application/X-WWW-Form-Urlencoded")
    assert status == 200, body


@test
def a_parameter_with_two_values_is_refused_and_twice_the_same_is_once():
    c = fresh("q", "other")
    is_fault(send(b"MessageBody=a&MessageBody=b"), 400, "MalformedInput")
    is_fault(post(b"MessageBody=a&QueueUrl=q", path="/?Action=SendMessage&QueueUrl=other"), 400, "MalformedInput")
    is_fault(send(b"MessageBody=a&DelaySeconds=1&DelaySeconds=2"), 400, "MalformedInput")
    nothing_stored(c)
    status, _, body = send(b"MessageBody=a&MessageBody=a&QueueUrl=q")
    assert status == 200, body
    assert c.counts("q") == (1, 0, 0) and c.counts("other") == (0, 0, 0)


@test
def too_many_parameters_are_refused_at_once():
    c = fresh("q")
    entry = b"&SendMessageBatchRequestEntry.%d.Id=a&SendMessageBatchRequestEntry.%d.MessageBody=b"
    attribute = b"&MessageAttribute.%d.Name=a%d&MessageAttribute.%d.Value.DataType=String&MessageAttribute.%d.Value.StringValue=b"
    many = (b"&".join(b"a%d=b" % i for i in range(10000)), b"&".join([b"a"] * 1000000), b"&".join([b"MessageBody=x"] * 10000),
            b"".join(attribute % (i, i, i, i) for i in range(9999, 0, -1)), b"MessageBody=x&" + b"=&" * 100000)
    for raw in many:
        begin = time.monotonic()
        text = is_fault(send(raw), 400, "MalformedInput")
        assert str(PARAMETERS_MAX) in text, text
        assert time.monotonic() - begin < 2, "too slow"
    begin = time.monotonic()
    is_fault(post(b"Action=SendMessageBatch&QueueUrl=q" + b"".join(entry % (i, i) for i in range(10000))), 400, "MalformedInput")
    assert time.monotonic() - begin < 2, "too slow"
    nothing_stored(c)
    status, _, body = send(b"MessageBody=x&" + b"&".join(b"a%d=b" % i for i in range(PARAMETERS_MAX - 3)))
    assert status == 200, body
    is_fault(send(b"MessageBody=x&" + b"&".join(b"a%d=b" % i for i in range(PARAMETERS_MAX - 2))), 400, "MalformedInput")


@test
def as_many_parameters_as_are_taken_are_answered_quickly():
    c = fresh("q")
    names = [b"SendMessageBatchRequestEntry.%d.MessageAttribute.%d.Name=n%d" % (i % 10, i, i) for i in range(4090)]
    entries = [b"DeleteMessageBatchRequestEntry.%d.Id=i%d" % (i, i) for i in range(4090, 0, -1)]
    lists = [b"AttributeName.%d=All" % i for i in range(4090)]
    same = [b"AttributeName.1=All"] * 4090
    for action, parameters, codes in (("SendMessageBatch", names, (400,)), ("DeleteMessageBatch", entries, (400,)),
                                      ("GetQueueAttributes", lists, (400,)), ("GetQueueAttributes", same, (200, 400))):
        begin = time.monotonic()
        status, _, body = post(b"Action=%s&QueueUrl=q&" % action.encode() + b"&".join(parameters))
        assert status in codes, (action, status, body)
        assert time.monotonic() - begin < 1, f"{action}: too slow"
    nothing_stored(c)


@test
def lists_are_as_long_as_in_json():
    fresh("q")
    at_most = [(f"AttributeName.{i}", "All") for i in range(1, LIST_MAX + 1)]
    assert len(pairs(answered("GetQueueAttributes", *at_most, QueueUrl="q"), "Attribute")) == 12
    text = is_fault(ask("GetQueueAttributes", *at_most, ("AttributeName.900", "All"), QueueUrl="q"), 400, "InvalidParameterValue")
    assert str(LIST_MAX) in text, text
    entries = [(f"Attribute.{i}.{k}", "x") for i in range(LIST_MAX + 1) for k in ("Name", "Value")]
    is_fault(ask("SetQueueAttributes", *entries, QueueUrl="q"), 400, "InvalidParameterValue")


@test
def indices_beyond_all_measure_are_refused():
    c = fresh("q")
    for index in ("9" * 10, "9" * 1000, "18446744073709551617"):
        is_fault(ask("GetQueueAttributes", (f"AttributeName.{index}", "All"), QueueUrl="q"), 400, "MalformedInput")
        is_fault(ask("SendMessage", (f"MessageAttribute.{index}.Name", "n"), QueueUrl="q", MessageBody="m"), 400, "MalformedInput")
        is_fault(ask("DeleteMessageBatch", (f"DeleteMessageBatchRequestEntry.{index}.Id", "n"), QueueUrl="q"), 400, "MalformedInput")
    # Not an index at all: an unknown parameter.
    for index in ("-1", "x", "1x", "0x1", "+1", "1e3", " 1"):
        assert ask("ListQueues", (f"AttributeName.{index}", "All"))[0] == 200
        status, _, body = ask("GetQueueAttributes", (f"AttributeName.{index}", "All"), QueueUrl="q")
        assert status == 400 or len(tree(body)[0]) == 0, (index, body)
    nothing_stored(c)


# ---- values ----

@test
def integers_are_decimal_digits():
    c = fresh("q")
    for bad in ("", "x", "1.0", "+1", " 1", "1 ", "1e3", "0x1", "--1", "-", "one", "\u0661"):
        text = is_fault(ask("SendMessage", QueueUrl="q", MessageBody="m", DelaySeconds=bad), 400, "MalformedInput")
        assert "DelaySeconds" in text, text
    for bad in ("-1", "901", "9" * 30, "-" + "9" * 30, "00000901"):
        is_fault(ask("SendMessage", QueueUrl="q", MessageBody="m", DelaySeconds=bad), 400, "InvalidParameterValue",
                 f"Value {bad} for parameter DelaySeconds is invalid. Reason: DelaySeconds must be >= 0 and <= 900.")
    is_fault(ask("ChangeMessageVisibilityBatch", ("ChangeMessageVisibilityBatchRequestEntry.1.Id", "a"),
                 ("ChangeMessageVisibilityBatchRequestEntry.1.VisibilityTimeout", "x"), QueueUrl="q"), 400, "MalformedInput")
    nothing_stored(c)
    answered("SendMessage", QueueUrl="q", MessageBody="m", DelaySeconds="0900")
    assert c.counts("q") == (0, 0, 1)


@test
def binary_values_are_base64():
    c = fresh("q")
    for bad in ("?", "AQI", "AQI=x", "A", "AQ ==", "AR=="):
        is_fault(ask("SendMessage", ("MessageAttribute.1.Name", "n"), ("MessageAttribute.1.Value.DataType", "Binary"),
                     ("MessageAttribute.1.Value.BinaryValue", bad), QueueUrl="q", MessageBody="m"), 400, "MalformedInput")
    nothing_stored(c)


@test
def half_a_name_and_value_is_refused():
    c = fresh("q")
    is_fault(ask("SetQueueAttributes", ("Attribute.1.Value", "1"), QueueUrl="q"), 400, "MissingParameter")
    is_fault(ask("SetQueueAttributes", QueueUrl="q"), 400, "MissingParameter",
             "The request must contain the parameter Attribute.Name.")
    status, _, body = ask("SendMessage", ("MessageAttribute.1.Value.DataType", "String"),
                          ("MessageAttribute.1.Value.StringValue", "x"), QueueUrl="q", MessageBody="m")
    assert status == 400, body
    is_fault(ask("SendMessage", ("MessageAttribute.1.Name", "n"), QueueUrl="q", MessageBody="m"), 400, "InvalidParameterValue")
    nothing_stored(c)


@test
def the_same_key_twice_in_a_map_is_refused():
    c = fresh("q")
    twice = [(f"MessageAttribute.{i}.{k}", v) for i in (1, 2)
             for k, v in (("Name", "n"), ("Value.DataType", "String"), ("Value.StringValue", f"v{i}"))]
    assert ask("SendMessage", *twice, QueueUrl="q", MessageBody="m")[0] == 400
    nothing_stored(c)
    twice = [("Attribute.1.Name", "DelaySeconds"), ("Attribute.1.Value", "1"), ("Attribute.2.Name", "DelaySeconds"),
             ("Attribute.2.Value", "2")]
    assert ask("SetQueueAttributes", *twice, QueueUrl="q")[0] == 400
    twice = [("Tag.1.Key", "a"), ("Tag.1.Value", "1"), ("Tag.2.Key", "a"), ("Tag.2.Value", "2")]
    assert ask("TagQueue", *twice, QueueUrl="q")[0] == 400
    assert ask("CreateQueue", *twice, QueueName="new")[0] == 400
    assert c.call("ListQueueTags", QueueUrl="q") == {}
    assert len(c.call("ListQueues")["QueueUrls"]) == 1


@test
def eleven_message_attributes_are_too_many():
    c = fresh("q")
    many = [(f"MessageAttribute.{i}.{k}", v) for i in range(1, 12)
            for k, v in (("Name", f"n{i}"), ("Value.DataType", "String"), ("Value.StringValue", "v"))]
    is_fault(ask("SendMessage", *many, QueueUrl="q", MessageBody="m"), 400, "InvalidParameterValue",
             "Number of message attributes [11] exceeds the allowed maximum [10].")
    is_fault(ask("SendMessage", ("MessageAttribute.1.Name", "n"), ("MessageAttribute.1.Value.DataType", "String"),
                 ("MessageAttribute.1.Value.StringListValue.1", "v"), QueueUrl="q", MessageBody="m"), 400,
             BATCH + "UnsupportedOperation")
    nothing_stored(c)
    answered("SendMessage", *many[:30], QueueUrl="q", MessageBody="m")
    assert c.counts("q") == (1, 0, 0)


# ---- batches ----

def entries(action, n, **fields):
    return [(f"{action}RequestEntry.{i}.{k}", v.format(i)) for i in range(1, n + 1) for k, v in fields.items()]


@test
def the_rules_of_a_batch_are_those_of_json():
    c = fresh("q")
    for action, more in (("SendMessageBatch", {"MessageBody": "m"}), ("DeleteMessageBatch", {"ReceiptHandle": "r"}),
                         ("ChangeMessageVisibilityBatch", {"ReceiptHandle": "r", "VisibilityTimeout": "1"})):
        is_fault(ask(action, QueueUrl="q"), 400, BATCH + "EmptyBatchRequest",
                 f"There should be at least one {action}RequestEntry in the request.")
        is_fault(ask(action, *entries(action, 11, Id="a{}", **more), QueueUrl="q"), 400, BATCH + "TooManyEntriesInBatchRequest",
                 "Maximum number of entries per request are 10. You have sent 11.")
        is_fault(ask(action, *entries(action, 2, Id="a", **more), QueueUrl="q"), 400, BATCH + "BatchEntryIdsNotDistinct",
                 "Id a repeated.")
        is_fault(ask(action, *entries(action, 1, Id="a b", **more), QueueUrl="q"), 400, BATCH + "InvalidBatchEntryId")
        is_fault(ask(action, *entries(action, 1, **more), QueueUrl="q"), 400, "MissingParameter",
                 f"The request must contain the parameter {action}RequestEntry.1.Id.")
    nothing_stored(c)
    got = answered("SendMessageBatch", *entries("SendMessageBatch", 2, Id="a{}"), ("SendMessageBatchRequestEntry.2.MessageBody", "m"),
                   QueueUrl="q")
    assert texts(got, "SendMessageBatchResultEntry/Id") == ["a2"]
    assert texts(got, "BatchResultErrorEntry/Code") == ["MissingParameter"]
    assert texts(got, "BatchResultErrorEntry/Message") == [
        "The request must contain the parameter SendMessageBatchRequestEntry.1.MessageBody."]


@test
def a_missing_queue_or_parameter_is_said_before_anything_else():
    fresh("q")
    is_fault(ask("SendMessage", QueueUrl="none", MessageBody="m", DelaySeconds="901"), 400, NO_QUEUE)
    is_fault(ask("SendMessage", QueueUrl="none"), 400, "MissingParameter",
             "The request must contain the parameter MessageBody.")
    is_fault(ask("SendMessage", MessageBody="m"), 400, NO_QUEUE)
    is_fault(ask("DeleteMessageBatch", QueueUrl="none"), 400, NO_QUEUE)
    is_fault(ask("CreateQueue"), 400, "MissingParameter", "The request must contain the parameter QueueName.")


@test
def what_is_in_a_fault_is_escaped():
    fresh("q")
    for bad in ("<a>&\"'", "]]>", "\r\n", "é\U0001f600", "x" * 5000):
        is_fault(ask("GetQueueAttributes", ("AttributeName.1", bad), QueueUrl="q"), 400, "InvalidAttributeName")
        is_fault(ask("DeleteMessage", QueueUrl="q", ReceiptHandle=bad), 404, "ReceiptHandleIsInvalid")
        is_fault(ask(bad), 400, "InvalidAction")
    # What XML cannot hold is not repeated.
    for bad in ("a\x01b", "\x1f", "\ufffe"):
        for answer in (ask(bad), ask("GetQueueAttributes", ("AttributeName.1", bad), QueueUrl="q"),
                       ask("DeleteMessage", QueueUrl="q", ReceiptHandle=bad), ask("CreateQueue", QueueName=bad),
                       ask("SetQueueAttributes", ("Attribute.1.Name", bad), ("Attribute.1.Value", "x"), QueueUrl="q"),
                       ask("SendMessage", ("MessageAttribute.1.Name", bad), ("MessageAttribute.1.Value.DataType", bad),
                           ("MessageAttribute.1.Value.StringValue", bad), QueueUrl="q", MessageBody="m"),
                       ask("SendMessageBatch", ("SendMessageBatchRequestEntry.1.Id", bad), QueueUrl="q"),
                       ask("SendMessage", QueueUrl="q", MessageBody="m", MessageDeduplicationId=bad),
                       ask("SendMessage", (bad, "%"), QueueUrl="q")):
            assert answer[0] >= 400, answer
            tree(answer[2])


def main():
    if len(sys.argv) > 1 and sys.argv[1].startswith("http://"):
        wire_json.port = int(sys.argv.pop(1).rstrip("/").rsplit(":", 1)[1])
        run_tests(globals())
    with Server() as s:
        wire_json.port = s.port
        run_tests(globals())


if __name__ == "__main__":
    main()
