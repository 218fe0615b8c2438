# SPDX-License-Identifier: Apache-2.0
"""The servers that are compared, each an ordinary process (or several) on loopback and a free port, with its data in a
folder that is given. Each syncs a message before it says that it has it, but for fauxqs, which keeps all in memory."""
import glob
import os
import pwd
import shutil
import signal
import socket
import subprocess
import time

START_S, STOP_S = 180, 15


class Missing(Exception):
    """It cannot be run here; the text says why."""


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def listens(port):
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
        return True
    except OSError:
        return False


def program(name, *elsewhere):
    found = shutil.which(name) or next((p for pattern in elsewhere for p in sorted(glob.glob(pattern))[::-1]), None)
    if not found:
        raise Missing(f"there is no {name}")
    return found


def processes():
    """Of each process that has not ended its parent and its session."""
    found = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/stat") as f:
                state, parent, _, session = f.read().rpartition(")")[2].split()[:4]
        except OSError:
            continue  # it has ended meanwhile
        if state not in "ZX":  # these wait for their parent only
            found[int(pid)] = int(parent), int(session)
    return found


class Server:
    """A peer: `start()`, `pids`, `stop()`. `protocol` is the load generator's."""
    name = label = protocol = None
    stop_signal = signal.SIGTERM

    def __init__(self, folder):
        self.folder = os.path.join(folder, self.name)
        self.processes, self.frozen = [], False

    def run(self, *command, **more):
        """Starts a process that ends with this one."""
        with open(self.folder + ".log", "ab") as log:
            self.processes.append(subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", *command], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                start_new_session=True, **more))

    def start(self):
        os.makedirs(self.folder)
        self.port = free_port()
        self.launch()
        self.wait_for(self.answers)

    def wait_for(self, answers):
        end = time.monotonic() + START_S
        while not answers():
            if any(p.poll() is not None for p in self.processes):
                raise Missing(f"it ended at its start: {self.last_words()}")
            if time.monotonic() > end:
                raise Missing(f"it does not answer after {START_S} s: {self.last_words()}")
            time.sleep(0.05)

    def answers(self):
        return listens(self.port)

    def last_words(self):
        with open(self.folder + ".log", errors="replace") as f:
            return " ".join(f.read().split())[-300:]

    @property
    def pids(self):
        return [p.pid for p in self.processes]

    def tree(self):
        """All its processes, parents first: what descends from those that were started here, and what is in their
        sessions still, when those in between have ended."""
        there, started = processes(), set(self.pids)
        found = [pid for pid, (_, session) in there.items() if pid in started or session in started]
        for pid in found:
            found.extend(child for child, (parent, _) in there.items() if parent == pid and child not in found)
        return found

    def tell(self, sig, pids):
        for pid in pids:
            try:
                os.kill(pid, sig)
            except ProcessLookupError:
                pass

    def freeze(self):
        """It takes no processor time until it is thawed."""
        self.tell(signal.SIGSTOP, self.tree())
        self.frozen = True

    def thaw(self):
        self.tell(signal.SIGCONT, self.tree())
        self.frozen = False

    def stop(self):
        self.thaw()
        noted = set(self.tree())
        for p in self.processes[::-1]:
            p.send_signal(self.stop_signal)
            try:
                p.wait(STOP_S)
            except subprocess.TimeoutExpired:
                pass
        # Children that outlived their parents, some of which made new ones meanwhile.
        end = time.monotonic() + STOP_S
        while time.monotonic() < end and (left := noted & processes().keys() | set(self.tree())):
            self.tell(signal.SIGKILL, left)
            time.sleep(0.02)
        for p in self.processes:
            p.wait(STOP_S)
        self.processes = []


class Leaselog(Server):
    name, label, protocol = "leaselog", "leaselog", "sqs"

    def launch(self):
        self.run(os.environ["LEASELOG"], "serve", "--listen", f"127.0.0.1:{self.port}", "--data-dir", self.folder,
                 "--log-level", "warning")


class Redis(Server):
    name, label, protocol = "redis", "Redis Streams, appendfsync always", "redis"

    def launch(self):
        self.run(program("redis-server"), "--port", str(self.port), "--bind", "127.0.0.1", "--dir", self.folder,
                 "--appendonly", "yes", "--appendfsync", "always", "--save", "")


class RabbitMQ(Server):
    name, label, protocol = "rabbitmq", "RabbitMQ, quorum queue, confirms", "amqp"
    stop_signal = signal.SIGKILL  # while it starts its script heeds no other, and its data will not be missed

    def launch(self):
        server = program("rabbitmq-server", "/usr/lib/rabbitmq/bin/rabbitmq-server")
        wrapped = "/usr/lib/rabbitmq/bin/rabbitmq-server"  # without the wrapper, which changes the user
        names, distribution = free_port(), free_port()
        path = os.path.join(self.folder, "")
        with open(path + "rabbitmq.conf", "w") as f:
            f.write(f"listeners.tcp.1 = 127.0.0.1:{self.port}\nvm_memory_high_watermark.absolute = 4GB\n"
                    "disk_free_limit.absolute = 500MB\nlog.file.level = warning\n")
        with open(path + "enabled_plugins", "w") as f:
            f.write("[].\n")
        environment = {
            **os.environ, "HOME": self.folder, "RABBITMQ_CONFIG_FILE": path + "rabbitmq",
            "RABBITMQ_MNESIA_BASE": path + "mnesia", "RABBITMQ_LOG_BASE": path + "log",
            "RABBITMQ_ENABLED_PLUGINS_FILE": path + "enabled_plugins", "RABBITMQ_PID_FILE": path + "pid",
            "RABBITMQ_CONF_ENV_FILE": path + "none", "RABBITMQ_NODENAME": "bench@localhost",
            "RABBITMQ_DIST_PORT": str(distribution), "ERL_EPMD_PORT": str(names), "ERL_EPMD_ADDRESS": "127.0.0.1",
            "ERL_FLAGS": "-start_epmd false",
            "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": "-kernel inet_dist_use_interface {127,0,0,1}"}
        # Erlang would start its register of names as a daemon, which stays.
        self.run(program("epmd", "/usr/lib/erlang/erts-*/bin/epmd"), "-port", str(names), "-address", "127.0.0.1")
        self.wait_for(lambda: listens(names))
        self.run(wrapped if os.path.exists(wrapped) else server, env=environment, cwd=self.folder)


class PostgreSQL(Server):
    name, label, protocol = "postgresql", "PostgreSQL, SKIP LOCKED, synchronous commit", "postgresql"
    stop_signal = signal.SIGINT  # does not wait for clients

    def launch(self):
        binaries = os.path.dirname(program("initdb", "/usr/lib/postgresql/*/bin/initdb"))
        binaries = os.path.dirname(os.path.realpath(os.path.join(binaries, "initdb")))
        other = []  # the server will not run as root
        if os.getuid() == 0:
            try:
                user = pwd.getpwnam("postgres")
            except KeyError:
                raise Missing("there is no user postgres, and it will not run as root") from None
            os.chown(self.folder, user.pw_uid, user.pw_gid)
            other = ["setpriv", f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups"]
        made = subprocess.run([*other, os.path.join(binaries, "initdb"), "-A", "trust", "-U", "bench", "-D",
                               os.path.join(self.folder, "data")], capture_output=True, text=True, cwd="/")
        if made.returncode != 0:
            raise Missing("initdb: " + " ".join(made.stderr.split())[-300:])
        # The last of the chain asks to end with this process: a change of user forgets it.
        self.run(*other, "setpriv", "--pdeathsig", "KILL", os.path.join(binaries, "postgres"), "-D",
                 os.path.join(self.folder, "data"), "-p", str(self.port), "-c", "listen_addresses=127.0.0.1", "-c",
                 "unix_socket_directories=", "-c", "synchronous_commit=on", "-c", "fsync=on", cwd="/")


class Beanstalkd(Server):
    name, label, protocol = "beanstalkd", "beanstalkd -f 0", "beanstalk"

    def launch(self):
        self.run(program("beanstalkd"), "-l", "127.0.0.1", "-p", str(self.port), "-b", self.folder, "-f", "0")


class Fauxqs(Server):
    name, label, protocol = "fauxqs", "fauxqs (in memory only)", "sqs"

    def launch(self):
        node, entry = (os.environ.get(name, "") for name in ("PEERS_NODE", "PEERS_FAUXQS"))
        if not (os.path.exists(node) and os.path.exists(entry)):
            raise Missing("npm has not brought it")
        self.run(node, entry, cwd=self.folder,
                 env={**os.environ, "FAUXQS_PORT": str(self.port), "FAUXQS_HOST": "127.0.0.1", "FAUXQS_LOGGER": "false"})


ALL = (Leaselog, Redis, RabbitMQ, PostgreSQL, Beanstalkd, Fauxqs)
