# SPDX-License-Identifier: Apache-2.0
"""Does the checker notice? A bad history by hand for each of its rules, beside a like one that is good."""
import os
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "lib")]
from checker import check
from history import History
from leaselog import run_tests, test


class Story:
    """Operations of one second each, half a second apart, unless `at` says otherwise."""

    def __init__(self, **queues):
        self.h, self.now = History(), 0
        for name, settings in (queues or {"q": {}}).items():
            self.h.queue(name, **settings)

    def add(self, kind, outcome="ok", at=None, seconds=1, **members):
        at = self.now if at is None else at
        e = self.h.begin(kind, **members)
        e.update(at=at, end=at + seconds, outcome=outcome)
        self.now = max(self.now, at + seconds + 0.5)
        return e

    def send(self, body, queue="q", outcome="ok", id=None, group=None, **more):
        return self.add("send", outcome, queue=queue, body=body, id=id or "id-" + body, group=group, **more)

    def receive(self, *bodies, queue="q", visibility_s=0, count=1, final=False, group=None, ids=None,
                attributes=None, **more):
        messages = [{"body": b, "id": (ids or {}).get(b, "id-" + b), "handle": f"{b}-{len(self.h.entries)}", "count": count,
                     "group": group, "attributes": attributes} for b in bodies]
        return self.add("receive", queue=queue, visibility_s=visibility_s, final=final, messages=messages, **more)

    def delete(self, receive, outcome="ok", **more):
        for m in receive["messages"]:
            self.add("delete", outcome, queue=receive["queue"], handle=m["handle"], id=m["id"], **more)

    def drained(self, *queues):
        for q in queues or ("q",):
            self.add("drained", queue=q)

    def good(self):
        assert check(self.h)[0] == [], check(self.h)[0]

    def bad(self, *rules):
        assert sorted({rule for rule, _ in check(self.h)[0]}) == sorted(rules), check(self.h)[0]


FIFO = {"q": {"fifo": True}}
DEAD = {"q": {"dead": "d", "receives_max": 2}, "d": {}}


@test
def what_was_sent_received_and_deleted_is_well():
    s = Story()
    s.send("a")
    s.delete(s.receive("a", visibility_s=30))
    s.drained()
    s.good()


@test
def h1_an_acknowledged_send_that_never_comes_is_lost():
    s = Story()
    s.send("a")
    s.good()  # its queue was not drained yet
    s.drained()
    s.bad("H1")


@test
def h1_a_send_without_an_answer_may_be_lost_or_come():
    s = Story()
    s.send("a", outcome="unknown")
    s.send("b", outcome="unknown")
    s.delete(s.receive("b"))
    s.drained()
    s.good()


@test
def h2_a_message_that_was_received_and_not_deleted_must_be_there_at_the_end():
    s = Story()
    s.send("a")
    s.receive("a")
    s.drained()
    s.bad("H2")


@test
def h2_a_delete_without_an_answer_excuses_its_absence():
    s = Story()
    s.send("a")
    s.delete(s.receive("a"), outcome="unknown")
    s.drained()
    s.good()
    s = Story()
    s.send("a")
    s.delete(s.receive("a"), outcome="fail")
    s.drained()
    s.bad("H2")


@test
def h2_a_message_that_is_there_at_the_end_is_not_lost():
    s = Story()
    s.send("a")
    s.receive("a")
    s.receive("a", count=2, final=True)
    s.drained()
    s.good()


@test
def h3_nothing_comes_back_after_its_delete_was_answered():
    s = Story()
    s.send("a")
    s.delete(s.receive("a", visibility_s=30))
    s.receive("a", count=2, at=40)
    s.bad("H3")


@test
def h3_a_receive_that_was_under_way_at_the_delete_may_still_bring_it():
    s = Story()
    s.send("a")
    r = s.receive("a")
    s.delete(r, at=5)
    s.receive("a", count=2, at=4, seconds=4)
    s.good()


@test
def h3_a_delete_without_an_answer_may_not_have_happened():
    s = Story()
    s.send("a")
    s.delete(s.receive("a"), outcome="unknown")
    s.delete(s.receive("a", count=2))
    s.drained()
    s.good()


@test
def h3_a_delete_within_its_lease_keeps_the_message_from_the_dead_letters_too():
    for visibility_s, at in ((30, 5), (1, 5)):
        s = Story(**DEAD)
        s.send("a")
        s.receive("a")
        r = s.receive("a", visibility_s=visibility_s, count=2)
        s.delete(r, at=at)
        s.receive("a", queue="d", at=50, count=3)
        s.bad("H3") if visibility_s == 30 else s.good()  # a late handle says nothing of what was moved


@test
def h4_only_what_was_sent_is_received():
    s = Story()
    s.receive("a")
    s.bad("H4")


@test
def h4_nothing_comes_from_a_queue_it_was_not_sent_to():
    s = Story(q={}, other={})
    s.send("a")
    s.receive("a", queue="other")
    s.bad("H4")


@test
def h4_nothing_comes_before_it_was_sent():
    s = Story()
    s.send("a", at=10)
    s.receive("a", at=5)
    s.bad("H4")


@test
def h4_ids_and_attributes_are_those_that_were_sent():
    s = Story()
    s.send("a", attributes={"colour": "red"})
    s.receive("a", attributes={"colour": "red"})
    s.good()
    s.receive("a", attributes={"colour": "blue"}, count=2)
    s.bad("H4")
    s = Story()
    s.send("a")
    s.receive("a", ids={"a": "another"})
    s.bad("H4")


@test
def h5_a_lease_is_one_consumers():
    s = Story()
    s.send("a")
    s.receive("a", visibility_s=30, at=2)
    s.receive("a", visibility_s=30, at=20, count=2)
    s.bad("H5")
    s = Story()
    s.send("a")
    s.receive("a", visibility_s=30, at=2)
    s.receive("a", visibility_s=30, at=32, count=2)
    s.good()


@test
def h5_a_fault_near_it_excuses_a_standard_queue_and_no_other():
    for settings in ({"q": {}}, FIFO):
        s = Story(**settings)
        s.send("a")
        s.receive("a", visibility_s=30, at=2)
        s.add("fault", what="leader killed", at=5)
        s.receive("a", visibility_s=30, at=10, count=2)
        s.bad("H5") if settings is FIFO else s.good()


@test
def h5_an_extension_lengthens_a_lease_and_may_shorten_it():
    for to_s, at, rules in ((60, 40, ("H5",)), (1, 10, ()), (60, 70, ())):
        s = Story()
        s.send("a")
        r = s.receive("a", visibility_s=30, at=2)
        s.add("extend", queue="q", handle=r["messages"][0]["handle"], id="id-a", visibility_s=to_s, at=4)
        s.receive("a", at=at, count=2)
        s.bad(*rules)


@test
def h5_two_questions_under_way_together_may_not_both_get_it():
    s = Story()
    s.send("a")
    s.receive("a", visibility_s=30, at=2, seconds=3)
    s.receive("a", visibility_s=30, at=3, seconds=3, count=2)
    s.bad("H5")


@test
def h5_a_delayed_message_does_not_come_early():
    for at, rules in ((5, ("H5",)), (11, ())):
        s = Story()
        s.send("a", delay_s=10, at=0)
        s.receive("a", at=at)
        s.bad(*rules)


@test
def h6_nothing_overtakes_an_earlier_one_of_its_group():
    s = Story(**FIFO)
    s.send("a", group="g")
    s.send("b", group="g")
    s.receive("b", group="g")
    s.bad("H6")


@test
def h6_nothing_comes_while_an_earlier_one_is_in_flight():
    s = Story(**FIFO)
    s.send("a", group="g")
    s.send("b", group="g")
    s.receive("a", group="g", visibility_s=30)
    s.receive("b", group="g")
    s.bad("H6")


@test
def h6_one_answer_may_hold_several_in_their_order():
    for bodies, rules in ((("a", "b"), ()), (("b", "a"), ("H6",))):
        s = Story(**FIFO)
        s.send("a", group="g")
        s.send("b", group="g")
        s.receive(*bodies, group="g")
        s.bad(*rules)


@test
def h6_what_was_sent_at_the_same_time_or_without_an_answer_has_no_order():
    s = Story(**FIFO)
    s.send("a", group="g", at=0, seconds=5)
    s.send("b", group="g", at=1)
    s.send("x", group="g", at=10, outcome="unknown")
    s.send("c", group="g", at=20)
    s.delete(s.receive("b", group="g", at=30))
    s.delete(s.receive("a", group="g"))
    s.delete(s.receive("c", group="g"))
    s.delete(s.receive("x", group="g"))
    s.drained()
    s.good()


@test
def h6_a_delete_that_may_have_happened_lets_the_next_one_through():
    s = Story(**FIFO)
    s.send("a", group="g")
    s.send("b", group="g")
    s.delete(s.receive("a", group="g", visibility_s=30), outcome="unknown")
    s.receive("b", group="g")
    s.good()


@test
def h6_a_dead_letter_lets_the_next_one_through():
    s = Story(q={"fifo": True, "dead": "d", "receives_max": 1}, d={"fifo": True})
    s.send("a", group="g")
    s.send("b", group="g")
    s.receive("a", group="g")
    s.receive("b", group="g")
    s.bad("H6")
    s.receive("a", queue="d", group="g", count=2)
    s.good()


@test
def h7_what_was_refused_does_not_come():
    s = Story()
    s.send("a", outcome="fail")
    s.receive("a")
    s.bad("H7")


@test
def h8_a_dead_letter_is_one_message():
    s = Story(**DEAD)
    s.send("a")
    s.receive("a")
    s.receive("a", count=2)
    s.receive("a", queue="d", final=True, count=3)
    s.good()
    s.receive("a", queue="d", final=True, ids={"a": "again"})
    assert "H8" in {rule for rule, _ in check(s.h)[0]}


@test
def h8_a_dead_letter_is_no_more_where_it_was():
    s = Story(**DEAD)
    s.send("a")
    s.receive("a")
    s.receive("a", count=2)
    s.receive("a", queue="d", count=3)
    s.add("fault", what="leader killed")
    s.receive("a", count=2)
    s.bad("H8")


@test
def h8_nothing_is_moved_before_its_receives_are_used_up():
    s = Story(**DEAD)
    s.send("a")
    s.receive("a")
    s.receive("a", queue="d", count=2)
    s.bad("H8")
    s = Story(**DEAD)
    s.send("a")
    s.receive("a")
    s.add("receive", outcome="unknown", queue="q", visibility_s=0)  # it may have been the second
    s.receive("a", queue="d", count=3)
    s.good()


@test
def h8_what_has_used_up_its_receives_is_moved():
    s = Story(**DEAD)
    s.send("a")
    for count in (1, 2, 3):
        s.receive("a", count=count)
    s.bad("H8")


@test
def h9_a_deduplication_id_is_one_message():
    s = Story(**FIFO)
    s.send("a", group="g", dedup="x", outcome="unknown")
    s.send("a", group="g", dedup="x")
    s.delete(s.receive("a", group="g", final=True))
    s.drained()
    s.good()
    s.receive("a", group="g", ids={"a": "twice"}, final=True)
    s.bad("H9")


@test
def h9_a_repeated_send_is_answered_with_the_first_ones_id():
    s = Story(**FIFO)
    s.send("a", group="g", dedup="x")
    s.send("a", group="g", dedup="x", id="other")
    s.bad("H9")
    s = Story(**FIFO)
    s.send("a", group="g", dedup="x")
    s.send("a", group="g", dedup="x", id="other", at=400)
    s.good()


@test
def h10_the_receive_count_rises():
    s = Story()
    s.send("a")
    s.receive("a", count=1)
    s.receive("a", count=1)
    s.bad("H10")


@test
def h10_a_failover_may_forget_the_newest_receives_of_a_standard_queue():
    for settings, then, rules in (({"q": {}}, 3, ()), ({"q": {}}, 2, ()), ({"q": {}}, 1, ("H10",)), (FIFO, 3, ("H10",))):
        s = Story(**settings)
        s.send("a")
        for count in (1, 2, 3):
            s.receive("a", count=count)
        s.add("fault", what="leader killed")
        s.receive("a", count=then)
        s.bad(*rules)


@test
def h10_there_are_not_more_counts_than_receives():
    s = Story()
    s.send("a")
    s.receive("a", count=2)
    s.bad("H10")
    s = Story()
    s.send("a")
    s.add("receive", outcome="unknown", queue="q", visibility_s=0)
    s.receive("a", count=2)
    s.good()


@test
def h11_it_works_soon_after_all_is_healed():
    for at, rules in ((12, ()), (40, ("H11",))):
        s = Story()
        s.add("healed", at=2)
        s.send("a", at=5, outcome="unknown")
        s.send("b", at=at)
        s.bad(*rules)


@test
def h11_a_process_that_ends_by_itself_is_wrong():
    s = Story()
    s.add("crash", what="broker 2 ended with 134")
    s.bad("H11")


@test
def a_history_is_the_same_after_it_was_saved():
    s = Story(**DEAD)
    s.send("a")
    s.drained("q", "d")
    with tempfile.NamedTemporaryFile() as f:
        s.h.save(f.name)
        assert check(History.load(f.name)) == check(s.h)
    s.bad("H1")


@test
def a_long_history_is_checked_in_linear_time():
    s = Story(q={"fifo": True})
    for i in range(3000):
        s.send(str(i), group=str(i % 7))
        s.delete(s.receive(str(i), group=str(i % 7), visibility_s=30))
    s.drained()
    s.good()


if __name__ == "__main__":
    run_tests(globals())
