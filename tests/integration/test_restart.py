# SPDX-License-Identifier: Apache-2.0
"""What kill -9 and a start leave behind: exactly what was answered. RESTART_LIVES asks for more lives.

What other queues were seen to lose or to let grow, and where it is tested here:

    ids of duplicates, dead letters, delays,    this file; over the virtual clock: unit/test_queue_restart.c,
    deletes, settings, torn tails, new queues   unit/test_queue_fifo.c
    any verb, under load                        crash/test_promises.py, test_cycles.py, test_fronts.py, test_crash.py
    memory of ids and of delayed messages;      unit/test_queue_growth.c (LEASELOG_SCALE), test_growth.py (the process,
    disk under one message received for ever,   hours' worth), unit/test_queue_clean.c
    or behind an old one; work behind a gap;
    bloat after a million messages
    answers before the sync; a slow disk        test_durable.py; unit/test_plog.c: a_failed_sync_is_final...
    a full disk, a read-only one                test_full.py, test_ext4.py; unit/test_plog.c: a_full_disk_fails...
    clocks that jump, clients' clocks           test_clocks.py; unit/test_queue_restart.c
"""
import json
import os
import random
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
from leaselog import Refused, Server, in_thread, memory_folder, run_tests, test, wait_until

ARN = "arn:aws:sqs:us-east-1:000000000000:"
tempfile.tempdir = memory_folder()  # a kill asks nothing of the disk
LIVES = int(os.environ.get("RESTART_LIVES") or 4)


def again(server):
    """Killed and started; a client of the new life."""
    server.kill()
    return server.start().client()


def send(c, body, queue="q", **members):
    return c.call("SendMessage", QueueUrl=queue, MessageBody=body, **members)


def send_many(c, bodies, queue="q"):
    for i in range(0, len(bodies), 10):
        answer = c.call("SendMessageBatch", QueueUrl=queue, Entries=[
            {"Id": str(k), "MessageBody": b} for k, b in enumerate(bodies[i:i + 10])])
        assert "Failed" not in answer, answer


def receive(c, queue="q", n=10, **members):
    return c.call("ReceiveMessage", QueueUrl=queue, MaxNumberOfMessages=n, **members).get("Messages", [])


def delete(c, messages, queue="q"):
    if messages:
        answer = c.call("DeleteMessageBatch", QueueUrl=queue, Entries=[
            {"Id": str(k), "ReceiptHandle": m["ReceiptHandle"]} for k, m in enumerate(messages)])
        assert "Failed" not in answer, answer


def drain(c, queue="q"):
    got = []
    while some := receive(c, queue, VisibilityTimeout=43200):
        got += [m["Body"] for m in some]
    return got


@test
def an_id_is_a_duplicate_also_after_a_kill():
    with Server() as s:
        c = s.client()
        c.call("CreateQueue", QueueName="q.fifo", Attributes={"FifoQueue": "true"})
        once = {"queue": "q.fifo", "MessageGroupId": "g", "MessageDeduplicationId": "d1"}
        first = send(c, "m", **once)
        c = again(s)
        assert send(c, "m", **once) == first
        assert c.counts("q.fifo") == (1, 0, 0)


@test
def a_letter_deleted_from_the_dead_letter_queue_is_gone_for_good():
    with Server() as s:
        c = s.client()
        c.call("CreateQueue", QueueName="dlq")
        c.call("CreateQueue", QueueName="q", Attributes={
            "RedrivePolicy": json.dumps({"deadLetterTargetArn": ARN + "dlq", "maxReceiveCount": 1})})
        send_many(c, ["poison", "other"])
        assert len(receive(c, VisibilityTimeout=0)) == 2
        assert receive(c) == []
        letters = []
        while len(letters) < 2:
            letters += receive(c, "dlq", WaitTimeSeconds=1, VisibilityTimeout=0)[:2 - len(letters)]
        delete(c, [m for m in letters if m["Body"] == "poison"][:1], "dlq")
        c = again(s)
        assert drain(c, "dlq") == ["other"] and drain(c) == []
        assert s.stop() == 0
        c = s.start().client()
        assert c.counts("dlq") == (0, 1, 0) and c.counts("q") == (0, 0, 0)


@test
def a_delayed_message_stays_delayed_and_comes_when_it_is_due():
    with Server() as s:
        c = s.client()
        c.call("CreateQueue", QueueName="q")
        c.call("CreateQueue", QueueName="slow", Attributes={"DelaySeconds": "900"})
        send(c, "later", "slow")
        send(c, "much later", DelaySeconds=900)
        begin = time.monotonic()
        send(c, "soon", DelaySeconds=1)
        c = again(s)
        assert receive(c) == [] or time.monotonic() - begin >= 1
        assert [m["Body"] for m in receive(c, WaitTimeSeconds=5)] == ["soon"]
        assert 1 <= time.monotonic() - begin < 3, time.monotonic() - begin
        assert receive(c, "slow") == [] and c.counts("slow") == (0, 0, 1) and c.counts("q") == (0, 1, 1)
        send(c, "still the queue's delay", "slow")
        assert c.counts("slow") == (0, 0, 2)


@test
def after_a_kill_exactly_what_was_not_deleted_is_there():
    with Server() as s:
        c = s.client()
        c.call("CreateQueue", QueueName="q")
        send_many(c, [str(i) for i in range(100)])
        gone = []
        for _ in range(5):
            got = receive(c)
            gone += [m["Body"] for m in got]
            delete(c, got)
        assert len(gone) == 50
        for _ in range(2):  # the second start begins with what the first one wrote
            c = again(s)
            assert c.counts("q") == (50, 0, 0)
        assert sorted(drain(c) + gone, key=int) == [str(i) for i in range(100)]


@test
def all_settings_and_tags_are_the_same_after_a_restart():
    everything = {"DelaySeconds": "7", "MaximumMessageSize": "2048", "MessageRetentionPeriod": "3600",
                  "ReceiveMessageWaitTimeSeconds": "3", "VisibilityTimeout": "77",
                  "RedrivePolicy": json.dumps({"deadLetterTargetArn": ARN + "dlq", "maxReceiveCount": 4}),
                  "Policy": json.dumps({"Version": "2012-10-17", "Statement": [
                      {"Effect": "Allow", "Principal": "*", "Action": "sqs:*", "Resource": ARN + "q"}]})}
    fifo = {"FifoQueue": "true", "ContentBasedDeduplication": "true", "DeduplicationScope": "messageGroup",
            "FifoThroughputLimit": "perMessageGroupId", "DelaySeconds": "1"}
    dlq = {"RedriveAllowPolicy": json.dumps({"redrivePermission": "byQueue", "sourceQueueArns": [ARN + "q"]})}

    def seen(c):
        return {q: (c.call("GetQueueAttributes", QueueUrl=q, AttributeNames=["All"]), c.call("ListQueueTags", QueueUrl=q),
                    c.get(f"/v1/topics/{q}")["settings"] if "settings" in c.get(f"/v1/topics/{q}") else None)
                for q in ("q", "q.fifo", "dlq", "changed")}

    with Server() as s:
        c = s.client()
        c.call("CreateQueue", QueueName="dlq", Attributes=dlq)
        c.call("CreateQueue", QueueName="q", Attributes=everything, tags={"a": "1", "é": "ü", "empty": ""})
        c.call("CreateQueue", QueueName="q.fifo", Attributes=fifo)
        c.call("CreateQueue", QueueName="changed")
        c.call("SetQueueAttributes", QueueUrl="changed", Attributes={"VisibilityTimeout": "0", "DelaySeconds": "900"})
        c.call("TagQueue", QueueUrl="changed", Tags={"t": "2", "gone": "x"})
        c.call("UntagQueue", QueueUrl="changed", TagKeys=["gone"])
        before = seen(c)
        got = before["q"][0]["Attributes"]
        for k, v in everything.items():
            assert (json.loads(got[k]) == json.loads(v)) if v.startswith("{") else got[k] == v, (k, got[k])
        assert before["changed"][0]["Attributes"]["DelaySeconds"] == "900" and before["changed"][1]["Tags"] == {"t": "2"}
        assert seen(again(s)) == before
        assert s.stop() == 0
        assert seen(s.start().client()) == before
        c = s.client()
        c.call("CreateQueue", QueueName="q", Attributes=everything)  # the same again changes nothing
        assert seen(c) == before


def newest(data, suffix):
    found = [os.path.join(at, n) for at, _, names in os.walk(data) for n in names if n.endswith(suffix)]
    return max(found, key=lambda p: (os.path.getsize(p) > 0, os.path.basename(p)))


def append_seven(path):
    with open(path, "ab") as f:
        f.write(random.Random(1).randbytes(7))


def begun_segment(path):
    """A segment that was made and not written yet."""
    name = os.path.basename(path)
    open(os.path.join(os.path.dirname(path), f"{int(name[:20]) + 1000:020d}.log"), "w").close()


def torn_round(path):
    """The beginning of a round that never became whole: behind the last one, on a page of its own."""
    with open(path, "r+b") as f:
        whole = f.read()
        end = len(whole.rstrip(b"\0"))
        f.seek((end + 4095) // 4096 * 4096)
        f.write(whole[4096:4096 + 24] + b"\x09" * 10)  # a header of this lap, with another number


@test
def a_torn_tail_costs_nothing_that_was_answered():
    for suffix, harm in ((".log", append_seven), (".log", begun_segment), (".wal", torn_round)):
        with Server("--segment-mib", "1") as s:
            c = s.client()
            c.call("CreateQueue", QueueName="q")
            bodies = [f"{i}-" + "x" * 15000 for i in range(80)]  # more than one segment
            send_many(c, bodies)
            if suffix == ".log":
                assert s.stop() == 0  # now the segments are written
                c = s.start().client()
            more = [f"more-{i}" for i in range(10)]  # and these are in the journal only
            send_many(c, more)
            bodies += more
            s.kill()
            harm(newest(s.data, suffix))
            c = s.start().client()
            assert sorted(drain(c)) == sorted(bodies), (suffix, harm)
            assert (harm is torn_round) == ("was not written whole" in s.notes()), s.notes()
            send(c, "and it goes on")
            c = again(s)
            assert drain(c) == ["and it goes on"]


@test
def each_answered_create_and_delete_of_a_queue_survives_a_kill_in_their_midst():
    with Server() as s:
        there, gone, unsure = {}, set(), set()
        rng = random.Random(int(os.environ.get("LEASELOG_SEED") or 7))

        def churn(life, thread):
            c, own = s.client(), []
            try:
                for i in range(10000):
                    name = f"life{life}-{thread}-{i}"
                    unsure.add(name)
                    c.call("CreateQueue", QueueName=name, Attributes={"VisibilityTimeout": str(i % 1000)})
                    there[name] = str(i % 1000)
                    unsure.discard(name)
                    own.append(name)
                    if i % 3 == 2:
                        name = own.pop(0)
                        unsure.add(name)
                        del there[name]
                        c.call("DeleteQueue", QueueUrl=name)
                        gone.add(name)
                        unsure.discard(name)
            except Exception as e:
                assert not isinstance(e, Refused), e

        for life in range(LIVES):
            threads = [in_thread(churn, life, t) for t in range(2)]
            answered = len(there) + len(gone)
            wait_until(lambda: len(there) + len(gone) > answered + 2, "there is load")
            time.sleep(rng.uniform(0, 0.1))  # the moment of the kill is the test's input
            s.kill()
            for t in threads:
                t.result()
            s.start()
            c = s.client()
            names, token = set(), {}
            while token is not None:
                page = c.call("ListQueues", MaxResults=1000, **token)
                names |= {u.rsplit("/", 1)[1] for u in page.get("QueueUrls", [])}
                token = {"NextToken": page["NextToken"]} if "NextToken" in page else None
            assert set(there) <= names <= set(there) | unsure, (set(there) - names, names - set(there) - unsure)
            for name in rng.sample(sorted(there), min(5, len(there))):
                got = c.call("GetQueueAttributes", QueueUrl=name, AttributeNames=["VisibilityTimeout"])["Attributes"]
                assert got == {"VisibilityTimeout": there[name]}, (name, got)
                send(c, "works", name)
            assert '"level":"error"' not in s.notes(), s.notes()[-2000:]
            for name in unsure & names:
                there[name] = name.rsplit("-", 1)[1]
            for name in list(there)[:-20]:  # the list stays short
                c.call("DeleteQueue", QueueUrl=name)
                gone.add(name)
                del there[name]
            unsure.clear()  # whatever they came to, so they stay


run_tests(globals())
