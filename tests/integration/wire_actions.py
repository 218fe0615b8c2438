# SPDX-License-Identifier: Apache-2.0
"""Permissions and message move tasks in both protocols: the captured requests and their answers, what they do, what is refused.

usage: wire_actions.py [TEST…]"""
import base64
import contextlib
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
import wire_json
import wire_query
from leaselog import Client, Refused, Server, run_tests, test, wait_until
from wire_json import URL, Wire, fresh, request

ARN = "arn:aws:sqs:us-east-1:000000000000:"


def by_json(name, *changes):
    return wire_json.compare(Wire().send(request("json-requests/" + name, *changes)), name)


def by_query(name, *changes):
    return wire_query.compare(wire_query.play(name, *changes), name)


def refused(status, code, text, action, *more, query=None, **members):
    """The same fault by both protocols; `query`: the members as the Query protocol names them."""
    try:
        Client(wire_json.port).call(action, **members)
        raise AssertionError(f"{action} {members} was not refused")
    except Refused as e:
        got = json.loads(e.body)
        assert (e.status, e.code) == (status, code), (e.status, e.code, got)
        assert text is None or got["message"] == text, got
    named = {k: str(v) for k, v in (members if query is None else query).items()}
    wire_query.is_fault(wire_query.ask(action, *more, **named), status, code, text)


def policy(c, queue="orders"):
    got = c.call("GetQueueAttributes", QueueUrl=URL + queue, AttributeNames=["Policy"])
    return json.loads(got["Attributes"]["Policy"]) if got else None


# ---- permissions ----

def statement(label, principal, action):
    return {"Sid": label, "Effect": "Allow", "Principal": {"AWS": principal}, "Action": action,
            "Resource": ARN.replace("us-east-1", "eu-west-1") + "orders"}


def root(account):
    return f"arn:aws:iam::{account}:root"


@test
def a_permission_is_a_statement_of_the_policy_and_goes_with_the_last_one():
    for play in by_json, by_query:
        c = fresh("orders")
        play("AddPermission")
        both = [root("111122223333"), root("444455556666")]
        assert policy(c) == {
            "Version": "2008-10-17", "Id": ARN.replace("us-east-1", "eu-west-1") + "orders/SQSDefaultPolicy",
            "Statement": [statement("lbl", both, ["SQS:SendMessage", "SQS:ReceiveMessage"])]}, policy(c)
        c.call("AddPermission", QueueUrl="orders", Label="b", AWSAccountIds=["111122223333"], Actions=["*"])
        second = policy(c)["Statement"][1]
        assert (second["Principal"]["AWS"], second["Action"]) == (root("111122223333"), "SQS:*"), second
        play("RemovePermission")
        assert [s["Sid"] for s in policy(c)["Statement"]] == ["b"], policy(c)
        c.call("RemovePermission", QueueUrl="orders", Label="b")
        assert policy(c) is None, policy(c)


@test
def a_policy_that_somebody_wrote_keeps_what_it_has():
    c = fresh("orders")
    own = {"Version": "2012-10-17", "Statement": {"Sid": "mine", "Effect": "Deny", "Principal": "*"}}
    c.call("SetQueueAttributes", QueueUrl="orders", Attributes={"Policy": json.dumps(own)})
    c.call("AddPermission", QueueUrl="orders", Label="l", AWSAccountIds=["111122223333"], Actions=["SendMessage"])
    got = policy(c)
    assert got["Version"] == "2012-10-17" and got["Statement"][0] == own["Statement"] and "Id" not in got, got
    c.call("RemovePermission", QueueUrl="orders", Label="l")
    assert policy(c) == {**own, "Statement": [own["Statement"]]}, policy(c)


def add(label="l", accounts=("111122223333",), actions=("SendMessage",)):
    """Arguments for `refused`."""
    members = {"QueueUrl": "orders", "Label": label, "AWSAccountIds": list(accounts), "Actions": list(actions)}
    pairs = [(f"AWSAccountId.{i + 1}", a) for i, a in enumerate(accounts)]
    pairs += [(f"ActionName.{i + 1}", a) for i, a in enumerate(actions)]
    return {"more": pairs, "query": {"QueueUrl": "orders", "Label": label}, "members": members}


def add_refused(status, code, text, **kw):
    a = add(**kw)
    refused(status, code, text, "AddPermission", *a["more"], query=a["query"], **a["members"])


@test
def permissions_that_make_no_sense_are_refused():
    c = fresh("orders")
    bad, value = "InvalidParameterValue", "Value {} for parameter {} is invalid. Reason: {}"
    must = "The request must contain the parameter {}."
    add_refused(400, "MissingParameter", must.format("Label"), label="")
    add_refused(400, "MissingParameter", must.format("AWSAccountIds"), accounts=[])
    add_refused(400, "MissingParameter", must.format("ActionName"), actions=[])
    add_refused(400, bad, None, label="a b")
    add_refused(400, bad, None, label="l" * 81)
    add_refused(400, bad, None, accounts=["11112222333"])
    for action in "SendMessageBatch", "sendmessage", "Fly":
        add_refused(400, bad, value.format("SQS:" + action, "ActionName",
                                           "Please refer to the appropriate WSDL for a list of valid actions."),
                    actions=[action])
    for action in "CreateQueue", "AddPermission", "TagQueue":
        add_refused(400, bad, value.format("SQS:" + action, "ActionName",
                                           "Only the queue owner is allowed to invoke this action."),
                    actions=[action])
    add_refused(403, "OverLimit", "8 Actions were found, maximum allowed is 7.", actions=["SendMessage"] * 8)
    refused(400, bad, value.format("l", "Label", "can't find label."), "RemovePermission", QueueUrl="orders", Label="l")
    c.call("AddPermission", **add()["members"])
    add_refused(400, bad, value.format("l", "Label", "Already exists."))
    refused(400, bad, value.format("m", "Label", "can't find label on existing policy."), "RemovePermission",
            QueueUrl="orders", Label="m")
    refused(400, "MissingParameter", must.format("Label"), "RemovePermission", QueueUrl="orders")


@test
def a_policy_has_at_most_20_statements_50_principals_and_8192_bytes():
    c = fresh("orders")
    for i in range(20):
        c.call("AddPermission", **add(label=f"l{i}")["members"])
    add_refused(403, "OverLimit", "21 Statements were found, maximum allowed is 20.")
    assert len(policy(c)["Statement"]) == 20
    c = fresh("orders")
    add_refused(403, "OverLimit", "51 Principals were found, maximum allowed is 50.",
                accounts=[f"{i:012}" for i in range(51)])
    own = {"Statement": [{"Sid": "long", "Resource": "r" * 8000}]}
    c.call("SetQueueAttributes", QueueUrl="orders", Attributes={"Policy": json.dumps(own)})
    add_refused(403, "OverLimit", None)
    assert policy(c) == own


# ---- message move tasks ----

EU = "arn:aws:sqs:eu-west-1:000000000000:"
DLQ = ARN + "dlq"


def buried(n, *queues):
    """Queue orders with n dead letters in dlq."""
    redrive = json.dumps({"deadLetterTargetArn": DLQ, "maxReceiveCount": 1})
    c = fresh("dlq", *queues, ("orders", {"RedrivePolicy": redrive}))
    for i in range(n):
        c.call("SendMessage", QueueUrl="orders", MessageBody=f"m{i}")
    for _ in range(2 * n):
        c.call("ReceiveMessage", QueueUrl="orders", VisibilityTimeout=0, MaxNumberOfMessages=10)
    wait_until(lambda: c.counts("dlq")[0] == n, "the messages are dead letters")
    return c


def tasks(c, n=10):
    return c.call("ListMessageMoveTasks", SourceArn=DLQ, MaxResults=n).get("Results", [])


def ended(c, status="COMPLETED"):
    wait_until(lambda: tasks(c)[0]["Status"] not in ("RUNNING", "CANCELLING"), "the task has ended")
    got = tasks(c)[0]
    assert got["Status"] == status and "TaskHandle" not in got, got
    return got


@test
def a_move_task_is_started_listed_and_cancelled_as_captured():
    for play, compared in (by_json, wire_json.compare), (by_query, wire_query.compare):
        c = buried(3)
        slow = ('"MaxNumberOfMessagesPerSecond": 50', '"MaxNumberOfMessagesPerSecond": 1')
        got = play("StartMessageMoveTask", slow if play is by_json else ("PerSecond=50", "PerSecond=1"))
        handle = got["TaskHandle"] if play is by_json else got.find("TaskHandle").text
        task = json.loads(base64.b64decode(handle))
        assert list(task) == ["taskId", "sourceArn"] and task["sourceArn"] == EU + "dlq", task
        listed = play("ListMessageMoveTasks")
        if play is by_json:
            one = listed["Results"][0]
            assert isinstance(one["StartedTimestamp"], int) and one["ApproximateNumberOfMessagesToMove"] == 3, one
            assert one["TaskHandle"] == handle and one["DestinationArn"] == EU + "orders", one
        again = ("dGFzaw==", handle) if play is by_json else ("dGFzaw%3D%3D", wire_query.quote_plus(handle))
        play("CancelMessageMoveTask", again)
        ended(c, "CANCELLED")
        compared(wire_json.Wire().send(request(("json" if play is by_json else "query") + "-requests/CancelMessageMoveTask", again)),
                 "error.ResourceNotFoundException", exactly=True)
        assert c.counts("dlq")[0] + c.counts("orders")[0] == 3


@test
def a_task_without_destination_brings_each_message_back_as_a_new_one():
    c = buried(12)
    assert tasks(c) == []
    before = {m["MessageId"] for m in c.call("ReceiveMessage", QueueUrl="dlq", MaxNumberOfMessages=10,
                                             VisibilityTimeout=0)["Messages"]}
    c.call("StartMessageMoveTask", SourceArn=DLQ)
    got = ended(c)
    assert sorted(got) == ["ApproximateNumberOfMessagesMoved", "ApproximateNumberOfMessagesToMove", "SourceArn",
                           "StartedTimestamp", "Status"], got
    assert got["ApproximateNumberOfMessagesMoved"] == got["ApproximateNumberOfMessagesToMove"] == 12, got
    assert c.counts("dlq") == (0, 0, 0)
    back = []
    while len(back) < 12:
        back += c.call("ReceiveMessage", QueueUrl="orders", MaxNumberOfMessages=10, AttributeNames=["All"])["Messages"]
    assert not before & {m["MessageId"] for m in back} and len({m["Body"] for m in back}) == 12
    assert all(m["Attributes"]["ApproximateReceiveCount"] == "1" for m in back), back[0]
    assert all("DeadLetterQueueSourceArn" not in m["Attributes"] for m in back), back[0]


@test
def the_newest_task_comes_first_and_one_is_shown_by_default():
    c = buried(1, "other")
    c.call("StartMessageMoveTask", SourceArn=DLQ)
    ended(c)
    c.call("StartMessageMoveTask", SourceArn=DLQ, DestinationArn=ARN + "other")
    ended(c)
    assert [t.get("DestinationArn") for t in tasks(c)] == [ARN + "other", None]
    assert len(c.call("ListMessageMoveTasks", SourceArn=DLQ)["Results"]) == 1


@test
def a_task_fails_when_its_destination_is_deleted_or_a_message_came_from_nowhere():
    c = buried(3, "other")
    c.call("StartMessageMoveTask", SourceArn=DLQ, DestinationArn=ARN + "other", MaxNumberOfMessagesPerSecond=1)
    c.call("DeleteQueue", QueueUrl="other")
    assert ended(c, "FAILED")["FailureReason"] == "AWS.SimpleQueueService.NonExistentQueue"
    c = buried(0)
    c.call("SendMessage", QueueUrl="dlq", MessageBody="stray")
    c.call("StartMessageMoveTask", SourceArn=DLQ)
    assert ended(c, "FAILED")["FailureReason"] == "CouldNotDetermineMessageSource"
    assert c.counts("dlq") == (1, 0, 0)


@test
def move_tasks_that_make_no_sense_are_refused():
    c = buried(2, "q", ("f.fifo", {"FifoQueue": "true"}))
    bad, gone = "InvalidParameterValue", "ResourceNotFoundException"
    form = "You must use this format to specify the {}: arn:<partition>:<service>:<region>:<account-id>:<resource-id>"
    none = "The resource that you specified for the {} parameter doesn't exist."
    start = "StartMessageMoveTask"
    refused(400, "MissingParameter", "The request must contain the parameter SourceArn.", start)
    refused(400, bad, form.format("SourceArn"), start, SourceArn="dlq")
    refused(400, bad, form.format("DestinationArn"), start, SourceArn=DLQ, DestinationArn="arn:aws:sqs:::q")
    refused(404, gone, none.format("SourceArn"), start, SourceArn=ARN + "nope")
    refused(404, gone, none.format("DestinationArn"), start, SourceArn=DLQ, DestinationArn=ARN + "nope")
    refused(400, bad, "Source queue must be configured as a Dead Letter Queue.", start, SourceArn=ARN + "q")
    refused(400, bad, "Source queue arn and destination queue arn cannot be the same.", start, SourceArn=DLQ,
            DestinationArn=DLQ)
    refused(400, bad, "The source queue and destination queue must be of the same queue type.", start, SourceArn=DLQ,
            DestinationArn=ARN + "f.fifo")
    for rate in 0, 501:
        refused(400, bad, "Value for parameter MaxNumberOfMessagesPerSecond is invalid. Reason: You must enter a "
                "number that's between 1 and 500.", start, SourceArn=DLQ, MaxNumberOfMessagesPerSecond=rate)
    handle = c.call(start, SourceArn=DLQ, MaxNumberOfMessagesPerSecond=1)["TaskHandle"]
    refused(400, bad, "There is already a task running. Only one active task is allowed for a source queue arn at a "
            "given time.", start, SourceArn=DLQ)
    cancel = "CancelMessageMoveTask"
    task = json.loads(base64.b64decode(handle))
    for wrong in "task", "{}", json.dumps({**task, "taskId": "x"}), json.dumps({**task, "sourceArn": "x"}), "\x00":
        refused(400, bad, "Value for parameter TaskHandle is invalid.", cancel,
                TaskHandle=base64.b64encode(wrong.encode()).decode())
    refused(400, bad, "Value for parameter TaskHandle is invalid.", cancel, TaskHandle="!")
    other = {**task, "taskId": "10f57157-fc38-4da9-a113-4de7e12d05dd"}
    refused(404, gone, "Task does not exist.", cancel, TaskHandle=base64.b64encode(json.dumps(other).encode()).decode())
    other = {**task, "sourceArn": ARN + "nope"}
    refused(404, gone, none.format("SourceArn"), cancel, TaskHandle=base64.b64encode(json.dumps(other).encode()).decode())
    lists = "ListMessageMoveTasks"
    refused(404, gone, none.format("SourceArn"), lists, SourceArn=ARN + "nope")
    refused(400, bad, form.format("SourceArn"), lists, SourceArn="x")
    refused(400, bad, None, lists, SourceArn=DLQ, MaxResults=11)


@test
def a_task_goes_on_after_a_kill_and_nothing_is_lost_or_doubled():
    before = wire_json.port
    with Server() as s:
        wire_json.port = s.port
        try:
            c = buried(40)
            c.call("StartMessageMoveTask", SourceArn=DLQ, MaxNumberOfMessagesPerSecond=20)
            wait_until(lambda: c.counts("orders")[0] > 5, "some have moved")
            for _ in range(2):
                s.kill()
                s.start()
                c = s.client()
                assert tasks(c)[0]["Status"] == "RUNNING", tasks(c)
                wire_json.port = s.port
            ended(c)
            assert (c.counts("orders"), c.counts("dlq")) == ((40, 0, 0), (0, 0, 0))
            bodies = set()
            while len(bodies) < 40:
                bodies |= {m["Body"] for m in c.call("ReceiveMessage", QueueUrl="orders", MaxNumberOfMessages=10)["Messages"]}
        finally:
            wire_json.port = before


@contextlib.contextmanager
def serving():
    with Server() as s:
        wire_json.port = s.port
        yield


if __name__ == "__main__":
    run_tests({k: v for k, v in globals().items() if getattr(v, "__module__", None) == __name__}, 3, serving)
