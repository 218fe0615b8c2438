# SPDX-License-Identifier: Apache-2.0
"""The catalogue fails: etcd's leader, its quorum, its disk, its watches; and the controller among the brokers."""
import base64
import os
import shutil
import subprocess
import time

from cases import HOLD_S, LONG_S, ROUNDS, dice, others, pass_time, run_cases, scene, skip
from harness import SLOW, WAIT_S, Cluster, Process, free_ports, listens
from leaselog import Refused, test, wait_until

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
def a_broker_that_was_cut_off_reaches_the_leader_again_though_etcd_is_down():
    ttl_s = 4  # it finds the others silent before it loses its session
    with Cluster(etcds=1, ttl_s=ttl_s) as c:
        c.client(1).call("CreateQueue", QueueName="q")
        c.wait_in_sync("q")
        front = others(c, c.wait_leader())[0]
        c.isolate(front)
        for e in c.etcds:
            c.kill(e)
        pass_time(2 * ttl_s)
        c.heal()

        def sent():
            try:
                return c.client(front).call("SendMessage", QueueUrl="q", MessageBody="x")["MessageId"]
            except Refused as e:
                assert e.status == 503, e

        wait_until(sent, "its clients' sends reach the leader", WAIT_S)


@test
def a_broker_that_starts_while_etcd_is_down_loses_nothing():
    with scene(queues={"q": {}}) as (c, w, _):
        b = others(c, c.wait_leader())[0]
        for e in c.etcds:
            c.kill(e)
        c.kill(b)
        c.start(b, wait=False)
        c.expected.discard(b)  # it may wait, or say why not and end
        pass_time(HOLD_S / 2)
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
        pass_time(HOLD_S)
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
        pass_time(HOLD_S)
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
    # Its session outlasts the cut, so that the new topics have copies there too.
    with scene(ttl_s=30) as (c, w, _):
        b = others(c, c.wait_leader())[0]
        c.cut(b, "etcd", "refuse")  # what etcd says to a way that only holds would come after all
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


def certificate(folder, name, by=None):
    """name.pem and name.key, signed by another or by itself."""
    at = os.path.join(folder, name)
    signer = ["-CA", f"{by}.pem", "-CAkey", f"{by}.key", "-CAcreateserial"] if by else ["-signkey", f"{at}.key"]
    with open(f"{at}.ext", "w") as f:
        f.write("subjectAltName=IP:127.0.0.1\nextendedKeyUsage=serverAuth,clientAuth\n" if by else "basicConstraints=CA:TRUE\n")
    for command in (["req", "-newkey", "rsa:2048", "-nodes", "-keyout", f"{at}.key", "-out", f"{at}.csr", "-subj", f"/CN={name}"],
                    ["x509", "-req", "-in", f"{at}.csr", *signer, "-out", f"{at}.pem", "-days", "2", "-extfile", f"{at}.ext"]):
        subprocess.run(["openssl", *command], check=True, capture_output=True)
    return at


@test
def etcd_is_reached_over_tls_by_who_has_a_certificate_that_it_takes():
    if not shutil.which("openssl"):
        return skip("openssl is not installed (scripts/packages faults)")
    with Cluster(brokers=1, etcds=1, proxy=False) as c:
        c.stop(1)
        ca, stranger = certificate(c.folder, "ca"), certificate(c.folder, "stranger")
        etcd, broker, other = certificate(c.folder, "etcd", ca), certificate(c.folder, "broker", ca), certificate(c.folder, "other", stranger)
        client, peer = free_ports(2)
        url, host = f"https://127.0.0.1:{client}", f"http://127.0.0.1:{peer}"
        Process(c.folder, "tls").start(
            ["etcd", "--name", "tls", "--data-dir", os.path.join(c.folder, "tls"), "--logger", "zap", "--listen-client-urls", url,
             "--advertise-client-urls", url, "--listen-peer-urls", host, "--initial-advertise-peer-urls", host, "--initial-cluster",
             f"tls={host}", "--cert-file", f"{etcd}.pem", "--key-file", f"{etcd}.key", "--client-cert-auth", "--trusted-ca-file",
             f"{ca}.pem"], dies_with_us=True)
        wait_until(lambda: listens(client), "etcd listens", WAIT_S)

        def start(by, cert, key, wait):
            c.more[1] = ["--etcd", url, "--etcd-ca", f"{by}.pem", "--etcd-cert", f"{cert}.pem", "--etcd-key", f"{key}.key"]
            c.folders[1] = os.path.join(c.folder, "data-tls")
            c.start(1, wait=wait)

        for by, cert, key in ((stranger, broker, broker), (ca, other, other), (ca, broker, other), (ca, broker, "nonesuch")):
            start(by, cert, key, wait=False)
            wait_until(lambda: c.processes[1].pid() is None, "it is refused", WAIT_S)
            c.expected.discard(1)
            assert f"etcd at {url}" in c.processes[1].text(), (by, cert, key)
        start(ca, broker, broker, wait=True)
        c.client(1).call("CreateQueue", QueueName="q", Attributes={"allow_single_copy": "true"})
        c.client(1).call("SendMessage", QueueUrl="q", MessageBody="x")
        wait_until(lambda: c.client(1).counts("q") == (1, 0, 0), "it is there", WAIT_S)


if __name__ == "__main__":
    run_cases(globals())
