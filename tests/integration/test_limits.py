# SPDX-License-Identifier: Apache-2.0
"""Limits that take many calls to reach: the messages in flight, the queues of a page. A stage of check-long."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
from leaselog import Refused, Server, in_thread, run_tests, test

IN_FLIGHT_MAX = 120000


def by_four(server, n, work):
    """Calls work(client, i) for each i below n, from four threads."""

    def some(first):
        c = server.client()
        for i in range(first, n, 4):
            work(c, i)

    for t in [in_thread(some, first) for first in range(4)]:
        t.result()


@test
def at_the_in_flight_limit_a_short_poll_is_refused_a_long_one_is_empty_and_a_delete_makes_room():
    with Server() as s:
        c = s.client()
        c.call("CreateQueue", QueueName="q", Attributes={"VisibilityTimeout": "43200"})
        entries = [{"Id": str(k), "MessageBody": "m"} for k in range(10)]
        by_four(s, IN_FLIGHT_MAX // 10 + 1, lambda own, i: own.call("SendMessageBatch", QueueUrl="q", Entries=entries))
        held = []
        by_four(s, IN_FLIGHT_MAX // 10, lambda own, i: held.extend(
            own.call("ReceiveMessage", QueueUrl="q", MaxNumberOfMessages=10).get("Messages", [])))
        while len(held) < IN_FLIGHT_MAX:
            held += c.call("ReceiveMessage", QueueUrl="q", MaxNumberOfMessages=10)["Messages"]
        assert c.counts("q") == (10, IN_FLIGHT_MAX, 0), c.counts("q")
        try:
            c.call("ReceiveMessage", QueueUrl="q")
            raise AssertionError("received beyond the limit")
        except Refused as e:
            assert (e.status, e.code) == (403, "OverLimit"), e
        assert c.call("ReceiveMessage", QueueUrl="q", WaitTimeSeconds=1) == {}
        c.call("DeleteMessage", QueueUrl="q", ReceiptHandle=held[0]["ReceiptHandle"])
        assert len(c.call("ReceiveMessage", QueueUrl="q", MaxNumberOfMessages=10)["Messages"]) == 1


@test
def without_max_results_a_list_has_a_thousand_queues_and_no_token():
    with Server() as s:
        c = s.client()
        by_four(s, 1001, lambda own, i: own.call("CreateQueue", QueueName=f"q{i:04}"))
        got = c.call("ListQueues")
        assert len(got["QueueUrls"]) == 1000 and "NextToken" not in got, len(got["QueueUrls"])
        got = c.call("ListQueues", MaxResults=1000)
        assert len(got["QueueUrls"]) == 1000 and got["NextToken"], len(got["QueueUrls"])
        got = c.call("ListQueues", MaxResults=1000, NextToken=got["NextToken"])
        assert [u.rsplit("/")[-1] for u in got["QueueUrls"]] == ["q1000"] and "NextToken" not in got, got


run_tests(globals())
