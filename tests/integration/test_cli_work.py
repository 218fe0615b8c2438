# SPDX-License-Identifier: Apache-2.0
"""leaselog work: a command for each message, against the real server."""
import json
import os
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
from cli import Folder, Running, cli, environment, sqs_only
from leaselog import BINARY, Server, memory_folder, run_tests, test, wait_until

tempfile.tempdir = memory_folder()  # syncs are not what is asked here

# Waits for the file "go", which a test makes when it has seen enough.
UNTIL_GO = 'while ! test -e "$0/go"; do sleep 0.02; done'


def topic(server, *bodies, **attributes):
    c = server.client()
    c.call("CreateQueue", QueueName="jobs", Attributes=attributes)
    for body in bodies:
        c.call("SendMessage", QueueUrl="jobs", MessageBody=body)
    return c


def leases(c):
    return c.get("/v1/topics/jobs/groups/default/leases")["leases"]


def kill_group(pid):
    try:
        os.killpg(int(pid), signal.SIGKILL)
    except ProcessLookupError:
        pass


@test
def what_the_command_is_done_with_is_deleted():
    with Server() as s, Folder() as f:
        c = topic(s, "one", "two", "three")
        code, out, err = cli(s, "work", "jobs", "--until-empty", "--wait", "0", "--", "sh", "-c",
                             'cat >>"$0/all"; echo >>"$0/all"; echo said', f.path)
        assert code == 0 and out == "said\n" * 3, (code, out, err)
        assert f.lines("all") == ["one", "two", "three"] and c.counts("jobs") == (0, 0, 0)


@test
def what_a_command_failed_at_is_given_back_and_comes_again():
    with Server() as s:
        c = topic(s, "one", VisibilityTimeout="600")
        fails_once = 'echo "$LEASELOG_RECEIVE_COUNT"; test "$LEASELOG_RECEIVE_COUNT" -gt 1'
        code, out, err = cli(s, "work", "jobs", "--max", "1", "--", "sh", "-c", fails_once)
        assert (code, out) == (1, "1\n") and "exit 1" in err, (code, out, err)
        assert c.counts("jobs") == (1, 0, 0)
        code, out, err = cli(s, "work", "jobs", "--max", "1", "--", "sh", "-c", fails_once)
        assert (code, out) == (0, "2\n"), (code, out, err)
        assert c.counts("jobs") == (0, 0, 0)


@test
def a_command_that_a_signal_ends_has_failed():
    with Server() as s:
        c = topic(s, "one")
        code, _, err = cli(s, "work", "jobs", "--max", "1", "--", "sh", "-c", "kill -9 $$")
        assert code == 1 and "signal 9" in err, (code, err)
        assert c.counts("jobs") == (1, 0, 0)


@test
def a_retry_delay_keeps_a_failed_message_back():
    with Server() as s:
        c = topic(s, "one")
        assert cli(s, "work", "jobs", "--max", "1", "--retry-delay", "1h", "--", "false")[0] == 1
        assert c.counts("jobs") == (0, 1, 0)
        assert 3000 < leases(c)[0]["left_seconds"] <= 3600


@test
def some_done_and_some_not_is_told_by_the_exit_status():
    with Server() as s:
        topic(s, "good", "bad")
        code, _, err = cli(s, "work", "jobs", "--max", "2", "--", "grep", "-q", "good")
        assert code == 7, (code, err)


@test
def a_lease_lasts_as_long_as_the_command():
    with Server() as s, Folder() as f:
        c = topic(s, "one")
        with Running(s, "work", "jobs", "--max", "1", "--visibility", "1s", "--", "sh", "-c",
                     'echo run >>"$0/runs";' + UNTIL_GO, f.path) as w:
            f.await_names("runs", 1)
            # The time that is left rises with each extension: six of them are three seconds.
            risen, before = 0, 0.0
            while risen < 6:
                now = leases(c)
                assert len(now) == 1 and now[0]["receive_count"] == 1, now
                risen += now[0]["left_seconds"] > before
                before = now[0]["left_seconds"]
                assert "Messages" not in c.call("ReceiveMessage", QueueUrl="jobs")
            f.put("go")
            code, _, err = w.end()
        assert code == 0, err
        assert f.lines("runs") == ["run"] and c.counts("jobs") == (0, 0, 0)


@test
def four_jobs_run_at_one_time_and_never_a_fifth():
    with Server() as s, Folder() as f:
        c = topic(s, *[f"m{i}" for i in range(9)])
        with Running(s, "work", "jobs", "-j", "4", "--until-empty", "--wait", "0", "--", "sh", "-c",
                     'touch "$0/started-$LEASELOG_ID";' + UNTIL_GO, f.path) as w:
            f.await_names("started-", 4)
            assert c.counts("jobs") == (5, 4, 0)
            assert len(f.names("started-")) == 4
            f.put("go")
            code, _, err = w.end()
        assert code == 0, err
        assert len(f.names("started-")) == 9 and c.counts("jobs") == (0, 0, 0)


@test
def sigterm_lets_the_running_command_end_and_receives_nothing_more():
    with Server() as s, Folder() as f:
        c = topic(s, "one", "two")
        with Running(s, "work", "jobs", "--", "sh", "-c", 'touch "$0/started";' + UNTIL_GO, f.path) as w:
            f.await_names("started", 1)
            w.signal()
            line = w.process.stderr.readline()
            assert "once the running commands have ended" in line, line
            f.put("go")
            code, _, err = w.end()
        assert code == 0, (code, err)
        assert c.counts("jobs") == (1, 0, 0)


@test
def a_worker_that_waits_ends_at_once():
    with Server() as s:
        c = topic(s)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            with Running(s, "work", "jobs", "-j", "3", "--", "false") as w:
                wait_until(lambda: c.get("/v1/topics/jobs/groups")["groups"][0]["waiting_receivers"] == 3,
                           "three long polls")
                w.signal(number)
                code, _, err = w.end(timeout=5)
            assert code == 0, (number, code, err)
            wait_until(lambda: c.get("/v1/topics/jobs/groups")["groups"][0]["waiting_receivers"] == 0,
                       "no long poll")


@test
def a_second_signal_is_passed_on_and_the_message_given_back():
    with Server() as s, Folder() as f:
        c = topic(s, "one", VisibilityTimeout="600")
        told = 'trap \'echo told >"$0/told"; exit 0\' TERM; touch "$0/started"; while :; do sleep 0.02; done'
        with Running(s, "work", "jobs", "--", "sh", "-c", told, f.path) as w:
            f.await_names("started", 1)
            w.signal()
            w.process.stderr.readline()
            assert not f.names("told")
            w.signal()
            code, _, err = w.end()
        assert code == 0 and f.lines("told") == ["told"], (code, err)
        # It ended with 0, but because it was told to.
        assert c.counts("jobs") == (1, 0, 0)


@test
def a_third_signal_kills_what_does_not_listen():
    with Server() as s, Folder() as f:
        c = topic(s, "one", VisibilityTimeout="600")
        with Running(s, "work", "jobs", "--", "sh", "-c",
                     'trap "" TERM; touch "$0/started"; while :; do sleep 0.02; done', f.path) as w:
            f.await_names("started", 1)
            for _ in range(3):
                w.signal()
                w.process.stderr.readline()
            code, _, err = w.end()
        assert code == 0, (code, err)
        assert c.counts("jobs") == (1, 0, 0)


@test
def ctrl_c_reaches_the_worker_and_not_its_command():
    with Server() as s, Folder() as f:
        topic(s, "one")
        with Running(s, "work", "jobs", "--max", "1", "--", "sh", "-c",
                     'cat /proc/$$/stat /proc/$PPID/stat >"$0/stats"', f.path) as w:
            assert w.end()[0] == 0
        group, worker = (line.rsplit(")", 1)[1].split()[2] for line in f.lines("stats"))
        assert group != worker, (group, worker)


@test
def killing_the_worker_loses_nothing():
    with Server() as s, Folder() as f:
        c = topic(s, "one")
        with Running(s, "work", "jobs", "--visibility", "1s", "--", "sh", "-c",
                     'echo $$ >"$0/pid"; mv "$0/pid" "$0/started";' + UNTIL_GO, f.path) as w:
            f.await_names("started", 1)
            w.signal(signal.SIGKILL)
            w.process.wait(30)
            kill_group(f.lines("started")[0])
        got = c.call("ReceiveMessage", QueueUrl="jobs", WaitTimeSeconds=20)["Messages"]
        assert [m["Body"] for m in got] == ["one"]


@test
def a_body_of_a_mebibyte_goes_through_cat():
    with Server() as s, Folder() as f:
        body = "".join(f"{i:07d}\n" for i in range(131072))
        c = topic(s, body)
        code, _, err = cli(s, "work", "jobs", "--max", "1", "--", "sh", "-c", 'cat >"$0/out"', f.path)
        assert code == 0, err
        with open(f.at("out")) as out:
            assert out.read() == body
        assert c.counts("jobs") == (0, 0, 0)


@test
def bytes_that_are_no_text_come_out_as_they_were_sent():
    body = b"\xff\x00\x01 binary"
    with Server() as s, Folder() as f:
        c = topic(s)
        for _ in range(2):
            assert c.raw("POST", "/v1/topics/jobs/messages", body)[0] == 201
        code, _, err = cli(s, "work", "jobs", "--max", "1", "--", "sh", "-c", 'cat >"$0/out"; env >"$0/env"', f.path)
        assert code == 0, err
        with open(f.at("out"), "rb") as out, open(f.at("env")) as env:
            assert out.read() == body
            assert "encoding" not in env.read()
        got = subprocess.run([BINARY, "receive", "jobs", "--delete"], capture_output=True, env=environment(s), timeout=60)
        assert got.stdout == body + b"\n", got


@test
def a_command_may_leave_its_stdin_unread():
    with Server() as s:
        c = topic(s, "x" * 1048576, "y")
        code, _, err = cli(s, "work", "jobs", "--max", "2", "--", "true")
        assert code == 0, err
        assert c.counts("jobs") == (0, 0, 0)


@test
def unusual_attribute_names_become_variables():
    with Server() as s:
        topic(s)
        assert cli(s, "send", "jobs", "-a", "a.b-c=1 = 2", "-a", "cups:Number=2", "x")[0] == 0
        code, out, err = cli(s, "work", "jobs", "--max", "1", "--", "sh", "-c",
                             'echo "$LEASELOG_TOPIC $LEASELOG_RECEIVE_COUNT $LEASELOG_ATTR_a_b_c '
                             '$LEASELOG_ATTR_cups ${#LEASELOG_ID} $LEASELOG_SENT_AT"')
        words = out.split()
        assert code == 0 and words[:6] == ["jobs", "1", "1", "=", "2", "2"] and words[6] == "36", (out, err)
        assert words[7].startswith("20") and words[7].endswith("Z"), words


@test
def an_attribute_too_long_for_a_variable_does_not_stop_the_command():
    with Server() as s:
        c = topic(s)
        c.call("SendMessage", QueueUrl="jobs", MessageBody="x",
               MessageAttributes={"big": {"DataType": "String", "StringValue": "b" * 200000}})
        code, out, err = cli(s, "work", "jobs", "--max", "1", "--", "sh", "-c",
                             'echo "$LEASELOG_ATTRS_OMITTED ${LEASELOG_ATTR_big-unset}"')
        assert (code, out) == (0, "1 unset\n"), (out, err)


@test
def a_command_that_cannot_be_started_stops_the_worker():
    with Server() as s, Folder() as f:
        c = topic(s, "one", "two", VisibilityTimeout="600")
        f.put("plain")
        for command, word in ((["/nonexistent/command"], "No such file"), ([f.at("plain")], "denied"),
                              (["sh", "-c", "exit 127"], "127"), (["sh", "-c", "exit 126"], "126")):
            code, _, err = cli(s, "work", "jobs", "--", *command)
            assert code == 1 and word in err, (command, code, err)
            assert c.counts("jobs") == (2, 0, 0), command


@test
def a_lost_lease_ends_the_command_and_its_work_is_not_counted():
    with Server() as s, Folder() as f:
        c = topic(s, "one")
        command = ('trap \'echo told >"$0/told"; exit 0\' TERM; echo "$LEASELOG_RECEIPT" >"$0/r";'
                   'mv "$0/r" "$0/receipt"; while :; do sleep 0.02; done')
        with Running(s, "work", "jobs", "--max", "1", "--visibility", "4s", "--", "sh", "-c", command, f.path) as w:
            f.await_names("receipt", 1)
            assert cli(s, "release", "jobs", f.lines("receipt")[0])[0] == 0
            mine = c.call("ReceiveMessage", QueueUrl="jobs", VisibilityTimeout=600)["Messages"][0]
            code, _, err = w.end()
        assert code == 1 and "lease" in err and f.lines("told") == ["told"], (code, err)
        # Neither deleted nor given back: it is mine, and for as long as I asked.
        assert c.counts("jobs") == (0, 1, 0)
        assert leases(c)[0]["left_seconds"] > 500
        c.call("DeleteMessage", QueueUrl="jobs", ReceiptHandle=mine["ReceiptHandle"])


@test
def without_a_rest_api_sqs_keeps_the_lease():
    with Server() as s, Folder() as f, sqs_only(s) as front:
        c = topic(s, "one", "two")
        with Running(front, "work", "jobs", "--max", "2", "--visibility", "1s", "--", "sh", "-c",
                     'echo run >>"$0/runs";' + UNTIL_GO, f.path) as w:
            f.await_names("runs", 1)
            wait_until(lambda: front.actions.count("ChangeMessageVisibility") >= 4, "four extensions")
            f.put("go")
            assert w.end()[0] == 0
        assert f.lines("runs") == ["run", "run"] and c.counts("jobs") == (0, 0, 0)


@test
def sqs_is_never_asked_to_keep_a_lease_that_has_ended():
    with Server() as s, Folder() as f, sqs_only(s) as front:
        c = topic(s, "one")
        with Running(front, "work", "jobs", "--max", "1", "--visibility", "1s", "--", "sh", "-c",
                     'trap "exit 0" TERM; touch "$0/started"; while :; do sleep 0.02; done', f.path) as w:
            f.await_names("started", 1)
            front.away = True
            code, _, err = w.end()
        assert code == 1 and "ended before it could be extended" in err, (code, err)
        wait_until(lambda: c.counts("jobs") == (1, 0, 0), "the message is free")


@test
def a_command_inherits_three_descriptors_and_leaves_no_zombie():
    with Server() as s, Folder() as f:
        c = topic(s, "one", "two", "three")
        with Running(s, "work", "jobs", "-j", "2", "--", "sh", "-c", 'echo /proc/$$/fd/* >>"$0/fds"', f.path) as w:
            wait_until(lambda: c.counts("jobs") == (0, 0, 0), "all messages done")
            tasks = f"/proc/{w.process.pid}/task"
            for task in os.listdir(tasks):
                with open(f"{tasks}/{task}/children") as children:
                    assert children.read() == "", task
            w.signal()
            assert w.end()[0] == 0
        for line in f.lines("fds"):
            assert {os.path.basename(p) for p in line.split()} <= {"0", "1", "2", "3"}, line


@test
def signals_are_as_usual_in_the_command():
    with Server() as s:
        topic(s, "one")
        code, out, err = cli(s, "work", "jobs", "--max", "1", "--", "grep", "-E", "^Sig(Blk|Ign)",
                             "/proc/self/status")  # no shell between: it would set the signals itself
        assert code == 0, err
        for line in out.splitlines():
            mask = int(line.split()[1], 16)
            for number in (signal.SIGPIPE, signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
                assert not mask >> (number - 1) & 1, (number, out)


@test
def a_worker_outlives_a_restart_of_its_broker():
    with Server() as s, Folder() as f:
        topic(s, "one")
        with Running(s, "work", "jobs", "--", "sh", "-c", 'touch "$0/done-$(cat)"', f.path) as w:
            f.await_names("done-one", 1)
            s.kill()
            w.process.stderr.readline()  # it has noticed
            s.options = ("--listen", f"127.0.0.1:{s.port}")
            s.start()
            s.client().call("SendMessage", QueueUrl="jobs", MessageBody="two")
            f.await_names("done-two", 1)
            w.signal()
            assert w.end()[0] == 0


@test
def a_wrong_line_is_refused_before_anything_is_received():
    with Server() as s:
        c = topic(s, "one")
        for words in (("work",), ("work", "jobs"), ("work", "jobs", "cat"), ("work", "jobs", "--"),
                      ("work", "jobs", "--visibility", "0", "--", "cat")):
            assert cli(s, *words)[0] == 2, words
        assert cli(s, "work", "none", "--", "cat")[0] == 3
        assert cli(None, "work", "jobs", "--", "cat")[0] == 5
        assert c.counts("jobs") == (1, 0, 0)


run_tests(globals(), lanes=4)
