# SPDX-License-Identifier: Apache-2.0
"""Plays the cases of tests/wire/cases, a folder each: the bytes of a request, and the answer they must get.
tests/wire/README.md says how a case is written.

usage: wire_cases.py [--show] [CASE…]      --show prints what the server answered"""
import json
import os
import re
import sys
import tempfile
from urllib.parse import quote_plus
from xml.sax.saxutils import escape

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
import wire_json
from leaselog import Server, memory_folder
from wire_json import UUID, WIRE, Wire, split

CASES = os.path.join(WIRE, "cases")
TYPES = {"json": "application/x-amz-json-1.0", "query": "text/xml"}
WILD = {"UUID": r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", "ANY": r"[^<]+", "SEQUENCE": r"\d{20}",
        "SECONDS": r"1\d{9}|[2-9]\d{9}", "MILLIS": r"[1-9]\d{12}", "NUMBER": r"\d+"}
PLACE = re.compile(r'\{(?:([A-Z]+)(?: (\d+))?|([^\s{}"]+?)\*(\d+))\}')
quick = {}  # a connection for each server, by port
shared = set()  # (port, name) of the queues of those plays that change nothing
plays = 0
show = False


def text_of(case, name):
    try:
        with open(os.path.join(CASES, case, name), newline="", encoding="utf-8") as f:
            return f.read()
    except FileNotFoundError:
        return None


class Play:
    """One request of one case: what its placeholders stand for."""

    def __init__(self, server, changes):
        global plays
        plays += 1
        name = f"q{plays}" if changes else "shared"
        self.host = f"127.0.0.1:{server.port}"
        self.names = {"Q": name, "F": name + ".fifo", "NEW": f"n{plays}", "HOST": self.host,
                      "URL": f"http://{self.host}/000000000000", "ARN": "arn:aws:sqs:us-east-1:000000000000"}
        self.lists = {"HANDLE": [], "ID": [], "TASK": [], "TOKEN": []}

    def value(self, match):
        name, number, text, times = match.groups()
        if times:
            return text * int(times)
        if name in self.lists:
            return self.lists[name][int(number or 1) - 1]
        return self.names.get(name)

    def fill(self, text, encode=lambda value: value):
        """Puts the values in; what is no placeholder stays, and so do the wild ones of an answer."""
        def put(m):
            value = self.value(m)
            return m[0] if value is None else value if m[4] else encode(value)
        return PLACE.sub(put, text)

    def note(self, answer):
        """Handles, ids and so on of an answer, to be named by later lines."""
        for m in answer.get("Messages", []):
            self.lists["HANDLE"].append(m["ReceiptHandle"])
        for key, member in (("ID", "MessageId"), ("TASK", "TaskHandle"), ("TOKEN", "NextToken")):
            if member in answer:
                self.lists[key].append(answer[member])


def send(port, raw):
    if port not in quick:
        wire_json.port = port
        quick[port] = Wire()
    status, headers, body = quick[port].send(raw)
    if headers.get("connection", "").lower() == "close":
        del quick[port]
    return status, headers, body


# ---- lines of a script: Action {members} [=> what is answered] ----

def lines_of(script):
    for line in re.sub(r"\n[ \t]+", " ", script or "").split("\n"):
        if line and not line.startswith("#"):
            call, _, want = line.partition(" => ")
            yield (*call.split(" ", 1), want)


def holds(got, want):
    """Whether `got` has what `want` names; null names what must not be there."""
    if isinstance(want, dict) and isinstance(got, dict):
        return all(k not in got if v is None else k in got and holds(got[k], v) for k, v in want.items())
    if isinstance(want, list) and isinstance(got, list):
        return len(got) == len(want) and all(map(holds, got, want))
    return same(got, want)


def run_script(play, script, port):
    for action, members, want in lines_of(script):
        body = play.fill(members).encode()
        status, headers, got = send(port, (
            f"POST / HTTP/1.1\r\nHost: {play.host}\r\nX-Amz-Target: AmazonSQS.{action}\r\nContent-Type: {TYPES['json']}"
            f"\r\nContent-Length: {len(body)}\r\n\r\n").encode() + body)
        answer = json.loads(got) if got else {}
        if want and want[0] != "{":
            code = headers.get("x-amzn-query-error", "no fault").split(";")[0]
            assert code == want, f"{action}: {code}, not {want}"
            continue
        assert status == 200, f"{action} {body.decode()[:200]}: {status} {got.decode()[:300]}"
        play.note(answer)
        if want:
            expected = json.loads(play.fill(want))
            assert holds(answer, expected), f"{action}: {answer} has not {expected}"


# ---- the request ----

def request(play, protocol, raw):
    """The bytes to send. The length is added; a form may be broken into lines before each '&'."""
    head, body = raw.replace("\r\n", "\n").split("\n\n", 1)
    body = body.rstrip("\n")
    if protocol == "query":
        head, body = head.replace("\n&", "&"), play.fill(body.replace("\n&", "&"), quote_plus)
        head = play.fill(head.split("\n", 1)[0], quote_plus) + "\n" + play.fill(head.split("\n", 1)[1])
    else:
        head, body = play.fill(head), play.fill(body)
    body = body.encode()
    if not head.startswith("GET"):
        head += f"\nContent-Length: {len(body)}"
    return head.replace("\n", "\r\n").encode() + b"\r\n\r\n" + body


# ---- the answer ----

def pattern(text):
    """A regular expression of a text with wild placeholders in it."""
    parts = re.split(r"\{(%s)\}" % "|".join(WILD), text)
    return "".join(f"(?:{WILD[p]})" if i % 2 else re.escape(p) for i, p in enumerate(parts))


def same(got, want):
    if isinstance(want, str) and "{" in want:
        if want == "{NUMBER}":
            return isinstance(got, int) and not isinstance(got, bool)
        return isinstance(got, str) and re.fullmatch(pattern(want), got, re.S) is not None
    if type(got) is not type(want):
        return False
    if isinstance(want, dict):
        return got.keys() == want.keys() and all(same(got[k], want[k]) for k in want)
    if isinstance(want, list):
        return len(got) == len(want) and all(map(same, got, want))
    return got == want


def check_body(play, is_json, body, want):
    """JSON is compared as values, XML as text; in the file it may be broken between elements."""
    if not want.strip():
        assert body == b"", body
    elif is_json:
        assert same(json.loads(body), json.loads(play.fill(want))), (body.decode(), want)
    else:
        want = play.fill(re.sub(r">\s*\n\s*<", "><", want.strip()), escape)
        assert re.fullmatch(pattern(want), body.decode(), re.S), f"\n{body.decode()}\nnot\n{want}"


def check(play, protocol, answer, expected):
    """The file's headers, and what holds for every answer."""
    status, headers, body = answer
    lines, want = split(expected.encode() if "\n\n" in expected else expected.encode() + b"\n\n")
    listed = {"content-type": TYPES[protocol], "x-amzn-query-error": "-"}
    listed.update((k.lower(), v) for k, v in (line.decode().split(": ", 1) for line in lines[1:] if line))
    assert status == int(lines[0]), (status, body)
    for k, v in listed.items():
        got = headers.get(k, "-")
        assert re.fullmatch(pattern(play.fill(v)), got), f"{k}: {got}, not {v}"
    ident = headers.get("x-amzn-requestid", "")
    assert UUID.match(ident), f"x-amzn-RequestId: {ident!r}"
    assert "date" in headers, "no Date"
    check_body(play, "json" in listed["content-type"], body, want.decode())
    assert b"RequestId" not in body or ident.encode() in body, "another RequestId in the body"


def make_queues(play, server, files, changes):
    """The queues that are taken for granted. Making one is most of a play's time."""
    every = "".join(files.values())
    for key, attributes in (("Q", "{}"), ("F", '{"FifoQueue": "true"}')):
        if "{%s}" % key not in every or f'"QueueName": "{{{key}}}"' in files["setup"] or \
                not changes and (server.port, key) in shared:
            continue
        run_script(play, 'CreateQueue {"QueueName": "{%s}", "Attributes": %s}' % (key, attributes), server.port)
        if not changes:
            shared.add((server.port, key))


def play_one(server, case, protocol, expected):
    files = {n: text_of(case, n) or "" for n in ("setup", "after", protocol + ".request")}
    changes = expected[0] == "2" or files["setup"] + files["after"] != ""
    play = Play(server, changes)
    make_queues(play, server, files, changes)
    run_script(play, files["setup"], server.port)
    answer = send(server.port, request(play, protocol, files[protocol + ".request"]))
    if show:
        print(case, protocol, *answer)
    check(play, protocol, answer, expected)
    run_script(play, files["after"], server.port)


def main():
    global show
    only = [a for a in sys.argv[1:] if a != "--show"]
    show = "--show" in sys.argv
    played = failed = 0
    tempfile.tempdir = memory_folder()  # hundreds of queues are made: not on a disk
    with Server() as usual, Server("--sqs-strict") as strict:
        for case in only or sorted(os.listdir(CASES)):
            for protocol in TYPES:
                usually = text_of(case, protocol + ".expected")
                strictly = text_of(case, protocol + ".expected.strict") or usually
                for server, name, expected in (usual, "", usually), (strict, " strictly", strictly):
                    if expected is None:
                        continue
                    played += 1
                    try:
                        play_one(server, case, protocol, expected)
                    except (AssertionError, ValueError, OSError, IndexError, TypeError) as e:
                        failed += 1
                        quick.clear()
                        print(f"not ok - {case} {protocol}{name}: {e}", flush=True)
    print(f"{played} played, {failed} failed")
    sys.exit(1 if failed or not played else 0)


if __name__ == "__main__":
    main()
