# SPDX-License-Identifier: Apache-2.0
"""What users of other replicated queues met with, and must not happen here. The sources are theirs, public threads."""
from cases import others, run_cases
from harness import WAIT_S, Cluster
from leaselog import Refused, test, wait_until

MESSAGES = 60


def try_until(f, what):
    """Faults are answered while a leader is elected."""
    box = {}

    def done():
        try:
            box["got"] = f()
            return True
        except Refused:
            return False

    wait_until(done, what, WAIT_S)
    return box["got"]


def receive_all(client, queue, n):
    got = []

    def some():
        messages = try_until(lambda: client.call("ReceiveMessage", QueueUrl=queue, MaxNumberOfMessages=10, VisibilityTimeout=600), "it answers")
        got.extend(messages.get("Messages", []))
        return len(got) >= n

    wait_until(some, f"{n} messages come", WAIT_S)
    return got


@test
def what_was_acknowledged_is_there_after_its_leader_was_killed():
    """nats-server 3402 and 3029, rabbitmq cluster-operator 806: followers had not all, and the next leader missed some."""
    with Cluster(etcds=1, proxy=False) as c:
        c.client(1).call("CreateQueue", QueueName="q", Attributes={"copies": "3", "min_isr": "2"})
        c.wait_in_sync("q")
        acked = set()
        for round_n in range(2):
            leader = c.wait_leader()
            client = c.client(leader)
            for i in range(MESSAGES):
                client.call("SendMessage", QueueUrl="q", MessageBody=f"{round_n}-{i}")
                acked.add(f"{round_n}-{i}")
            c.kill(leader)
            c.wait_leader(other_than=leader)
            c.start(leader)
            c.wait_in_sync("q")
        got = receive_all(c.client(1), "q", len(acked))
        assert {m["Body"] for m in got} == acked and len(got) == len(acked), len(got)


@test
def a_broker_that_slept_through_delete_and_re_create_brings_nothing_old_back():
    """rabbitmq-server 12366 and 4305: it came back with the old log, and played messages again that were days old."""
    with Cluster(etcds=1, proxy=False) as c:
        c.client(1).call("CreateQueue", QueueName="q")
        c.wait_in_sync("q")
        for i in range(MESSAGES):
            c.client(1).call("SendMessage", QueueUrl="q", MessageBody=f"old-{i}")
        sleeper = c.wait_leader()
        awake = others(c, sleeper)[0]
        c.kill(sleeper)
        c.wait_leader(other_than=sleeper, of=awake)
        client = c.client(awake)
        try_until(lambda: client.call("DeleteQueue", QueueUrl="q"), "it is deleted")
        c.wait_for(lambda s: not any(p["topic"] == "q" for p in s["partitions"]) and sleeper not in c.live(s), "it is gone", of=awake)
        try_until(lambda: client.call("CreateQueue", QueueName="q", Attributes={"copies": "2"}), "it is made again")
        for i in range(5):
            try_until(lambda: client.call("SendMessage", QueueUrl="q", MessageBody=f"new-{i}"), "it is sent")
        c.start(sleeper)
        c.wait_all_live()
        for b in c.brokers:
            wait_until(lambda: c.client(b).counts("q") == (5, 0, 0), f"broker {b} counts the new ones alone", WAIT_S)
        got = receive_all(c.client(sleeper), "q", 5)
        assert sorted(m["Body"] for m in got) == [f"new-{i}" for i in range(5)], got


@test
def a_receipt_of_an_older_leader_finishes_its_own_message_or_none():
    """rabbitmq-server 255 and 4004: numbers came again under the next leader, and an old ack settled another message."""
    with Cluster(etcds=1, proxy=False) as c:
        c.client(1).call("CreateQueue", QueueName="q")
        c.wait_in_sync("q")
        client = c.client(1)
        for i in range(10):
            client.call("SendMessage", QueueUrl="q", MessageBody=f"m-{i}")
        old = c.wait_leader()
        held = receive_all(c.client(others(c, old)[0]), "q", 10)
        c.kill(old)
        c.wait_leader(other_than=old)
        by = c.client(others(c, old)[0])
        for i in range(10):
            try_until(lambda: by.call("SendMessage", QueueUrl="q", MessageBody=f"later-{i}"), "it is sent")
        for m in held[:5]:
            try_until(lambda: by.call("DeleteMessage", QueueUrl="q", ReceiptHandle=m["ReceiptHandle"]), "it answers")
        for m in held[5:]:
            try_until(lambda: by.call("ChangeMessageVisibility", QueueUrl="q", ReceiptHandle=m["ReceiptHandle"], VisibilityTimeout=0), "it answers")
        got = receive_all(by, "q", 15)
        assert sorted(m["Body"] for m in got) == sorted([m["Body"] for m in held[5:]] + [f"later-{i}" for i in range(10)])
        assert by.counts("q")[0] == 0


if __name__ == "__main__":
    run_cases(globals())
