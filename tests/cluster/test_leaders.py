# SPDX-License-Identifier: Apache-2.0
"""Leaders and followers that are killed, stopped, cut off, wiped and started again, under load."""
import glob
import os
import shutil
import signal
import subprocess
import threading
import time

from cases import BOTH, HOLD_S, LONG_S, ROUNDS, dice, others, pass_time, run_cases, scene, skip, together
from harness import SLOW
from leaselog import test, wait_until

FAKETIME = next(iter(glob.glob("/usr/lib/*/faketime/libfaketimeMT.so.1")), None)
DELETES = 1000 if LONG_S >= 60 else 60 * ROUNDS
DELETES_AT_A_TIME = 30
OFF_S = 3600 - 60  # two brokers are nearly two hours apart; from there on they refuse each other's requests (peer.h)


@test
def the_leader_is_killed_and_nothing_acknowledged_is_lost():
    with scene(clients=3) as (c, w, _):
        for _ in range(ROUNDS):
            old = c.wait_leader()
            c.kill(old)
            c.wait_leader(other_than=old)
            w.wait_progress(20)
            c.start(old)
            c.wait_in_sync()


@test
def a_leader_that_was_stopped_for_long_hands_out_nothing_when_it_wakes():
    with scene() as (c, w, _):
        old = c.wait_leader("o.fifo")
        c.pause(old)
        new = c.wait_leader("o.fifo", other_than=old, of=others(c, old)[0])
        w.wait_progress(20)
        pass_time(LONG_S)
        # Clients that ask the one that wakes, at once: what it answers is audited like all else.
        eager = [w.asker(f"eager {i}", only=old) for i in range(4)]
        c.resume(old)
        for _ in range(50):
            for asker, queue in zip(eager, ["q", "o.fifo"] * 2):
                w.receive(asker, queue, wait_s=0)
        c.wait_partition(lambda p: p["leader"] == new, "the one that woke knows who leads", "o.fifo", of=old)


@test
def a_leader_that_is_stopped_or_cut_off_is_replaced_while_its_session_would_still_stand():
    ttl_s = 60
    with scene(ttl_s=ttl_s) as (c, w, _):
        for fault in (c.pause, c.isolate):
            old, begin = c.wait_leader(), time.monotonic()
            c.wait_all_live()
            fault(old)
            w.wait_progress(5)
            c.wait_leader(other_than=old, of=others(c, old)[0])
            w.wait_progress(20)
            took_s = time.monotonic() - begin
            print(f"    replaced and working after {took_s:.1f} s", flush=True)
            assert took_s < ttl_s / 2, took_s
            c.heal()
            c.resume(old)
            c.wait_in_sync()


@test
def one_broker_that_cannot_reach_the_leader_does_not_unseat_it():
    with scene() as (c, w, _):
        leader = c.wait_leader()
        cut, witness = others(c, leader)
        epoch = c.partition("q", 0, c.status(witness))["epoch"]

        def stays():
            p = c.partition("q", 0, c.status(witness))
            return p is None or (p["leader"], p["epoch"]) == (leader, epoch)

        for fault in (lambda: c.cut(leader, cut), lambda: c.isolate(cut)):
            fault()
            pass_time(max(LONG_S / 2, 5), stays, "another leads, though one broker alone was cut off")
            w.wait_progress(20)
            c.heal()
            c.wait_all_live()
            c.wait_in_sync()


@test
def a_leader_cut_from_etcd_is_replaced_though_clients_still_reach_it():
    with scene() as (c, w, _):
        old = c.wait_leader()
        c.cut(old, "etcd")
        c.wait_leader(other_than=old, of=others(c, old)[0])
        pass_time(HOLD_S)
        w.wait_progress(20)


@test
def a_leader_cut_from_its_followers_commits_nothing_alone():
    with scene() as (c, w, _):
        leader = c.wait_leader()
        for b in others(c, leader):
            c.cut(leader, b)
        asker = w.asker("alone", only=leader)
        # As soon as what was under way is over, nothing that is sent here is acknowledged while the cut lasts,
        # unless another leads meanwhile, who has the others' copies.
        begin = time.monotonic()
        while time.monotonic() - begin < HOLD_S:
            outcome = w.send(asker, "q")["outcome"]
            p = c.partition("q", 0, c.status(others(c, leader)[0]))
            assert outcome != "ok" or p is None or p["leader"] != leader or time.monotonic() - begin < 1, p


@test
def a_leader_that_hears_its_followers_but_cannot_answer_them_commits_nothing_alone():
    with scene() as (c, w, _):
        leader = c.wait_leader()
        for b in others(c, leader):
            c.way(f"{b}>{leader}", mode="deaf")
        pass_time(HOLD_S)


@test
def a_leader_cut_off_from_everything_loses_what_it_never_acknowledged_and_nothing_else():
    with scene() as (c, w, _):
        old = c.wait_leader()
        c.isolate(old)
        new = c.wait_leader(other_than=old, of=others(c, old)[0])
        together(lambda asker: w.send(asker, "q"), *(w.asker(f"hopeful {i}", only=old) for i in range(3)))  # at most without an answer
        w.wait_progress(20)
        assert new != old


@test
def a_follower_that_comes_and_goes_costs_nobody_a_message():
    with scene() as (c, w, _):
        leader, rng = c.wait_leader(), dice("flap")
        follower = others(c, leader)[0]
        for _ in range(3 * ROUNDS):
            what = rng.choice(("cut", "one way", "pause", "kill"))
            if what == "cut":
                c.cut(leader, follower)
            elif what == "one way":
                c.way(f"{follower}>{leader}", mode=rng.choice(("hold", "deaf", "refuse")))
            elif what == "pause":
                c.pause(follower)
            else:
                c.kill(follower)
            pass_time(rng.uniform(0.2, 2))
            c.heal()
            c.resume(follower)
            if what == "kill":
                c.start(follower)
            w.wait_progress(5)


@test
def a_slow_way_to_one_follower_slows_sends_until_it_leaves_the_in_sync_set():
    with scene() as (c, w, _):
        leader = c.wait_leader()
        slow = others(c, leader)[0]
        c.way(f"{slow}>{leader}", delay_ms=6000)
        c.wait_partition(lambda p: slow not in p["isr"], "the slow one has left")
        w.wait_progress(20)


@test
def two_failovers_right_after_each_other_lose_nothing():
    with scene() as (c, w, _):
        for _ in range(ROUNDS):
            first = c.wait_leader()
            c.kill(first)
            second = c.wait_leader(other_than=first)
            c.start(first, wait=False)
            c.kill(second)  # as soon as it leads
            c.wait_serving(first)
            c.wait_leader(other_than=second)
            c.start(second)
            c.wait_in_sync()


@test
def logs_that_parted_in_three_epochs_become_one():
    with scene() as (c, w, _):
        for _ in range(3):
            old = c.wait_leader()
            c.isolate(old)
            # It appends what nobody else will ever have.
            strays = [w.asker(f"stray {old} {i}", only=old) for i in range(2)]
            sender = threading.Thread(target=together, args=(lambda asker: w.send(asker, "q"), *strays))
            sender.start()
            c.wait_leader(other_than=old, of=others(c, old)[0])
            sender.join()
            c.kill(old)
            c.heal()
            c.start(old)


@test
def the_last_replicas_standing_keep_what_the_others_miss():
    with scene(disks_lost=True) as (c, w, _):
        leader = c.wait_leader()
        gone, mate = others(c, leader)
        c.kill(gone)
        c.wait_partition(lambda p: gone not in p["isr"], "the in-sync set has shrunk to two")
        w.wait_progress(20)
        # Both that are left are killed; one comes back with an empty disk. The outsider must not lead before the other is back.
        c.kill(leader)
        c.kill(mate)
        shutil.rmtree(c.data(mate))
        c.more[mate] = ["--replace"]
        c.start(gone, wait=False)
        c.start(mate, wait=False)
        for b in (gone, mate):
            c.wait_serving(b)
        pass_time(HOLD_S, lambda: c.partition("q")["leader"] not in (gone, mate), "one leads who does not have everything")
        c.more[mate] = []
        c.start(leader)
        assert c.wait_leader() == leader


@test
def all_are_killed_at_once_and_nothing_is_lost():
    with scene() as (c, w, _):
        for _ in range(ROUNDS):
            for b in c.brokers:
                c.processes[b].tell(signal.SIGKILL)
            for b in c.brokers:
                c.kill(b)
            for b in c.brokers:
                c.start(b, wait=False)
            for b in c.brokers:
                c.wait_serving(b)
            c.wait_in_sync()
            w.wait_progress(10)


@test
def a_wiped_follower_is_not_taken_in_by_an_old_proposal():
    with scene(disks_lost=True) as (c, w, _):
        leader = c.wait_leader()
        wiped = others(c, leader)[0]
        c.kill(wiped)
        c.wait_partition(lambda p: wiped not in p["isr"], "it has left the in-sync set")
        # It catches up while the leader's words to etcd are held, so that the proposal to take it in is old when it lands.
        for e in c.etcds:
            c.way(f"{leader}>{e}", mode="deaf")
        c.start(wiped)
        pass_time(1)
        c.kill(wiped)
        shutil.rmtree(c.data(wiped))
        c.more[wiped] = ["--replace"]
        c.start(wiped, wait=False)
        c.heal()
        c.kill(leader)
        c.wait_serving(wiped)
        c.more[wiped] = []
        c.start(leader)
        c.wait_in_sync()


@test
def brokers_that_are_stopped_and_started_one_after_another_lose_no_acknowledged_operation():
    with scene(clients=3) as (c, w, _):
        for b in c.brokers:
            assert c.stop(b) == 0
            w.wait_progress(10)
            c.start(b)
            c.wait_all_live()
            for q in BOTH:
                c.wait_in_sync(q)


@test
def a_second_broker_with_the_same_id_does_not_start():
    with scene(queues={"q": {}}) as (c, w, _):
        command = c.broker_command(1)
        for name, value in (("--data-dir", c.data(1) + "-other"), ("--listen", "127.0.0.1:0"), ("--peer-listen", "127.0.0.1:0")):
            command[command.index(name) + 1] = value
        got = subprocess.run(command, capture_output=True, text=True, timeout=60 * SLOW)
        assert got.returncode != 0, got
        assert "1" in got.stderr and got.stderr.strip(), got.stderr
        assert c.processes[1].pid(), "the first one goes on"
        w.wait_progress(20)


@test
def a_replaced_disk_is_not_taken_for_the_old_one_unless_one_says_so():
    with scene(queues={"q": {}}, disks_lost=True) as (c, w, _):
        b = others(c, c.wait_leader())[0]
        c.kill(b)
        shutil.rmtree(c.data(b))
        got = subprocess.run(c.broker_command(b), capture_output=True, text=True, timeout=60 * SLOW)
        assert got.returncode != 0 and "--replace" in got.stderr, got
        c.more[b] = ["--replace"]
        c.start(b)
        c.more[b] = []
        c.wait_in_sync()


def shifted(c, b, off_s):
    """Broker b's wall clock will be so many seconds off; its monotonic clocks are the machine's."""
    file = os.path.join(c.folder, f"shift-{b}")
    with open(file, "w") as f:
        f.write(f"{off_s:+d}\n")
    c.prefixes[b] = ["env", f"LD_PRELOAD={FAKETIME}", f"FAKETIME_TIMESTAMP_FILE={file}", "FAKETIME_NO_CACHE=1",
                     "FAKETIME_DONT_FAKE_MONOTONIC=1", "NO_FAKE_STAT=1"]


@test
def wall_clocks_that_are_an_hour_off_either_way_make_nothing_visible_early_or_late():
    if not FAKETIME:
        return skip("libfaketime is not installed (scripts/packages faults)")

    def prepare(c):
        shifted(c, 1, OFF_S)
        shifted(c, 2, -OFF_S)

    with scene(prepare=prepare) as (c, w, _):
        asker = w.asker("delays")
        for _ in range(3):
            old, begin = c.wait_leader(), time.monotonic()
            sent = [w.send(asker, "q", delay_s=8) for _ in range(5)]
            c.kill(old)
            c.wait_leader(other_than=old)
            c.start(old)
            due = {e["body"] for e in sent if e["outcome"] == "ok"}
            got = lambda: {m["body"] for r in w.history.of("receive") if r["outcome"] == "ok" for m in r["messages"]}
            wait_until(lambda: due <= got(), "delayed messages come", 30 * SLOW)
            assert time.monotonic() - begin < 8 + 15 * SLOW


def delete_many(w, asker):
    for _ in range(DELETES_AT_A_TIME):
        w.send(asker, "q")
    while messages := w.receive(asker, "q", visibility_s=30, wait_s=0):
        for m in messages:
            w.delete(asker, "q", m)


@test
def what_was_deleted_stays_deleted_over_a_failover_right_behind_it():
    """Each leader is killed in the midst of deletes: those that were answered last are the ones that may come back."""
    with scene(queues={"q": {}}, clients=1) as (c, w, _):
        askers = [w.asker(f"deleter {i}") for i in range(4)]
        while w.worked("delete") < DELETES:
            begin, old = time.monotonic(), c.wait_leader()
            threads = [threading.Thread(target=delete_many, args=(w, asker)) for asker in askers]
            for t in threads:
                t.start()
            wait_until(lambda: w.worked("delete", begin) >= 2 * DELETES_AT_A_TIME, "half of them are deleted", 30 * SLOW)
            c.kill(old)
            c.wait_leader(other_than=old)
            for t in threads:
                t.join()
            w.receive(askers[0], "q", visibility_s=0)
            c.start(old)
            c.wait_all_live()
            c.wait_in_sync()


@test
def messages_stay_in_order_over_failovers_of_their_leader():
    with scene(queues={"o.fifo": {"fifo": True}}, clients=4) as (c, w, _):
        for _ in range(ROUNDS):
            for how in (c.kill, c.pause):
                old = c.wait_leader("o.fifo")
                how(old)
                c.wait_leader("o.fifo", other_than=old, of=others(c, old)[0])
                w.wait_progress(20)
                c.resume(old) if how == c.pause else c.start(old)
                c.wait_in_sync("o.fifo")


@test
def a_send_whose_answer_is_lost_on_the_way_is_there_or_not_but_never_twice_with_an_id():
    with scene(through_proxy=True) as (c, w, _):
        for b in c.brokers:
            for size in (0, 40, 200):
                c.way(f"c>{b}", cut_after=size)
                w.wait_progress(5)


@test
def a_random_week_of_faults_loses_nothing():
    """Overlapping faults by dice; the seed replays them, not the machine's timing."""
    with scene(clients=2) as (c, w, _):
        rng = dice("week")
        for _ in range(4 * ROUNDS):
            b, other = rng.sample(c.brokers, 2)
            what = rng.choice(("kill", "pause", "isolate", "cut", "etcd", "one way", "member"))
            print(f"    {what} {b} {other}", flush=True)
            if what in ("kill", "pause"):
                getattr(c, what)(b)
            elif what == "isolate":
                c.isolate(b, rng.choice(("hold", "refuse")))
            elif what == "cut":
                c.cut(b, other)
            elif what == "etcd":
                c.cut(b, "etcd", rng.choice(("hold", "refuse", "deaf")))
            elif what == "one way":
                c.way(f"{b}>{other}", mode=rng.choice(("hold", "deaf", "refuse")))
            else:
                c.kill(rng.choice(c.etcds))
            pass_time(rng.uniform(0.5, HOLD_S / 2))
            if rng.random() < 0.7:
                c.heal()
                for name in c.brokers + c.etcds:
                    c.resume(name)
                    if c.processes[name].pid() is None:
                        c.start(name, wait=False)
                for name in c.brokers:
                    c.wait_serving(name)


if __name__ == "__main__":
    run_cases(globals())
