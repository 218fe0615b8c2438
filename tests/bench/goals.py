# SPDX-License-Identifier: Apache-2.0
"""Runs the programs that measure the goals P5 to P12, one after the other, each in a bounded time. tests/bench/goals
calls it. Each says one line at last, and by its exit code whether its bounds are held (figures.py); what a goal is and
how it is measured are the words of README.md's table."""
import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
LEAVE_S = 30  # to end its servers


def python(name, *words):
    return [sys.executable, os.path.join(HERE, name), *map(str, words)]


def topics(count, seconds):
    """It makes its folder itself."""
    return [os.path.join(os.environ["builddir"], "tests/bench/bench_topics"), os.environ["LEASELOG"], "data", str(count), str(seconds)]


class Goal:
    def __init__(self, number, bound_s, command, quick):
        self.number, self.bound_s, self.command, self.quick = number, bound_s, command, quick


SHORT = ("--seconds", 0.5, "--rounds", 2)
GOALS = (
    Goal("P5", 120, python("pairs.py", "latency"), python("pairs.py", "latency", *SHORT)),
    Goal("P6", 2400, python("backlog.py", 10000000), python("backlog.py", 50000, "--turns", 2)),
    Goal("P7", 300, python("polls.py"), python("polls.py", 500, 50)),
    Goal("P8", 300, topics(5000, 10), topics(100, 1)),
    Goal("P9", 600, python("pairs.py", "fifo"), python("pairs.py", "fifo", *SHORT)),
    Goal("P10", 120, python("start.py"), python("start.py", 3)),
    Goal("P11", 180, python("pairs.py", "loops"), python("pairs.py", "loops", *SHORT)),
    Goal("P12", 600, python("pairs.py", "tail"), python("pairs.py", "tail", *SHORT, "--backlog", 50000)),
)
TOPICS_TIMES_MAX = 3


class Ended:
    """How a program that measures has ended: `text`, and `met` (None: nothing was measured)."""

    def __init__(self, code, out, err):
        lines = out.strip().splitlines()
        self.met = {0: True, 1: False}.get(code) if lines else None
        self.text = lines[-1] if lines else "failed: " + (err.strip().splitlines() or [f"exit {code}"])[-1][-200:]


def judge_topics(code, out, err):
    """bench_topics prints much, and judges nothing."""
    times = [float(v) for v in re.findall(r"^p99 many / one +([0-9.]+)$", out, re.M)]
    many = re.search(r"^many topics .* p99 ([0-9.]+) .* ms, (\d+) failed$", out, re.M)
    if code != 0 or not times or not many:
        return Ended(code or 2, "", err)
    met = max(times) <= TOPICS_TIMES_MAX and many[2] == "0"
    return Ended(0 if met else 1, f"p99 {many[1]} ms, {' and '.join(f'{v:.2f}' for v in times)} × that of one before and after", "")


def run(command, bound_s, folder):
    """In a folder of its own. It is interrupted at the end of its time, so that it can end its servers."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=folder, start_new_session=True,
                          env={**os.environ, "TMPDIR": folder}) as p:
        try:
            out, err = p.communicate(timeout=bound_s)
            return p.returncode, out, err
        except subprocess.TimeoutExpired:
            return 2, "", f"not done after {bound_s} s"
        finally:
            if p.poll() is None:
                p.send_signal(signal.SIGINT)
                try:
                    p.communicate(timeout=LEAVE_S)
                except subprocess.TimeoutExpired:
                    p.kill()


def measure(goal, quick):
    folder = tempfile.mkdtemp(prefix=f"goals-{goal.number}-")
    try:
        ended = run(goal.quick if quick else goal.command, goal.bound_s, folder)
        return judge_topics(*ended) if goal.number == "P8" else Ended(*ended)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def rows():
    """README.md's: {number: (goal, how)}."""
    with open(os.path.join(HERE, "README.md")) as f:
        cells = [[cell.strip() for cell in line.split("|")[1:-1]] for line in f if re.match(r"\| P\d+ \|", line)]
    return {row[0]: row[1:3] for row in cells}


def leave(*_):
    for sig in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(sig, signal.SIG_IGN)
    sys.exit(1)


def main():
    p = argparse.ArgumentParser(prog="goals")
    p.add_argument("--only", type=lambda t: t.split(","))
    p.add_argument("--quick", action="store_true")
    p.add_argument("--json")
    args = p.parse_args()
    unknown = set(args.only or ()) - {goal.number for goal in GOALS}
    if unknown:
        p.error(f"not measured here: {', '.join(sorted(unknown))}")
    for sig in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(sig, leave)
    words, found = rows(), []
    print("| | goal | how | measured |\n|---|---|---|---|", flush=True)
    for goal in GOALS:
        if args.only and goal.number not in args.only:
            continue
        begin = time.monotonic()
        ended = measure(goal, args.quick)
        verdict = {True: "met", False: "missed", None: "not measured"}[ended.met]
        what, how = words[goal.number]
        print(f"| {goal.number} | {what} | {how} | **{verdict}**: {ended.text} |", flush=True)
        found.append({"goal": goal.number, "verdict": verdict, "text": ended.text, "took_s": round(time.monotonic() - begin, 1)})
    if args.json:
        with open(args.json, "w") as f:
            json.dump(found, f, indent=1, ensure_ascii=False)
    sys.exit(0 if all(f["verdict"] == "met" for f in found) else 1)


if __name__ == "__main__":
    main()
