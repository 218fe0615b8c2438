# SPDX-License-Identifier: Apache-2.0
"""Permissions in both protocols: the captured requests and their answers, what they do, what is refused.

usage: wire_actions.py [TEST…]"""
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
import wire_json
import wire_query
from leaselog import Client, Refused, Server, run_tests, test
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
    wire_query.is_fault(wire_query.ask(action, *more, **(members if query is None else query)), status, code, text)


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


def main():
    with Server() as s:
        wire_json.port = s.port
        run_tests({k: v for k, v in globals().items() if getattr(v, "__module__", None) == __name__})


if __name__ == "__main__":
    main()
