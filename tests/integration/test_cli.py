# SPDX-License-Identifier: Apache-2.0
"""The command line against the real server: output to stdout, messages to stderr, exit codes."""
import json
import os
import pty
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
from cli import BINARY, Folder, Running, asked, cli, environment
from leaselog import Server, memory_folder, run_tests, test, wait_until

tempfile.tempdir = memory_folder()  # syncs are not what is asked here

API = os.path.join(os.path.dirname(__file__), "..", "..", "api")


def topic(server, *bodies):
    c = server.client()
    c.call("CreateQueue", QueueName="jobs")
    for body in bodies:
        c.call("SendMessage", QueueUrl="jobs", MessageBody=body)
    return c


def receipt_of(server, *words):
    return json.loads(cli(server, "receive", "jobs", "--json", *words)[1])["ReceiptHandle"]


def left_seconds(c):
    return c.get("/v1/topics/jobs/groups/default/leases")["leases"][0]["left_seconds"]


@test
def a_compact_topic_is_made_and_none_that_is_there_is_changed():
    with Server() as s:
        assert cli(s, "topics", "create", "users", "--compact", "--delete-retention", "2h", "-o", "MaximumMessageSize=2048")[0] == 0
        t = s.client().get("/v1/topics/users")
        assert (t["cleanup"], t["delete_retention_seconds"], t["message_bytes_max"]) == ("compact", 7200, 2048), t
        code, _, err = cli(s, "topics", "create", "users", "--compact")
        assert code == 1 and "already" in err, (code, err)
        assert s.client().get("/v1/topics/users") == t
        code, _, err = cli(s, "topics", "create", "more", "--compact", "-o", "max_messages=5")
        assert code == 1 and "more is there, without what was refused" in err, (code, err)
        code, _, err = cli(s, "receive", "users")
        assert code == 1 and "compact" in err, (code, err)
        for words in (("set", "users", "--compact"), ("create", "x", "--delete-retention", "1h")):
            assert cli(s, "topics", *words)[0] == 2


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
        assert code == 0 and json.loads(out)["topics"][0]["stats"]["visible"] == 25, out
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


@test
def a_closed_stdout_deletes_nothing():
    with Server() as s:
        c = topic(s, "precious")
        got = subprocess.run(["sh", "-c", '"$0" receive jobs --delete >&-', BINARY], stderr=subprocess.PIPE,
                             text=True, env=environment(s), timeout=60)
        assert got.returncode == 1 and "stdout" in got.stderr, got
        assert c.counts("jobs") == (0, 1, 0)


@test
def following_goes_on_until_it_is_interrupted():
    with Server() as s:
        c = topic(s, "one")
        with Running(s, "receive", "jobs", "--follow", "--delete") as r:
            assert r.process.stdout.readline() == "one\n"
            assert cli(s, "send", "jobs", "two")[0] == 0
            assert r.process.stdout.readline() == "two\n"
            wait_until(lambda: c.counts("jobs") == (0, 0, 0), "both deleted")
            r.signal(signal.SIGINT)
            code, out, err = r.end(timeout=5)
        assert (code, out) == (0, ""), (code, out, err)


@test
def following_ends_when_nobody_reads_any_more():
    with Server() as s:
        c = topic(s, "one")
        got = subprocess.run(["sh", "-c", '"$0" receive jobs --follow --delete | head -n 1', BINARY],
                             capture_output=True, text=True, env=environment(s), timeout=60)
        assert got.stdout == "one\n" and got.stderr == "", got
        assert cli(s, "send", "jobs", "two")[0] == 0
        assert c.counts("jobs") == (1, 0, 0)


@test
def following_into_a_full_disk_deletes_nothing():
    with Server() as s:
        c = topic(s, "one", "two")
        with open("/dev/full", "w") as full:
            code, _, err = cli(s, "receive", "jobs", "--follow", "--delete", stdout=full)
        assert code == 1 and "No space" in err, (code, err)
        assert c.counts("jobs") == (1, 1, 0)


@test
def a_lease_is_extended_and_released_by_its_receipt():
    with Server() as s:
        c = topic(s, "one")
        receipt = receipt_of(s, "--visibility", "60s")
        assert cli(s, "extend", "jobs", receipt, "1h")[0] == 0
        assert 3500 < left_seconds(c) <= 3600
        assert cli(s, "release", "jobs", "--delay", "2m", receipt)[0] == 0
        assert 100 < left_seconds(c) <= 120
        assert cli(s, "release", "jobs", "-", stdin=receipt + "\n\n")[0] == 0
        assert c.counts("jobs") == (1, 0, 0)


@test
def a_lease_that_is_over_is_told_and_not_taken_from_another():
    with Server() as s:
        c = topic(s, "one")
        old = receipt_of(s)
        assert cli(s, "release", "jobs", old)[0] == 0
        new = receipt_of(s, "--visibility", "1h")
        code, _, err = cli(s, "extend", "jobs", old, "1s")
        assert code == 3 and "lease" in err, (code, err)
        code, _, err = cli(s, "release", "jobs", old, new)
        assert code == 7 and "receipt 1" in err, (code, err)
        assert c.counts("jobs") == (1, 0, 0)
        assert cli(s, "extend", "jobs", "garbage", "1s")[0] == 3
        assert cli(s, "extend", "none", old, "1s")[0] == 3
        assert cli(s, "extend", "jobs", old, "soon")[0] == 2


@test
def looking_at_messages_leases_none():
    with Server() as s:
        c = topic(s, "first\nline", "second \x7f", "third")
        code, out, _ = cli(s, "peek", "jobs")
        lines = out.splitlines()
        assert code == 0 and len(lines) == 4 and lines[0].split() == ["PLACE", "STATE", "RECEIVED", "SENT", "BODY"]
        assert lines[1].endswith("first\\nline") and lines[2].endswith("second \\x7f"), out
        bodies = [json.loads(x)["body"] for x in cli(s, "peek", "jobs", "--json")[1].splitlines()]
        assert bodies == ["first\nline", "second \x7f", "third"]
        assert c.counts("jobs") == (3, 0, 0)


@test
def a_look_can_be_narrowed_down():
    with Server() as s:
        topic(s, *[f"m{i}" for i in range(12)])
        cli(s, "receive", "jobs")

        def bodies(*words):
            code, out, err = cli(s, "peek", "jobs", "--json", *words)
            assert code == 0, (words, err)
            return [json.loads(x)["body"] for x in out.splitlines()]

        assert bodies() == [f"m{i}" for i in range(10)]
        assert len(bodies("-n", "100")) == 12
        assert bodies("--match", "m1") == ["m1", "m10", "m11"]
        assert bodies("--state", "leased") == ["m0"]
        assert bodies("--from", "newest", "-n", "2") == ["m11", "m10"]
        assert bodies("--from", "number:3", "-n", "1") == ["m3"]
        assert cli(s, "peek", "jobs", "--match", "nothing")[:2] == (0, "")
        code, _, err = cli(s, "peek", "jobs", "--state", "sleepy")
        assert code == 1 and "ready" in err, (code, err)
        assert cli(s, "peek", "none")[0] == 3


@test
def a_look_follows_the_pages():
    with Server() as s:
        topic(s)
        cli(s, "send", "jobs", "--lines", stdin="".join(f"{i} {'x' * 20000}\n" for i in range(120)))
        code, out, _ = cli(s, "peek", "jobs", "--json", "-n", "110")  # more than one answer may hold
        numbers = [json.loads(x)["number"] for x in out.splitlines()]
        assert code == 0 and numbers == list(range(110)), numbers


@test
def topics_are_listed_changed_and_dropped():
    with Server() as s:
        assert cli(s, "topics")[:2] == (0, "")
        assert cli(s, "topics", "create", "jobs", "-o", "VisibilityTimeout=7")[0] == 0
        assert cli(s, "topics", "create", "jobs.fifo")[0] == 0
        assert "VisibilityTimeout: 7" in cli(s, "topics", "show", "jobs")[1].splitlines()
        assert json.loads(cli(s, "topics", "show", "jobs", "--json")[1])["VisibilityTimeout"] == "7"
        assert cli(s, "topics", "set", "jobs", "-o", "VisibilityTimeout=9", "-o", "DelaySeconds=1")[0] == 0
        shown = cli(s, "topics", "show", "jobs")[1].splitlines()
        assert "VisibilityTimeout: 9" in shown and "DelaySeconds: 1" in shown
        assert cli(s, "topics", "set", "jobs")[0] == 2
        assert cli(s, "topics", "set", "jobs", "-o", "Nonsense=1")[0] == 1
        assert cli(s, "topics", "set", "jobs", "-o", "max_messages=2", "-o", "when_full=drop_oldest", "-o", "VisibilityTimeout=8")[0] == 0
        for body in ("a", "b", "c"):
            assert cli(s, "send", "jobs", body)[0] == 0
        shown = cli(s, "topics", "show", "jobs")[1].splitlines()
        for line in ("VisibilityTimeout: 8", "max_messages: 2", "when_full: drop_oldest", "usage.live_messages: 2", "usage.live_bytes: 2", "oldest.number: 1", "oldest.reason: delayed"):
            assert line in shown, (line, shown)
        assert json.loads(cli(s, "topics", "show", "jobs", "--json")[1])["usage"]["live_messages"] == 2
        assert cli(s, "topics", "set", "jobs", "-o", "max_messages=x")[0] == 1
        assert [x.split()[0] for x in cli(s, "topics", "list")[1].splitlines()] == ["NAME", "jobs", "jobs.fifo"]
        assert cli(s, "topics", "rm", "jobs")[0] == 0
        assert cli(s, "topics", "delete", "jobs.fifo")[0] == 0
        assert cli(s, "topics")[:2] == (0, "")
        assert cli(s, "topics", "show", "jobs")[0] == 3
        code, _, err = cli(s, "topics", "crate", "x")
        assert code == 2 and "topics create" in err, err


@test
def groups_and_leases_show_who_has_what():
    with Server() as s:
        topic(s, "one", "two")
        assert cli(s, "leases", "jobs")[:2] == (0, "")
        cli(s, "receive", "jobs", "--visibility", "1h")
        rows = [x.split() for x in cli(s, "groups", "jobs")[1].splitlines()]
        assert rows[0][0] == "NAME" and rows[1][:3] == ["default", "1", "1"], rows
        assert json.loads(cli(s, "groups", "jobs", "--json")[1])["in_flight"] == 1
        rows = [x.split() for x in cli(s, "leases", "jobs")[1].splitlines()]
        assert len(rows) == 2 and rows[1][:2] == ["0", "0"] and 3500 < float(rows[1][2]) <= 3600, rows
        lease = json.loads(cli(s, "leases", "jobs", "--json")[1])
        assert lease["number"] == 0 and lease["receive_count"] == 1, lease
        assert cli(s, "groups", "none")[0] == 3 and cli(s, "leases", "none")[0] == 3
        assert cli(s, "groups")[0] == 2


@test
def purging_says_how_many_and_is_never_done_unasked():
    with Server() as s:
        c = topic(s, "one", "two", "three")
        cli(s, "receive", "jobs")
        code, _, err = cli(s, "purge", "jobs")
        assert code == 2 and "--yes" in err, (code, err)
        assert cli(s, "purge", "jobs", "--dry-run")[:2] == (0, "3 messages would be dropped\n")
        assert c.counts("jobs") == (2, 1, 0)
        assert cli(s, "purge", "jobs", "--yes")[:2] == (0, "3 messages dropped\n")
        assert c.counts("jobs") == (0, 0, 0)
        assert json.loads(cli(s, "purge", "jobs", "--yes", "--json")[1]) == {"messages": 0, "dry_run": False}
        assert cli(s, "purge", "none", "--yes")[0] == 3


@test
def purging_asks_on_a_terminal():
    with Server() as s:
        c = topic(s, "one", "two")
        for answer, code_wanted, counts in (("n", 1, (2, 0, 0)), ("", 1, (2, 0, 0)), ("yes", 0, (0, 0, 0))):
            try:
                ours, theirs = pty.openpty()
            except OSError as e:
                print(f"SKIP: no terminal can be made here: {e}")
                return
            with subprocess.Popen([BINARY, "purge", "jobs"], stdin=theirs, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, text=True, env=environment(s)) as p:
                os.write(ours, answer.encode() + b"\n")
                out, err = p.communicate(timeout=30)
            os.close(ours)
            os.close(theirs)
            assert "Drop 2 messages of jobs" in err and p.returncode == code_wanted, (answer, out, err)
            assert c.counts("jobs") == counts, answer


@test
def health_is_told_by_words_and_exit_status():
    with Server() as s:
        code, out, _ = cli(s, "health", "--ready")
        assert code == 0 and out.strip(), out


@test
def every_curl_line_that_is_shown_works():
    with Server() as s:
        c = topic(s, "one")
        receipt = receipt_of(s)
        for words in (("extend", "jobs", receipt, "1h"), ("peek", "jobs"), ("purge", "jobs", "--dry-run")):
            code, _, err = cli(s, "-v", *words)
            line = next(x for x in err.splitlines() if x.startswith("curl "))
            assert code == 0 and shlex.split(line)[0] == "curl"
            done = subprocess.run(["sh", "-c", line + " --fail"], capture_output=True, text=True, timeout=30)
            assert done.returncode == 0, (line, done)
        assert 3500 < left_seconds(c) <= 3600


@test
def completions_are_read_by_the_shells_that_are_there():
    for shell in ("bash", "zsh", "fish"):
        code, out, _ = cli(None, "completion", shell)
        assert code == 0 and "leaselog" in out, shell
        if shutil.which(shell) is None:
            print(f"SKIP: no {shell} here")
            continue
        got = subprocess.run([shell, "-n", "/dev/stdin"], input=out, capture_output=True, text=True, timeout=30)
        assert got.returncode == 0 and got.stderr == "", (shell, got)
    assert cli(None, "completion", "tcsh")[0] == 2 and cli(None, "completion")[0] == 2


@test
def bash_completes_commands_options_and_verbs():
    if shutil.which("bash") is None:
        print("SKIP: no bash here")
        return
    script = cli(None, "completion", "bash")[1]

    def completed(*words):
        line = (f"COMP_WORDS=({' '.join(map(shlex.quote, words))}); COMP_CWORD={len(words) - 1}; _leaselog; "
                'echo "${COMPREPLY[*]}"')
        got = subprocess.run(["bash", "-c", script + "\n" + line], capture_output=True, text=True, timeout=30)
        assert got.returncode == 0, got
        return got.stdout.split()

    assert completed("leaselog", "pu") == ["purge"]
    assert completed("leaselog", "ser") == ["serve"]
    assert completed("leaselog", "receive", "--fo") == ["--follow"]
    assert completed("leaselog", "-q", "receive", "jobs", "--vis") == ["--visibility"]
    assert completed("leaselog", "topics", "cr") == ["create"]
    assert completed("leaselog", "serve", "--data") == ["--data-dir"]
    assert completed("leaselog", "help", "wo") == ["work"]


@test
def help_tells_of_each_command():
    code, out, _ = cli(None, "help")
    assert code == 0
    for word in commands():
        assert f"  {word}" in out, word
        code, one, _ = cli(None, "help", word)
        assert code == 0 and f"leaselog {word}" in one and "Examples:" in one, word
    assert "--data-dir DIR" in cli(None, "help", "serve")[1]
    assert cli(None, "version", "--json")[1].startswith("{")


@test
def the_manual_page_has_no_warning():
    code, page, _ = cli(None, "help", "--man")
    assert code == 0 and page.splitlines()[1].startswith(".TH LEASELOG 1 ")
    tools = {"groff": ["groff", "-ww", "-man", "-Tutf8", "-z"], "mandoc": ["mandoc", "-T", "lint", "-W", "error"],
             "man": ["man", "--warnings=w", "-l", "-"]}
    there = [name for name in tools if shutil.which(name)]
    for name in there:
        got = subprocess.run(tools[name], input=page, capture_output=True, text=True, timeout=30,
                             env=dict(os.environ, MANPAGER="cat", LC_ALL="C.UTF-8"))
        assert got.returncode == 0 and got.stderr == "", (name, got.stderr)
    if not there:
        print("SKIP: neither groff, mandoc nor man here")


def commands():
    with open(os.path.join(API, "cli_commands.def")) as f:
        return re.findall(r"^COMMAND\([A-Z]+, ([a-z]+),", f.read(), re.M)


@test
def a_command_line_works_through_a_topic():
    with Server() as s:
        c = topic(s, "one")
        assert cli(s, "work", "jobs", "--max", "1", "--", "cat")[:2] == (0, "one")  # more in test_cli_work.py
        assert c.counts("jobs") == (0, 0, 0)


@test
def a_load_is_refused_where_it_cannot_be_meant():
    code, _, err = cli(None, "bench", "send", "--server", "http://192.0.2.1")  # more in test_bench.py
    assert code == 2 and "--yes" in err, (code, err)


@test
def every_command_has_been_run_by_a_test_above():
    assert len(commands()) >= 15
    if len(sys.argv) == 1:
        assert set(commands()) - asked == set()


run_tests(globals())
