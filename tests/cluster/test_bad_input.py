# SPDX-License-Identifier: Apache-2.0
"""What an operator can get wrong, and what a stranger may send: each is refused with a clear line, and nothing changes."""
import base64
import hashlib
import hmac
import http.client
import os
import shutil
import time

from cases import others, pass_time, run_cases
from harness import WAIT_S, Cluster
from leaselog import test, wait_until

EVERYTHING = {"key": "AA==", "range_end": "AA=="}


def keys(c):
    """What etcd holds, but for what moves by itself when a broker comes or goes: sessions, the controller, who is in sync."""
    found = {base64.b64decode(kv["key"]).decode(): kv.get("value") for kv in c.etcd("/v3/kv/range", EVERYTHING)[1].get("kvs", [])}
    return {k: v for k, v in found.items() if k.split("/")[3] not in ("s", "p", "ctl")}


def refused(c, b, *texts):
    """This broker does not start, says why, and changes nothing in etcd."""
    before = keys(c)
    c.start(b, wait=False)
    c.expected.discard(b)
    wait_until(lambda: c.processes[b].pid() is None, "it is refused", WAIT_S)
    said = c.processes[b].text()[-3000:]
    for text in texts:
        assert text in said, (text, said)
    assert keys(c) == before


def begin(c, n=10, **attributes):
    c.client(1).call("CreateQueue", QueueName="q", Attributes=attributes)
    c.wait_in_sync("q")
    for i in range(n):
        c.client(1).call("SendMessage", QueueUrl="q", MessageBody=f"m-{i}")


def all_there(c, b, n=10):
    wait_until(lambda: c.client(b).counts("q")[0] == n, "all messages are there", WAIT_S)


@test
def a_directory_of_another_cluster_or_broker_is_refused():
    with Cluster(etcds=1, proxy=False) as c:
        begin(c)
        c.stop(3)
        c.more[3] = ["--cluster", "other"]
        refused(c, 3, "the catalogue is empty, but this data directory belongs to cluster")
        own = c.data(3)
        c.folders[3] = own + "-fresh"
        c.start(3, wait=False)  # the first of the other cluster
        wait_until(lambda: "serving on" in c.processes[3].text()[-500:], "another cluster begins", WAIT_S)
        c.stop(3)
        c.folders[3] = own
        refused(c, 3, "this data directory belongs to cluster", "check --cluster and the endpoints")
        c.more[3] = ["--broker-id", "7"]
        refused(c, 3, "this data directory is broker 3's: start it under that id, not as 7")
        c.more[3] = []
        c.start(3)
        c.wait_in_sync("q")
        all_there(c, 3)


@test
def a_setting_that_is_wrong_is_named_and_nothing_is_stored():
    with Cluster(etcds=1, proxy=False) as c:
        c.wait_all_live()
        c.stop(3)
        short = os.path.join(c.folder, "short")
        with open(os.open(short, os.O_WRONLY | os.O_CREAT, 0o600), "w") as f:
            f.write("fifteen letters\n")
        long_url = "http://" + "a" * 249
        bent = b"http://\xff".decode(errors="surrogateescape")
        for more, text in (
                (["--etcd", ""], "--etcd must name its etcd"),
                (["--etcd", "", "--broker-id", "0"], "--cluster-key is for a broker of a cluster"),
                (["--etcd", "nonesuch"], "etcd's members are named by their URLs"),
                (["--cluster", "a/b"], "a cluster's name has 1 to 63 letters"),
                (["--cluster-key", short], "holds 15 bytes; a cluster's key has 16 or more"),
                (["--cluster-key", short + "-nonesuch"], "No such file"),
                (["--etcd-password-file", short + "-nonesuch"], "No such file"),
                (["--peer-listen", "0.0.0.0:0", "--peer-url", ""], "--peer-url must"),
                (["--peer-from", "nonesuch"], "--peer-from must be an IP address"),
                *((["--peer-url", url], "--peer-url must be a URL") for url in ("no url", "http://", "https://a", "http://a:1/", "http://a?b",
                                                                                      long_url, bent)),
                *((["--client-url", url], "--client-url must be a URL") for url in ("no url", "ftp://a", long_url, bent))):
            c.more[3] = more
            refused(c, 3, text)
            assert "check failed" not in c.processes[3].text(), more


@test
def an_id_that_is_taken_and_a_disk_that_was_replaced_need_to_be_told():
    with Cluster(etcds=1, proxy=False) as c:
        begin(c)
        c.stop(3)
        own = c.data(3)
        c.more[3] = ["--broker-id", "2", "--peer-listen", "127.0.0.1:0"]
        c.folders[3] = own + "-fresh"
        refused(c, 3, "broker 2 is registered with another data directory", "--replace if it is lost")
        c.more[3] = ["--broker-id", "2", "--peer-listen", "127.0.0.1:0", "--replace"]
        shutil.rmtree(c.data(3), ignore_errors=True)
        refused(c, 3, "broker 2 is running elsewhere")
        c.more[3] = []
        shutil.rmtree(c.data(3), ignore_errors=True)
        refused(c, 3, "broker 3 is registered with another data directory")
        c.more[3] = ["--replace"]
        shutil.rmtree(c.data(3), ignore_errors=True)
        c.start(3)
        c.wait_in_sync("q")
        for b in others(c, 3)[:1]:
            c.kill(b)
        all_there(c, 3)


def post(port, path, body=b"", **headers):
    conn = http.client.HTTPConnection("127.0.0.1", port, timeout=WAIT_S)
    conn.request("POST", path, body, {k.replace("_", "-"): v for k, v in headers.items()})
    answer = conn.getresponse()
    got = answer.status, answer.read()
    conn.close()
    return got


def signature(c, head, path, body):
    with open(os.path.join(c.folder, "key"), "rb") as f:
        key = f.read().strip()
    text = f"leaselog request\n{head}\nPOST\n{path}\n{hashlib.sha256(body).hexdigest()}\n"
    return hmac.new(key, text.encode(), "sha256").hexdigest()


@test
def requests_that_are_not_signed_or_of_another_version_reach_nobody():
    with Cluster(etcds=1, proxy=False) as c:
        begin(c)
        before, port = keys(c), c.config["brokers"]["1"]["peer"]
        head = f"1 2 1 {int(time.time() * 1000)} 00000000000000000000000000000001 {c.status()['cluster']}"
        for path in ("/_r/v1/fetch", "/_r/v1/state", "/_r/v1/snapshot"):
            status, said = post(port, path, b"x")
            assert status in (401, 409) and said.strip(), (path, status, said)
            status, said = post(port, path, b"x", X_Leaselog_Peer=head, X_Leaselog_Signature="0" * 64)
            assert status in (401, 409) and said.strip(), (path, status, said)
        for version, want in ((9, 409), (1, 200)):  # signed as it should be, so that nothing but the version is wrong
            said_head = f"{version}{head[1:]}"
            body = b"LQS\x01" + bytes(4)
            status, said = post(port, "/_r/v1/state", body, X_Leaselog_Peer=said_head, X_Leaselog_Signature=signature(c, said_head, "/_r/v1/state", body))
            assert status == want, (version, status, said)
            assert status == 200 or b"version 9 of the brokers' protocol is spoken there" in said, said
        # Those who serve clients do not serve brokers.
        status, said = post(c.config["brokers"]["1"]["client"], "/_r/v1/state", b"x")
        assert status >= 400, (status, said)
        assert "refused a request from 127.0.0.1" in c.processes[1].text()
        assert keys(c) == before
        all_there(c, 2)


@test
def a_broker_with_another_key_takes_part_in_nothing_and_both_ends_say_so():
    with Cluster(etcds=1, proxy=False) as c:
        begin(c)
        c.stop(3)
        key = os.path.join(c.folder, "other-key")
        with open(os.open(key, os.O_WRONLY | os.O_CREAT, 0o600), "w") as f:
            f.write("another key of thirty-two letters\n")
        c.more[3] = ["--cluster-key", key]
        c.start(3)
        wait_until(lambda: "not signed with this cluster's key" in c.processes[3].text(), "it says so", WAIT_S)
        leader = c.wait_leader(of=1)
        wait_until(lambda: "refused a request" in c.processes[leader].text(), "so does the other end", WAIT_S)
        c.client(1).call("SendMessage", QueueUrl="q", MessageBody="after")
        p = c.partition("q", 0, c.status(1))
        assert 3 not in p["isr"] or p["leader"] != 3, p
        all_there(c, 1, 11)
        c.stop(3)
        c.more[3] = []
        c.start(3)
        c.wait_in_sync("q")
        all_there(c, 3, 11)


@test
def an_old_backup_of_etcd_is_not_believed():
    with Cluster(etcds=1, proxy=False) as c:
        begin(c)
        etcd = os.path.join(c.folder, "e1")
        c.kill("e1")
        shutil.copytree(etcd, etcd + "-backup")
        c.start("e1")
        wait_until(c.etcd_works, "etcd works")
        c.wait_all_live()
        for i in range(3):  # epochs, versions and topics that the backup does not know
            leader = c.wait_leader()
            c.kill(leader)
            c.wait_leader(other_than=leader)
            c.start(leader)
            c.wait_in_sync("q")
        c.client(1).call("CreateQueue", QueueName="later")
        c.client(1).call("SendMessage", QueueUrl="q", MessageBody="late")
        c.wait_in_sync("later")
        folders = {b: sorted(os.listdir(os.path.join(c.data(b), "t"))) for b in c.brokers}
        c.kill("e1")
        shutil.rmtree(etcd)
        shutil.copytree(etcd + "-backup", etcd)
        c.start("e1")
        wait_until(c.etcd_works, "etcd works")
        wait_until(lambda: all("went back" in c.processes[b].text() for b in c.brokers), "each of them notices", 60)
        pass_time(3)
        # No log of a topic that the backup does not know is deleted, and nothing goes back.
        assert folders == {b: sorted(os.listdir(os.path.join(c.data(b), "t"))) for b in c.brokers}
        assert c.crashes() == [], c.crashes()


if __name__ == "__main__":
    run_cases(globals())
