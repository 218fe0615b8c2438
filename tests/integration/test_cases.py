# SPDX-License-Identifier: Apache-2.0
"""What users of other queues and of SQS servers ran into, one test each: the name says what is right.

Where it was told, and the test:
  moto#4655, gopherstack#1671, fakecloud#2237   a_superseded_handle_still_works_on_a_standard_queue
  boto3#2898, aws-sdk-java#424                  no_lease_lasts_longer_than_twelve_hours_from_its_receive
  kumo#649, localstack#8234                     the_end_of_a_lease_is_noticed_without_other_traffic
  pulsar#2590, rocketmq#4815                    redelivery_comes_no_earlier_than_the_timeout_and_within_a_second_after
  rocketmq#3787, rocketmq#7724                  a_delete_around_the_deadline_is_final_and_all_others_come_back
  gopherstack#1665, nats-server#4112            test_limits.py; of FIFO, and that leases' ends make room: unit/test_queue_fifo.c
  celery#3270, kombu#337                        leases_that_end_again_and_again_are_counted
  celery#4002                                   a_worker_gives_a_message_back_by_timeout_zero_and_no_copy_is_made
  localstack (test_sqs.py, zero visibility)     timeout_zero_frees_a_group_at_once_and_those_served_go_behind_the_others
  knockaway/sqsiphon#5                          one_hot_group_does_not_keep_another_waiting
  localstack#6107, symfony-messenger#35         a_missing_group_or_dedup_id_has_the_code_that_aws_gives
  shoryuken#473, elasticmq#412                  dead_lettering_and_move_tasks_never_deduplicate
  localstack#3339, elasticmq#747                of_parallel_sends_with_one_id_exactly_one_is_stored_and_all_succeed
  elasticmq#78, localstack#957                  a_wait_longer_than_the_idle_timeout_is_answered_and_the_connection_goes_on
  cloudemu#731                                  a_wait_on_fifo_notices_a_freed_group_a_lease_end_a_due_time_and_a_send
  awspring#1558, localstack#2463                at_a_stop_waiters_get_an_empty_answer_at_once
  localstack (snapshots of purges)              a_second_purge_is_fine_unless_aws_is_to_be_followed_strictly
  cloudemu#496                                  nothing_is_lost_when_dead_letters_arrive_while_a_move_task_runs
  localstack#9988, elasticmq#858, moto#10265    a_move_task_keeps_its_rate_shows_its_handle_while_it_runs_and_can_be_cancelled;
                                                failures: wire_actions.py
  aws-sdk#735, sqsmover#54                      a_move_task_keeps_the_order_of_each_fifo_group
  pulsar#7021, pulsar#4426                      each_poison_message_becomes_one_dead_letter_also_over_a_kill
  elasticmq#618                                 without_its_dead_letter_queue_a_message_is_delivered_on
  localstack#7436, elasticmq#24                 behind_a_trusted_proxy_queue_urls_are_those_that_the_client_sees
  moto 2.2, localstack (test_message_retention) with a clock of its own: expired_messages_vanish_in_any_state_and_their_group_goes_on
                                                in unit/test_queue_fifo.c, an_expired_message_is_neither_received_nor_counted
                                                in unit/test_queue_verbs.c
"""
import contextlib
import json
import os
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
from leaselog import Client, Refused, Server, in_thread, memory_folder, run_tests, test, wait_until
from poller import polls

tempfile.tempdir = memory_folder()  # syncs are not what is asked here

ARN = "arn:aws:sqs:us-east-1:000000000000:"
server = None


def connect():
    return Client(server.port)


def fresh(*queues):
    """A client; no queue but these; a (name, attributes) pair makes one with attributes."""
    c = connect()
    for url in c.call("ListQueues").get("QueueUrls", []):
        c.call("DeleteQueue", QueueUrl=url)
    for q in queues:
        name, attributes = q if isinstance(q, tuple) else (q, {})
        fifo = {"FifoQueue": "true"} if name.endswith(".fifo") else {}
        c.call("CreateQueue", QueueName=name, Attributes={**fifo, **attributes})
    return c


def redrive(target, receives=1):
    return {"RedrivePolicy": json.dumps({"deadLetterTargetArn": ARN + target, "maxReceiveCount": receives})}


def send(c, body, queue="q", group=None, dedup=None, **members):
    if group:
        members.update(MessageGroupId=group, MessageDeduplicationId=dedup or body)
    return c.call("SendMessage", QueueUrl=queue, MessageBody=body, **members)


def receive(c, queue="q", n=1, **members):
    return c.call("ReceiveMessage", QueueUrl=queue, MaxNumberOfMessages=n, AttributeNames=["All"],
                  **members).get("Messages", [])


def bodies(messages):
    return [m["Body"] for m in messages]


def drain(c, queue):
    """All that is visible, leased for good."""
    got = []
    while True:
        some = receive(c, queue, 10, VisibilityTimeout=43200)
        if not some:
            return got
        got += some


def delete(c, message, queue="q"):
    c.call("DeleteMessage", QueueUrl=queue, ReceiptHandle=message["ReceiptHandle"])


def visible_in(c, message, seconds, queue="q"):
    c.call("ChangeMessageVisibility", QueueUrl=queue, ReceiptHandle=message["ReceiptHandle"], VisibilityTimeout=seconds)


def refused(code, status, f, *a, **kw):
    try:
        f(*a, **kw)
    except Refused as e:
        assert (e.code, e.status) == (code, status), (e.code, e.status, e.body)
        return
    raise AssertionError(f"not refused with {code}")


# ---- leases and receipts ----

@test
def a_superseded_handle_still_works_on_a_standard_queue():
    c = fresh("q")
    send(c, "m")
    old = receive(c, VisibilityTimeout=0)[0]
    new = receive(c, VisibilityTimeout=30)[0]
    assert old["ReceiptHandle"] != new["ReceiptHandle"]
    visible_in(c, old, 0)
    assert bodies(receive(c, VisibilityTimeout=30)) == ["m"]
    delete(c, new)
    delete(c, old)
    assert c.counts("q") == (0, 0, 0)


@test
def no_lease_lasts_longer_than_twelve_hours_from_its_receive():
    c = fresh("q")
    send(c, "m")
    m = receive(c, VisibilityTimeout=43200)[0]
    refused("InvalidParameterValue", 400, visible_in, c, m, 43201)
    refused("InvalidParameterValue", 400, visible_in, c, m, 43200)
    visible_in(c, m, 43190)
    assert c.counts("q") == (0, 1, 0)


@test
def the_end_of_a_lease_is_noticed_without_other_traffic():
    c = fresh("q")
    send(c, "m")
    begin = time.monotonic()
    receive(c, VisibilityTimeout=1)
    assert c.counts("q") == (0, 1, 0)
    assert bodies(receive(c, WaitTimeSeconds=5, VisibilityTimeout=1)) == ["m"]
    assert 1 <= time.monotonic() - begin < 2.5
    time.sleep(1.1)
    assert c.counts("q") == (1, 0, 0), "counters change by themselves"


@test
def redelivery_comes_no_earlier_than_the_timeout_and_within_a_second_after():
    c = fresh("q")
    send(c, "m")
    begin = time.monotonic()
    receive(c, VisibilityTimeout=2)
    assert bodies(receive(c, WaitTimeSeconds=10)) == ["m"]
    assert 2 <= time.monotonic() - begin < 3


@test
def a_delete_around_the_deadline_is_final_and_all_others_come_back():
    n = 200
    c = fresh("q")
    for i in range(n // 10):
        c.call("SendMessageBatch", QueueUrl="q", Entries=[{"Id": str(k), "MessageBody": str(10 * i + k)} for k in range(10)])
    held = {}
    while len(held) < n:
        held.update((m["Body"], m) for m in receive(c, n=10, VisibilityTimeout=1))
    got = list(held.values())
    end = time.monotonic() + 1
    polled, deleted = [], {}  # (when a poll began, what it brought); when the answer to a delete came

    def poll_on():
        own = connect()
        while time.monotonic() < end + 1:
            begin = time.monotonic()
            polled.extend((begin, body) for body in bodies(receive(own, n=10, VisibilityTimeout=43200)))

    others = in_thread(poll_on)
    time.sleep(max(0, end - 0.3 - time.monotonic()))
    for m in got[::2]:  # from 0.3 s before the deadline to some time after it
        delete(c, m)
        deleted[m["Body"]] = time.monotonic()
        time.sleep(0.005)
    others.result()
    back = [body for _, body in polled]
    assert len(back) == len(set(back)), "no lease was given twice"
    assert set(bodies(got[1::2])) <= set(back), "what was not deleted comes back"
    late = [body for begin, body in polled if begin > deleted.get(body, begin)]
    assert late == [], f"deleted, and then received: {late}"


@test
def leases_that_end_again_and_again_are_counted():
    c = fresh("q")
    send(c, "m")
    for i in range(5):
        assert receive(c, VisibilityTimeout=0)[0]["Attributes"]["ApproximateReceiveCount"] == str(i + 1)
    shown = c.get("/v1/topics/q/messages")["messages"][0]
    assert shown["receive_count"] == 5, "a look shows how often, without counting itself"


@test
def a_worker_gives_a_message_back_by_timeout_zero_and_no_copy_is_made():
    c = fresh("q")
    sent = send(c, "m")
    visible_in(c, receive(c)[0], 0)
    assert receive(c)[0]["MessageId"] == sent["MessageId"]
    assert c.counts("q") == (0, 1, 0)


# ---- FIFO ----

@test
def timeout_zero_frees_a_group_at_once_and_those_served_go_behind_the_others():
    c = fresh("q.fifo")
    for body in ("g1-m1", "g2-m1", "g2-m2", "g3-m1", "g1-m2"):
        send(c, body, "q.fifo", body[:2])
    got = bodies(receive(c, "q.fifo", 3, VisibilityTimeout=0))
    assert got == ["g1-m1", "g1-m2", "g2-m1"], got
    got = bodies(receive(c, "q.fifo", 10, VisibilityTimeout=0))
    assert got == ["g3-m1", "g1-m1", "g1-m2", "g2-m1", "g2-m2"], got


@test
def sequence_numbers_grow_within_a_group():
    c = fresh("q.fifo")
    numbers = [send(c, str(i), "q.fifo", "ab"[i % 2])["SequenceNumber"] for i in range(12)]
    assert numbers == sorted(numbers) and len(set(numbers)) == 12, numbers
    got = receive(c, "q.fifo", 10)
    assert [m["Attributes"]["SequenceNumber"] for m in got if m["Body"] in "02468"] == numbers[:10:2], got


@test
def one_hot_group_does_not_keep_another_waiting():
    c = fresh("q.fifo")
    for i in range(20):
        c.call("SendMessageBatch", QueueUrl="q.fifo", Entries=[
            {"Id": str(k), "MessageBody": "hot", "MessageGroupId": "g1", "MessageDeduplicationId": f"{i}-{k}"}
            for k in range(10)])
    send(c, "other", "q.fifo", "g2")
    assert bodies(receive(c, "q.fifo", 10)) == ["hot"] * 10
    assert bodies(receive(c, "q.fifo", 10)) == ["other"]
    c = fresh("q.fifo")
    for i in range(12):
        send(c, f"hot{i}", "q.fifo", "g1")
    send(c, "other", "q.fifo", "g2")
    receive(c, "q.fifo", 10, VisibilityTimeout=0)
    assert bodies(receive(c, "q.fifo", 1, VisibilityTimeout=0)) == ["other"], "also when nothing is in flight"


@test
def a_missing_group_or_dedup_id_has_the_code_that_aws_gives():
    c = fresh("q.fifo")
    refused("MissingParameter", 400, c.call, "SendMessage", QueueUrl="q.fifo", MessageBody="m", MessageDeduplicationId="d")
    refused("InvalidParameterValue", 400, c.call, "SendMessage", QueueUrl="q.fifo", MessageBody="m", MessageGroupId="g")
    good = {"Id": "a", "MessageBody": "m", "MessageGroupId": "g", "MessageDeduplicationId": "d"}
    for missing in "MessageGroupId", "MessageDeduplicationId":
        bad = {k: v for k, v in good.items() if k != missing}
        refused("InvalidParameterValue", 400, c.call, "SendMessageBatch", QueueUrl="q.fifo",
                Entries=[good, {**bad, "Id": "b"}])
    assert c.counts("q.fifo") == (0, 0, 0), "one bad entry fails all"


@test
def an_expired_handle_is_refused_on_fifo_also_in_a_batch():
    c = fresh("q.fifo")
    send(c, "a", "q.fifo", "g")
    send(c, "b", "q.fifo", "h")
    old = receive(c, "q.fifo", VisibilityTimeout=0)[0]
    refused("InvalidParameterValue", 400, delete, c, old, "q.fifo")
    new = receive(c, "q.fifo", VisibilityTimeout=30)[0]
    got = c.call("DeleteMessageBatch", QueueUrl="q.fifo", Entries=[
        {"Id": "old", "ReceiptHandle": old["ReceiptHandle"]}, {"Id": "new", "ReceiptHandle": new["ReceiptHandle"]}])
    assert got["Successful"] == [{"Id": "new"}] and [f["Id"] for f in got["Failed"]] == ["old"], got
    assert got["Failed"][0]["Code"] == "InvalidParameterValue" and got["Failed"][0]["SenderFault"] is True, got


@test
def the_same_attempt_id_brings_the_same_messages_again():
    c = fresh("q.fifo")
    for i in range(3):
        send(c, str(i), "q.fifo", "g")
    first = receive(c, "q.fifo", 2, ReceiveRequestAttemptId="a")
    again = receive(c, "q.fifo", 2, ReceiveRequestAttemptId="a")
    assert again == first and bodies(again) == ["0", "1"]
    assert receive(c, "q.fifo", 2, ReceiveRequestAttemptId="b") == []
    delete(c, first[0], "q.fifo")
    assert receive(c, "q.fifo", 2, ReceiveRequestAttemptId="a") == [], "one of them was deleted"


# ---- deduplication ----

@test
def dead_lettering_and_move_tasks_never_deduplicate():
    c = fresh("dlq.fifo", ("q.fifo", redrive("dlq.fifo")))
    send(c, "direct", "dlq.fifo", "g", "d")
    send(c, "poison", "q.fifo", "g", "d")
    receive(c, "q.fifo", VisibilityTimeout=0)
    assert receive(c, "q.fifo") == []
    wait_until(lambda: c.counts("dlq.fifo")[0] == 2, "both are there")
    c.call("CreateQueue", QueueName="other.fifo", Attributes={"FifoQueue": "true"})
    send(c, "here", "other.fifo", "g", "d")
    c.call("StartMessageMoveTask", SourceArn=ARN + "dlq.fifo", DestinationArn=ARN + "other.fifo")
    wait_until(lambda: c.counts("other.fifo")[0] == 3, "all are there")
    assert sorted(bodies(drain(c, "other.fifo"))) == ["direct", "here", "poison"]


@test
def of_parallel_sends_with_one_id_exactly_one_is_stored_and_all_succeed():
    c = fresh("q.fifo")
    for round in range(5):
        sends = [in_thread(lambda: send(connect(), "m", "q.fifo", "g", f"d{round}")) for _ in range(8)]
        ids = {s.result()["MessageId"] for s in sends}
        assert len(ids) == 1, ids
    assert c.counts("q.fifo") == (5, 0, 0)


# ---- long polls ----

@test
def a_wait_longer_than_the_idle_timeout_is_answered_and_the_connection_goes_on():
    with Server("--idle-timeout", "1") as s:
        c = s.client()
        c.call("CreateQueue", QueueName="q")
        begin = time.monotonic()
        assert c.call("ReceiveMessage", QueueUrl="q", WaitTimeSeconds=3) == {}
        assert 2.9 < time.monotonic() - begin < 4
        connection = c.conn.sock
        send(c, "m")
        assert c.conn.sock is connection and connection is not None, "the same connection"


@test
def a_wait_on_fifo_notices_a_freed_group_a_lease_end_a_due_time_and_a_send():
    c = fresh("q.fifo")

    def woken(what, prepare, at_least, at_most):
        prepare()
        begin = time.monotonic()
        waiting = in_thread(lambda: receive(connect(), "q.fifo", WaitTimeSeconds=10, VisibilityTimeout=30))
        wait_until(lambda: polls(c) == 1, "the poll waits")
        what()
        got = waiting.result()
        assert len(got) == 1 and at_least <= time.monotonic() - begin < at_most, (got, time.monotonic() - begin)
        delete(c, got[0], "q.fifo")

    held = []

    def two_and_one_leased():
        send(c, "1", "q.fifo", "g")
        send(c, "2", "q.fifo", "g")
        held[:] = receive(c, "q.fifo", VisibilityTimeout=30)

    def one_leased_shortly():
        send(c, "3", "q.fifo", "g")
        receive(c, "q.fifo", VisibilityTimeout=1)

    woken(lambda: delete(c, held[0], "q.fifo"), two_and_one_leased, 0, 2)
    woken(lambda: None, one_leased_shortly, 0.8, 2.5)
    woken(lambda: send(c, "4", "q.fifo", "g"), lambda: None, 0, 2)
    c.call("SetQueueAttributes", QueueUrl="q.fifo", Attributes={"DelaySeconds": "1"})
    woken(lambda: None, lambda: send(c, "5", "q.fifo", "g"), 0.5, 2.5)


@test
def at_a_stop_waiters_get_an_empty_answer_at_once():
    with Server() as s:
        c = s.client()
        c.call("CreateQueue", QueueName="q")

        def poll():
            body = json.dumps({"QueueUrl": "q", "WaitTimeSeconds": 20}).encode()
            return s.client().raw("POST", "/", body, {"Content-Type": "application/x-amz-json-1.0",
                                                      "X-Amz-Target": "AmazonSQS.ReceiveMessage"})

        waiting = [in_thread(poll) for _ in range(50)]
        wait_until(lambda: polls(c) == 50, "all wait")
        begin = time.monotonic()
        assert s.stop() == 0
        assert time.monotonic() - begin < 3, time.monotonic() - begin
        for w in waiting:
            status, body, headers = w.result()
            assert (status, body) == (200, b"{}") and headers["Connection"].lower() == "close", (status, body)


# ---- purging and deleting ----

@test
def a_second_purge_is_fine_unless_aws_is_to_be_followed_strictly():
    c = fresh("q")
    for _ in range(3):
        send(c, "m")
        c.call("PurgeQueue", QueueUrl="q")
        assert c.counts("q") == (0, 0, 0)
    with Server("--sqs-strict-cooldowns") as s:
        c = s.client()
        c.call("CreateQueue", QueueName="q")
        c.call("PurgeQueue", QueueUrl="q")
        refused("AWS.SimpleQueueService.PurgeQueueInProgress", 403, c.call, "PurgeQueue", QueueUrl="q")


def strict_and_lenient():
    """Clients of servers in both modes; a row of api/deviations.md each test."""
    for strict in True, False:
        with Server(*(["--sqs-strict"] if strict else [])) as s:
            c = s.client()
            c.call("CreateQueue", QueueName="q")
            yield strict, c


@test
def strictly_a_queue_is_purged_once_a_minute_else_at_will():
    for strict, c in strict_and_lenient():
        c.call("PurgeQueue", QueueUrl="q")
        purge = lambda: c.call("PurgeQueue", QueueUrl="q")
        refused("AWS.SimpleQueueService.PurgeQueueInProgress", 403, purge) if strict else purge()


@test
def strictly_a_name_is_free_a_minute_after_its_deletion_else_at_once():
    for strict, c in strict_and_lenient():
        c.call("DeleteQueue", QueueUrl="q")
        create = lambda: c.call("CreateQueue", QueueName="q")
        refused("AWS.SimpleQueueService.QueueDeletedRecently", 400, create) if strict else create()


@test
def strictly_a_queue_of_another_account_is_not_found_else_accounts_are_not_compared():
    gone = "AWS.SimpleQueueService.NonExistentQueue"
    for strict, c in strict_and_lenient():
        other = lambda: send(c, "m", "http://x/111122223333/q")
        owner = lambda: c.call("GetQueueUrl", QueueName="q", QueueOwnerAWSAccountId="111122223333")
        for f in other, owner:
            refused(gone, 400, f) if strict else f()
        for url in "http://x/000000000000/q", "q", "http://x/y/q":
            send(c, "m", url)
        c.call("GetQueueUrl", QueueName="q", QueueOwnerAWSAccountId="000000000000")


@test
def a_deleted_queue_takes_its_messages_along_and_old_handles_do_nothing_in_its_namesake():
    c = fresh("q")
    send(c, "held")
    held = receive(c)[0]
    send(c, "visible")
    send(c, "later", DelaySeconds=900)
    assert c.counts("q") == (1, 1, 1)
    c.call("DeleteQueue", QueueUrl="q")
    refused("AWS.SimpleQueueService.NonExistentQueue", 400, send, c, "m")
    c.call("CreateQueue", QueueName="q")
    assert c.counts("q") == (0, 0, 0)
    send(c, "new")
    delete(c, held)
    assert bodies(receive(c)) == ["new"]


# ---- dead letters ----

def poison(c, n, queue="q", of="p"):
    for i in range(n):
        send(c, f"{of}{i}", queue)
    for _ in range(2 * n // 10 + 2):
        receive(c, queue, 10, VisibilityTimeout=0)


@test
def nothing_is_lost_when_dead_letters_arrive_while_a_move_task_runs():
    c = fresh("dlq", "other", ("q", redrive("dlq")))
    poison(c, 20)
    wait_until(lambda: c.counts("dlq")[0] == 20, "the first are there")
    c.call("StartMessageMoveTask", SourceArn=ARN + "dlq", DestinationArn=ARN + "other", MaxNumberOfMessagesPerSecond=20)
    poison(c, 20, of="r")
    task = lambda: c.call("ListMessageMoveTasks", SourceArn=ARN + "dlq")["Results"][0]["Status"]
    wait_until(lambda: task() != "RUNNING" and sum(c.counts("q")) == 0, "all is done")
    got = bodies(drain(c, "dlq")) + bodies(drain(c, "other"))
    assert sorted(got) == sorted([f"p{i}" for i in range(20)] + [f"r{i}" for i in range(20)]), got


@test
def a_move_task_keeps_its_rate_shows_its_handle_while_it_runs_and_can_be_cancelled():
    c = fresh("dlq", ("q", redrive("dlq")))
    poison(c, 10)
    wait_until(lambda: c.counts("dlq")[0] == 10, "all are there")
    refused("InvalidParameterValue", 400, c.call, "StartMessageMoveTask", SourceArn=ARN + "q")
    begin = time.monotonic()
    handle = c.call("StartMessageMoveTask", SourceArn=ARN + "dlq", MaxNumberOfMessagesPerSecond=2)["TaskHandle"]
    refused("InvalidParameterValue", 400, c.call, "StartMessageMoveTask", SourceArn=ARN + "dlq")
    task = lambda: c.call("ListMessageMoveTasks", SourceArn=ARN + "dlq")["Results"][0]
    assert task()["Status"] == "RUNNING" and task()["TaskHandle"] == handle
    wait_until(lambda: task()["ApproximateNumberOfMessagesMoved"] >= 3, "three have moved")
    assert time.monotonic() - begin > 0.9, "one at once, then two a second"
    moved = c.call("CancelMessageMoveTask", TaskHandle=handle)["ApproximateNumberOfMessagesMoved"]
    wait_until(lambda: task()["Status"] == "CANCELLED", "it has ended")
    assert "TaskHandle" not in task() and moved <= task()["ApproximateNumberOfMessagesMoved"] <= moved + 2
    assert c.counts("dlq")[0] + c.counts("q")[0] == 10


@test
def a_move_task_keeps_the_order_of_each_fifo_group():
    c = fresh("dlq.fifo", ("q.fifo", redrive("dlq.fifo")))
    for i in range(3):
        send(c, str(i), "q.fifo", "g")
    receive(c, "q.fifo", 10, VisibilityTimeout=0)
    assert receive(c, "q.fifo", 10) == []
    wait_until(lambda: c.counts("dlq.fifo")[0] == 3, "all are there")
    c.call("StartMessageMoveTask", SourceArn=ARN + "dlq.fifo")
    wait_until(lambda: c.counts("q.fifo")[0] == 3, "all are back")
    assert bodies(receive(c, "q.fifo", 10)) == ["0", "1", "2"]


@test
def each_poison_message_becomes_one_dead_letter_also_over_a_kill():
    n = 200
    with Server() as s:
        c = s.client()
        c.call("CreateQueue", QueueName="dlq")
        c.call("CreateQueue", QueueName="q", Attributes=redrive("dlq"))
        for i in range(n // 10):
            c.call("SendMessageBatch", QueueUrl="q", Entries=[
                {"Id": str(k), "MessageBody": str(10 * i + k)} for k in range(10)])

        def consume():
            own = s.client()
            try:
                while True:
                    receive(own, "q", 10, VisibilityTimeout=0)
            except (OSError, Refused, ValueError):
                pass  # the server is gone
            except Exception as e:
                assert "http.client" in type(e).__module__, e

        consumers = [in_thread(consume) for _ in range(8)]
        wait_until(lambda: c.counts("dlq")[0] > n // 10, "some are dead letters")
        s.kill()
        for consumer in consumers:
            consumer.result()
        s.start()
        c = s.client()
        wait_until(lambda: receive(c, "q", 10, VisibilityTimeout=0) == [] and c.counts("dlq")[0] == n,
                   "all are dead letters")
        got = bodies(drain(c, "dlq"))
        assert len(got) == n and set(got) == {str(i) for i in range(n)}
        assert c.counts("q") == (0, 0, 0)


@test
def without_its_dead_letter_queue_a_message_is_delivered_on():
    c = fresh("dlq", ("q", redrive("dlq")))
    send(c, "m")
    receive(c, VisibilityTimeout=0)
    told = "topic q: its dead-letter topic dlq is not there"
    before = server.notes().count(told)
    c.call("DeleteQueue", QueueUrl="dlq")
    assert server.notes().count(told) == before + 1, "the operator is told"
    assert c.get("/v1/topics/q")["stats"]["warnings"] == ["dead_letter_missing"]
    for count in "2", "3":
        assert receive(c, VisibilityTimeout=0)[0]["Attributes"]["ApproximateReceiveCount"] == count
    assert c.counts("q") == (1, 0, 0)


@test
def settings_that_make_dead_letters_expire_early_are_told_in_the_log_and_in_the_stats():
    with Server() as s:
        c = s.client()
        c.call("CreateQueue", QueueName="dlq")
        assert "dead-letter" not in s.notes()
        c.call("CreateQueue", QueueName="q", Attributes=redrive("dlq"))
        assert c.get("/v1/topics/q")["stats"]["warnings"] == ["dead_letter_retention"]
        assert s.notes().count("topic q: its dead-letter topic dlq does not keep messages longer") == 1
        c.call("SetQueueAttributes", QueueUrl="dlq", Attributes={"MessageRetentionPeriod": "1209600"})
        assert "warnings" not in c.get("/v1/topics/q")["stats"]
        c.call("SetQueueAttributes", QueueUrl="dlq", Attributes={"MessageRetentionPeriod": "60"})
        assert s.notes().count("topic q: its dead-letter topic dlq does not keep messages longer") == 2


# ---- queue URLs ----

@test
def behind_a_trusted_proxy_queue_urls_are_those_that_the_client_sees():
    headers = {"X-Forwarded-Proto": "https", "X-Forwarded-Host": "q.example", "X-Forwarded-Port": "443",
               "Content-Type": "application/x-amz-json-1.0", "X-Amz-Target": "AmazonSQS.GetQueueUrl"}
    for options, want in ((("--trusted-proxies", "127.0.0.1"), "https://q.example/"), ((), "http://127.0.0.1:")):
        with Server(*options) as s:
            c = s.client()
            c.call("CreateQueue", QueueName="q")
            _, body, _ = c.raw("POST", "/", b'{"QueueName":"q"}', headers)
            url = json.loads(body)["QueueUrl"]
            assert url.startswith(want) and url.endswith("/000000000000/q"), url
            c.call("SendMessage", QueueUrl="https://elsewhere:1/000000000000/q", MessageBody="m")


@contextlib.contextmanager
def serving():
    global server
    with Server() as server:
        yield


if __name__ == "__main__":
    run_tests({k: v for k, v in globals().items() if getattr(v, "__module__", None) == __name__}, 4, serving)
