# SPDX-License-Identifier: Apache-2.0
"""The catalogue fails: etcd's leader, its quorum, its disk, its watches; and the controller among the brokers."""
import base64
import time

from cases import LONG_S, ROUNDS, dice, others, pass_time, run_cases, scene
from harness import SLOW
from leaselog import test, wait_until

MIB = 1 << 20


def text(value):
    return base64.b64encode(value.encode()).decode()


def make_queue(w, name):
    w.insist(w.asker(name), "CreateQueue", QueueName=name)


@test
def the_leader_of_etcd_is_killed_and_clients_notice_nothing_lasting():
    with scene() as (c, w, _):
        for _ in range(ROUNDS):
            wait_until(c.etcd_leader, "etcd has a leader")
            member = c.etcd_leader()
            c.kill(member)
            w.wait_progress(20)
            make_queue(w, f"made-{time.monotonic_ns()}")
            c.start(member)
            wait_until(c.etcd_works, "etcd works")


@test
def without_a_quorum_of_etcd_the_in_sync_sets_that_are_known_go_on():
    with scene() as (c, w, _):
        for e in c.etcds[:2]:
            c.kill(e)
        end = time.monotonic() + LONG_S
        while time.monotonic() < end:
            w.wait_progress(10, timeout=15 * SLOW)
        for e in c.etcds[:2]:
            c.start(e)
        wait_until(c.etcd_works, "etcd works")
        make_queue(w, "made-afterwards")


@test
def a_broker_that_starts_while_etcd_is_down_loses_nothing():
    with scene(queues={"q": {}}) as (c, w, _):
        b = others(c, c.wait_leader())[0]
        for e in c.etcds:
            c.kill(e)
        c.kill(b)
        c.start(b, wait=False)
        c.expected.discard(b)  # it may wait, or say why not and end
        pass_time(LONG_S / 3)
        for e in c.etcds:
            c.start(e)
        wait_until(c.etcd_works, "etcd works")
        if c.processes[b].pid() is None:
            assert c.processes[b].text().strip(), "it says why it ended"
            c.start(b)
        c.expected.add(b)
        c.wait_in_sync()


@test
def all_brokers_and_etcd_start_again_after_all_were_down():
    with scene() as (c, w, _):
        for name in c.brokers + c.etcds:
            c.kill(name)
        for e in c.etcds:
            c.start(e)
        wait_until(c.etcd_works, "etcd works")
        for b in c.brokers:
            c.start(b, wait=False)
        for b in c.brokers:
            c.wait_serving(b)
        c.wait_in_sync()


@test
def etcd_is_stopped_while_an_in_sync_set_changes_and_the_outcome_is_unknown():
    with scene() as (c, w, _):
        rng = dice("swap")
        for _ in range(ROUNDS):
            leader = c.wait_leader()
            late = others(c, leader)[0]
            c.pause(late)
            # It leaves after five seconds; etcd stands still around then.
            pass_time(rng.uniform(4.5, 5.5))
            for e in c.etcds:
                c.pause(e)
            pass_time(rng.uniform(1, 4))
            for e in c.etcds:
                c.resume(e)
            w.wait_progress(10)
            c.resume(late)
            wait_until(c.etcd_works, "etcd works")
            c.wait_in_sync()
            # Whoever leads now must have everything.
            c.kill(leader)
            c.wait_leader(other_than=leader)
            c.start(leader)
            c.wait_in_sync()


@test
def answers_of_etcd_that_come_late_or_never_change_nothing_twice():
    with scene() as (c, w, _):
        leader = c.wait_leader()
        follower = others(c, leader)[0]
        for _ in range(ROUNDS):
            for e in c.etcds:
                c.way(f"{leader}>{e}", mode="deaf")  # the swap is carried out, its answer is held
            c.pause(follower)
            pass_time(6)
            c.resume(follower)
            c.heal()
            c.wait_in_sync()
            w.wait_progress(10)


@test
def a_controller_that_was_stopped_elects_nobody_when_it_wakes():
    with scene() as (c, w, _):
        old = c.controller()
        c.pause(old)
        rest = others(c, old)
        c.wait_for(lambda s: s["controller"] and s["controller"] != old, "another is the controller", of=rest[0])
        c.wait_leader(other_than=old, of=rest[0])
        pass_time(LONG_S / 2)
        c.resume(old)
        w.wait_progress(20)
        c.wait_for(lambda s: s["controller"] != old, "it knows that it is not", of=old)


@test
def the_controller_is_killed_again_and_again():
    with scene() as (c, w, _):
        for _ in range(ROUNDS):
            old = c.controller()
            c.kill(old)
            c.wait_for(lambda s: s["controller"] and s["controller"] != old, "another is the controller")
            c.wait_leader(other_than=old)
            w.wait_progress(10)
            c.start(old)
            c.wait_all_live()


@test
def a_full_etcd_stops_changes_of_topics_and_not_messages():
    with scene(etcd_options=("--quota-backend-bytes", str(16 * MIB))) as (c, w, _):
        n = 0
        while c.etcd("/v3/kv/put", {"key": text(f"ballast/{n}"), "value": text("x" * MIB)})[0] == 200:
            n += 1
            assert n < 64, "it is never full"
        outcome, why = w.asker("refused").call("CreateQueue", QueueName="no-room")
        assert outcome != "ok", why
        pass_time(LONG_S / 2)
        w.wait_progress(20)
        _, got = c.etcd("/v3/kv/deleterange", {"key": text("ballast/"), "range_end": text("ballast0")})
        c.etcd("/v3/kv/compaction", {"revision": got["header"]["revision"], "physical": True})
        for e in c.etcds:
            assert c.etcd("/v3/maintenance/defragment", {}, member=e, timeout=30)[0] == 200
        for alarm in c.etcd("/v3/maintenance/alarm", {"action": "GET"})[1].get("alarms", []):
            c.etcd("/v3/maintenance/alarm", {**alarm, "action": "DEACTIVATE"})
        make_queue(w, "room-again")


@test
def a_broker_whose_watch_was_compacted_away_hears_of_everything_all_the_same():
    with scene() as (c, w, _):
        b = others(c, c.wait_leader())[0]
        c.cut(b, "etcd")
        asker = w.asker("maker")
        asker.only = others(c, b)[0]
        for i in range(20):
            w.insist(asker, "CreateQueue", QueueName=f"unseen-{i}")
        _, got = c.etcd("/v3/kv/range", {"key": text("x")})
        assert c.etcd("/v3/kv/compaction", {"revision": got["header"]["revision"], "physical": True})[0] == 200
        c.heal()
        c.wait_all_live()
        mine = w.asker("there", only=b)
        wait_until(lambda: w.send(mine, "unseen-19")["outcome"] == "ok", "the cut one knows the new queues", 30 * SLOW)
        for i in range(20):
            c.wait_in_sync(f"unseen-{i}")


if __name__ == "__main__":
    run_cases(globals())
