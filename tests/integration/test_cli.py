# SPDX-License-Identifier: Apache-2.0
"""The command line against the real server: output to stdout, messages to stderr, exit codes."""
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
from leaselog import BINARY, Server, run_tests, test


def cli(server, *words, stdin="", stdout=subprocess.PIPE):
    env = dict(os.environ, LEASELOG_URL=server.url if server else "http://127.0.0.1:1")
    got = subprocess.run([BINARY, *words], input=stdin, stdout=stdout, stderr=subprocess.PIPE, text=True, env=env,
                         timeout=60)
    return got.returncode, got.stdout, got.stderr


@test
def a_message_goes_through_the_shell_and_back():
    with Server() as s:
        assert cli(s, "topics", "create", "jobs")[0] == 0
        code, out, _ = cli(s, "send", "jobs", "-", stdin="hello\nworld\n")
        assert code == 0 and len(out.strip()) == 36, out
        code, out, _ = cli(s, "receive", "jobs", "--wait", "20s", "--delete")
        assert code == 0 and "hello\nworld" in out, out
        code, out, err = cli(s, "receive", "jobs")
        assert code == 6 and out == "", (code, out, err)


@test
def lines_are_sent_one_message_each_and_shown_as_json():
    with Server() as s:
        cli(s, "topics", "create", "jobs")
        code, out, _ = cli(s, "send", "jobs", "--lines", stdin="".join(f"line {i}\n" for i in range(25)))
        assert code == 0 and len(out.split()) == 25, out
        code, out, _ = cli(s, "topics", "--json")
        assert code == 0 and json.loads(out)["topics"][0]["visible"] == 25, out
        code, out, _ = cli(s, "receive", "jobs", "-n", "10", "--json")
        assert code == 0 and "line 0" in out, out


@test
def a_receipt_from_receive_deletes_the_message():
    with Server() as s:
        cli(s, "topics", "create", "jobs")
        cli(s, "send", "jobs", "x")
        got = json.loads(cli(s, "receive", "jobs", "--json")[1].splitlines()[0])
        message = got["messages"][0] if "messages" in got else got
        receipt = message.get("receipt") or message.get("ReceiptHandle")
        assert cli(s, "delete", "jobs", receipt)[0] == 0
        assert s.client().counts("jobs") == (0, 0, 0)


@test
def what_could_not_be_written_is_not_deleted():
    with Server() as s:
        cli(s, "topics", "create", "jobs")
        cli(s, "send", "jobs", "precious")
        with open("/dev/full", "w") as full:
            code, _, err = cli(s, "receive", "jobs", "--delete", stdout=full)
        assert code == 1 and err, (code, err)
        assert s.client().counts("jobs") == (0, 1, 0)


@test
def exit_codes_tell_what_went_wrong():
    with Server() as s:
        assert cli(s, "send", "none", "x")[0] == 3
        assert cli(s, "receive", "none")[0] == 3
        assert cli(s, "delete", "none", "garbage")[0] == 3
        code, _, err = cli(s, "sned", "jobs", "x")
        assert code == 2 and "send" in err, err
        assert cli(s, "send")[0] == 2
        assert cli(s, "health")[0] == 0 and cli(s, "health", "--ready")[0] == 0
        assert cli(s, "version")[1].startswith("leaselog")
    assert cli(None, "send", "jobs", "x")[0] == 5
    assert cli(None, "health")[0] == 5


@test
def verbose_prints_a_curl_line_that_works():
    with Server() as s:
        cli(s, "topics", "create", "jobs")
        code, _, err = cli(s, "-v", "send", "jobs", "it's \"quoted\"")
        line = next(x for x in err.splitlines() if x.lstrip("+ $").startswith("curl"))
        done = subprocess.run(["sh", "-c", line.lstrip("+ $")], capture_output=True, text=True, timeout=30)
        assert code == 0 and done.returncode == 0 and "MessageId" in done.stdout, (line, done)


run_tests(globals())
