# SPDX-License-Identifier: Apache-2.0
"""What an operator asks of a cluster: another leader, and a partition back whose messages were lost."""
import shutil
import subprocess

from cases import others, run_cases
from harness import WAIT_S, Cluster
from leaselog import BINARY, test, wait_until


def cli(c, by, *words):
    got = subprocess.run([*BINARY.split(), *words, "--server", f"http://127.0.0.1:{c.config['brokers'][str(by)]['client']}"],
                         capture_output=True, text=True, timeout=WAIT_S)
    return got.returncode, got.stderr


def refused(c, by, text, *words):
    code, said = cli(c, by, *words)
    assert code != 0 and text in said, (code, said)


@test
def a_lead_is_moved_by_any_broker_and_stays_where_it_was_moved():
    with Cluster(etcds=1, proxy=False) as c:
        c.client(1).call("CreateQueue", QueueName="q")
        c.wait_in_sync("q")
        for _ in range(2):
            leader = c.wait_leader()
            to, by = others(c, leader)
            sent = c.client(leader).call("SendMessage", QueueUrl="q", MessageBody="x")
            assert sent["MessageId"]
            code, said = cli(c, by, "cluster", "move-leader", "q", "0", str(to))
            assert code == 0, said
            for b in c.brokers:
                c.wait_partition(lambda p: p["leader"] == to and p["members"][0] == to, f"{to} leads", "q", 0, WAIT_S, b)
            assert cli(c, leader, "cluster", "move-leader", "q", "0", str(to))[0] == 0, "it is so already"
        wait_until(lambda: c.client(1).counts("q")[0] == 2, "all is there")
        refused(c, 1, "broker 9 has no copy", "cluster", "move-leader", "q", "0", "9")
        refused(c, 1, "partitions 0 to 0", "cluster", "move-leader", "q", "7", "1")
        refused(c, 1, "no topic of this name", "cluster", "move-leader", "nonesuch", "0", "1")
        refused(c, 1, "a broker is a number", "cluster", "move-leader", "q", "0", "x")
        dead = others(c, to)[0]
        c.kill(dead)
        c.wait_for(lambda s: dead not in c.live(s), "it is gone", of=to)
        refused(c, to, f"broker {dead} is not running", "cluster", "move-leader", "q", "0", str(dead))
        assert c.wait_leader() == to


@test
def what_is_left_of_a_partition_leads_once_its_loss_is_accepted():
    with Cluster(etcds=1, proxy=False) as c:
        c.client(1).call("CreateQueue", QueueName="q", Attributes={"copies": "3", "min_isr": "2"})
        c.wait_in_sync("q")
        leader = c.wait_leader()
        behind, second = others(c, leader)
        c.client(leader).call("SendMessage", QueueUrl="q", MessageBody="old")
        refused(c, leader, "nothing is lost", "partition", "recover", "q", "0", "--unsafe", "--from", str(behind), "--i-accept-loss")
        c.stop(behind)
        c.wait_partition(lambda p: behind not in p["isr"], "it is not in sync", "q", 0, WAIT_S, leader)
        c.client(leader).call("SendMessage", QueueUrl="q", MessageBody="lost")
        for b in (second, leader):  # both disks are lost
            c.kill(b)
        c.start(behind)
        c.wait_for(lambda s: c.live(s) == {behind}, "the others are gone", of=behind)
        refused(c, behind, "--i-accept-loss", "partition", "recover", "q", "0", "--unsafe", "--from", str(behind))
        refused(c, behind, f"broker {leader} is not running", "partition", "recover", "q", "0", "--unsafe", "--from", str(leader), "--i-accept-loss")
        code, said = cli(c, behind, "partition", "recover", "q", "0", "--unsafe", "--from", str(behind), "--i-accept-loss")
        assert code == 0, said
        p = c.wait_partition(lambda p: p["leader"] == behind and p["isr"] == [behind], "it leads", "q", 0, WAIT_S, behind)
        assert p["unclean_epoch"] == p["epoch"], p
        log = c.processes[behind].text()
        assert "accepts the loss" in log and f"broker {leader} did not answer" in log, log[-2000:]
        # One comes back with an empty disk, and one with what was given up.
        shutil.rmtree(c.data(second))
        c.more[second] = ["--replace"]
        c.start(second)
        c.start(leader)
        c.wait_in_sync("q")
        client = c.client(behind)
        wait_until(lambda: client.counts("q") == (1, 0, 0), "one is left")
        got = client.call("ReceiveMessage", QueueUrl="q", WaitTimeSeconds=5)["Messages"]
        assert [m["Body"] for m in got] == ["old"], got
        client.call("SendMessage", QueueUrl="q", MessageBody="new")
        wait_until(lambda: c.client(leader).counts("q") == (1, 1, 0), "it works again")


if __name__ == "__main__":
    run_cases(globals())
