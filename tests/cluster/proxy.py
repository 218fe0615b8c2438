# SPDX-License-Identifier: Apache-2.0
"""Stands between the processes of a cluster, so that any way from one to another can be cut, delayed or broken. It
needs no privilege.

    proxy.py FOLDER       reads FOLDER/proxy.json: {"control": PORT, "ways": [{"port", "to", "target", "from"?}]}

A way is called `1>2` (broker 1 connects to broker 2), `1>e3` (to etcd's member 3), `c>1` (a client). Brokers know each
other by one URL each, so who connects is told by where from: broker N calls from 127.0.1.N (--peer-from). For all others it is
found out: the socket at the other end belongs to one of the processes whose ids are in FOLDER/broker-N.pid (the kernel numbers
the socket, /proc/PID/fd says whose it is). A connection of which this cannot be found out is refused: it would pass through
every cut.

A command is a line of JSON on a connection to the control port, and is answered with one:
    {"way": "1>2", "mode": "pass" | "hold" | "deaf" | "refuse", "delay_ms", "jitter_ms", "bytes_per_s", "cut_after"}
        hold: nothing passes either way, and what is held passes when that ends, as TCP sends again after a cut cable
        deaf: questions pass, answers are held
        refuse: connections are reset, those that are open too
        cut_after: the connection that has answered so many bytes more is reset, once
    {"break": "1>2"}      resets its open connections
    {"heal": true}        all ways pass
    {"down": "2"}         nobody listens in place of 2 any more, so that connections to it are refused as they would be
    {"up": "2"}           again
    {"ways": true}        what is set, and how many connections and bytes there were"""
import asyncio
import contextlib
import glob
import json
import os
import random
import re
import socket
import struct
import sys

PIECE_BYTES = 1 << 16
NETLINK_SOCK_DIAG, SOCK_DIAG_BY_FAMILY, NLM_F_REQUEST = 4, 20, 1  # linux/netlink.h, linux/sock_diag.h
OF_BROKERS = "127.0.1."  # where broker N calls from: that and N
PASS = {"mode": "pass", "delay_ms": 0, "jitter_ms": 0, "bytes_per_s": 0, "cut_after": None}


class Way:
    def __init__(self):
        self.set, self.changed, self.open = dict(PASS), asyncio.Event(), set()
        self.connections, self.bytes = 0, 0

    def change(self, **settings):
        unknown = set(settings) - set(PASS)
        if unknown or settings.get("mode", "pass") not in ("pass", "hold", "deaf", "refuse"):
            raise ValueError(f"no such setting: {settings}")
        self.set.update(settings)
        self.changed.set()
        self.changed = asyncio.Event()
        if self.set["mode"] == "refuse":
            self.reset()

    def reset(self):
        for transport in list(self.open):
            abort(transport)

    def is_held(self, is_answer):
        return self.set["mode"] == "hold" or (self.set["mode"] == "deaf" and is_answer)


def abort(transport):
    s = transport.get_extra_info("socket")
    if s is not None:
        try:
            s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # close sends a reset
        except OSError:
            pass
    transport.abort()


def socket_of(theirs, ours):
    """The number of the socket at `theirs` that is connected to `ours`; None: it is closed. One question to the kernel
    (sock_diag(7)): reading /proc/net/tcp takes a tenth of a second where thousands of connections have just ended."""
    head, request, answer = "=IHHII", "=BBBBI", "=16xBBBB48xIIIII"
    of = struct.pack("!HH4s12x4s12x", theirs[1], ours[1], socket.inet_aton(theirs[0]), socket.inet_aton(ours[0]))
    asked = struct.pack(request, socket.AF_INET, socket.IPPROTO_TCP, 0, 0, 0xFFFFFFFF) + of + bytes(4) + b"\xff" * 8
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_SOCK_DIAG) as s:
        s.send(struct.pack(head, 16 + len(asked), SOCK_DIAG_BY_FAMILY, NLM_F_REQUEST, 1, 0) + asked)
        got = s.recv(4096)
    if struct.unpack_from(head, got)[1] != SOCK_DIAG_BY_FAMILY:
        return None
    return struct.unpack_from(answer, got)[-1] or None


def has_open(pid, inode):
    for fd in os.listdir(f"/proc/{pid}/fd"):
        with contextlib.suppress(FileNotFoundError):  # that one has been closed meanwhile
            if os.readlink(f"/proc/{pid}/fd/{fd}") == f"socket:[{inode}]":
                return True
    return False


def owner_of(folder, theirs, ours):
    """The number of the broker whose socket is at `theirs`, connected to `ours`; None: no broker's."""
    if theirs[0].startswith(OF_BROKERS):
        return theirs[0][len(OF_BROKERS):]
    inode = socket_of(theirs, ours)
    for path in glob.glob(os.path.join(folder, "broker-*.pid")) if inode else ():
        with contextlib.suppress(OSError, IndexError):  # it has just ended
            with open(path) as f:
                pid = f.read().split()[0]
            if has_open(pid, inode):
                return re.search(r"broker-(\d+)\.pid$", path)[1]
    return None


class Proxy:
    def __init__(self, folder):
        self.folder, self.ways, self.random = folder, {}, random.Random(1)
        self.specs, self.listeners = [], {}

    def way(self, name):
        return self.ways.setdefault(name, Way())

    async def pump(self, way, reader, writer, both, is_answer):
        while True:
            data = await reader.read(PIECE_BYTES)
            if way.set["delay_ms"] or way.set["jitter_ms"]:
                await asyncio.sleep((way.set["delay_ms"] + self.random.uniform(0, way.set["jitter_ms"])) / 1000)
            if way.set["bytes_per_s"]:
                await asyncio.sleep(len(data) / way.set["bytes_per_s"])
            while way.is_held(is_answer):
                await way.changed.wait()
            if not data:
                writer.write_eof()
                return
            cut = way.set["cut_after"] if is_answer else None
            if cut is not None and len(data) >= cut:
                writer.write(data[:cut])
                way.set["cut_after"] = None
                await asyncio.sleep(0.01)  # so that the piece is sent before the reset
                for transport in both:
                    abort(transport)
                return
            if cut is not None:
                way.set["cut_after"] = cut - len(data)
            way.bytes += len(data)
            writer.write(data)
            await writer.drain()

    async def serve(self, spec, reader, writer):
        source = spec.get("from") or owner_of(self.folder, writer.get_extra_info("peername"), writer.get_extra_info("sockname"))
        if source is None:  # a way that has no name could not be cut
            return abort(writer.transport)
        way = self.way(f"{source}>{spec['to']}")
        way.connections += 1
        both = {writer.transport}
        way.open |= both
        try:
            if way.set["mode"] == "refuse":
                return abort(writer.transport)
            there = await asyncio.open_connection("127.0.0.1", spec["target"])
            both.add(there[1].transport)
            way.open |= both
            await asyncio.gather(self.pump(way, reader, there[1], both, False), self.pump(way, there[0], writer, both, True))
        except (OSError, asyncio.IncompleteReadError):
            for transport in both:
                abort(transport)
        finally:
            way.open -= both
            for transport in both:
                transport.close()

    async def obey(self, command):
        if "way" in command:
            self.way(command.pop("way")).change(**command)
        elif "break" in command:
            self.way(command["break"]).reset()
        elif "heal" in command:
            for way in self.ways.values():
                way.change(**PASS)
        elif "down" in command or "up" in command:
            await self.listen(command.get("down") or command["up"], "up" in command)
        elif "ways" in command:
            return {n: {**w.set, "open": len(w.open), "connections": w.connections, "bytes": w.bytes} for n, w in self.ways.items()}
        else:
            raise ValueError(f"no such command: {command}")
        return {}

    async def listen(self, name, is_up):
        for spec in self.specs:
            if spec["to"] != name:
                continue
            port = spec["port"]
            if is_up and port not in self.listeners:
                self.listeners[port] = await asyncio.start_server(lambda r, w, s=spec: self.serve(s, r, w), "127.0.0.1", port)
            elif not is_up and port in self.listeners:
                self.listeners.pop(port).close()

    async def control(self, reader, writer):
        try:
            while line := await reader.readline():
                try:
                    answer = await self.obey(json.loads(line))
                except (ValueError, TypeError, AttributeError, OSError) as e:
                    answer = {"error": str(e)}
                writer.write(json.dumps(answer).encode() + b"\n")
                await writer.drain()
        except OSError:
            pass
        writer.close()

    async def run(self):
        with open(os.path.join(self.folder, "proxy.json")) as f:
            config = json.load(f)
        self.specs = config["ways"]
        for name in sorted({spec["to"] for spec in self.specs}):
            await self.listen(name, True)
        control = await asyncio.start_server(self.control, "127.0.0.1", config["control"])
        await control.serve_forever()


if __name__ == "__main__":
    try:
        asyncio.run(Proxy(sys.argv[1]).run())
    except KeyboardInterrupt:
        pass
