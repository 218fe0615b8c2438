# SPDX-License-Identifier: Apache-2.0
"""A leader is killed behind each step of a dead letter's move: MOVE is committed at the source (1), the request is carried
to the target (2), the message is committed there (3), MOVED is committed at the source (4). The two queues share no
broker, so the way between their leaders carries moves alone, and the proxy can stop one behind the step that is wanted."""
from cases import run_cases
from harness import WAIT_S, Cluster
from leaselog import test, wait_until
from workload import Workload


class Move:
    """One letter at a time, from queue s to queue d."""

    def __init__(self, c):
        self.c = c
        self.w = Workload(c, {"s": {"dead": "d", "receives_max": 1}, "d": {}})
        self.asker = self.w.asker("only")
        members = [set(c.wait_in_sync(queue)["members"]) for queue in ("s", "d")]
        assert not members[0] & members[1], f"s and d share brokers: {members}"

    def lead(self):
        """Who leads both, once all is well."""
        self.source, self.target = (self.c.wait_in_sync(queue)["leader"] for queue in ("s", "d"))
        self.way = f"{self.source}>{self.target}"

    def look(self, broker, path):
        client = self.c.client(broker)
        got = client.get(f"/v1/topics/{path}")
        client.close()
        return got

    def end_offset(self, queue, leader):
        return self.look(leader, f"{queue}/partitions/0")["end_offset"]

    def moving(self):
        return self.look(self.source, "s")["stats"]["moving"]

    def send(self, queue):
        """A message of its own; its answer says that all that was appended before is committed."""
        box = {}

        def done():
            box["e"] = self.w.send(self.asker, queue)
            return box["e"]["outcome"] == "ok"

        wait_until(done, f"{queue} commits", WAIT_S)
        return box["e"]["body"]

    def die(self):
        """A letter's receives are used up."""
        body = self.send("s")
        wait_until(lambda: [m for m in self.w.receive(self.asker, "s", visibility_s=0) if m["body"] == body], "it is received", WAIT_S)
        wait_until(lambda: not self.w.receive(self.asker, "s", visibility_s=0, wait_s=0), "its receives are used up", WAIT_S)
        return body

    # ---- each stops the move behind one step, and gives the letter's body ----

    def behind_move(self):
        self.c.way(self.way, mode="hold")
        body = self.die()
        assert self.moving() == 1
        self.send("s")
        return body

    def behind_request(self):
        for b in self.c.partition("d")["members"]:
            if b != self.target:
                self.c.way(f"{b}>{self.target}", mode="hold")
        before = self.end_offset("d", self.target)
        body = self.die()
        wait_until(lambda: self.end_offset("d", self.target) > before, "the target has appended it", WAIT_S)
        return body

    def behind_arrival(self):
        before = self.end_offset("d", self.target)
        self.c.way(self.way, mode="deaf")
        body = self.die()
        wait_until(lambda: self.end_offset("d", self.target) > before, "the target has appended it", WAIT_S)
        self.send("d")
        assert self.moving() == 1
        return body

    def behind_moved(self):
        body = self.die()
        wait_until(lambda: self.moving() == 0, "it has moved", WAIT_S)
        self.send("s")
        return body

    # ---- the end ----

    def arrived(self, body):
        return sum(m["body"] == body for e in self.w.history.of("receive") if e["outcome"] == "ok" and e["queue"] == "d" for m in e["messages"])

    def wait_arrival(self, body):
        def came():
            for m in self.w.receive(self.asker, "d", visibility_s=30):
                self.w.delete(self.asker, "d", m)
            return self.arrived(body) > 0
        wait_until(came, "the letter arrives", WAIT_S)

    def audit(self):
        wrong, summary = self.w.audit()
        print(f"    {summary}", flush=True)
        assert not wrong, wrong[:10]


def killed_behind(step):
    """Once the source's leader is killed there, and once the target's."""
    with Cluster(brokers=6, etcds=1) as c:
        move = Move(c)
        for victim in ("source", "target"):
            move.lead()
            with move.w.fault(f"the {victim}'s leader is killed"):
                body = getattr(move, step)()
                dead = getattr(move, victim)
                c.kill(dead)
                if victim == "source":
                    c.wait_leader("s", other_than=dead)
                    if step == "behind_move":
                        # The request that is held is let go when the next leader's has been carried out.
                        move.wait_arrival(body)
                    c.heal()
                else:
                    c.heal()
                    c.wait_leader("d", other_than=dead)
                move.wait_arrival(body)
                c.start(dead)
                move.lead()
            assert move.w.drain()
            assert move.arrived(body) == 1, f"{victim}: the letter came {move.arrived(body)} times"
        move.audit()


@test
def a_leader_killed_once_move_is_committed_leaves_the_letter_to_its_successor():
    killed_behind("behind_move")


@test
def a_leader_killed_while_the_target_has_the_letter_uncommitted_makes_it_no_second_one():
    killed_behind("behind_request")


@test
def a_leader_killed_once_the_target_has_committed_makes_it_no_second_one():
    killed_behind("behind_arrival")


@test
def a_leader_killed_once_moved_is_committed_moves_nothing_again():
    killed_behind("behind_moved")


@test
def a_request_that_arrives_when_the_next_leaders_was_carried_out_adds_nothing():
    with Cluster(brokers=6, etcds=1) as c:
        move = Move(c)
        move.lead()
        way = move.way
        with move.w.fault("a move's request is held"):
            body = move.behind_move()
            old = move.source
            passed = c.ask_proxy(ways=True)[way]["bytes"]
            c.kill(old)
            c.wait_leader("s", other_than=old)
            move.wait_arrival(body)
            assert c.ask_proxy(ways=True)[way]["bytes"] == passed
            c.heal()
            wait_until(lambda: c.ask_proxy(ways=True)[way]["bytes"] > passed, "the old request arrives", WAIT_S)
            c.start(old)
            move.lead()
        assert move.w.drain()
        assert move.arrived(body) == 1, f"the letter came {move.arrived(body)} times"
        move.audit()


if __name__ == "__main__":
    run_cases(globals())
