# SPDX-License-Identifier: Apache-2.0
"""Dead letters between partitions of different leaders: once, whatever is killed between the four steps of a move (MOVE
committed, carried to the target, committed there, MOVED committed). From outside no step can be chosen, so the kills are
many and fall where they fall; tests/unit and the models play each step."""
import json
import time

from cases import HOLD_S, ROUNDS, dice, others, pass_time, run_cases, scene
from harness import SLOW, Cluster
from leaselog import test, wait_until
from workload import ARN, Workload

LETTERS = {"s": {"dead": "d", "receives_max": 2}, "d": {}}
ORDERED = {"s.fifo": {"fifo": True, "dead": "d.fifo", "receives_max": 2}, "d.fifo": {"fifo": True}}


def killed_between(queues, source, target):
    with scene(queues=queues, clients=3) as (c, w, _):
        rng = dice("letters")
        for i in range(2 * ROUNDS):
            begin = time.monotonic()
            wait_until(lambda: w.worked("receive", begin) > 5, "letters are on their way")
            pass_time(rng.uniform(0, 0.3))
            old = c.wait_leader(source if i % 2 else target)
            c.kill(old)
            c.wait_leader(source, other_than=old)
            c.wait_leader(target, other_than=old)
            w.wait_progress(5, kinds=("send",))
            c.start(old)
            c.wait_in_sync(source)
            c.wait_in_sync(target)


@test
def a_dead_letter_arrives_once_though_leaders_of_both_queues_are_killed():
    killed_between(LETTERS, "s", "d")


@test
def a_dead_letter_of_an_ordered_queue_arrives_once_though_leaders_are_killed():
    killed_between(ORDERED, "s.fifo", "d.fifo")


@test
def a_move_whose_answer_is_lost_is_asked_again_and_arrives_once():
    with scene(queues=LETTERS, clients=3) as (c, w, _):
        for _ in range(ROUNDS):
            source, target = c.wait_leader("s"), c.wait_leader("d")
            if source == target:
                c.restart(source)
                c.wait_in_sync("s")
                c.wait_in_sync("d")
                continue
            c.way(f"{source}>{target}", mode="deaf")
            pass_time(1.5)
            c.way(f"{source}>{target}", mode="pass")  # the held answers come now, late
            for _ in range(3):
                c.way(f"{source}>{target}", cut_after=30)
                pass_time(0.3)
            c.heal()
            w.wait_progress(5, kinds=("send",))


@test
def letters_wait_in_their_queue_while_the_dead_letters_queue_has_no_leader():
    with scene(queues=LETTERS, brokers=6) as (c, w, _):
        s, d = c.partition("s")["members"], c.partition("d")["members"]
        assert not set(s) & set(d), f"s is on {s} and d on {d}: they cannot fail apart"
        down = d[:2]
        for b in down:
            c.kill(b)
        pass_time(HOLD_S)
        w.wait_progress(10, kinds=("send",))
        for b in down:
            c.start(b)
        c.wait_in_sync("d")


@test
def letters_whose_queue_was_deleted_are_delivered_again():
    with Cluster() as c:
        w = Workload(c, {"s": {"dead": "d", "receives_max": 1}, "d": {}})
        asker = w.asker("only")
        c.wait_in_sync("s")
        sent = {e["body"] for e in (w.send(asker, "s") for _ in range(20)) if e["outcome"] == "ok"}
        w.insist(asker, "DeleteQueue", QueueUrl="d")
        got = set()

        def all_came():
            got.update(m["body"] for m in w.receive(asker, "s", visibility_s=1, wait_s=0))  # 0: the oldest ten again
            return sent <= got

        wait_until(all_came, "all were received once", 30 * SLOW)
        old = c.wait_leader("s")
        c.kill(old)
        c.wait_leader("s", other_than=old)
        got.clear()
        wait_until(all_came, "all come again, though they are used up", 30 * SLOW)
        assert c.crashes() == [], c.crashes()


@test
def letters_wait_while_their_queue_is_full_and_arrive_when_it_has_room():
    with scene(queues=LETTERS, clients=2) as (c, w, _):
        rest = c.client(others(c)[0])
        headers = {"Content-Type": "application/merge-patch+json"}
        status, body, _ = rest.raw("PATCH", "/v1/topics/d", json.dumps({"max_messages": 1}), headers)
        assert status == 200, body
        pass_time(HOLD_S)
        old = c.wait_leader("d")
        c.kill(old)
        c.wait_leader("d", other_than=old)
        c.start(old)
        rest = c.client(others(c)[0])
        status, body, _ = rest.raw("PATCH", "/v1/topics/d", json.dumps({"max_messages": None}), headers)
        assert status == 200, body


@test
def a_redrive_goes_on_over_failovers_and_brings_each_letter_back_once():
    with scene(queues=LETTERS, clients=2) as (c, w, _):
        begin = time.monotonic()
        wait_until(lambda: w.worked("receive", begin) > 50, "there are letters")
        task = w.asker("redrive")
        # What a redrive brings back is received in the source again, so it goes to a queue of its own.
        w.history.queue("back")
        w.insist(task, "CreateQueue", QueueName="back")
        w.history.queues["d"]["moved_to"] = "back"
        w.insist(task, "StartMessageMoveTask", SourceArn=ARN + "d", DestinationArn=ARN + "back")
        for queue in ("d", "back"):
            old = c.wait_leader(queue)
            c.kill(old)
            c.wait_leader(queue, other_than=old)
            c.start(old)
            c.wait_in_sync(queue)


if __name__ == "__main__":
    run_cases(globals())
