# SPDX-License-Identifier: Apache-2.0
"""Bad input, case by case: the exact code, status and type, nothing stored, the connection still usable.

usage: bad_input.py [http://ADDR:PORT] [TEST…]      without a URL it starts its own server"""
import base64
import json
import os
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
from leaselog import Client, Server, memory_folder, run_tests, test

tempfile.tempdir = memory_folder()  # syncs are not what is asked here

JSON = "application/x-amz-json-1.0"
SQS, CORAL = "com.amazonaws.sqs#", "com.amazon.coral.service#"
# query code: (status, __type)
FAULTS = {
    "InvalidParameterValue": (400, CORAL + "InvalidParameterValueException"),
    "MissingParameter": (400, CORAL + "MissingRequiredParameterException"),
    "InvalidAction": (400, CORAL + "UnknownOperationException"),
    "MalformedInput": (400, CORAL + "SerializationException"),
    "InvalidAttributeName": (400, SQS + "InvalidAttributeName"),
    "InvalidAttributeValue": (400, SQS + "InvalidAttributeValue"),
    "InvalidMessageContents": (400, SQS + "InvalidMessageContents"),
    "ReceiptHandleIsInvalid": (404, SQS + "ReceiptHandleIsInvalid"),
    "QueueAlreadyExists": (400, SQS + "QueueNameExists"),
    "OverLimit": (403, SQS + "OverLimit"),
    "AWS.SimpleQueueService.NonExistentQueue": (400, SQS + "QueueDoesNotExist"),
    "AWS.SimpleQueueService.UnsupportedOperation": (400, SQS + "UnsupportedOperation"),
    "AWS.SimpleQueueService.EmptyBatchRequest": (400, SQS + "EmptyBatchRequest"),
    "AWS.SimpleQueueService.TooManyEntriesInBatchRequest": (400, SQS + "TooManyEntriesInBatchRequest"),
    "AWS.SimpleQueueService.BatchEntryIdsNotDistinct": (400, SQS + "BatchEntryIdsNotDistinct"),
    "AWS.SimpleQueueService.InvalidBatchEntryId": (400, SQS + "InvalidBatchEntryId"),
    "AWS.SimpleQueueService.BatchRequestTooLong": (400, SQS + "BatchRequestTooLong"),
}
NO_QUEUE = "AWS.SimpleQueueService.NonExistentQueue"
ILLEGAL = ("Invalid characters found. Valid unicode characters are #x9 | #xA | #xD | #x20 to #xD7FF | #xE000 to "
           "#xFFFD | #x10000 to #x10FFFF")
NOT_FOR_TYPE = "The request include parameter that is not valid for this queue type."

port = None
client = None


def fresh():
    """A queue q, a queue other and a FIFO queue f.fifo, all empty, and nothing else."""
    global client
    client = client or Client(port)
    for url in client.call("ListQueues").get("QueueUrls", []):
        client.call("DeleteQueue", QueueUrl=url)
    client.call("CreateQueue", QueueName="q")
    client.call("CreateQueue", QueueName="other")
    client.call("CreateQueue", QueueName="f.fifo", Attributes={"FifoQueue": "true"})
    return client


def raw_call(action, body, **headers):
    headers = {"Content-Type": JSON, "X-Amz-Target": "AmazonSQS." + action,
               **{k.replace("_", "-"): v for k, v in headers.items()}}
    before = client.conn.sock
    status, got, answered = client.raw("POST", "/", body, {k: v for k, v in headers.items() if v is not None})
    assert before is None or client.conn.sock is before, "the connection was closed"
    return status, got, answered


def is_fault(answer, code, text=None):
    status, got, headers = answer
    want_status, want_type = FAULTS[code]
    assert status == want_status, (status, got)
    assert headers["x-amzn-query-error"] == code + ";Sender", headers["x-amzn-query-error"]
    assert headers["Content-Type"] == JSON and headers["x-amzn-RequestId"], headers.items()
    body = json.loads(got)
    assert sorted(body) == ["__type", "message"] and body["__type"] == want_type, body
    assert text is None or body["message"] == text, body["message"]
    assert body["message"], "a fault says why"


def refuse(code, text, action, **members):
    """The call is refused with exactly this; the same connection then answers another call."""
    is_fault(raw_call(action, json.dumps(members).encode()), code, text)
    client.call("ListQueues", MaxResults=1)


def refuse_bytes(code, text, action, body, **headers):
    is_fault(raw_call(action, body, **headers), code, text)
    client.call("ListQueues", MaxResults=1)


def empty():
    for queue in ("q", "other", "f.fifo"):
        assert client.counts(queue) == (0, 0, 0), (queue, client.counts(queue))


def attribute(name="n", **value):
    return {name: {"DataType": "String", **value}}


# ---- form ----

@test
def what_is_no_json_object_is_malformed_input():
    fresh()
    for body in (b"", b"{", b"[]", b'"x"', b"1", b"null", b"{}x", b'{"QueueUrl":"q",}', b"{'QueueUrl':'q'}",
                 b"\xef\xbb\xbf{}", b'{"QueueUrl":"q","QueueUrl":"q","MessageBody":"x"}', b"[" * 100):
        refuse_bytes("MalformedInput", "The request body is not a JSON object.", "SendMessage", body)
    empty()


@test
def invalid_utf_8_is_malformed_input():
    fresh()
    for bad in (b"\xff", b"\xc0\x80", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xe2\x82", b"\\ud800", b"\\udc00x"):
        refuse_bytes("MalformedInput", None, "SendMessage", b'{"QueueUrl":"q","MessageBody":"a' + bad + b'"}')
    empty()


@test
def a_value_of_the_wrong_type_is_malformed_input():
    fresh()
    cases = (("MessageBody", 1, "NUMBER_VALUE can not be converted to a String"),
             ("MessageBody", ["x"], "Start of list found where not expected"),
             ("MessageBody", {"x": 1}, "Start of structure or map found where not expected."),
             ("DelaySeconds", "1", "STRING_VALUE can not be converted to an Integer"),
             ("DelaySeconds", 1.5, "NUMBER_VALUE can not be converted to an Integer"),
             ("MessageAttributes", "x", "STRING_VALUE can not be converted to a Map"),
             ("MessageAttributes", {"n": {"DataType": "Binary", "BinaryValue": "?"}},
              "BinaryValue is not valid base64"))
    for member, value, text in cases:
        refuse("MalformedInput", text, "SendMessage", **{"QueueUrl": "q", "MessageBody": "x", member: value})
    refuse("MalformedInput", "STRING_VALUE can not be converted to a List", "SendMessageBatch", QueueUrl="q", Entries="x")
    refuse("MalformedInput", "NUMBER_VALUE can not be converted to a String", "CreateQueue", QueueName="n",
           Attributes={"DelaySeconds": 1})
    empty()


@test
def unknown_members_and_nulls_are_as_absent():
    c = fresh()
    c.call("SendMessage", QueueUrl="q", MessageBody="x", DelaySeconds=None, MessageAttributes=None, What={"a": [1]})
    assert c.counts("q") == (1, 0, 0)


@test
def an_unknown_or_missing_action_is_invalid():
    fresh()
    refuse("InvalidAction", "The action SendMessages is not valid for this endpoint.", "SendMessages")
    refuse_bytes("InvalidAction", None, "x", b"{}", X_Amz_Target="SendMessage")
    refuse_bytes("InvalidAction", None, "x", b"{}", X_Amz_Target=None)


@test
def a_form_is_query_also_with_a_target_header():
    c = fresh()
    status, body, headers = c.raw("POST", "/", b"Action=ListQueues&Version=2012-11-05", {
        "Content-Type": "application/x-www-form-urlencoded; charset=utf-8", "X-Amz-Target": "AmazonSQSv20121105.X"})
    assert status == 200 and headers["Content-Type"] == "text/xml", (status, headers.items())
    assert body.startswith(b"<?xml") and body.count(b"<QueueUrl>") == 3, body


@test
def without_a_content_type_the_target_header_decides():
    c = fresh()
    status, body, _ = raw_call("ListQueues", b"{}", Content_Type="text/plain")
    assert status == 200 and len(json.loads(body)["QueueUrls"]) == 3
    assert c.counts("q") == (0, 0, 0)


# ---- queues ----

@test
def a_queue_that_is_not_there_does_not_exist_for_any_action():
    fresh()
    entry = {"Id": "a", "MessageBody": "x", "ReceiptHandle": "r", "VisibilityTimeout": 1}
    members = {"MessageBody": "x", "ReceiptHandle": "garbage", "VisibilityTimeout": 1, "Entries": [entry],
               "Attributes": {"DelaySeconds": "1"}, "Tags": {"a": "b"}, "TagKeys": ["a"]}
    for action in ("SendMessage", "SendMessageBatch", "ReceiveMessage", "DeleteMessage", "DeleteMessageBatch",
                   "ChangeMessageVisibility", "ChangeMessageVisibilityBatch", "PurgeQueue", "DeleteQueue",
                   "GetQueueAttributes", "SetQueueAttributes", "TagQueue", "UntagQueue", "ListQueueTags"):
        sent = {k: v for k, v in members.items() if k != "VisibilityTimeout" or action != "ReceiveMessage"}
        for url in ("http://h/000000000000/none", "none", "", None, "http://h/000000000000/", "a b", "x" * 500):
            refuse(NO_QUEUE, "The specified queue does not exist.", action, QueueUrl=url, **sent)
    refuse(NO_QUEUE, "The specified queue does not exist.", "GetQueueUrl", QueueName="none")
    empty()


@test
def required_members_come_before_the_queue():
    fresh()
    for action, member in (("SendMessage", "MessageBody"), ("DeleteMessage", "ReceiptHandle"),
                           ("ChangeMessageVisibility", "ReceiptHandle"), ("SendMessageBatch", "Entries"),
                           ("DeleteMessageBatch", "Entries"), ("ChangeMessageVisibilityBatch", "Entries"),
                           ("CreateQueue", "QueueName"), ("TagQueue", "Tags"), ("UntagQueue", "TagKeys")):
        refuse("MissingParameter", f"The request must contain the parameter {member}.", action, QueueUrl="none")
    refuse("MissingParameter", "The request must contain the parameter VisibilityTimeout.", "ChangeMessageVisibility",
           QueueUrl="q", ReceiptHandle="r")
    refuse("MissingParameter", "The request must contain the parameter Attribute.Name.", "SetQueueAttributes",
           QueueUrl="q", Attributes={})
    empty()


@test
def bad_queue_names_are_refused():
    c = fresh()
    plain = "Can only include alphanumeric characters, hyphens, or underscores. 1 to 80 in length"
    fifo = ("The name of a FIFO queue can only include alphanumeric characters, hyphens, or underscores, must end with "
            ".fifo suffix and be 1 to 80 in length")
    for name in ("a b", "a.b", "ä", "a/b", "x" * 81, "q\x00"):
        refuse("InvalidParameterValue", plain, "CreateQueue", QueueName=name)
    refuse("InvalidParameterValue", "Queue name cannot be empty", "CreateQueue", QueueName="")
    refuse("InvalidParameterValue", fifo, "CreateQueue", QueueName="n.fifo")
    refuse("InvalidParameterValue", fifo, "CreateQueue", QueueName="n", Attributes={"FifoQueue": "true"})
    refuse("InvalidParameterValue", fifo, "CreateQueue", QueueName="x" * 76 + ".fifo", Attributes={"FifoQueue": "true"})
    refuse("InvalidParameterValue", "Value for parameter QueueName is invalid. Reason: Must specify a queue name.",
           "GetQueueUrl", QueueName="")
    assert len(c.call("ListQueues")["QueueUrls"]) == 3


@test
def an_existing_queue_is_the_same_only_in_what_is_given():
    c = fresh()
    c.call("SetQueueAttributes", QueueUrl="q", Attributes={"VisibilityTimeout": "45"})
    c.call("CreateQueue", QueueName="q")
    c.call("CreateQueue", QueueName="q", Attributes={"VisibilityTimeout": "45", "SqsManagedSseEnabled": "True"})
    refuse("QueueAlreadyExists",
           "A queue already exists with the same name and a different value for attribute VisibilityTimeout",
           "CreateQueue", QueueName="q", Attributes={"VisibilityTimeout": "30"})


@test
def bad_queue_attributes_change_nothing():
    c = fresh()
    before = c.call("GetQueueAttributes", QueueUrl="q", AttributeNames=["All"])
    for name, bad in (("DelaySeconds", ("-1", "901", "", " 1", "1.0", "x")), ("MaximumMessageSize", ("1023", "1048577")),
                      ("MessageRetentionPeriod", ("59", "1209601")), ("ReceiveMessageWaitTimeSeconds", ("21",)),
                      ("VisibilityTimeout", ("43201",)), ("KmsDataKeyReusePeriodSeconds", ("59", "86401")),
                      ("SqsManagedSseEnabled", ("yes", ""))):
        for value in bad:
            for action, key in (("SetQueueAttributes", {"QueueUrl": "q"}), ("CreateQueue", {"QueueName": "new"})):
                refuse("InvalidAttributeValue", None, action, **key, Attributes={"DelaySeconds": "7", name: value})
    for name in ("X", "QueueArn", "CreatedTimestamp", "ApproximateNumberOfMessages", "delayseconds", ""):
        refuse("InvalidAttributeName", f"Unknown Attribute {name}.", "SetQueueAttributes", QueueUrl="q",
               Attributes={name: "1"})
    refuse("InvalidAttributeName", "Unknown Attribute X.", "GetQueueAttributes", QueueUrl="q", AttributeNames=["X"])
    for name in ("FifoQueue", "ContentBasedDeduplication"):
        refuse("InvalidAttributeName", f"Unknown Attribute {name}.", "CreateQueue", QueueName="new",
               Attributes={name: "false"})
    refuse("InvalidAttributeName", "You can specify the DeduplicationScope only when FifoQueue is set to true.",
           "SetQueueAttributes", QueueUrl="q", Attributes={"DeduplicationScope": "queue"})
    refuse("InvalidAttributeValue",
           "Invalid value for the parameter FifoQueue. Reason: Modifying queue type is not supported.",
           "SetQueueAttributes", QueueUrl="f.fifo", Attributes={"FifoQueue": "false"})
    refuse("InvalidAttributeValue", "The perMessageGroupId value is allowed only when the value for DeduplicationScope "
           "is messageGroup", "SetQueueAttributes", QueueUrl="f.fifo",
           Attributes={"FifoThroughputLimit": "perMessageGroupId"})
    refuse("InvalidAttributeName", "You can use one type of server-side encryption (SSE) at one time. You can either "
           "enable KMS SSE or SQS SSE.", "SetQueueAttributes", QueueUrl="q",
           Attributes={"KmsMasterKeyId": "k", "SqsManagedSseEnabled": "true"})
    assert c.call("GetQueueAttributes", QueueUrl="q", AttributeNames=["All"]) == before
    assert len(c.call("ListQueues")["QueueUrls"]) == 3


@test
def a_redrive_policy_needs_a_target_that_exists_and_fits():
    c = fresh()

    def policy(target, count=1):
        return json.dumps({"deadLetterTargetArn": f"arn:aws:sqs:us-east-1:000000000000:{target}",
                           "maxReceiveCount": count})

    def no(text, value, queue="q"):
        refuse("InvalidParameterValue", f"Value {value} for parameter RedrivePolicy is invalid. Reason: {text}",
               "SetQueueAttributes", QueueUrl=queue, Attributes={"RedrivePolicy": value})

    no("Dead letter target does not exist.", policy("none"))
    no("Dead-letter queue must be same type of queue as the source.", policy("f.fifo"))
    no("Dead-letter queue must be same type of queue as the source.", policy("q"), "f.fifo")
    no("Invalid value for maxReceiveCount: 1001, valid values are from 1 to 1000 both inclusive.", policy("other", 1001))
    c.call("SetQueueAttributes", QueueUrl="other", Attributes={"RedriveAllowPolicy": '{"redrivePermission":"denyAll"}'})
    refuse("InvalidParameterValue", None, "SetQueueAttributes", QueueUrl="q",
           Attributes={"RedrivePolicy": policy("other")})
    refuse("InvalidParameterValue", None, "CreateQueue", QueueName="new", Attributes={"RedrivePolicy": policy("other")})
    refuse("InvalidAttributeValue",
           "Invalid value for the parameter RedrivePolicy. Reason: Redrive policy is not a valid JSON map.",
           "SetQueueAttributes", QueueUrl="q", Attributes={"RedrivePolicy": "no"})
    c.call("SetQueueAttributes", QueueUrl="other", Attributes={"RedriveAllowPolicy": ""})
    c.call("SetQueueAttributes", QueueUrl="q", Attributes={"RedrivePolicy": policy("other", "7")})
    got = c.call("GetQueueAttributes", QueueUrl="q", AttributeNames=["RedrivePolicy"])["Attributes"]["RedrivePolicy"]
    assert got == '{"deadLetterTargetArn":"arn:aws:sqs:us-east-1:000000000000:other","maxReceiveCount":7}', got


@test
def a_policy_beyond_its_limits_is_over_the_limit():
    fresh()
    refuse("OverLimit", "22 statements were found in the submitted policy, max allowed is 20", "SetQueueAttributes",
           QueueUrl="q", Attributes={"Policy": json.dumps({"Statement": [{}] * 22})})
    refuse("InvalidAttributeValue", None, "SetQueueAttributes", QueueUrl="q", Attributes={"Policy": "no"})


@test
def bad_tags_are_refused():
    c = fresh()
    for tags in ({"": "v"}, {"k" * 129: "v"}, {"k": "v" * 257}, {"aws:k": "v"}, {"k;": "v"},
                 {f"k{i}": "v" for i in range(51)}):
        refuse("InvalidParameterValue", None, "CreateQueue", QueueName="new", tags=tags)
    assert len(c.call("ListQueues")["QueueUrls"]) == 3


@test
def bad_pages_are_refused():
    fresh()
    text = "Value for parameter MaxResults is invalid. Reason: MaxResults must be an integer between 1 and 1000."
    for n in (0, 1001, -1, 10**30):
        refuse("InvalidParameterValue", text, "ListQueues", MaxResults=n)
    for token in ("tok==", "!", base64.b64encode(b"a b").decode(), base64.b64encode(b"zzz").decode()):
        refuse("InvalidParameterValue", "Invalid or expired next token.", "ListQueues", QueueNamePrefix="q",
               NextToken=token)


# ---- sending ----

@test
def a_body_must_be_there_and_not_empty():
    fresh()
    for body in ({}, {"MessageBody": ""}, {"MessageBody": None}):
        refuse("MissingParameter", "The request must contain the parameter MessageBody.", "SendMessage", QueueUrl="q",
               **body)
    empty()


@test
def forbidden_characters_are_refused():
    fresh()
    for char in ("\x00", "\x01", "\x08", "\x0b", "\x1f", "\ufffe", "\uffff"):
        refuse("InvalidMessageContents", ILLEGAL, "SendMessage", QueueUrl="q", MessageBody="a" + char)
        refuse("InvalidParameterValue", ILLEGAL, "SendMessage", QueueUrl="q", MessageBody="a",
               MessageAttributes=attribute(StringValue=char))
        body = json.dumps({"QueueUrl": "q", "MessageBody": char}, ensure_ascii=False).encode()
        refuse_bytes("InvalidMessageContents", ILLEGAL, "SendMessage", body)
    empty()


@test
def the_characters_beside_the_forbidden_ones_come_back_as_they_were_sent():
    c = fresh()
    text = "\t\n\r \x7f\ud7ff\ue000\ufffd\U00010000\U0010ffff"
    c.call("SendMessage", QueueUrl="q", MessageBody=text)
    assert c.call("ReceiveMessage", QueueUrl="q")["Messages"][0]["Body"] == text


@test
def a_body_of_one_byte_more_than_the_limit_is_refused():
    c = fresh()
    text = "One or more parameters are invalid. Reason: Message must be shorter than 1048576 bytes."
    refuse("InvalidParameterValue", text, "SendMessage", QueueUrl="q", MessageBody="x" * 1048577)
    empty()
    c.call("SendMessage", QueueUrl="q", MessageBody="x" * 1048576)
    assert c.counts("q") == (1, 0, 0)
    c.call("SetQueueAttributes", QueueUrl="other", Attributes={"MaximumMessageSize": "1024"})
    sizes = {"n": {"DataType": "Binary.x", "BinaryValue": base64.b64encode(b"\0" * 15).decode()}}
    c.call("SendMessage", QueueUrl="other", MessageBody="x" * 1000, MessageAttributes=sizes)
    refuse("InvalidParameterValue", text.replace("1048576", "1024"), "SendMessage", QueueUrl="other",
           MessageBody="x" * 1001, MessageAttributes=sizes)
    assert c.counts("other") == (1, 0, 0)


@test
def a_request_beyond_the_http_limit_is_refused_and_nothing_stored():
    global client
    fresh()
    big = Client(port)
    try:
        status, _, _ = big.raw("POST", "/", b'{"QueueUrl":"q","MessageBody":"' + b"x" * (9 << 20) + b'"}',
                               {"Content-Type": JSON, "X-Amz-Target": "AmazonSQS.SendMessage"})
        assert status == 413, status
    except (BrokenPipeError, ConnectionResetError):
        pass  # refused by its Content-Length before it was all sent
    finally:
        big.close()
    empty()


@test
def bad_message_attributes_are_refused():
    fresh()

    def no(text, attributes, code="InvalidParameterValue"):
        refuse(code, text, "SendMessage", QueueUrl="q", MessageBody="x", MessageAttributes=attributes)

    no("Number of message attributes [11] exceeds the allowed maximum [10].",
       {f"n{i}": {"DataType": "String", "StringValue": "v"} for i in range(11)})
    no("Message (user) attribute 'N' must contain a non-empty value of type 'String'.", attribute("N", StringValue=""))
    no("The message (user) attribute 'N' must contain a non-empty message attribute value.", attribute("N"))
    no("The request must contain non-empty message (user) attribute names.", attribute("", StringValue="v"))
    no("Message (user) attribute name must be shorter than 256 bytes.", attribute("n" * 257, StringValue="v"))
    for name in ("AWS.x", "aws.x", "Amazon.x", "AMAZON.x"):
        no("You can't use message attribute names beginning with 'AWS.' or 'Amazon'. These strings are reserved for "
           "internal use.", attribute(name, StringValue="v"))
    for name in (".n", "n.", "a..b", "a b", "a/b", "a\x01"):
        no(None, attribute(name, StringValue="v"))
    for kind in ("string", "Strings", "Text", "Number1"):
        no("The type of message (user) attribute 'N' is invalid. You must use only the following supported type "
           "prefixes: Binary, Number, String.", {"N": {"DataType": kind, "StringValue": "1"}})
    no(None, {"N": {"StringValue": "v"}})
    no("Message (user) attribute type must be shorter than 256 bytes.",
       {"N": {"DataType": "String." + "x" * 250, "StringValue": "v"}})
    for number in ("x", "1e127", "1" * 39, "", "1 "):
        no(None, {"N": {"DataType": "Number", "StringValue": number}})
    no("Message attribute list values in SendMessage operation are not supported.",
       {"N": {"DataType": "String", "StringListValues": ["a"]}}, "AWS.SimpleQueueService.UnsupportedOperation")
    refuse("InvalidParameterValue", "Message system attribute name 'X' is invalid.", "SendMessage", QueueUrl="q",
           MessageBody="x", MessageSystemAttributes=attribute("X", StringValue="v"))
    refuse("InvalidParameterValue", None, "SendMessage", QueueUrl="q", MessageBody="x",
           MessageSystemAttributes=attribute("AWSTraceHeader", StringValue="v"))
    empty()


@test
def delays_beyond_900_seconds_are_refused():
    fresh()
    for n in (-1, 901, 1000, 2**31, -2**63, 10**30):
        refuse("InvalidParameterValue",
               f"Value {n} for parameter DelaySeconds is invalid. Reason: DelaySeconds must be >= 0 and <= 900.",
               "SendMessage", QueueUrl="q", MessageBody="x", DelaySeconds=n)
    empty()


@test
def a_standard_queue_refuses_a_deduplication_id():
    c = fresh()
    refuse("InvalidParameterValue", f"Value d for parameter MessageDeduplicationId is invalid. Reason: {NOT_FOR_TYPE}",
           "SendMessage", QueueUrl="q", MessageBody="x", MessageDeduplicationId="d")
    empty()
    got = c.call("SendMessage", QueueUrl="q", MessageBody="x", MessageGroupId="g")
    assert "SequenceNumber" not in got, "standard queues take a group, for fairness, but give no order"


@test
def a_fifo_queue_refuses_what_it_cannot_order():
    fresh()

    def no(code, text, **members):
        refuse(code, text, "SendMessage", QueueUrl="f.fifo", MessageBody="x", **members)

    no("MissingParameter", "The request must contain the parameter MessageGroupId.", MessageDeduplicationId="d")
    no("InvalidParameterValue", "The queue should either have ContentBasedDeduplication enabled or "
       "MessageDeduplicationId provided explicitly", MessageGroupId="g")
    no("InvalidParameterValue", f"Value 2 for parameter DelaySeconds is invalid. Reason: {NOT_FOR_TYPE}",
       MessageGroupId="g", MessageDeduplicationId="d", DelaySeconds=2)
    for bad in ("", "a b", "é", "x" * 129, "a\tb"):
        for member, other in (("MessageGroupId", "MessageDeduplicationId"), ("MessageDeduplicationId", "MessageGroupId")):
            no("InvalidParameterValue", f"Value {bad} for parameter {member} is invalid. Reason: {member} can only "
               "include alphanumeric and punctuation characters. 1 to 128 in length.", **{member: bad, other: "g"})
    empty()


# ---- batches ----

def entries(n, **more):
    return [{"Id": f"id_{i}", "MessageBody": "x", "ReceiptHandle": "r", "VisibilityTimeout": 1, **more}
            for i in range(n)]


BATCHES = ("SendMessageBatch", "DeleteMessageBatch", "ChangeMessageVisibilityBatch")


@test
def a_batch_holds_1_to_10_entries():
    fresh()
    for action in BATCHES:
        refuse("AWS.SimpleQueueService.EmptyBatchRequest",
               f"There should be at least one {action}RequestEntry in the request.", action, QueueUrl="q", Entries=[])
        for n in (11, 20):
            refuse("AWS.SimpleQueueService.TooManyEntriesInBatchRequest",
                   f"Maximum number of entries per request are 10. You have sent {n}.", action, QueueUrl="q",
                   Entries=entries(n))
    empty()


@test
def ids_in_a_batch_are_well_formed_and_distinct():
    fresh()
    for action in BATCHES:
        for bad in ("", "a b", "x" * 81, "ä", "a.b"):
            refuse("AWS.SimpleQueueService.InvalidBatchEntryId", "A batch entry id can only contain alphanumeric "
                   "characters, hyphens and underscores. It can be at most 80 letters long.", action, QueueUrl="q",
                   Entries=entries(1) + entries(1, Id=bad))
        refuse("AWS.SimpleQueueService.BatchEntryIdsNotDistinct", "Id id_2 repeated.", action, QueueUrl="q",
               Entries=entries(3) + entries(3)[2:])
        refuse("MissingParameter", f"The request must contain the parameter {action}RequestEntry.2.Id.", action,
               QueueUrl="q", Entries=entries(1) + entries(1, Id=None))
    empty()


@test
def a_batch_of_one_byte_too_much_is_refused_whatever_the_queue_takes():
    c = fresh()
    c.call("SetQueueAttributes", QueueUrl="q", Attributes={"MaximumMessageSize": "1024"})
    body = entries(2, MessageBody="x" * 524288)
    body[1]["MessageBody"] += "y"
    refuse("AWS.SimpleQueueService.BatchRequestTooLong",
           "Batch requests cannot be longer than 1048576 bytes. You have sent 1048577 bytes.", "SendMessageBatch",
           QueueUrl="q", Entries=body)
    empty()
    body[1]["MessageBody"] = body[0]["MessageBody"]
    assert len(c.call("SendMessageBatch", QueueUrl="other", Entries=body)["Successful"]) == 2


@test
def bad_entries_of_a_standard_queue_fail_alone():
    c = fresh()
    c.call("SetQueueAttributes", QueueUrl="q", Attributes={"MaximumMessageSize": "1024"})
    got = c.call("SendMessageBatch", QueueUrl="q", Entries=[
        {"Id": "good", "MessageBody": "x"}, {"Id": "empty", "MessageBody": ""}, {"Id": "none"},
        {"Id": "char", "MessageBody": "\x01"}, {"Id": "long", "MessageBody": "x" * 1025},
        {"Id": "late", "MessageBody": "x", "DelaySeconds": 901},
        {"Id": "attr", "MessageBody": "x", "MessageAttributes": attribute(StringValue="")},
        {"Id": "dedup", "MessageBody": "x", "MessageDeduplicationId": "d"}])
    assert [e["Id"] for e in got["Successful"]] == ["good"], got
    want = [("empty", "MissingParameter", "The request must contain the parameter SendMessageBatchRequestEntry.2."
             "MessageBody."), ("none", "MissingParameter", None), ("char", "InvalidMessageContents", ILLEGAL),
            ("long", "InvalidParameterValue", "One or more parameters cannot be validated. Reason: Message must be "
             "shorter than 1024 bytes."), ("late", "InvalidParameterValue", None),
            ("attr", "InvalidParameterValue", None), ("dedup", "InvalidParameterValue", None)]
    for e, (i, code, text) in zip(got["Failed"], want, strict=True):
        assert (e["Id"], e["Code"], e["SenderFault"]) == (i, code, True), e
        assert text is None or e["Message"] == text, e
    assert c.counts("q") == (1, 0, 0)


@test
def one_bad_entry_fails_a_whole_fifo_batch():
    fresh()
    good = {"Id": "a", "MessageBody": "x", "MessageGroupId": "g", "MessageDeduplicationId": "d"}
    for bad, code, text in (
            ({"MessageGroupId": None}, "InvalidParameterValue", "The request must contain the parameter MessageGroupId."),
            ({"MessageDeduplicationId": None}, "InvalidParameterValue", "The queue should either have "
             "ContentBasedDeduplication enabled or MessageDeduplicationId provided explicitly"),
            ({"MessageBody": "\x01"}, "InvalidMessageContents", ILLEGAL)):
        refuse(code, text, "SendMessageBatch", QueueUrl="f.fifo", Entries=[good, {**good, "Id": "b", **bad}])
    empty()


# ---- receiving and handles ----

@test
def receive_parameters_beyond_their_bounds_are_refused():
    c = fresh()
    c.call("SendMessage", QueueUrl="q", MessageBody="x")
    for name, reason, bad in (("MaxNumberOfMessages", "Must be between 1 and 10, if provided.", (0, -1, 11, 10**20)),
                              ("WaitTimeSeconds", "Must be >= 0 and <= 20, if provided.", (-1, 21)),
                              ("VisibilityTimeout", "Must be >= 0 and <= 43200, if provided.", (-1, 43201))):
        for n in bad:
            refuse("InvalidParameterValue", f"Value {n} for parameter {name} is invalid. Reason: {reason}",
                   "ReceiveMessage", QueueUrl="q", **{name: n})
    refuse("InvalidParameterValue", None, "ReceiveMessage", QueueUrl="q", ReceiveRequestAttemptId="a")
    refuse("InvalidParameterValue", None, "ReceiveMessage", QueueUrl="f.fifo", ReceiveRequestAttemptId="a b")
    assert c.counts("q") == (1, 0, 0), "a refused receive leases nothing"


@test
def unknown_attribute_names_of_a_receive_are_ignored():
    c = fresh()
    c.call("SendMessage", QueueUrl="q", MessageBody="x", MessageAttributes=attribute(StringValue="v"))
    got = c.call("ReceiveMessage", QueueUrl="q", AttributeNames=["X", ""], MessageSystemAttributeNames=["Y"],
                 MessageAttributeNames=["a b", "AWS.x", "m"])["Messages"][0]
    assert sorted(got) == ["Body", "MD5OfBody", "MessageId", "ReceiptHandle"], got


@test
def garbage_handles_are_no_handles():
    c = fresh()
    c.call("SendMessage", QueueUrl="q", MessageBody="x")
    real = c.call("ReceiveMessage", QueueUrl="q")["Messages"][0]["ReceiptHandle"]
    flipped = real[:-2] + ("A" if real[-2] != "A" else "B") + real[-1]
    for handle in ("garbage", "AQEB+/x==", "ä", "x" * 1024, real + "A", real[:-1], flipped):
        text = f'The input receipt handle "{handle}" is not a valid receipt handle.'
        refuse("ReceiptHandleIsInvalid", text, "DeleteMessage", QueueUrl="q", ReceiptHandle=handle)
        refuse("ReceiptHandleIsInvalid", text, "ChangeMessageVisibility", QueueUrl="q", ReceiptHandle=handle,
               VisibilityTimeout=0)
        for action in BATCHES[1:]:
            got = c.call(action, QueueUrl="q", Entries=[{"Id": "a", "ReceiptHandle": handle, "VisibilityTimeout": 0}])
            assert got == {"Failed": [{"Code": "ReceiptHandleIsInvalid", "Id": "a", "Message": text,
                                       "SenderFault": True}]}, got
    assert c.counts("q") == (0, 1, 0)
    refuse("MissingParameter", "The request must contain the parameter ReceiptHandle.", "DeleteMessage", QueueUrl="q",
           ReceiptHandle="")


@test
def a_handle_of_another_queue_is_no_handle_here():
    c = fresh()
    c.call("SendMessage", QueueUrl="q", MessageBody="x")
    handle = c.call("ReceiveMessage", QueueUrl="q")["Messages"][0]["ReceiptHandle"]
    refuse("ReceiptHandleIsInvalid", None, "DeleteMessage", QueueUrl="other", ReceiptHandle=handle)
    refuse("ReceiptHandleIsInvalid", None, "ChangeMessageVisibility", QueueUrl="f.fifo", ReceiptHandle=handle,
           VisibilityTimeout=0)
    assert c.counts("q") == (0, 1, 0)


@test
def visibility_beyond_its_bounds_changes_nothing():
    c = fresh()
    c.call("SendMessage", QueueUrl="q", MessageBody="x")
    handle = c.call("ReceiveMessage", QueueUrl="q")["Messages"][0]["ReceiptHandle"]
    for n in (-1, 43201):
        refuse("InvalidParameterValue",
               f"Value {n} for parameter VisibilityTimeout is invalid. Reason: Must be between 0 and 43200.",
               "ChangeMessageVisibility", QueueUrl="q", ReceiptHandle=handle, VisibilityTimeout=n)
        got = c.call("ChangeMessageVisibilityBatch", QueueUrl="q", Entries=[
            {"Id": "a", "ReceiptHandle": handle, "VisibilityTimeout": n}])["Failed"][0]
        assert got["Code"] == "InvalidParameterValue" and got["Message"].endswith(
            "Reason: VisibilityTimeout must be an integer between 0 and 43200."), got
    refuse("InvalidParameterValue", "Value 43200 for parameter VisibilityTimeout is invalid. Reason: Total "
           "VisibilityTimeout for the message is beyond the limit [43200 seconds]", "ChangeMessageVisibility",
           QueueUrl="q", ReceiptHandle=handle, VisibilityTimeout=43200)
    assert c.counts("q") == (0, 1, 0)


@test
def a_deleted_message_cannot_be_hidden_but_deleted_again():
    c = fresh()
    c.call("SendMessage", QueueUrl="q", MessageBody="x")
    handle = c.call("ReceiveMessage", QueueUrl="q")["Messages"][0]["ReceiptHandle"]
    c.call("DeleteMessage", QueueUrl="q", ReceiptHandle=handle)
    c.call("DeleteMessage", QueueUrl="q", ReceiptHandle=handle)
    refuse("InvalidParameterValue", f"Value {handle} for parameter ReceiptHandle is invalid. Reason: Message does not "
           "exist or is not available for visibility timeout change.", "ChangeMessageVisibility", QueueUrl="q",
           ReceiptHandle=handle, VisibilityTimeout=1)
    empty()


@test
def an_expired_handle_of_a_fifo_queue_is_refused():
    c = fresh()
    c.call("SendMessage", QueueUrl="f.fifo", MessageBody="x", MessageGroupId="g", MessageDeduplicationId="d")
    handle = c.call("ReceiveMessage", QueueUrl="f.fifo", VisibilityTimeout=0)["Messages"][0]["ReceiptHandle"]
    refuse("InvalidParameterValue", f"Value {handle} for parameter ReceiptHandle is invalid. Reason: The receipt handle "
           "has expired.", "DeleteMessage", QueueUrl="f.fifo", ReceiptHandle=handle)
    assert c.counts("f.fifo") == (1, 0, 0)


@test
def too_long_a_list_is_refused():
    fresh()
    refuse("InvalidParameterValue", None, "ReceiveMessage", QueueUrl="q", MessageAttributeNames=["a"] * 257)


# ---- tags ----

@test
def tags_beyond_their_bounds_change_nothing():
    c = fresh()
    c.call("TagQueue", QueueUrl="q", Tags={f"k{i}": "v" for i in range(49)})
    many = "Too many tags added for queue q."
    refuse("InvalidParameterValue", many, "TagQueue", QueueUrl="q", Tags={"k49": "", "k50": ""})
    refuse("InvalidParameterValue", many, "TagQueue", QueueUrl="q", Tags={f"x{i}": "" for i in range(51)})
    for key in ("", "x" * 129):
        refuse("InvalidParameterValue", "Tag keys must be between 1 and 128 characters in length.", "TagQueue", QueueUrl="q",
               Tags={key: ""})
    refuse("InvalidParameterValue", None, "TagQueue", QueueUrl="q", Tags={"k": "x" * 257})
    for tags in ({"aws:x": ""}, {"AWS:x": ""}, {"a*": ""}, {"a": "b\n"}, {"a": "\ufffe"}):
        refuse("InvalidParameterValue", None, "TagQueue", QueueUrl="q", Tags=tags)
    refuse("MissingParameter", "The request must contain the parameter Tags.", "TagQueue", QueueUrl="q", Tags={})
    refuse("MissingParameter", "The request must contain the parameter TagKeys.", "UntagQueue", QueueUrl="q", TagKeys=[])
    refuse("MalformedInput", None, "UntagQueue", QueueUrl="q", TagKeys={"k0": "v"})
    assert c.call("ListQueueTags", QueueUrl="q")["Tags"] == {f"k{i}": "v" for i in range(49)}
    c.call("TagQueue", QueueUrl="q", Tags={"k0": "new", "é" * 128: "x" * 256})
    c.call("UntagQueue", QueueUrl="q", TagKeys=["k1", "k1", "never there", "x" * 500])
    got = c.call("ListQueueTags", QueueUrl="q")["Tags"]
    assert len(got) == 49 and got["k0"] == "new" and got["é" * 128] == "x" * 256 and "k1" not in got, got


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
