# SPDX-License-Identifier: Apache-2.0
"""Says what in a history (history.py) may not be. Knows nothing of the brokers, only what was asked and answered.

    checker.py HISTORY_FILE

    H1  an acknowledged send that nobody ever received, though its queue was drained
    H2  a message that was received, never deleted, and is not there at the end
    H3  a message received after its delete was answered
    H4  a message that nobody sent, or other bytes, id, group or attributes than were sent
    H5  a message received during somebody else's lease, on a standard queue only without a fault near it; or before its
        delay was over
    H6  FIFO: a message overtook one of its group that was sent before it and was not finished
    H7  a message whose send was refused
    H8  dead letters: two copies, one in both queues, moved before or not moved after its receives are used up
    H9  a deduplication id with two messages within five minutes
    H10 a receive count that does not rise, or that rises by more than there were receives
    H11 nothing works within 15 s after all faults ended, or a process died by itself

All sends have different bodies, but for repetitions of one send under a deduplication id. So no search is needed: each
rule is one walk over the entries of a message, and an unknown outcome counts as whatever excuses the brokers."""
import collections
import math
import os
import sys

from history import History

WINDOW_S = 300   # of deduplication
SETTLE_S = 15    # after a fault's end its effects may still be seen
CLOCK_S = 0.005  # leases are counted in milliseconds
STORED_S = 1     # a lease older than that is stored and copied
NEVER = math.inf


def end_of(e):
    return NEVER if e["end"] is None else e["end"]


class Checker:
    def __init__(self, history, settle_s=SETTLE_S):
        self.h, self.settle_s, self.wrong, self.doubled = history, settle_s, [], 0
        self.sends = collections.defaultdict(list)     # body → sends
        self.got = collections.defaultdict(list)       # (queue, id) → (receive, message), by the time of the question
        self.by_body = collections.defaultdict(list)   # body → (receive, message)
        self.ends = collections.defaultdict(list)      # id → deletes that were or may have been done
        self.touched = collections.defaultdict(list)   # handle → deletes and extensions that were or may have been done
        self.maybe = collections.defaultdict(list)     # queue → receives without an answer
        self.faults = history.of("fault")
        for e in sorted(history.entries, key=lambda e: e["at"]):
            self.sort_in(e)

    def sort_in(self, e):
        if e["kind"] == "send":
            self.sends[e["body"]].append(e)
        elif e["kind"] == "receive" and e["outcome"] == "ok":
            for m in e["messages"]:
                self.got[e["queue"], m["id"]].append((e, m))
                self.by_body[m["body"]].append((e, m))
        elif e["kind"] == "receive":
            self.maybe[e["queue"]].append(e)
        elif e["kind"] in ("delete", "extend") and e["outcome"] != "fail":
            self.touched[e["handle"]].append(e)
            if e["kind"] == "delete":
                self.ends[e["id"]].append(e)

    def say(self, rule, text):
        self.wrong.append((rule, text))

    def queue(self, name):
        return {"fifo": False, "dead": None, "receives_max": None, **self.h.queues.get(name, {})}

    def chain(self, name):
        """The queue, and those its messages may be moved to."""
        names = [name]
        for n in names:
            q = self.queue(n)
            names += [to for to in (q["dead"], q.get("moved_to")) if to and to not in names]
        return names

    def faults_in(self, begin, end):
        return sum(1 for f in self.faults if f["at"] < end and end_of(f) + self.settle_s > begin)

    # ---- the rules ----

    def nothing_is_lost(self):
        drained = {e["queue"] for e in self.h.of("drained")}
        for body, sends in self.sends.items():
            ok = [s for s in sends if s["outcome"] == "ok"]
            if not ok or not set(self.chain(ok[0]["queue"])) <= drained:
                continue
            got = self.by_body.get(body, [])
            if not got:
                self.say("H1", f"{body} was acknowledged at {ok[0]['end']:.3f} and never received")
            elif not any(r.get("final") for r, _ in got) and not any(self.ends.get(m["id"]) for _, m in got):
                self.say("H2", f"{body} was received {len(got)} times, never deleted, and is not there at the end")

    def deletes_are_final(self):
        for (queue, message), got in self.got.items():
            done = [d for d in self.ends.get(message, []) if d["outcome"] == "ok" and self.is_final_for(d, queue)]
            if not done:
                continue
            first = min(done, key=lambda d: d["end"])
            for r, m in got:
                if r["at"] > first["end"]:
                    self.say("H3", f"{m['body']} came from {queue} at {r['end']:.3f}; "
                                   f"its delete was answered at {first['end']:.3f}")
                    break

    def is_final_for(self, delete, queue):
        """A handle whose lease may have ended says nothing of a message that has been moved meanwhile."""
        if delete["queue"] == queue:
            return True
        for r, m in self.got.get((delete["queue"], delete["id"]), []):
            if m["handle"] == delete["handle"]:
                return delete["end"] < self.lease_end(r, m, delete["at"]) and not self.faults_in(r["at"], delete["end"])
        return False

    def messages_are_what_was_sent(self):
        for body, got in self.by_body.items():
            sends = self.sends.get(body, [])
            for r, m in got:
                mine = [s for s in sends if r["queue"] in self.chain(s["queue"])]
                if not mine:
                    self.say("H4", f"{body[:60]!r} came from {r['queue']} where nobody sent it")
                elif all(s["outcome"] == "fail" for s in mine):
                    self.say("H7", f"{body} came though its send was refused")
                elif end_of(r) < min(s["at"] for s in mine):
                    self.say("H4", f"{body} came before it was sent")
                else:
                    self.same(mine, r, m)

    def same(self, sends, r, m):
        s = sends[0]
        ids = {x["id"] for x in sends if x["outcome"] == "ok"}
        redriven = any(q.get("moved_to") == r["queue"] for q in self.h.queues.values())  # has an id of its own
        if ids and all(x["outcome"] == "ok" for x in sends) and m["id"] not in ids and not redriven:
            self.say("H4", f"{m['body']} came with the id {m['id']}; its sends were answered {sorted(ids)}")
        for name in ("group", "attributes"):
            if (s.get(name) or None) != (m.get(name) or None):
                self.say("H4", f"{m['body']} came from {r['queue']} with {name} {m.get(name)!r}, sent with {s.get(name)!r}")

    def lease_end(self, r, m, until):
        """Before this time the lease cannot have ended, as far as was asked before `until`; 0: it may have."""
        end = r["at"] + r["visibility_s"]
        for e in self.touched.get(m["handle"], []):
            if e["at"] >= until:
                continue
            if e["kind"] == "delete":
                return 0
            end = e["at"] + e["visibility_s"] if e["outcome"] == "ok" else min(end, e["at"] + e["visibility_s"])
        return end

    def leases_are_exclusive(self):
        for (queue, _), got in self.got.items():
            for (r1, m1), (r2, m2) in zip(got, got[1:]):
                if end_of(r2) >= self.lease_end(r1, m1, end_of(r2)) - CLOCK_S:
                    continue
                # Questions that were under way together may have been answered the other way round.
                if r2["at"] < end_of(r1) and end_of(r1) >= self.lease_end(r2, m2, end_of(r1)) - CLOCK_S:
                    continue
                if self.queue(queue)["fifo"] or not self.faults_in(r1["at"], end_of(r2)):
                    self.say("H5", f"{m1['body']} came from {queue} at {r1['end']:.3f} and again at {r2['end']:.3f}, "
                                   f"within {r1['visibility_s']} s; asked at {r1['at']:.3f} and {r2['at']:.3f}; "
                                   f"meanwhile {[dict(e) for e in self.touched.get(m1['handle'], [])]}, faults "
                                   f"{[(f['what'], f['at'], f['end']) for f in self.faults]}")
                else:
                    self.doubled += 1

    def delays_are_kept(self):
        for body, sends in self.sends.items():
            free_at = min(s["at"] + (s.get("delay_s") or 0) for s in sends)
            for r, _ in self.by_body.get(body, []):
                if sends[0].get("delay_s") and end_of(r) < free_at - CLOCK_S:
                    self.say("H5", f"{body} came {free_at - end_of(r):.3f} s before its delay was over")

    def groups_keep_their_order(self):
        groups = collections.defaultdict(list)
        for sends in self.sends.values():
            s = sends[0]
            if self.queue(s["queue"])["fifo"]:
                groups[s["queue"], s.get("group")].append(sends)
        came = collections.defaultdict(list)
        for r in self.h.of("receive"):
            if r["outcome"] == "ok" and self.queue(r["queue"])["fifo"]:
                for i, m in enumerate(r["messages"]):
                    came[r["queue"], m.get("group")].append((r, i, m))
        for key, sent in groups.items():
            self.one_group(key, sent, sorted(came.get(key, []), key=lambda c: (end_of(c[0]), c[1])))

    def one_group(self, key, sent, came):
        # Only what was answered is certainly ahead of what was sent later.
        waiting = sorted((min(s["end"] for s in sends if s["outcome"] == "ok"), sends[0]["body"]) for sends in sent
                         if any(s["outcome"] == "ok" for s in sends))
        begun = {sends[0]["body"]: min(s["at"] for s in sends) for sends in sent}
        finished = {body: self.may_be_finished(key[0], body) for _, body in waiting}
        waiting = collections.deque(waiting)
        for r, place, m in came:
            while waiting and finished[waiting[0][1]] < end_of(r):
                waiting.popleft()
            before = {x["body"] for x in r["messages"][:place]}
            for answered, body in waiting:
                if answered >= begun.get(m["body"], 0):
                    break
                if body != m["body"] and body not in before and finished[body] >= end_of(r):
                    self.say("H6", f"{m['body']} overtook {body} in group {key[1]} of {key[0]}")
                    break

    def may_be_finished(self, queue, body):
        """The earliest time at which it can have left its queue."""
        times = [NEVER]
        for r, m in self.by_body.get(body, []):
            times += [d["at"] for d in self.ends.get(m["id"], [])]
            if r["queue"] != queue:  # it was moved, at the earliest after its last receive here
                times.append(max([x["at"] for x, _ in self.got.get((queue, m["id"]), [])], default=0))
        return min(times)

    def dead_letters_are_moved_once(self):
        for body, got in self.by_body.items():
            for source in {s["queue"] for s in self.sends.get(body, [])}:
                q = self.queue(source)
                if q["dead"]:
                    self.one_letter(body, source, q, [g for g in got if g[0]["queue"] == q["dead"]],
                                    [g for g in got if g[0]["queue"] == source])

    def one_letter(self, body, source, q, dead, alive):
        limit = q["receives_max"]
        for r, m in alive:
            if m["count"] > limit + self.faults_in(0, end_of(r)):
                self.say("H8", f"{body} was received for the {m['count']}th time from {source}; {limit} are allowed")
        if not dead:
            return
        if len({m["id"] for _, m in dead}) > 1:
            self.say("H8", f"{body} is in {q['dead']} as {sorted({m['id'] for _, m in dead})}")
        arrived = min(end_of(r) for r, _ in dead)
        if any(r["at"] > arrived for r, _ in alive):
            self.say("H8", f"{body} came from {source} after it had come from {q['dead']}")
        receives = len([1 for r, _ in alive if r["at"] < arrived])
        receives += len([1 for r in self.maybe[source] if r["at"] < arrived])
        if receives < limit:
            self.say("H8", f"{body} was moved to {q['dead']} after {receives} receives; {limit} are allowed")

    def deduplication_holds(self):
        ids = collections.defaultdict(list)
        for s in self.h.of("send"):
            if s.get("dedup") and s["outcome"] != "fail":
                ids[s["queue"], s["dedup"]].append(s)
        for (queue, dedup), sends in ids.items():
            first, last = min(s["at"] for s in sends), max(end_of(s) for s in sends)
            if last - first >= WINDOW_S and last != NEVER:
                continue  # a second message may be rightful; what is tested takes less time
            bodies = {s["body"] for s in sends}
            messages = {s["id"] for s in sends if s["outcome"] == "ok"}
            messages |= {m["id"] for b in bodies for r, m in self.by_body.get(b, []) if r["queue"] == queue}
            if len(messages) > 1:
                self.say("H9", f"deduplication id {dedup} of {queue} has the messages {sorted(messages)}")

    def least_count(self, queue, before, r):
        """A crash may take back the leases of a standard queue that were not stored, or copied, yet: those of the last
        moment before it. What was counted a second earlier stays."""
        if not before or end_of(before[-1][0]) >= r["at"]:
            return 1
        last, m = before[-1]
        if self.queue(queue)["fifo"] or not self.faults_in(last["at"], end_of(r)):
            return m["count"] + 1
        sure = next((i for i in range(len(before) - 1, -1, -1) if end_of(before[i][0]) < end_of(last) - STORED_S), None)
        return 1 if sure is None else min(m["count"] for _, m in before[sure:])

    def receives_are_counted(self):
        for (queue, _), got in self.got.items():
            # A dead letter brings its count along.
            asked = [r["at"] for name in self.h.queues if queue in self.chain(name) for r in self.maybe[name]]
            for i, (r, m) in enumerate(got):
                least = self.least_count(queue, got[:i], r)
                if m["count"] < least:
                    self.say("H10", f"{m['body']} came from {queue} with the count {m['count']}; at least {least} was due")
                most = sum(1 for r1, _ in self.by_body[m["body"]] if r1["at"] < end_of(r))
                most += sum(1 for at in asked if at < end_of(r))
                if m["count"] > most:
                    self.say("H10", f"{m['body']} came from {queue} with the count {m['count']} after {most} receives")

    def it_works_soon_after_the_faults(self):
        for e in self.h.of("crash"):
            self.say("H11", e["what"])
        for healed in self.h.of("healed"):
            first = {}
            if any(0 < f["at"] - healed["at"] < self.settle_s for f in self.faults):
                continue
            for e in self.h.entries:
                if e["kind"] in ("send", "receive") and e["at"] > healed["at"]:
                    key = e["kind"], e["queue"]
                    worked = end_of(e) if e["outcome"] == "ok" else NEVER
                    first[key] = min(first.get(key, NEVER), worked)
                    first.setdefault(("asked", *key), e["at"])
            for key, at in first.items():
                if key[0] != "asked" and at - max(healed["at"], first["asked", *key]) > self.settle_s:
                    self.say("H11", f"no {key[0]} of {key[1]} worked within {self.settle_s} s after all was healed")

    def check(self):
        for rule in (self.nothing_is_lost, self.deletes_are_final, self.messages_are_what_was_sent,
                     self.leases_are_exclusive, self.delays_are_kept, self.groups_keep_their_order,
                     self.dead_letters_are_moved_once, self.deduplication_holds, self.receives_are_counted,
                     self.it_works_soon_after_the_faults):
            rule()
        return self.wrong

    def summary(self):
        """What happened, in numbers."""
        count = collections.Counter((e["kind"], e["outcome"]) for e in self.h.entries)
        acked = [b for b, sends in self.sends.items() if any(s["outcome"] == "ok" for s in sends)]
        lost = sum(1 for rule, _ in self.wrong if rule in ("H1", "H2"))
        again = sum(max(0, len(got) - 1) for got in self.by_body.values())
        return {"acknowledged": len(acked), "unknown": count["send", "unknown"], "refused": count["send", "fail"],
                "received": len(self.by_body), "deleted": count["delete", "ok"], "lost": lost, "duplicates": again,
                "leases doubled near a fault": self.doubled, "broken rules": len(self.wrong)}


def check(history, **options):
    """Gives (what is wrong, a summary)."""
    c = Checker(history, **options)
    return c.check(), c.summary()


def main():
    wrong, summary = check(History.load(sys.argv[1]), settle_s=SETTLE_S * float(os.environ.get("LEASELOG_SLOW", "1")))
    for rule, text in wrong:
        print(f"{rule}: {text}")
    print(", ".join(f"{value} {name}" for name, value in summary.items()))
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
