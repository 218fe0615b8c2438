# SPDX-License-Identifier: Apache-2.0
"""The tools themselves, with doubles in place of brokers (double.py): starting, killing, cutting, the proxy's ways, and
whether an audit notices a broker that forgets."""
import os
import sys
import threading

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "lib")]
REAL = os.environ.get("LEASELOG", os.path.join(os.environ.get("builddir", "."), "leaselog"))
import leaselog
leaselog.BINARY = REAL
import harness
harness.BINARY = f"{sys.executable} {os.path.join(HERE, 'double.py')}"
from harness import Cluster
from leaselog import Server, run_tests, test, wait_until
from workload import Workload


class Doubles(Cluster):
    def up(self):
        self.behind = Server().start()
        os.environ["DOUBLE_PORT"] = str(self.behind.port)
        return super().up()

    def down(self):
        super().down()
        self.behind.__exit__()


class Alone:
    """One real broker, looking like a cluster to the workload; a killed one comes back on its port."""

    def __init__(self):
        self.server, self.brokers = Server(), [1]
        self.port = harness.free_ports(1)[0]
        self.server.options = ("--listen", f"127.0.0.1:{self.port}")
        self.folder = self.server.folder

    def client(self, _, through_proxy=False, timeout=30):
        return leaselog.Client(self.port, timeout=timeout)

    def crashes(self):
        return []

    def heal(self):
        pass


@test
def a_cluster_starts_loses_its_leader_and_heals():
    with Doubles() as c:
        c.client(1).call("CreateQueue", QueueName="q")
        assert c.wait_leader() == 1
        old = c.processes[1].pid()
        c.kill(1)
        assert c.processes[1].pid() is None and c.crashes() == []
        assert c.wait_leader(other_than=1) == 2
        again = Cluster.at(c.folder)
        assert again.processes[2].pid() == c.processes[2].pid() and again.processes[1].pid() is None
        c.start(1)
        assert c.processes[1].pid() != old
        c.wait_all_live()
        c.pause(1)
        c.wait_leader(other_than=1, of=2)
        c.resume(1)
        c.wait_all_live()
        os.kill(c.processes[3].pid(), 9)  # behind the harness's back
        wait_until(lambda: any("ended by itself" in text for text in c.crashes()), "it is noticed")


@test
def a_broker_that_is_cut_from_etcd_loses_its_session():
    with Doubles() as c:
        c.cut(1, "etcd")
        c.wait_for(lambda s: c.live(s) == {2, 3}, "broker 1 is gone", of=2)
        c.heal()
        c.wait_all_live()
        ways = c.ask_proxy(ways=True)
        assert ways["1>e1"]["connections"] > 0 and ways["1>e1"]["mode"] == "pass", ways


@test
def the_proxy_knows_who_connects_and_cuts_one_way():
    with Doubles() as c:
        # A child of broker 1's number is what the proxy looks for: this process takes its place.
        c.kill(1)
        with open(c.processes[1].pid_file, "w") as f:
            f.write(f"{os.getpid()} {harness.begun(os.getpid())}\n")
        peer = c.config["brokers"]["2"]["peer_way"]
        assert leaselog.Client(peer).get("/v1/cluster")["broker"] == 2
        assert c.ask_proxy(ways=True)["1>2"]["connections"] == 1
        for mode in ("hold", "deaf", "refuse"):
            c.way("1>2", mode=mode)
            try:
                leaselog.Client(peer, timeout=0.3).get("/v1/cluster")
            except OSError as e:
                assert isinstance(e, TimeoutError) == (mode != "refuse"), (mode, e)
            else:
                raise AssertionError(f"{mode} lets it through")
        c.heal()
        c.way("1>2", cut_after=60)
        try:
            leaselog.Client(peer).get("/v1/cluster")
        except harness.ENDED:
            pass
        else:
            raise AssertionError("it was not cut in the middle")
        assert leaselog.Client(peer).get("/v1/cluster")["broker"] == 2, "once only"
        c.ended(2)
        try:
            leaselog.Client(peer).get("/v1/cluster")
        except ConnectionRefusedError:
            pass
        os.unlink(c.processes[1].pid_file)


@test
def no_connection_passes_the_proxy_under_no_name():
    with Doubles() as c:
        peer = c.config["brokers"]["2"]["peer_way"]
        try:
            leaselog.Client(peer).get("/v1/cluster")
        except harness.ENDED:
            pass
        else:
            raise AssertionError("nobody's connection was let through")
        c.kill(1)
        with open(c.processes[1].pid_file, "w") as f:  # this process takes the place of broker 1
            f.write(f"{os.getpid()} {harness.begun(os.getpid())}\n")
        end = threading.Event()

        def open_and_close():
            while not end.is_set():
                for fd in [os.dup(0) for _ in range(50)]:
                    os.close(fd)

        churn = threading.Thread(target=open_and_close)
        churn.start()
        try:
            for _ in range(100):
                assert leaselog.Client(peer).get("/v1/cluster")["broker"] == 2
        finally:
            end.set()
            churn.join()
        assert c.ask_proxy(ways=True)["1>2"]["connections"] == 100, c.ask_proxy(ways=True)
        os.unlink(c.processes[1].pid_file)


@test
def an_audit_finds_nothing_wrong_with_a_broker_that_forgets_nothing():
    with Doubles() as c:
        w = Workload(c, {"q": {}, "o.fifo": {"fifo": True}})
        with w.running(clients=2):
            w.wait_progress(60)
            with w.fault("broker 1 is killed"):
                c.kill(1)
                w.wait_progress(40)
            c.start(1)
        wrong, summary = w.audit()
        assert wrong == [] and summary["lost"] == 0 and summary["acknowledged"] >= 50, (wrong[:5], summary)


@test
def an_audit_finds_what_a_broker_forgets():
    os.environ["DOUBLE_FAULT"] = "lose"
    try:
        with Doubles() as c:
            w = Workload(c, {"q": {}})
            with w.running(clients=2):
                w.wait_progress(60)
            wrong, summary = w.audit()
            assert summary["lost"] > 0 and {rule for rule, _ in wrong} >= {"H1"}, (wrong[:5], summary)
    finally:
        del os.environ["DOUBLE_FAULT"]


@test
def an_audit_of_a_real_broker_that_is_killed_under_load_finds_nothing_wrong():
    one = Alone()
    with one.server:
        w = Workload(one, {"q": {}, "o.fifo": {"fifo": True}, "s": {"dead": "d", "receives_max": 2}, "d": {}})
        with w.running(clients=2):
            for _ in range(3):
                w.wait_progress(60)
                with w.fault("it is killed"):
                    one.server.kill()
                    one.server.start()
                    w.wait_progress(20)
            w.healed()
            w.wait_progress(20)
        wrong, summary = w.audit()
        print(f"    {summary}")
        assert wrong == [], wrong[:10]
        assert summary["acknowledged"] > 200 and any(r["queue"] == "d" and r.get("messages") for r in w.history.of("receive"))


if __name__ == "__main__":
    run_tests(globals())
