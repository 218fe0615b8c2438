# SPDX-License-Identifier: Apache-2.0
"""Real botocore against the real server, by the JSON protocol. Debian's botocore knows SQS's older protocol
only, so its model is told to speak JSON 1.0, which its own serializer and parser then do."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
from leaselog import Server, run_tests, test, wait_until

import botocore
import botocore.loaders
import botocore.session
from botocore.exceptions import ClientError

real_load = botocore.loaders.Loader.load_service_model


def load_as_json(self, service_name, type_name, api_version=None):
    model = real_load(self, service_name, type_name, api_version)
    if service_name == "sqs" and type_name == "service-2":
        model["metadata"].update(protocol="json", protocols=["json"], jsonVersion="1.0", targetPrefix="AmazonSQS")
    return model


botocore.loaders.Loader.load_service_model = load_as_json


def sdk(server):
    session = botocore.session.Session()
    return session.create_client("sqs", region_name="eu-west-1", endpoint_url=server.url,
                                 aws_access_key_id="x", aws_secret_access_key="y")


@test
def botocore_sends_receives_extends_and_deletes():
    with Server() as s:
        c = sdk(s)
        url = c.create_queue(QueueName="orders", Attributes={"VisibilityTimeout": "10"})["QueueUrl"]
        attributes = {"color": {"DataType": "String", "StringValue": "blue"},
                      "blob": {"DataType": "Binary", "BinaryValue": b"\x01\x02\x03"}}
        sent = c.send_message(QueueUrl=url, MessageBody="hi <&\"\r\n é 😀", MessageAttributes=attributes)
        assert len(sent["MessageId"]) == 36 and len(sent["MD5OfMessageAttributes"]) == 32
        got = c.receive_message(QueueUrl=url, WaitTimeSeconds=5, MessageAttributeNames=["All"],
                                AttributeNames=["All"])["Messages"][0]
        assert got["Body"] == "hi <&\"\r\n é 😀" and got["MessageId"] == sent["MessageId"]
        assert got["MessageAttributes"]["blob"]["BinaryValue"] == b"\x01\x02\x03"
        assert got["MD5OfMessageAttributes"] == sent["MD5OfMessageAttributes"]
        assert got["Attributes"]["ApproximateReceiveCount"] == "1"
        c.change_message_visibility(QueueUrl=url, ReceiptHandle=got["ReceiptHandle"], VisibilityTimeout=60)
        c.delete_message(QueueUrl=url, ReceiptHandle=got["ReceiptHandle"])
        assert "Messages" not in c.receive_message(QueueUrl=url)


@test
def botocore_uses_batches_attributes_lists_and_purge():
    with Server() as s:
        c = sdk(s)
        url = c.create_queue(QueueName="a.fifo", Attributes={"FifoQueue": "true",
                                                             "ContentBasedDeduplication": "true"})["QueueUrl"]
        sent = c.send_message_batch(QueueUrl=url, Entries=[
            {"Id": str(i), "MessageBody": f"m{i}", "MessageGroupId": "g"} for i in range(10)])
        assert [e["Id"] for e in sent["Successful"]] == [str(i) for i in range(10)]
        assert len(sent["Successful"][0]["SequenceNumber"]) == 20
        got = c.receive_message(QueueUrl=url, MaxNumberOfMessages=3)["Messages"]
        assert [m["Body"] for m in got] == ["m0", "m1", "m2"]
        entries = [{"Id": m["Body"], "ReceiptHandle": m["ReceiptHandle"]} for m in got]
        c.change_message_visibility_batch(QueueUrl=url, Entries=[dict(e, VisibilityTimeout=5) for e in entries])
        assert len(c.delete_message_batch(QueueUrl=url, Entries=entries)["Successful"]) == 3
        c.set_queue_attributes(QueueUrl=url, Attributes={"DelaySeconds": "1"})
        shown = c.get_queue_attributes(QueueUrl=url, AttributeNames=["All"])["Attributes"]
        assert shown["DelaySeconds"] == "1" and shown["ApproximateNumberOfMessages"] == "7", shown
        assert c.list_queues(QueueNamePrefix="a")["QueueUrls"] == [url] == [c.get_queue_url(QueueName="a.fifo")["QueueUrl"]]
        c.purge_queue(QueueUrl=url)
        c.delete_queue(QueueUrl=url)
        assert "QueueUrls" not in c.list_queues()


@test
def botocore_knows_our_faults_by_their_classes():
    with Server() as s:
        c = sdk(s)
        try:
            c.get_queue_url(QueueName="none")
            raise AssertionError("found")
        except c.exceptions.QueueDoesNotExist as e:
            assert e.response["ResponseMetadata"]["HTTPStatusCode"] == 400
        url = c.create_queue(QueueName="q")["QueueUrl"]
        try:
            c.delete_message(QueueUrl=url, ReceiptHandle="garbage")
            raise AssertionError("deleted")
        except ClientError as e:
            assert e.response["ResponseMetadata"]["HTTPStatusCode"] == 404, e.response
            assert "ReceiptHandleIsInvalid" in str(e), e


print(f"botocore {botocore.__version__}")
run_tests(globals())
