# SPDX-License-Identifier: Apache-2.0
"""A cluster of real processes on loopback: three members of etcd, some brokers, and the proxy between them. Everything
is in one folder: ports (cluster.json), process ids, logs, data. So another process can take it up again (Cluster.at),
which is how scripts/cluster works.

    with Cluster() as c:            three brokers, in a temporary folder
        c.kill(1); c.start(1)       and pause, resume, stop; c.kill("e2") is a member of etcd
        c.cut(1, 2); c.heal()       both ways; c.way("1>2", mode="hold") one way; c.cut(1, "e2") from etcd

Nothing here waits blindly: each wait is for a condition, and has an end."""
import contextlib
import glob
import http.client
import json
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [p for p in (HERE, os.path.join(HERE, "..", "lib")) if p not in sys.path]
import proxy
from leaselog import BINARY, Client, memory_folder, wait_until

SLOW = float(os.environ.get("LEASELOG_SLOW", "1"))
WAIT_S = 30 * SLOW
PORTS = range(20000, 32000)  # below those that the system gives to outgoing connections
REPORTS = re.compile(r"(ERROR: \w+Sanitizer|runtime error:|CHECK failed|check failed)[^\n]*")
BLOCK = 200
BLOCKS = []  # of ports that are this process's
RUNNING = []  # clusters of this process
ENDED = (OSError, http.client.HTTPException)


def why_not():
    """None, or why no cluster can be had here."""
    if not shutil.which("etcd"):
        return "etcd is not installed (scripts/packages cluster)"
    if not shutil.which(BINARY.split()[0]):
        return f"there is no {BINARY}; LEASELOG=path names another broker"
    got = subprocess.run([*BINARY.split(), "serve", "--help"], capture_output=True, text=True)
    if "--etcd" not in got.stdout:
        return f"{BINARY} does not know --etcd: it serves alone"
    with socket.create_server(("127.0.0.1", 0)) as listener, socket.create_connection(listener.getsockname()) as own:
        with contextlib.suppress(OSError):
            if proxy.socket_of(own.getsockname(), own.getpeername()):
                return None
    return "the kernel does not say whose a connection is (inet_diag), so none could be cut"


def own_ports():
    """A block that no other process takes ports from as long as this one runs: between the choice of a port and the
    start of who listens there some seconds pass."""
    while not BLOCKS:
        at = random.randrange(PORTS.start, PORTS.stop, BLOCK)
        s = socket.socket(socket.AF_UNIX)
        try:
            s.bind(f"\0leaselog-ports-{at}")
            BLOCKS.append((s, range(at, at + BLOCK)))
        except OSError:
            s.close()
    return BLOCKS[0][1]


def free_ports(n):
    found, own = [], own_ports()
    while len(found) < n:
        port = random.choice(own)
        with socket.socket() as s:
            try:
                s.bind(("127.0.0.1", port))
            except OSError:
                continue
        if port not in found:
            found.append(port)
    return found


def begun(pid):
    """When this process began, in ticks since boot: with it an id cannot be taken for a later process's. None: ended."""
    try:
        with open(f"/proc/{pid}/stat") as f:
            fields = f.read().rsplit(")", 1)[1].split()
        # The first thread may be gone, and another one still hold the ports, where somebody traces them.
        ended = fields[0] == "Z" and len(os.listdir(f"/proc/{pid}/task")) <= 1
        return None if ended else fields[19]
    except OSError:
        return None


class Process:
    """One process of the cluster, known by the file with its id."""

    def __init__(self, folder, name):
        self.folder, self.name, self.child = folder, name, None
        self.pid_file = os.path.join(folder, name + ".pid")

    def start(self, command, dies_with_us):
        out = open(os.path.join(self.folder, self.name + ".out"), "wb")
        log = open(os.path.join(self.folder, self.name + ".log"), "ab")
        if dies_with_us and shutil.which("setpriv"):
            command = ["setpriv", "--pdeathsig", "KILL", *command]
        with out, log:
            self.child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=log, start_new_session=True)
        with open(self.pid_file + ".new", "w") as f:
            f.write(f"{self.child.pid} {begun(self.child.pid)}\n")
        os.rename(self.pid_file + ".new", self.pid_file)

    def pid(self):
        """None when it does not run."""
        if self.child:
            self.child.poll()  # takes notice of its end
        try:
            with open(self.pid_file) as f:
                pid, when = f.read().split()
        except (OSError, ValueError):
            return None
        return int(pid) if begun(pid) == when else None

    def tell(self, number):
        if pid := self.pid():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)

    def end(self, number=signal.SIGKILL, timeout=WAIT_S):
        """Ends it and gives its exit code, if it is a child of this process."""
        pid = self.pid()
        self.tell(number)
        wait_until(lambda: self.pid() is None, f"{self.name} ends", timeout)
        for left in (f"faketime_shm_{pid}", f"sem.faketime_sem_{pid}"):  # libfaketime's, of a process that was killed
            with contextlib.suppress(OSError):
                os.unlink(os.path.join("/dev/shm", left))
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.pid_file)
        return self.child.wait() if self.child else None

    def text(self, suffix="log"):
        with contextlib.suppress(OSError), open(os.path.join(self.folder, f"{self.name}.{suffix}"), errors="replace") as f:
            return f.read()
        return ""


class Cluster:
    def __init__(self, folder=None, brokers=3, etcds=3, ttl_s=2, proxy=True, options=(), etcd_options=(), stays=False):
        """`stays`: it outlives this process. Without `proxy` the brokers connect to each other directly."""
        self.is_temporary = folder is None
        within = os.environ.get("CLUSTER_TMP") or memory_folder()
        self.folder = os.path.abspath(folder or tempfile.mkdtemp(prefix="leaselog-cluster-", dir=within))
        ports = free_ports(3 * etcds + 4 * brokers + etcds * brokers + 1)
        take = ports.pop
        self.config = {
            "name": "test", "ttl_s": ttl_s, "proxy": proxy, "control": take(), "options": list(options),
            "etcd_options": list(etcd_options), "stays": stays,
            "etcds": {f"e{i}": {"client": take(), "peer": take()} for i in range(1, etcds + 1)},
            "brokers": {str(i): {"client": take(), "peer": take(), "peer_way": take(), "client_way": take(),
                                 "etcd_ways": {f"e{k}": take() for k in range(1, etcds + 1)}}
                        for i in range(1, brokers + 1)},
        }
        # By broker: what stands before its command line, and behind it; where its data are if not in the folder.
        self.prefixes, self.more, self.folders = {}, {}, {}
        self.mounts = []
        self.expected = set()              # those that run unless they ended by themselves
        self.load()

    @staticmethod
    def at(folder):
        """The one that is in this folder already."""
        c = Cluster.__new__(Cluster)
        c.folder, c.is_temporary, c.expected = os.path.abspath(folder), False, set()
        c.prefixes, c.more, c.folders, c.mounts = {}, {}, {}, []
        with open(os.path.join(folder, "cluster.json")) as f:
            c.config = json.load(f)
        c.load()
        return c

    def load(self):
        self.brokers = [int(b) for b in self.config["brokers"]]
        self.etcds = list(self.config["etcds"])
        self.processes = {e: Process(self.folder, f"etcd-{e[1:]}") for e in self.etcds}
        self.processes.update({b: Process(self.folder, f"broker-{b}") for b in self.brokers})
        self.processes["proxy"] = Process(self.folder, "proxy")

    # ---- life ----

    def up(self):
        os.makedirs(self.folder, exist_ok=True)
        RUNNING.append(self)
        key = os.path.join(self.folder, "key")
        if not os.path.exists(key):
            with open(os.open(key, os.O_WRONLY | os.O_CREAT, 0o600), "w") as f:
                f.write(os.urandom(32).hex() + "\n")
        self.save()
        for e in self.etcds:
            self.start(e, wait=False)
        wait_until(self.etcd_works, "etcd has a leader", WAIT_S)
        self.start_proxy()
        for b in self.brokers:
            self.start(b, wait=False)
        for b in self.brokers:
            self.wait_serving(b)
        self.wait_all_live()
        return self

    def save(self):
        with open(os.path.join(self.folder, "cluster.json"), "w") as f:
            json.dump(self.config, f, indent=1)
        ways = []
        for b, ports in self.config["brokers"].items():
            ways += [{"port": ports["peer_way"], "to": b, "target": ports["peer"]},
                     {"port": ports["client_way"], "to": b, "from": "c", "target": ports["client"]}]
            ways += [{"port": port, "to": e, "from": b, "target": self.config["etcds"][e]["client"]}
                     for e, port in ports["etcd_ways"].items()]
        with open(os.path.join(self.folder, "proxy.json"), "w") as f:
            json.dump({"control": self.config["control"], "ways": ways}, f, indent=1)

    def start_proxy(self):
        if self.config["proxy"] and not self.processes["proxy"].pid():
            self.run("proxy", [sys.executable, os.path.join(HERE, "proxy.py"), self.folder])
            wait_until(lambda: listens(self.config["control"]), "the proxy listens", WAIT_S)

    def run(self, name, command):
        self.processes[name].start(command, dies_with_us=not self.config["stays"])

    def etcd_command(self, name):
        me, host = self.config["etcds"][name], "http://127.0.0.1:%d"
        everyone = ",".join(f"{e}={host % p['peer']}" for e, p in self.config["etcds"].items())
        return ["etcd", "--name", name, "--data-dir", os.path.join(self.folder, name), "--logger", "zap",
                "--listen-client-urls", host % me["client"], "--advertise-client-urls", host % me["client"],
                "--listen-peer-urls", host % me["peer"], "--initial-advertise-peer-urls", host % me["peer"],
                "--initial-cluster", everyone, "--initial-cluster-token", self.folder, "--auto-compaction-mode=revision",
                "--auto-compaction-retention=10000", *self.config["etcd_options"]]

    def broker_command(self, b):
        me, host = self.config["brokers"][str(b)], "http://127.0.0.1:%d"
        etcds = [me["etcd_ways"][e] if self.config["proxy"] else p["client"] for e, p in self.config["etcds"].items()]
        return [*self.prefixes.get(b, ()), *BINARY.split(), "serve", "--listen", f"127.0.0.1:{me['client']}",
                "--data-dir", self.data(b), "--etcd", ",".join(host % port for port in etcds), "--cluster", self.config["name"],
                "--broker-id", str(b), "--cluster-key", os.path.join(self.folder, "key"),
                "--peer-listen", f"127.0.0.1:{me['peer']}",
                "--peer-url", host % (me["peer_way"] if self.config["proxy"] else me["peer"]),
                *(["--peer-from", f"127.0.1.{b}"] if self.config["proxy"] else []),
                "--client-url", host % me["client"], "--session-ttl", str(self.config["ttl_s"]),
                *self.config["options"], *self.more.get(b, ())]

    def data(self, b):
        return self.folders.get(b) or os.path.join(self.folder, f"data-{b}")

    def start(self, name, wait=True):
        """A broker (a number) or a member of etcd (`e1`)."""
        is_etcd = name in self.etcds
        if not is_etcd:
            self.ask_proxy(up=str(name))
        self.run(name, self.etcd_command(name) if is_etcd else self.broker_command(name))
        self.expected.add(name)
        if is_etcd:
            self.ask_proxy(up=name)  # it may only listen once others run too, so that is not waited for
        if wait and not is_etcd:
            self.wait_serving(name)

    def wait_serving(self, b):
        p = self.processes[b]
        wait_until(lambda: "http://" in p.text("out") or p.pid() is None, f"broker {b} serves", WAIT_S)
        if p.pid() is None:
            raise RuntimeError(f"broker {b} did not start: {p.text()[-2000:]}")

    def ended(self, name):
        """From now on connections to it are refused, as they would be without the proxy."""
        self.expected.discard(name)
        self.ask_proxy(down=str(name))

    def kill(self, name):
        self.expected.discard(name)
        self.processes[name].end()
        self.ended(name)

    def stop(self, b):
        """A clean stop; gives the exit code."""
        self.expected.discard(b)
        code = self.processes[b].end(signal.SIGTERM, 2 * WAIT_S)
        self.ended(b)
        return code

    def pause(self, name):
        self.processes[name].tell(signal.SIGSTOP)

    def resume(self, name):
        self.processes[name].tell(signal.SIGCONT)

    def mount(self, name, mib):
        """A disk of that size, in the cluster's folder; needs root. It goes with the cluster."""
        at = os.path.join(self.folder, name)
        os.makedirs(at)
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={mib}m", "tmpfs", at], check=True)
        self.mounts.append(at)
        return at

    def restart(self, b):
        self.kill(b)
        self.start(b)

    def down(self):
        """Ends all that is left, the brokers first."""
        if self in RUNNING:
            RUNNING.remove(self)
        self.expected.clear()
        for name, p in sorted(self.processes.items(), key=lambda x: str(x[0])):
            p.tell(signal.SIGCONT)
            p.end()
        while self.mounts:
            subprocess.run(["umount", "--lazy", self.mounts.pop()], check=False)
        if self.is_temporary and not os.environ.get("CLUSTER_KEEP"):
            shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self):
        try:
            return self.up()
        except BaseException:
            self.show_logs()
            self.down()
            raise

    def __exit__(self, kind, *_):
        if kind:
            self.show_logs()
        self.down()

    def show_logs(self, lines=30):
        for name, p in self.processes.items():
            if name in self.brokers:
                print(f"---- broker {name}\n" + "\n".join(p.text().splitlines()[-lines:]), flush=True)

    def crashes(self):
        """Who ended unasked, and what sanitizers or our own checks said."""
        found = [f"{name} ended by itself: {self.processes[name].text()[-400:]}" for name in sorted(self.expected, key=str)
                 if self.processes[name].pid() is None]
        for path in sorted(glob.glob(os.path.join(self.folder, "broker-*.log"))):
            with open(path, errors="replace") as f:
                found += [f"{os.path.basename(path)}: {m[0]}" for m in REPORTS.finditer(f.read())]
        return found

    # ---- the ways between them ----

    def ask_proxy(self, **command):
        if not self.config["proxy"] or not self.processes["proxy"].pid():
            return {}
        with socket.create_connection(("127.0.0.1", self.config["control"]), timeout=WAIT_S) as s:
            s.sendall(json.dumps(command).encode() + b"\n")
            with s.makefile() as f:
                answer = json.loads(f.readline())
        if "error" in answer:
            raise ValueError(answer["error"])
        return answer

    def way(self, name, **settings):
        self.ask_proxy(way=name, **settings)

    def cut(self, a, b, mode="hold"):
        """Brokers a and b hear nothing of each other; or one is a member of etcd, or `etcd` for all of them."""
        for x, y in ((a, b), (b, a)):
            for to in (self.etcds if y == "etcd" else [y]):
                if x in self.brokers and x != y:
                    self.way(f"{x}>{to}", mode=mode)

    def isolate(self, b, mode="hold"):
        """A broker hears nothing of the others, nor of etcd; clients still reach it."""
        for other in self.brokers:
            if other != b:
                self.cut(b, other, mode)
        self.cut(b, "etcd", mode)

    def heal(self):
        self.ask_proxy(heal=True)

    # ---- what it says of itself ----

    def client(self, b, through_proxy=False, timeout=WAIT_S):
        return Client(self.config["brokers"][str(b)]["client_way" if through_proxy else "client"], timeout=timeout)

    def status(self, b=None):
        """GET /v1/cluster of one broker, or of the first that answers; None: none does."""
        for broker in [b] if b else self.brokers:
            if self.processes[broker].pid() is None:
                continue
            with contextlib.suppress(*ENDED, ValueError):
                c = self.client(broker, timeout=2)
                status, body, _ = c.raw("GET", "/v1/cluster")
                c.close()
                if status == 200:
                    return json.loads(body)
        return None

    def wait_for(self, condition, what, timeout=WAIT_S, of=None):
        """Until condition(status) is true; gives that status."""
        box = {}

        def holds():
            box["status"] = self.status(of)
            return box["status"] is not None and condition(box["status"])

        try:
            wait_until(holds, what, timeout)
        except AssertionError as e:
            raise AssertionError(f"{e}; at last: {json.dumps(box['status'])}") from None
        return box["status"]

    def live(self, s):
        return {b["id"] for b in s["brokers"] if b["live"]}

    def wait_all_live(self):
        """Each of those that should run knows that they all do: a topic that is made earlier has fewer copies."""
        want = {b for b in self.brokers if b in self.expected}
        for b in sorted(want):
            self.wait_for(lambda s: want <= self.live(s) and s.get("controller"), f"broker {b} sees {sorted(want)}", of=b)

    def partition(self, topic, n=0, status="any"):
        """What a status, or the first broker that answers, says of it; None: nothing."""
        status = self.status() if status == "any" else status
        return next((p for p in (status or {"partitions": []})["partitions"] if (p["topic"], p["partition"]) == (topic, n)), None)

    def wait_partition(self, condition, what, topic="q", n=0, timeout=WAIT_S, of=None):
        def holds(s):
            p = self.partition(topic, n, s)
            return p is not None and condition(p)
        return self.partition(topic, n, self.wait_for(holds, what, timeout, of))

    def wait_leader(self, topic="q", n=0, other_than=None, timeout=WAIT_S, of=None):
        p = self.wait_partition(lambda p: p["leader"] and p["leader"] != other_than, f"{topic}/{n} has a leader", topic, n,
                                timeout, of)
        return p["leader"]

    def wait_in_sync(self, topic="q", n=0, timeout=2 * WAIT_S):
        """All members are in sync and one leads, in the eyes of each broker: one that has just been woken believes what
        was true when it was stopped."""
        seen = {}

        def agreed():
            seen.update({b: self.partition(topic, n, self.status(b)) for b in self.brokers if self.processes[b].pid()})
            views = list(seen.values())
            return all(p and p["leader"] and p["leader"] == views[0]["leader"] and p["epoch"] == views[0]["epoch"]
                       and set(p["isr"]) == set(p["members"]) for p in views)

        try:
            wait_until(agreed, f"{topic}/{n} is in sync", timeout)
        except AssertionError as e:
            raise AssertionError(f"{e}; at last: {json.dumps(seen)}") from None
        return next(iter(seen.values()))

    def controller(self):
        return self.wait_for(lambda s: s.get("controller"), "there is a controller")["controller"]

    # ---- etcd ----

    def etcd(self, path, body, member=None, timeout=10):
        """A question to the JSON gateway of one member; the others are asked when it does not answer."""
        for e in [member] if member else self.etcds:
            with contextlib.suppress(*ENDED, ValueError):
                conn = http.client.HTTPConnection("127.0.0.1", self.config["etcds"][e]["client"], timeout=timeout)
                conn.request("POST", path, json.dumps(body))
                answer = conn.getresponse()
                return answer.status, json.loads(answer.read())
        return None, {}

    def etcd_works(self):
        return self.etcd("/v3/kv/range", {"key": "eA=="}, timeout=3)[0] == 200

    def etcd_leader(self):
        for e in self.etcds:
            status, got = self.etcd("/v3/maintenance/status", {}, member=e, timeout=3)
            if status == 200 and got.get("leader") and got["leader"] == got["header"]["member_id"]:
                return e
        return None


def end_on_sigterm():
    """What was started is ended, whatever is under way."""
    def end(*_):
        for c in list(RUNNING):
            c.down()
        os._exit(1)

    signal.signal(signal.SIGTERM, end)


def listens(port):
    with socket.socket() as s:
        return s.connect_ex(("127.0.0.1", port)) == 0
