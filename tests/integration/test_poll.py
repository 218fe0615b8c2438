# SPDX-License-Identifier: Apache-2.0
"""Receivers that wait, and receivers that go away: nobody loses a message by another's hanging up."""
import os
import socket
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
from leaselog import Server, in_thread, memory_folder, run_tests, test, wait_until
from poller import abort, poller, polls

tempfile.tempdir = memory_folder()  # syncs are not what is asked here


def gone_receiver_costs_nothing(leave):
    with Server() as s:
        c = s.client()
        c.call("CreateQueue", QueueName="q")
        first = poller(s.port)
        wait_until(lambda: polls(c) == 1, "the first poll waits")
        second = in_thread(lambda: s.client().call("ReceiveMessage", QueueUrl="q", WaitTimeSeconds=20))
        wait_until(lambda: polls(c) == 2, "the second poll waits")
        leave(first)
        c.call("SendMessage", QueueUrl="q", MessageBody="precious")
        got = second.result()
        assert [m["Body"] for m in got.get("Messages", [])] == ["precious"], got
        count = c.call("GetQueueAttributes", QueueUrl="q", AttributeNames=["All"])["Attributes"]
        assert count["ApproximateNumberOfMessagesNotVisible"] == "1", count


@test
def a_receiver_that_aborts_its_long_poll_costs_nobody_a_message():
    gone_receiver_costs_nothing(abort)


@test
def a_receiver_that_closes_its_long_poll_costs_nobody_a_message():
    gone_receiver_costs_nothing(lambda s: s.close())


@test
def a_receiver_that_half_closes_its_long_poll_costs_nobody_a_message():
    gone_receiver_costs_nothing(lambda s: s.shutdown(socket.SHUT_WR))


@test
def a_hundred_aborted_polls_in_a_row_cost_nobody_a_message():
    with Server() as s:
        c = s.client()
        c.call("CreateQueue", QueueName="q")
        for _ in range(100):
            abort(poller(s.port))
        c.call("SendMessage", QueueUrl="q", MessageBody="precious")
        got = c.call("ReceiveMessage", QueueUrl="q", WaitTimeSeconds=20)
        assert [m["Body"] for m in got.get("Messages", [])] == ["precious"], got


@test
def a_long_poll_is_answered_by_a_send_by_a_lease_end_and_by_a_due_time():
    with Server() as s:
        c = s.client()
        c.call("CreateQueue", QueueName="q")
        for prepare in (
            lambda: c.call("SendMessage", QueueUrl="q", MessageBody="x", DelaySeconds=1),
            lambda: c.call("ReceiveMessage", QueueUrl="q", VisibilityTimeout=1),
        ):
            prepare()
            got = s.client().call("ReceiveMessage", QueueUrl="q", WaitTimeSeconds=20, VisibilityTimeout=0)
            assert got["Messages"][0]["Body"] == "x"
        c.call("PurgeQueue", QueueUrl="q")
        waiting = in_thread(lambda: s.client().call("ReceiveMessage", QueueUrl="q", WaitTimeSeconds=20))
        wait_until(lambda: polls(c) == 1, "the poll waits")
        c.call("SendMessage", QueueUrl="q", MessageBody="y")
        assert waiting.result()["Messages"][0]["Body"] == "y"


@test
def an_empty_long_poll_is_answered_empty_at_its_end():
    with Server() as s:
        c = s.client()
        c.call("CreateQueue", QueueName="q")
        assert c.call("ReceiveMessage", QueueUrl="q", WaitTimeSeconds=1) == {}


@test
def the_wait_of_a_receive_beats_that_of_the_queue():
    with Server() as s:
        c = s.client()
        c.call("CreateQueue", QueueName="q", Attributes={"ReceiveMessageWaitTimeSeconds": "1"})
        c.call("CreateQueue", QueueName="patient", Attributes={"ReceiveMessageWaitTimeSeconds": "20"})

        def took(**members):
            begin = time.monotonic()
            assert c.call("ReceiveMessage", **members) == {}
            return time.monotonic() - begin

        assert took(QueueUrl="patient", WaitTimeSeconds=0) < 5
        assert 0.9 < took(QueueUrl="q") < 10


@test
def what_the_attributes_have_counted_a_receive_is_given():
    with Server() as s:
        c, sender = s.client(), s.client()
        c.call("CreateQueue", QueueName="q", Attributes={"VisibilityTimeout": "3600"})
        for _ in range(100):
            sent = in_thread(lambda: sender.call("SendMessage", QueueUrl="q", MessageBody="m"))
            end = time.monotonic() + 30
            while c.counts("q")[0] == 0:  # without a pause, to see it before it is durable
                assert time.monotonic() < end
            assert "Messages" in c.call("ReceiveMessage", QueueUrl="q"), "counted, and not there"
            sent.result()


run_tests(globals(), lanes=4)
