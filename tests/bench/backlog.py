# SPDX-License-Identifier: Apache-2.0
"""A backlog of a million messages of 1 KiB: memory, and the time to start again after a clean stop.

    backlog.py [MESSAGES]

The bounds (RSS below 64 MiB, start below 2 s) are the broker's promise that memory and start do not grow with
the backlog."""
import http.client
import json
import os
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
from leaselog import Server

SENDERS = 4


def fill(port, messages):
    body = "x" * 1024
    entries = [{"Id": str(i), "MessageBody": body} for i in range(10)]
    request = json.dumps({"QueueUrl": "backlog", "Entries": entries})
    headers = {"Content-Type": "application/x-amz-json-1.0", "X-Amz-Target": "AmazonSQS.SendMessageBatch"}

    def run(batches):
        conn = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        for _ in range(batches):
            conn.request("POST", "/", request, headers)
            answer = conn.getresponse()
            assert answer.status == 200, answer.read()
            answer.read()

    threads = [threading.Thread(target=run, args=(messages // 10 // SENDERS,)) for _ in range(SENDERS)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()


def main():
    messages = int(sys.argv[1]) if len(sys.argv) > 1 else 1000000
    with Server() as s:
        c = s.client()
        c.call("CreateQueue", QueueName="backlog")
        begin = time.monotonic()
        fill(s.port, messages)
        filled_s = time.monotonic() - begin
        c = s.client()  # an idle connection is closed in time
        assert c.counts("backlog") == (messages, 0, 0), c.counts("backlog")
        full_kib = s.rss_kib()
        for _ in range(100):
            got = c.call("ReceiveMessage", QueueUrl="backlog", MaxNumberOfMessages=10)
            assert len(got["Messages"]) == 10
        c.close()
        begin = time.monotonic()
        assert s.stop() == 0
        stopped_s = time.monotonic() - begin
        begin = time.monotonic()
        s.start()
        started_s = time.monotonic() - begin
        c = s.client()
        assert c.counts("backlog") == (messages - 1000, 1000, 0), c.counts("backlog")
        again_kib = s.rss_kib()
        s.kill()
        begin = time.monotonic()
        s.start()
        crashed_s = time.monotonic() - begin
        print(f"{messages} messages of 1 KiB in {filled_s:.1f} s; RSS {full_kib / 1024:.1f} MiB, after a restart "
              f"{again_kib / 1024:.1f} MiB; stop {stopped_s:.2f} s, start after a clean stop {started_s:.2f} s, "
              f"after kill -9 {crashed_s:.2f} s")
        assert full_kib < 64 * 1024 and again_kib < 64 * 1024, "RSS is not below 64 MiB"
        assert started_s < 2, "a start after a clean stop takes 2 s or more"


main()
