# SPDX-License-Identifier: Apache-2.0
"""The REST API with the real server. Every answer is held against api/openapi.yaml by tests/lib/rest.py, and the last test
fails when an operation was never asked for."""
import base64
import hashlib
import http.client
import json
import os
import re
import socket
import struct
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
from leaselog import Server, in_thread, memory_folder, run_tests, test, wait_until
from rest import DOCUMENT, SEEN, Rest, problem

tempfile.tempdir = memory_folder()  # syncs are not what is asked here

LEASES = "/v1/topics/q/groups/default/leases"
RECEIVE = "/v1/topics/q/groups/default/receive"


class Rested(Server):
    """A server with a REST client as .c"""

    def __enter__(self):
        self.start()
        self.c = Rest(self.port)
        return self


# ---- topics ----

@test
def a_topic_is_made_shown_changed_and_deleted():
    with Rested() as s:
        a = s.c.put("/v1/topics/jobs", {"visibility": "2m", "delay": 5, "retention": "1d", "partitions": 3, "tags": {"team": "a"}})
        assert a.status == 201 and a.headers["Location"] == "/v1/topics/jobs", a
        t = a.json
        assert (t["visibility_seconds"], t["delay_seconds"], t["retention_seconds"], t["partitions"]) == (120, 5, 86400, 3), t
        assert t["tags"] == {"team": "a"} and t["stats"] == {"visible": 0, "in_flight": 0, "delayed": 0, "moving": 0}, t
        assert a.headers["ETag"] == f'"{t["version"]}"'
        assert s.c.get("/v1/topics/jobs").json == t
        again = s.c.put("/v1/topics/jobs", t)  # what GET gave may be put back
        assert again.status == 200 and again.json == t, again
        changed = s.c.patch("/v1/topics/jobs", {"visibility": "500ms", "tags": {"team": None, "kind": "b"}})
        assert changed.status == 200 and changed.json["visibility_seconds"] == 0.5, changed
        assert changed.json["tags"] == {"kind": "b"} and changed.json["version"] != t["version"], changed
        assert changed.json["delay_seconds"] == 5 and changed.json["created_at"] == t["created_at"], changed
        assert s.c.put("/v1/topics/jobs", changed.json).json["visibility_seconds"] == 0.5
        back = s.c.patch("/v1/topics/jobs", {"delay": None})
        assert back.json["delay_seconds"] == 0, back
        replaced = s.c.put("/v1/topics/jobs")  # all defaults, but partitions are fixed
        assert replaced.json["visibility_seconds"] == 30 and replaced.json["partitions"] == 3, replaced
        assert "tags" not in replaced.json, replaced
        assert s.c.delete("/v1/topics/jobs").status == 204
        problem(s.c.get("/v1/topics/jobs"), 404, "topic_not_found")
        assert s.c.delete("/v1/topics/jobs").status == 204
        problem(s.c.delete("/v1/topics/jobs?must_exist=1"), 404, "topic_not_found")


@test
def topics_are_listed_by_pages_and_prefix():
    with Rested() as s:
        for name in ("b", "a3", "a1", "a2"):
            s.c.topic(name)
        assert [t["name"] for t in s.c.get("/v1/topics").json["topics"]] == ["a1", "a2", "a3", "b"]
        a = s.c.get("/v1/topics?prefix=a&limit=2")
        assert [t["name"] for t in a.json["topics"]] == ["a1", "a2"], a
        link = re.fullmatch(r'<(/[^>]*)>; rel="next"', a.headers["Link"])[1]
        rest = s.c.get(link)
        assert [t["name"] for t in rest.json["topics"]] == ["a3"] and "next_cursor" not in rest.json, rest
        assert s.c.get(f"/v1/topics?prefix=a&cursor={a.json['next_cursor']}").json == rest.json
        assert "Link" not in rest.headers


@test
def conditions_compare_versions():
    with Rested() as s:
        first = s.c.put("/v1/topics/q", headers={"If-None-Match": "*"})
        assert first.status == 201
        tag = first.headers["ETag"]
        problem(s.c.put("/v1/topics/q", headers={"If-None-Match": "*"}), 412, "precondition_failed")
        problem(s.c.put("/v1/topics/other", headers={"If-Match": tag}), 412, "precondition_failed")
        problem(s.c.get("/v1/topics/other"), 404, "topic_not_found")
        same = s.c.get("/v1/topics/q", headers={"If-None-Match": f'"x", W/{tag}'})
        assert same.status == 304 and same.body == b"" and same.headers["ETag"] == tag, same
        assert s.c.get("/v1/topics/q", headers={"If-None-Match": '"x"'}).status == 200
        unchanged = s.c.patch("/v1/topics/q", {"visibility": "30s"}, headers={"If-Match": tag})
        assert unchanged.status == 200 and unchanged.headers["ETag"] == tag, unchanged
        changed = s.c.patch("/v1/topics/q", {"visibility": "31s"}, headers={"If-Match": tag})
        assert changed.status == 200 and changed.headers["ETag"] != tag, changed
        problem(s.c.patch("/v1/topics/q", {"visibility": "32s"}, headers={"If-Match": tag}), 412, "precondition_failed")
        problem(s.c.put("/v1/topics/q", {"visibility": "32s"}, headers={"If-Match": tag}), 412, "precondition_failed")
        problem(s.c.delete("/v1/topics/q", headers={"If-Match": tag}), 412, "precondition_failed")
        assert s.c.get("/v1/topics/q").json["visibility_seconds"] == 31
        assert s.c.delete("/v1/topics/q", headers={"If-Match": changed.headers["ETag"]}).status == 204
        problem(s.c.delete("/v1/topics/q", headers={"If-Match": changed.headers["ETag"]}), 412, "precondition_failed")
        assert s.c.put("/v1/topics/q").headers["ETag"] not in (tag, changed.headers["ETag"])


@test
def only_one_of_many_conditional_changes_wins():
    with Rested() as s:
        tag = s.c.put("/v1/topics/q").headers["ETag"]
        asked = [in_thread(lambda n=n: Rest(s.port).patch("/v1/topics/q", {"visibility": n}, headers={"If-Match": tag}).status)
                 for n in range(1, 9)]
        assert sorted(t.result() for t in asked) == [200] + [412] * 7


@test
def what_is_fixed_at_birth_stays():
    with Rested() as s:
        s.c.topic("q", partitions=2)
        problem(s.c.put("/v1/topics/q", {"partitions": 3}), 409, "immutable", ("pointer", "/partitions"))
        problem(s.c.patch("/v1/topics/q", {"partitions": 3}), 409, "immutable", ("pointer", "/partitions"))
        problem(s.c.patch("/v1/topics/q", {"fifo": True}), 409, "immutable", ("pointer", "/fifo"))
        assert s.c.patch("/v1/topics/q", {"partitions": 2, "fifo": False}).status == 200
        problem(s.c.put("/v1/topics/r", {"fifo": True}), 400, "invalid_body", ("pointer", "/fifo"))
        problem(s.c.put("/v1/topics/r.fifo", {"fifo": False}), 400, "invalid_body", ("pointer", "/fifo"))
        t = s.c.topic("r.fifo", content_deduplication=True, deduplication_scope="group")
        assert t["fifo"] and t["content_deduplication"] and t["deduplication_scope"] == "group", t
        problem(s.c.patch("/v1/topics/q", {"content_deduplication": True}), 400, "invalid_body",
                ("pointer", "/content_deduplication"))


@test
def redrive_targets_must_be_there_and_of_the_same_kind():
    with Rested() as s:
        s.c.topic("dead")
        s.c.topic("dead.fifo")
        t = s.c.topic("q", redrive={"topic": "dead", "receives_max": 3})
        assert t["redrive"] == {"topic": "dead", "receives_max": 3}
        assert s.c.patch("/v1/topics/q", {"redrive": {"receives_max": 5}}).json["redrive"] == {"topic": "dead", "receives_max": 5}
        for bad in ({"topic": "none", "receives_max": 1}, {"topic": "dead.fifo", "receives_max": 1}, {"topic": "q", "receives_max": 1},
                    {"topic": "dead"}, {"receives_max": 1}, {}):
            problem(s.c.put("/v1/topics/q", {"redrive": bad}), 400, "invalid_body", ("pointer", "/redrive"))
        problem(s.c.put("/v1/topics/q", {"redrive": {"topic": "dead", "receives_max": 1001}}), 400, "invalid_body",
                ("pointer", "/redrive/receives_max"))
        assert "redrive" not in s.c.patch("/v1/topics/q", {"redrive": None}).json
        s.c.call("SetQueueAttributes", QueueUrl="dead", Attributes={"RedriveAllowPolicy": '{"redrivePermission":"denyAll"}'})
        problem(s.c.put("/v1/topics/q", {"redrive": {"topic": "dead", "receives_max": 1}}), 400, "invalid_body", ("pointer", "/redrive"))
        arn = "arn:aws:sqs:us-east-1:000000000000:q"
        s.c.call("SetQueueAttributes", QueueUrl="dead", Attributes={
            "RedriveAllowPolicy": json.dumps({"redrivePermission": "byQueue", "sourceQueueArns": [arn]})})
        assert s.c.put("/v1/topics/q", {"redrive": {"topic": "dead", "receives_max": 1}}).status == 200


@test
def settings_that_only_sqs_has_survive_put_and_patch():
    with Rested() as s:
        s.c.call("CreateQueue", QueueName="q", Attributes={"KmsMasterKeyId": "alias/x", "VisibilityTimeout": "7"})
        assert s.c.get("/v1/topics/q").json["visibility_seconds"] == 7
        s.c.put("/v1/topics/q", {"visibility": "9s"})
        s.c.patch("/v1/topics/q", {"delay": "1s"})
        got = s.c.call("GetQueueAttributes", QueueUrl="q", AttributeNames=["All"])["Attributes"]
        assert (got["KmsMasterKeyId"], got["VisibilityTimeout"], got["DelaySeconds"]) == ("alias/x", "9", "1"), got


@test
def a_topic_made_by_either_front_is_the_others():
    with Rested() as s:
        s.c.topic("a", visibility="45s")
        assert s.c.call("ListQueues")["QueueUrls"][0].endswith("/a")
        assert s.c.call("CreateQueue", QueueName="a", Attributes={"VisibilityTimeout": "45"})["QueueUrl"].endswith("/a")
        s.c.call("CreateQueue", QueueName="b.fifo", Attributes={"FifoQueue": "true"})
        assert s.c.get("/v1/topics/b.fifo").json["fifo"] is True


# ---- sending ----

@test
def the_body_is_the_message_and_headers_are_attributes():
    with Rested() as s:
        s.c.topic()
        a = s.c.post("/v1/topics/q/messages", b"hello", headers={
            "Content-Type": "text/plain", "Leaselog-Attr-Kind": "resize", "leaselog-attr-lower": "x"})
        assert a.status == 201 and a.json["md5"] == hashlib.md5(b"hello").hexdigest(), a
        assert a.headers["Location"] == f"/v1/topics/q/messages/{a.json['partition']}-{a.json['number']}", a
        m = s.c.receive()[0]
        assert m["body"] == "hello" and m["id"] == a.json["id"], m
        assert m["attributes"] == {"Content-Type": "text/plain", "Kind": "resize", "lower": "x"}, m
        s.c.post("/v1/topics/q/messages", b'{"a":1}', headers={"Content-Type": "application/x-www-form-urlencoded"})
        m = s.c.receive()[0]
        assert m["body"] == '{"a":1}' and "attributes" not in m and m["receive_count"] == 1, m


@test
def a_message_crosses_the_fronts_with_attributes_and_digests():
    with Rested() as s:
        s.c.topic()
        s.c.send("grüße".encode(), Leaselog_Attr_Kind="k", Content_Type="text/plain", X_Amzn_Trace_Id="Root=1-5759e988-bd862e3fe1be46a994272793")
        m = s.c.call("ReceiveMessage", QueueUrl="q", MessageAttributeNames=["All"], MessageSystemAttributeNames=["All"])["Messages"][0]
        assert m["Body"] == "grüße" and m["MD5OfBody"] == hashlib.md5("grüße".encode()).hexdigest(), m
        assert m["MessageAttributes"]["Kind"] == {"DataType": "String", "StringValue": "k"}, m
        assert m["Attributes"]["AWSTraceHeader"].startswith("Root=1-5759"), m
        assert s.c.delete(f"{LEASES}/{m['ReceiptHandle']}").status == 204
        sent = s.c.call("SendMessage", QueueUrl="q", MessageBody="b", MessageAttributes={
            "N": {"DataType": "Number", "StringValue": "7"}, "B": {"DataType": "Binary.png", "BinaryValue": "AAE="},
            "L": {"DataType": "Number.int", "StringValue": "1e3"}, "S": {"DataType": "String", "StringValue": "s"}})
        m = s.c.receive()[0]
        assert m["attributes"] == {"N": 7, "B": {"type": "Binary.png", "value_base64": "AAE="},
                                   "L": {"type": "Number.int", "value": "1e3"}, "S": "s"}, m
        assert m["id"] == sent["MessageId"] and m["md5"] == sent["MD5OfMessageBody"], m
        # What was shown can be sent again, and has the same digest of attributes.
        s.c.post("/v1/topics/q/messages:batch", {"messages": [{"body": m["body"], "attributes": m["attributes"]}]})
        again = s.c.call("ReceiveMessage", QueueUrl="q", MessageAttributeNames=["All"])["Messages"][0]
        assert again["MD5OfMessageAttributes"] == sent["MD5OfMessageAttributes"], again
        s.c.call("DeleteMessage", QueueUrl="q", ReceiptHandle=m["receipt"])
        assert [x["number"] for x in s.c.get(LEASES).json["leases"]] == [2]


@test
def bytes_that_are_no_text_are_kept_as_they_are():
    with Rested() as s:
        s.c.topic()
        for body in (b"\xff\x00\x01", bytes(range(256)), b"a\0b", b"\x89PNG\r\n\x1a\n" + b"\0" * 100000):
            sent = s.c.send(body, Content_Type="image/png")
            m = s.c.receive(visibility=0)[0]
            assert base64.b64decode(m["body_base64"]) == body and "body" not in m, m
            assert m["md5"] == hashlib.md5(body).hexdigest() == sent["md5"], m
            assert m["attributes"] == {"Content-Type": "image/png", "leaselog-encoding": "base64"}, m
            sqs = s.c.call("ReceiveMessage", QueueUrl="q", VisibilityTimeout=0)["Messages"][0]
            assert sqs["Body"] == m["body_base64"] and sqs["MD5OfBody"] == hashlib.md5(sqs["Body"].encode()).hexdigest(), sqs
            raw = s.c.post(RECEIVE + "?raw")
            assert raw.body == body and raw.headers["Content-Type"] == "image/png", raw
            assert "Leaselog-Attr-leaselog-encoding" not in raw.headers
            assert s.c.delete(raw.headers["Location"]).status == 204


@test
def a_text_that_says_it_is_base64_is_shown_as_it_is():
    with Rested() as s:
        s.c.topic()
        s.c.call("SendMessage", QueueUrl="q", MessageBody="AAE=", MessageAttributes={
            "leaselog-encoding": {"DataType": "String", "StringValue": "base64"}})
        assert s.c.call("ReceiveMessage", QueueUrl="q", VisibilityTimeout=0)["Messages"][0]["Body"] == "AAE="
        assert s.c.receive()[0]["body"] == "AAE="


@test
def a_key_makes_a_second_send_a_duplicate_on_any_topic():
    with Rested() as s:
        s.c.topic("q", partitions=4)
        first = s.c.post("/v1/topics/q/messages", b"a", headers={"Idempotency-Key": '"k1"'})
        again = s.c.post("/v1/topics/q/messages", b"a", headers={"Leaselog-Deduplication-Id": "k1"})
        assert (first.status, again.status) == (201, 200) and again.headers["Idempotent-Replayed"] == "true", again
        assert again.json == first.json and again.headers["Location"] == first.headers["Location"], again
        assert "Idempotent-Replayed" not in first.headers
        assert s.c.post("/v1/topics/q/messages", b"a", headers={"Idempotency-Key": "k2"}).status == 201
        batch = s.c.post("/v1/topics/q/messages:batch", {"messages": [{"body": "a", "dedup_id": "k1"}, {"body": "b", "dedup_id": "k3"},
                                                                    {"body": "b", "dedup_id": "k3"}]}).json
        assert [r.get("duplicate", False) for r in batch["results"]] == [True, False, True], batch
        assert batch["results"][0]["id"] == first.json["id"]
        assert s.c.get("/v1/topics/q").json["stats"]["visible"] == 3
        problem(s.c.post("/v1/topics/q/messages", b"a", headers={"Idempotency-Key": "x", "Leaselog-Deduplication-Id": "y"}),
                400, "invalid_header")


@test
def a_fifo_topic_needs_a_group_and_an_id():
    with Rested() as s:
        s.c.topic("f.fifo")
        path = "/v1/topics/f.fifo/messages"
        problem(s.c.post(path, b"a"), 400, "invalid_header", ("header", "Leaselog-Group-Id"))
        problem(s.c.post(path, b"a", headers={"Leaselog-Group-Id": "g"}), 400, "invalid_header", ("header", "Leaselog-Deduplication-Id"))
        ids = {"Leaselog-Group-Id": "g", "Leaselog-Deduplication-Id": "d"}
        problem(s.c.post(path, b"a", headers={**ids, "Leaselog-Delay": "1s"}), 400, "invalid_header", ("header", "Leaselog-Delay"))
        assert s.c.post(path, b"a", headers=ids).status == 201
        assert s.c.post(path, b"a", headers=ids).status == 200
        s.c.patch("/v1/topics/f.fifo", {"content_deduplication": True})
        assert s.c.post(path, b"b", headers={"Leaselog-Group-Id": "g"}).status == 201
        assert s.c.post(path, b"b", headers={"Leaselog-Group-Id": "g"}).status == 200
        m = s.c.receive("f.fifo", max=10)
        assert [(x["body"], x["group_id"]) for x in m] == [("a", "g"), ("b", "g")], m
        assert m[0]["dedup_id"] == "d", m
        assert s.c.receive("f.fifo") == []  # the group is blocked
        raw = s.c.patch(m[0]["lease_url"], {"visibility": 0})
        assert raw.status == 200, raw


@test
def a_batch_has_a_result_for_each_message_in_order():
    with Rested() as s:
        s.c.topic("q", message_bytes_max=1024)
        a = s.c.post("/v1/topics/q/messages:batch", {"messages": [
            {"body": "first", "attributes": {"Size": 3, "Text": "t"}}, {"body": "x" * 1025}, {"body_base64": "AAH/"}, {}, {"body": "last", "delay": "10s"}]})
        got = a.json
        assert a.status == 200 and got["failed"] == 2, got
        assert [("id" in r, r.get("problem", {}).get("status")) for r in got["results"]] == [
            (True, None), (False, 413), (True, None), (False, 400), (True, None)], got
        assert got["results"][1]["problem"]["errors"][0]["pointer"] == "/messages/1", got
        assert [r["number"] for r in got["results"] if "id" in r] == [0, 1, 2]
        assert [m.get("body", m.get("body_base64")) for m in s.c.receive(max=10)] == ["first", "AAH/"]
        assert s.c.get("/v1/topics/q").json["stats"] == {"visible": 0, "in_flight": 2, "delayed": 1, "moving": 0}


@test
def a_hundred_messages_go_in_one_request_and_as_lines():
    with Rested() as s:
        s.c.topic("q", partitions=3)
        many = [{"body": f"m{i}"} for i in range(100)]
        assert s.c.post("/v1/topics/q/messages:batch", {"messages": many}).json["failed"] == 0
        lines = b"\n".join(json.dumps(m).encode() for m in many) + b"\n"
        a = s.c.post("/v1/topics/q/messages:batch", lines, headers={"Content-Type": "application/x-ndjson"})
        assert a.status == 200 and len(a.json["results"]) == 100 and a.json["failed"] == 0, a
        assert s.c.get("/v1/topics/q").json["stats"]["visible"] == 200
        problem(s.c.post("/v1/topics/q/messages:batch", {"messages": many + many[:1]}), 400, "invalid_body", ("pointer", "/messages"))
        problem(s.c.post("/v1/topics/q/messages:batch", {"messages": []}), 400, "invalid_body", ("pointer", "/messages"))
        problem(s.c.post("/v1/topics/q/messages:batch", b'{"body":"a"}\n{"body":', headers={"Content-Type": "application/x-ndjson"}),
                400, "invalid_body")
        assert s.c.get("/v1/topics/q").json["stats"]["visible"] == 200


# ---- receiving and leases ----

@test
def a_lease_is_extended_released_and_finished():
    with Rested() as s:
        s.c.topic()
        s.c.send(b"a")
        m = s.c.receive(visibility="100s", holder="me")[0]
        assert m["lease_url"] == f"{LEASES}/{m['receipt']}" and m["receive_count"] == 1, m
        lease = s.c.get(LEASES + "?holder=me").json["leases"][0]
        assert lease["number"] == 0 and lease["holder"] == "me" and 95 < lease["left_seconds"] <= 100, lease
        assert s.c.get(LEASES + "?holder=you").json["leases"] == []
        assert s.c.patch(m["lease_url"], {"visibility": "500s"}).status == 200
        assert s.c.get(LEASES).json["leases"][0]["left_seconds"] > 400
        problem(s.c.patch(m["lease_url"], {"visibility": "12h"}), 400, "invalid_body", ("pointer", "/visibility"))  # 12 h in all
        assert s.c.patch(m["lease_url"], {"visibility": "0s"}).status == 200
        assert s.c.get(LEASES).json["leases"] == []
        problem(s.c.patch(m["lease_url"], {"visibility": "10s"}), 410, "lease_expired")
        problem(s.c.delete(m["lease_url"]), 410, "lease_expired")
        n = s.c.receive()[0]
        assert n["receive_count"] == 2 and n["first_received_at"] == m["first_received_at"], n
        problem(s.c.delete(m["lease_url"]), 410, "lease_expired")  # somebody else has it
        assert s.c.delete(n["lease_url"]).status == 204
        assert s.c.delete(n["lease_url"]).status == 204  # again
        problem(s.c.patch(n["lease_url"], {"visibility": "10s"}), 410, "lease_expired")
        problem(s.c.delete(f"{LEASES}/garbage"), 404, "receipt_invalid")
        problem(s.c.patch(f"{LEASES}/garbage", {"visibility": 1}), 404, "receipt_invalid")
        s.c.topic("other")
        problem(s.c.delete(n["lease_url"].replace("/q/", "/other/")), 404, "receipt_invalid")
        assert s.c.get("/v1/topics/q").json["stats"] == {"visible": 0, "in_flight": 0, "delayed": 0, "moving": 0}


@test
def a_receipt_of_a_deleted_topic_finishes_nothing_in_its_namesake():
    with Rested() as s:
        c = s.c
        c.topic()
        c.send("old")
        old = c.receive(visibility="1h")[0]
        c.delete("/v1/topics/q")
        c.topic()
        c.send("new")
        c.receive(visibility="1h")
        problem(c.delete(old["lease_url"]), 410, "lease_expired")
        problem(c.patch(old["lease_url"], {"visibility": 0}), 410, "lease_expired")
        got = c.post("/v1/topics/q/groups/default/leases:batch", {"done": [old["receipt"]], "release": [old["receipt"]]}).json
        assert (got["done"][0]["status"], got["release"][0]["status"]) == (410, 410), got
        assert s.client().counts("q") == (0, 1, 0)


@test
def leases_are_changed_by_a_hundred():
    with Rested() as s:
        s.c.topic()
        for i in range(6):
            s.c.send(b"m%d" % i)
        m = s.c.receive(max=6)
        s.c.delete(m[0]["lease_url"])
        r = [x["receipt"] for x in m]
        s.c.patch(m[1]["lease_url"], {"visibility": 0})
        a = s.c.post(LEASES + ":batch", {"done": [r[0], r[1], r[2], "garbage"], "extend": [{"receipt": r[3], "visibility": "200s"}],
                                         "release": [r[4], {"receipt": r[5], "delay": "300s"}]})
        got = a.json
        assert [x["status"] for x in got["done"]] == [204, 410, 204, 404] and got["failed"] == 2, got
        assert [x["receipt"] for x in got["done"]] == [r[0], r[1], r[2], "garbage"]
        assert got["done"][1]["problem"]["type"] == "/problems/lease_expired", got
        assert [x["status"] for x in got["extend"]] == [200] and "lease_until" in got["extend"][0], got
        assert [x["status"] for x in got["release"]] == [200, 200], got
        assert sorted(x["body"] for x in s.c.receive(max=10)) == ["m1", "m4"]
        for bad, pointer in (({"done": ["x"] * 101}, "/done/100"), ({"extend": ["x"]}, "/extend/0"), ({"extend": [{"receipt": "x"}]}, "/extend/0"),
                             ({"done": [1]}, "/done/0"), ({"release": [{"receipt": "x", "delay": "13h"}]}, "/release/0/delay"),
                             ({"dnoe": []}, "/dnoe"), ({"done": "x"}, "/done"), ({}, "")):
            problem(s.c.post(LEASES + ":batch", bad), 400, "invalid_body", ("pointer", pointer))


@test
def a_raw_answer_is_the_message_itself():
    with Rested() as s:
        s.c.topic()
        s.c.send(b"hello\n", Content_Type="text/plain; charset=utf-8", Leaselog_Attr_Kind="k", Leaselog_Group_Id="g")
        s.c.post("/v1/topics/q/messages:batch", {"messages": [{"body": "x", "attributes": {
            "Wide": "grüße", "Line": "a\nb", "Bin": {"type": "Binary", "value_base64": "AA=="}, "n": 5}}]})
        a = s.c.post(RECEIVE, headers={"Accept": "*/*;q=0.1, application/octet-stream"})
        assert a.status == 200 and a.body == b"hello\n", a
        h = a.headers
        assert h["Content-Type"] == "text/plain; charset=utf-8" and h["Leaselog-Attr-Kind"] == "k", h
        assert h["Leaselog-Receive-Count"] == "1" and h["Leaselog-Group-Id"] == "g" and "Leaselog-Attrs-Omitted" not in h, h
        assert h["Location"] == f"{LEASES}/{h['Leaselog-Receipt']}" and re.fullmatch(r"[-0-9a-f]{36}", h["Leaselog-Id"]), h
        assert s.c.delete(h["Location"]).status == 204
        b = s.c.post(RECEIVE + "?raw=1")
        assert b.body == b"x" and b.headers["Leaselog-Attrs-Omitted"] == "3" and b.headers["Leaselog-Attr-n"] == "5", b.headers
        assert b.headers["Content-Type"] == "application/octet-stream"
        assert s.c.post(RECEIVE + "?raw=1&empty=200").status == 204
        # More than an answer's head has room for is left out, not the answer.
        s.c.post("/v1/topics/q/messages:batch", {"messages": [{"body": "w", "attributes": {f"a{i}": "v" * 900 for i in range(10)}}]})
        w = s.c.post(RECEIVE + "?raw")
        assert w.body == b"w" and w.headers["Leaselog-Attrs-Omitted"] == "8" and len(w.headers["Leaselog-Attr-a0"]) == 900, w.headers
        assert s.c.delete(w.headers["Location"]).status == 204
        # A long key takes of that room: what is missing is counted then too.
        s.c.post("/v1/topics/q/messages:batch", {"messages": [{"body": "k", "key": "k" * 1024, "attributes": {f"a{i}": "v" * 200 for i in range(10)}}]})
        w = s.c.post(RECEIVE + "?raw")
        shown = sum(name.startswith("Leaselog-Attr-") for name in w.headers)
        assert w.body == b"k" and len(w.headers["Leaselog-Key"]) == 1024 and shown > 0, w.headers
        assert shown + int(w.headers["Leaselog-Attrs-Omitted"]) == 10, w.headers
        assert s.c.delete(w.headers["Location"]).status == 204
        # So does a large head of the request, which never costs what a lease needs.
        s.c.post("/v1/topics/q/messages:batch", {"messages": [{"body": "h", "attributes": {f"a{i}": "v" * 200 for i in range(10)}}]})
        before = 10
        for pad in 3000, 4200, 4800, 5400:
            w = s.c.post(RECEIVE + "?raw&visibility=0", headers={"X-Pad": "p" * pad})
            shown = sum(name.startswith("Leaselog-Attr-") for name in w.headers)
            assert w.status == 200 and w.body == b"h" and (shown == 10) == (pad == 3000) and shown <= before, (pad, w.headers)
            assert shown + int(w.headers.get("Leaselog-Attrs-Omitted", 0)) == 10, (pad, w.headers)
            assert w.headers["Location"] == f"{LEASES}/{w.headers['Leaselog-Receipt']}" and "Leaselog-Lease-Until" in w.headers, (pad, w.headers)
            before = shown
        assert before < 5, before
        a = s.c.post(RECEIVE + "?raw", headers={"X-Pad": "p" * 5900})
        assert a.status == 431, a
        assert s.c.delete(s.c.post(RECEIVE + "?raw").headers["Location"]).status == 204
        problem(s.c.post(RECEIVE + "?raw&max=2"), 400, "invalid_parameter", ("parameter", "max"))
        s.c.patch(b.headers["Location"], {"visibility": 0})
        assert s.c.post(RECEIVE + "?raw=0", headers={"Accept": "application/octet-stream"}).json["messages"][0]["body"] == "x"


@test
def an_empty_receive_is_204_or_an_empty_list():
    with Rested() as s:
        s.c.topic()
        a = s.c.post(RECEIVE)
        assert a.status == 204 and a.body == b"", a
        assert s.c.post(RECEIVE + "?empty=200").json == {"messages": []}
        assert s.c.post(RECEIVE + "?wait=300ms").status == 204
        s.c.patch("/v1/topics/q", {"receive_wait": "1s"})
        assert s.c.post(RECEIVE + "?empty=200").json == {"messages": []}


@test
def a_waiting_receive_is_answered_by_a_send_a_lease_end_and_a_due_time():
    with Rested() as s:
        s.c.topic()
        waiting = in_thread(lambda: Rest(s.port).receive(wait="20s"))
        wait_until(lambda: s.c.get("/v1/topics/q/groups/default").json["waiting_receivers"] == 1, "the poll waits")
        s.c.send(b"x")
        m = waiting.result()[0]
        assert m["body"] == "x", m
        s.c.patch(m["lease_url"], {"visibility": "600ms"})
        m = s.c.receive(wait="20s")[0]
        assert m["receive_count"] == 2, m
        s.c.delete(m["lease_url"])
        s.c.send(b"later", Leaselog_Delay="600ms")
        assert s.c.receive() == []
        assert s.c.receive(wait="20s")[0]["body"] == "later"


@test
def a_stop_answers_waiting_receives():
    with Rested() as s:
        s.c.topic()
        asked = [in_thread(lambda p=p: Rest(s.port).post(RECEIVE + p).status) for p in ("?wait=60s", "?wait=60s&raw", "?wait=60s&empty=200")]
        wait_until(lambda: s.c.get("/v1/topics/q/groups/default").json["waiting_receivers"] == 3, "the polls wait")
        assert s.stop() == 0
        assert [t.result() for t in asked] == [204, 204, 200]


# ---- receivers that go away ----

def poller(port, query="wait=60s&visibility=600s", accept="application/json"):
    """A raw receiver that has sent its request and has not read the answer."""
    c = socket.create_connection(("127.0.0.1", port), timeout=30)
    c.sendall(f"POST {RECEIVE}?{query} HTTP/1.1\r\nHost: x\r\nAccept: {accept}\r\n\r\n".encode())
    return c


def abort(c):
    c.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # close sends a reset
    c.close()


def gone_receiver_costs_nothing(leave, accept):
    with Rested() as s:
        s.c.topic()
        first = poller(s.port, accept=accept)
        wait_until(lambda: s.c.get("/v1/topics/q/groups/default").json["waiting_receivers"] == 1, "the first poll waits")
        second = in_thread(lambda: Rest(s.port).receive(wait="20s"))
        wait_until(lambda: s.c.get("/v1/topics/q/groups/default").json["waiting_receivers"] == 2, "the second poll waits")
        leave(first)
        s.c.send(b"precious")
        got = second.result()
        assert [(m["body"], m["receive_count"]) for m in got] == [("precious", 1)], got


@test
def a_receiver_that_leaves_its_long_poll_costs_nobody_a_message():
    for leave in (abort, lambda c: c.close(), lambda c: c.shutdown(socket.SHUT_WR)):
        for accept in ("application/json", "application/octet-stream"):
            gone_receiver_costs_nothing(leave, accept)


@test
def leases_are_given_back_when_the_answer_cannot_be_written():
    """The peer goes between the lease and the end of an answer that is larger than all buffers."""
    for query in ("visibility=600s&max=10", "visibility=600s&raw"):
        with Rested() as s:
            s.c.topic()
            bodies = 10 if "max" in query else 1
            for _ in range(bodies):
                s.c.send(b"y" * (1 << 20))
            c = socket.socket()
            c.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            c.connect(("127.0.0.1", s.port))
            c.sendall(f"POST {RECEIVE}?{query} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
            wait_until(lambda: s.c.get("/v1/topics/q").json["stats"]["in_flight"] > 0, "leased")
            abort(c)
            wait_until(lambda: s.c.get("/v1/topics/q").json["stats"]["in_flight"] == 0, "given back", timeout=10)
            assert s.c.get("/v1/topics/q").json["stats"]["visible"] == bodies


@test
def a_hundred_aborted_receives_in_a_row_lose_nothing():
    with Rested() as s:
        s.c.topic()
        for i in range(100):
            abort(poller(s.port, "wait=60s&visibility=600s" + ("&raw" if i % 2 else "")))
        s.c.send(b"precious")
        assert [m["body"] for m in s.c.receive(wait="20s")] == ["precious"]


# ---- looking ----

@test
def a_known_state_is_shown_exactly_by_every_view():
    with Rested() as s:
        s.c.topic("dead", retention_seconds=1209600)
        s.c.topic("q", redrive={"topic": "dead", "receives_max": 1})
        s.c.send(b"poison")
        s.c.receive(visibility=0)
        assert s.c.receive() == []  # moved
        wait_until(lambda: s.c.get("/v1/topics/dead").json["stats"]["visible"] == 1, "the message is moved")
        for i in range(5):
            s.c.send(b"m%d" % i)
        s.c.send(b"later", Leaselog_Delay="900s")
        leased = [s.c.receive(holder="w")[0] for _ in range(2)]
        want = {"visible": 3, "in_flight": 2, "delayed": 1, "moving": 0}
        for _ in range(2):  # and after a restart
            assert s.c.get("/v1/topics/q").json["stats"] == want
            group = s.c.get("/v1/topics/q/groups").json["groups"][0]
            assert {k: group[k] for k in want} == want and group["name"] == "default", group
            assert s.c.get("/v1/topics/q/groups/default").json == group
            assert group["oldest_sent_at"] == leased[0]["sent_at"], group
            assert [(x["number"], x["receive_count"], x["holder"]) for x in s.c.get(LEASES).json["leases"]] == [(1, 1, "w"), (2, 1, "w")]
            seen = s.c.get("/v1/topics/q/messages").json
            assert [(m["body"], m["state"]) for m in seen["messages"]] == [
                ("m0", "leased"), ("m1", "leased"), ("m2", "ready"), ("m3", "ready"), ("m4", "ready"), ("later", "delayed")], seen
            assert "next_cursor" not in seen
            assert seen["messages"][0]["holder"] == "w" and "lease_until" in seen["messages"][0], seen
            assert "due_at" in seen["messages"][5] and "due_at" not in seen["messages"][2], seen
            for state, n in (("ready", 3), ("leased", 2), ("delayed", 1), ("moving", 0)):
                assert len(s.c.get(f"/v1/topics/q/messages?state={state}").json["messages"]) == n, state
            part = s.c.get("/v1/topics/q/partitions").json["partitions"][0]
            assert part["counters"] == want and part["next_number"] == 7 and part["floor"] == 1, part
            # What the housekeeper appends may fall between two requests, so both views are asked for until nothing did.
            views = {}

            def views_agree():
                views["one"] = s.c.get("/v1/topics/q/partitions/0").json
                return s.c.get("/v1/topics/q").json["usage"] == views["one"]["usage"]

            wait_until(views_agree, "topic and partition tell of the same bytes")
            one = views["one"]
            usage = one["usage"]
            assert sum(x["bytes"] for x in one["segment_list"]) == one["bytes"] == usage["disk_bytes"], one
            assert (usage["live_messages"], usage["live_bytes"]) == (6, 15), one
            assert usage["dead_bytes"] == usage["disk_bytes"] - usage["live_bytes"], one
            oldest = s.c.get("/v1/topics/q").json["oldest"]
            assert (oldest["number"], oldest["reason"], oldest["holder"]) == (1, "leased", "w") and oldest["id"] == leased[0]["id"], oldest
            assert 0 < oldest["left_seconds"] <= 30 and oldest["sent_at"] == leased[0]["sent_at"], oldest
            assert one["oldest"]["number"] == 1, one
            dead = s.c.get("/v1/topics/dead/messages").json["messages"]
            assert [(m["body"], m["dead_letter_source"], m["state"]) for m in dead] == [("poison", "q", "ready")], dead
            assert s.stop() == 0
            s.start()
            s.c = Rest(s.port)


@test
def messages_are_peeked_in_pages_from_either_end():
    with Rested() as s:
        s.c.topic("q", partitions=2)
        s.c.post("/v1/topics/q/messages:batch", {"messages": [{"body": f"m{i}", "dedup_id": str(i)} for i in range(40)]})
        for start in ("oldest", "newest"):
            got, cursor = [], ""
            while True:
                a = s.c.get(f"/v1/topics/q/messages?from={start}&limit=7{cursor}").json
                got += [(m["partition"], m["number"]) for m in a["messages"]]
                if "next_cursor" not in a:
                    break
                cursor = f"&cursor={a['next_cursor']}"
            assert len(got) == 40 and sorted(got) == sorted(set(got)), got
            for p in (0, 1):
                numbers = [n for q, n in got if q == p]
                assert numbers == sorted(numbers, reverse=start == "newest"), numbers
        assert [m["body"] for m in s.c.get("/v1/topics/q/messages?match=m39").json["messages"]] == ["m39"]
        part = [m["number"] for m in s.c.get("/v1/topics/q/messages?partition=1&from=number:3").json["messages"]]
        assert part == list(range(3, part[-1] + 1)), part
        assert s.c.receive(max=10) != []  # nothing was leased by looking
        problem(s.c.get("/v1/topics/q/messages?partition=2"), 404, "partition_not_found")
        problem(s.c.get("/v1/topics/q/messages?from=middle"), 400, "invalid_parameter", ("parameter", "from"))
        problem(s.c.get("/v1/topics/q/messages?cursor=x"), 400, "invalid_parameter", ("parameter", "cursor"))
        problem(s.c.get("/v1/topics/q/messages?cursor=0-5-newest"), 400, "invalid_parameter", ("parameter", "cursor"))
        problem(s.c.get("/v1/topics/q/messages?group=other"), 404, "group_not_found")


@test
def a_peek_of_large_messages_is_bounded():
    with Rested() as s:
        s.c.topic()
        for _ in range(6):
            s.c.send(b"z" * 400000)
        a = s.c.get("/v1/topics/q/messages")
        assert 1 <= len(a.json["messages"]) < 6 and "next_cursor" in a.json, len(a.body)
        seen = len(a.json["messages"])
        while "next_cursor" in a.json:
            a = s.c.get(f"/v1/topics/q/messages?cursor={a.json['next_cursor']}")
            seen += len(a.json["messages"])
        assert seen == 6


@test
def one_message_is_shown_also_when_finished():
    with Rested() as s:
        s.c.topic()
        a = s.c.post("/v1/topics/q/messages", b"a", headers={"Content-Type": "text/plain"})
        shown = s.c.get(a.headers["Location"]).json
        assert shown["state"] == "ready" and shown["body"] == "a" and shown["id"] == a.json["id"], shown
        m = s.c.receive()[0]
        assert s.c.get(a.headers["Location"]).json["state"] == "leased"
        s.c.delete(m["lease_url"])
        assert s.c.get(a.headers["Location"]).json["state"] == "finished"
        for bad in ("0-1", "1-0", "x", "0-", "-0", "0-99999999999999999999", "0-18446744073709551615", "999-0"):
            problem(s.c.get(f"/v1/topics/q/messages/{bad}"), 404, "message_not_found")


@test
def a_purge_counts_what_it_finishes():
    with Rested() as s:
        s.c.topic("q", partitions=3)
        s.c.post("/v1/topics/q/messages:batch", {"messages": [{"body": str(i), "dedup_id": str(i)} for i in range(50)]})
        s.c.receive(max=10)
        s.c.send(b"later", Leaselog_Delay="900s")
        assert s.c.post("/v1/topics/q/purge?dry_run=1").json == {"messages": 51}
        assert s.c.post("/v1/topics/q/purge").json == {"messages": 51}
        assert s.c.post("/v1/topics/q/purge").json == {"messages": 0}
        assert s.c.get("/v1/topics/q").json["stats"] == {"visible": 0, "in_flight": 0, "delayed": 0, "moving": 0}
        problem(s.c.post("/v1/topics/q/purge?group=g"), 404, "group_not_found")


@test
def leases_are_listed_in_pages():
    with Rested() as s:
        s.c.topic()
        s.c.post("/v1/topics/q/messages:batch", {"messages": [{"body": str(i)} for i in range(25)]})
        for holder in ("a", "b"):
            s.c.receive(max=10, holder=holder)
        got, path = [], LEASES + "?limit=7"
        while path:
            a = s.c.get(path)
            got += [x["number"] for x in a.json["leases"]]
            assert len(a.json["leases"]) <= 7
            path = a.headers.get("Link") and re.match("<([^>]*)>", a.headers["Link"])[1]
        assert got == list(range(20)), got
        mine = s.c.get(LEASES + "?holder=b&limit=4")
        assert [x["number"] for x in mine.json["leases"]] == [10, 11, 12, 13] and mine.json["next_cursor"] == "0-14", mine
        problem(s.c.get(LEASES + "?cursor=x"), 400, "invalid_parameter", ("parameter", "cursor"))


@test
def other_groups_and_partitions_are_not_there():
    with Rested() as s:
        s.c.topic()
        for method, path in (("GET", "groups/g"), ("POST", "groups/g/receive"), ("GET", "groups/g/leases"), ("DELETE", "groups/g/leases/x")):
            problem(s.c.ask(method, f"/v1/topics/q/{path}"), 404, "group_not_found")
        for n in ("1", "x", "-1", "99999999999999999999"):
            problem(s.c.get(f"/v1/topics/q/partitions/{n}"), 404, "partition_not_found")


# ---- the document, and what all answers have ----

@test
def the_description_and_the_problem_pages_are_served():
    with Rested() as s:
        a = s.c.get("/v1/openapi.yaml")
        with open(os.path.join(os.path.dirname(__file__), "..", "..", "api", "openapi.yaml"), "rb") as f:
            assert a.body == f.read()
        for response in DOCUMENT.tree["components"]["responses"].values():
            for name in response["x-problems"]:
                page = s.c.get(f"/problems/{name}")
                assert page.status == 200 and name.encode() in page.body, page
        problem(s.c.get("/problems/nonesuch"), 404, "not_found")
        about = s.c.get("/v1").json
        for link in about["links"].values():
            assert s.c.get(link).status == 200


@test
def a_broker_that_is_alone_says_so_when_asked_for_its_cluster():
    with Rested() as s:
        problem(s.c.get("/v1/cluster"), 404, "no_cluster")


@test
def a_request_id_is_taken_over_when_it_is_well_formed():
    with Rested() as s:
        for good in ("a", "A-b_c.9", "x" * 128):
            a = s.c.get("/v1/topics/none", headers={"Request-Id": good})
            assert a.headers["Request-Id"] == good and a.json["instance"] == good
        for bad in ("a b", "x" * 129, "a/b", "é"):
            a = s.c.get("/v1/topics/none", headers={"Request-Id": bad.encode("latin-1")})
            assert re.fullmatch(r"[0-9a-f-]{36}", a.headers["Request-Id"]), a.headers


@test
def pretty_answers_are_the_same_values_indented():
    with Rested() as s:
        s.c.topic("q", tags={"a": 'x"{[,:\\', "b": ""})
        plain = s.c.get("/v1/topics/q")
        for p in ("?pretty", "?pretty=1", "?pretty=true"):
            pretty = s.c.get("/v1/topics/q" + p)
            assert pretty.json == plain.json
            assert pretty.body.decode().strip() == json.dumps(plain.json, indent=2), pretty
        assert s.c.get("/v1/topics/q?pretty=0").body == plain.body
        assert b"\n  " in s.c.get("/v1/topics/none?pretty").body
        assert s.c.get("/v1/topics/q/messages?pretty").body.decode() == '{\n  "messages": []\n}\n'


@test
def head_options_and_unknown_methods_are_answered_as_http_has_it():
    with Rested() as s:
        s.c.topic()
        full = s.c.get("/v1/topics/q")
        head = s.c.ask("HEAD", "/v1/topics/q")
        assert head.status == 200 and head.body == b"" and head.headers["ETag"] == full.headers["ETag"], head
        assert head.headers["Content-Length"] == full.headers["Content-Length"]
        assert s.c.ask("HEAD", "/v1/topics/none").status == 404
        for path, allow in (("/v1/topics", "GET, HEAD, OPTIONS"), ("/v1/topics/q", "GET, HEAD, PUT, PATCH, DELETE, OPTIONS"),
                            ("/v1/topics/q/messages", "GET, HEAD, POST, OPTIONS"), (RECEIVE, "POST, OPTIONS"), (LEASES + "/x", "PATCH, DELETE, OPTIONS")):
            a = s.c.ask("OPTIONS", path)
            assert a.status == 204 and a.headers["Allow"] == allow and a.body == b"", a.headers
            for method in ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "TRACE", "PURGE"):
                if method in allow.split(", "):
                    continue
                a = s.c.ask(method, path)
                assert a.status == 405 and a.headers["Allow"] == allow, (method, path, a)
        problem(s.c.ask("OPTIONS", "/v1/topics/q/none"), 404, "not_found")


# ---- bad input ----

@test
def unknown_and_repeated_parameters_name_themselves():
    with Rested() as s:
        s.c.topic()
        for oid, (method, path, operation) in DOCUMENT.operations.items():
            at = path.format(topic="q", group="default", message="0-0", receipt="x", partition="0", problem="internal")
            problem(s.c.ask(method, at + "?limt=3"), 400, "invalid_parameter", ("parameter", "limt"))
            problem(s.c.ask(method, at + "?pretty&pretty=1"), 400, "invalid_parameter", ("parameter", "pretty"))
            for name, schema in DOCUMENT.parameters(operation, "query").items():
                schema = DOCUMENT.resolve(schema)
                good = schema.get("default", schema.get("enum", ["1"])[0])
                got = problem(s.c.ask(method, f"{at}?{name}={good}&{name}={good}"), 400, "invalid_parameter", ("parameter", name))
                assert "twice" in got["detail"], got


@test
def parameters_out_of_bounds_name_their_bounds():
    with Rested() as s:
        s.c.topic()
        for oid, (method, path, operation) in DOCUMENT.operations.items():
            at = path.format(topic="q", group="default", message="0-0", receipt="x", partition="0", problem="internal")
            for name, schema in DOCUMENT.parameters(operation, "query").items():
                schema = DOCUMENT.resolve(schema)
                if "x-seconds-max" in schema:
                    bad, bounds = [f"{schema['x-seconds-max'] + 1}", f"{schema['x-seconds-max'] * 1000 + 1}ms", "-1", "1.5s", "5x", "", "9" * 30, "999999999999d"], \
                        f"from {schema['x-seconds-min']}s to {schema['x-seconds-max']}s"
                elif schema["type"] == "integer":
                    bad, bounds = [str(schema["minimum"] - 1), str(schema["maximum"] + 1), "x", "", "1e1", "+1", "9" * 40], \
                        f"from {schema['minimum']} to {schema['maximum']}"
                elif "enum" in schema:
                    bad, bounds = ["maybe", "2"], ""
                else:
                    bad, bounds = ["%ff", "%00", "%01", "x" * (schema["maxLength"] + 1)], ""
                for value in bad:
                    got = problem(s.c.ask(method, f"{at}?{name}={value}"), 400, "invalid_parameter", ("parameter", name))
                    assert bounds in got["detail"], (name, value, got)
                problem(s.c.ask(method, f"{at}?{name}=%4"), 400, "invalid_parameter", ("parameter", name))


@test
def a_thousand_parameters_or_ten_thousand_members_are_refused_quickly():
    with Rested() as s:
        s.c.topic()
        a = s.c.get("/v1/topics?" + "&".join(f"{i}=" for i in range(1000)))
        assert a.status == 400, a
        a = s.c.get("/v1/topics?" + "&".join(f"p{i}=1" for i in range(1000)))
        assert a.status == 431, a
        problem(s.c.put("/v1/topics/q", {f"m{i}": i for i in range(10000)}), 400, "invalid_body", ("pointer", "/m0"))
        problem(s.c.patch("/v1/topics/q", {"tags": {f"m{i}": "x" for i in range(10000)}}), 400, "invalid_body", ("pointer", "/tags"))
        problem(s.c.post("/v1/topics/q/messages:batch", {"messages": [{"body": "x", "attributes": {f"m{i}": "x" for i in range(10000)}}]}),
                400, "invalid_body", ("pointer", "/messages/0/attributes"))
        problem(s.c.post(LEASES + ":batch", {"done": ["x"] * 10000}), 400, "invalid_body", ("pointer", "/done/100"))
        assert s.c.get("/v1/topics/q").status == 200


# ---- limits ----

@test
def a_full_topic_refuses_and_says_why():
    with Rested() as s:
        t = s.c.topic(max_messages=2, max_bytes=10)
        assert (t["max_messages"], t["max_bytes"], t["when_full"], t["usage"]["live_bytes"]) == (2, 10, "reject", 0), t
        assert s.c.put("/v1/topics/q", t).json == t  # what GET gave may be put back
        s.c.send(b"123456")
        a = s.c.post("/v1/topics/q/messages", b"12345")
        problem(a, 507, "topic_full")
        assert "6 bytes" in a.json["detail"] and "max_bytes is 10" in a.json["detail"], a
        got = s.c.post("/v1/topics/q/messages:batch", {"messages": [{"body": "a"}, {"body": "b"}]}).json
        assert got["failed"] == 1 and got["results"][1]["problem"]["type"] == "/problems/topic_full", got
        assert "2 unfinished messages" in got["results"][1]["problem"]["detail"], got
        status, body = s.c.raw("POST", "/", json.dumps({"QueueUrl": "q", "MessageBody": "x"}).encode(),
                               {"X-Amz-Target": "AmazonSQS.SendMessage", "Content-Type": "application/x-amz-json-1.0"})[:2]
        assert status == 403 and b"#OverLimit" in body and b"max_messages is 2" in body, (status, body)
        batch = s.c.call("SendMessageBatch", QueueUrl="q", Entries=[{"Id": "a", "MessageBody": "x"}])
        assert [(f["Id"], f["Code"], f["SenderFault"]) for f in batch["Failed"]] == [("a", "OverLimit", True)], batch
        for _ in range(2):
            assert s.c.get("/v1/topics/q").json["usage"]["live_messages"] == 2
            s.kill()
            s.start()
            s.c = Rest(s.port)
        assert s.c.delete(s.c.receive()[0]["lease_url"]).status == 204
        s.c.send(b"12345")
        assert s.c.get("/v1/topics/q").json["usage"]["live_bytes"] == 6
        assert s.c.patch("/v1/topics/q", {"max_messages": None}).json.get("max_messages") is None
        s.c.send(b"6")


@test
def the_oldest_messages_make_room_where_the_topic_says_so():
    with Rested() as s:
        s.c.topic(max_messages=2, when_full="drop_oldest")
        for body in (b"a", b"b", b"c"):
            s.c.send(body)
        assert [m["body"] for m in s.c.receive(max=10, visibility=0)] == ["b", "c"]
        assert s.c.post("/v1/topics/q/purge").status == 200
        problem(s.c.patch("/v1/topics/q", {"when_full": "dead_letter"}), 400, "invalid_body", ("pointer", "/when_full"))
        s.c.topic("dead")
        s.c.patch("/v1/topics/q", {"when_full": "dead_letter", "redrive": {"topic": "dead", "receives_max": 3}})
        for body in (b"d", b"e", b"f"):
            s.c.send(body)
        wait_until(lambda: s.c.get("/v1/topics/dead").json["usage"]["live_messages"] == 1, "the oldest is moved")
        assert [m["body"] for m in s.c.receive("dead", wait=10)] == ["d"]
        problem(s.c.patch("/v1/topics/q", {"redrive": None}), 400, "invalid_body", ("pointer", "/when_full"))
        s.c.topic("kept", retention_bytes=3)
        for body in (b"aa", b"bb"):
            s.c.send(body, "kept")
        wait_until(lambda: s.c.get("/v1/topics/kept").json["usage"]["live_bytes"] == 2, "the oldest is trimmed")


@test
def settings_out_of_bounds_name_their_place():
    with Rested() as s:
        s.c.topic()
        cases = [({"visibility": "12h1"}, "/visibility"), ({"visibility": 43201}, "/visibility"), ({"visibility": -1}, "/visibility"),
                 ({"visibility": 1.5}, "/visibility"), ({"visibility": "1", "visibility_seconds": 1}, "/visibility_seconds"),
                 ({"visibility_seconds": "1"}, "/visibility_seconds"), ({"visibility_seconds": 0.0001}, "/visibility_seconds"),
                 ({"delay": "16m"}, "/delay"), ({"retention": "59s"}, "/retention"), ({"retention": "15d"}, "/retention"),
                 ({"receive_wait": 21}, "/receive_wait"), ({"message_bytes_max": 1023}, "/message_bytes_max"), ({"message_bytes_max": "x"}, "/message_bytes_max"),
                 ({"max_bytes": -1}, "/max_bytes"), ({"max_messages": "x"}, "/max_messages"), ({"retention_bytes": (1 << 50) + 1}, "/retention_bytes"),
                 ({"when_full": "explode"}, "/when_full"), ({"when_full": "dead_letter"}, "/when_full"),
                 ({"partitions": 121}, "/partitions"), ({"partitions": 0}, "/partitions"), ({"fifo": "yes"}, "/fifo"), ({"tags": []}, "/tags"),
                 ({"tags": {"a": 1}}, "/tags/a"), ({"tags": {"": "x"}}, "/tags/"), ({"tags": {"a/b~c": "\0"}}, "/tags/a~1b~0c"), ({"tags": {"x" * 129: ""}}, None),
                 ({"tags": {str(i): "" for i in range(51)}}, "/tags"), ({"redrive": "x"}, "/redrive"), ({"redrive": {"x": 1}}, "/redrive/x"),
                 ({"visiblity": 1}, "/visiblity"), ({"deduplication_scope": "all"}, "/deduplication_scope"), ([], ""), ([1], "")]
        for body, pointer in cases:
            for ask in (s.c.put, s.c.patch):
                problem(ask("/v1/topics/q", body), 400, "invalid_body", pointer is not None and ("pointer", pointer))
        assert s.c.get("/v1/topics/q").json["visibility_seconds"] == 30
        problem(s.c.patch("/v1/topics/q"), 400, "invalid_body")


@test
def bodies_that_are_no_json_are_refused_as_that():
    with Rested() as s:
        s.c.topic()
        places = [("PUT", "/v1/topics/q"), ("PATCH", "/v1/topics/q"), ("POST", "/v1/topics/q/messages:batch"), ("POST", LEASES + ":batch"), ("PATCH", LEASES + "/x")]
        for method, path in places:
            for bad in (b"{", b"nul", b'{"a":1,"a":2}', b'{"visibility":"\xff"}', b'{"messages":[{"body":"a"', b"\xef\xbb\xbf{}", b'{"x":' + b"[" * 5000, b"{}{}",
                        b'{"tags":{"a":1', b'{"done":["a",]}', b'{"messages":[{"attributes":{"a":{"type":"x'):
                got = problem(s.c.ask(method, path, bad), 400, "invalid_body")
                assert "not JSON" in got["detail"], (bad, got)
            problem(s.c.ask(method, path, b"{}", headers={"Content-Type": "text/plain"}), 415, "unsupported_media_type", ("header", "Content-Type"))
            for good in ("application/json; charset=utf-8", "APPLICATION/JSON", "application/x-www-form-urlencoded"):
                assert s.c.ask(method, path, b"{}", headers={"Content-Type": good}).status in (200, 400)
        assert s.c.patch("/v1/topics/q", b"{}", headers={"Content-Type": "application/merge-patch+json"}).status == 200
        problem(s.c.put("/v1/topics/q", b"{}", headers={"Content-Type": "application/merge-patch+json"}), 415, "unsupported_media_type")


@test
def bodies_where_none_belongs_are_refused():
    with Rested() as s:
        s.c.topic()
        for method, path in (("POST", RECEIVE), ("POST", "/v1/topics/q/purge"), ("DELETE", "/v1/topics/q"), ("DELETE", LEASES + "/x"), ("GET", "/v1/topics")):
            problem(s.c.ask(method, path, b'{"max":1}'), 400, "invalid_body")
        assert s.c.get("/v1/topics/q").status == 200


@test
def messages_out_of_bounds_are_refused_by_name():
    with Rested() as s:
        s.c.topic("q", message_bytes_max=1024)
        path = "/v1/topics/q/messages"
        problem(s.c.post(path, b""), 400, "invalid_body")
        problem(s.c.post(path, b"x" * 1025), 413, "message_too_big")
        problem(s.c.post(path, b"x" * 1020, headers={"Leaselog-Attr-A": "b"}), 413, "message_too_big")
        assert s.c.post(path, b"x" * 1024).status == 201
        for name, value in (("Leaselog-Delay", "901s"), ("Leaselog-Delay", "-1"), ("Leaselog-Delay", ""), ("Leaselog-Dealy", "1s"),
                            ("Leaselog-Group-Id", "g" * 129), ("Leaselog-Group-Id", "a b"), ("Leaselog-Deduplication-Id", ""), ("Idempotency-Key", "k" * 129),
                            ("Leaselog-Attr-a..b", "x"), ("Leaselog-Attr-AWS.x", "x"), ("Leaselog-Attr-A", ""), ("Leaselog-Attr-", "x"), ("Leaselog-Attr-A", b"\xff")):
            problem(s.c.post(path, b"x", headers={name: value}), 400, "invalid_header",
                    ("header", name if "Idempotency" not in name else "Leaselog-Deduplication-Id"))
        eleven = {f"Leaselog-Attr-A{i}": "x" for i in range(11)}
        problem(s.c.post(path, b"x", headers=eleven), 400, "invalid_header")
        del eleven["Leaselog-Attr-A10"]
        assert s.c.post(path, b"x", headers=eleven).status == 201
        problem(s.c.post(path, b"\xff", headers=eleven), 400, "invalid_header")
        problem(s.c.post(path, b"x", headers={**eleven, "Content-Type": "text/plain"}), 400, "invalid_header", ("header", "Content-Type"))
        s.c.patch("/v1/topics/q", {"message_bytes_max": None})
        assert s.c.post(path, b"x" * (1 << 20)).status == 201
        problem(s.c.post(path, b"x" * ((1 << 20) + 1)), 413, "message_too_big")
        huge = s.c.post(path, b"x" * (9 << 20))
        problem(huge, 413, "body_too_big")
        assert Rest(s.port).get("/v1/topics/q").json["stats"]["visible"] == 3


@test
def batch_messages_out_of_bounds_are_refused_by_pointer():
    with Rested() as s:
        s.c.topic()
        cases = [({"body": 1}, "/body"), ({"body": ""}, "/body"), ({"body": "a", "body_base64": "AA=="}, "/body_base64"), ({"body_base64": "A"}, "/body_base64"),
                 ({"body_base64": "AA=A"}, "/body_base64"), ({"bdoy": "a"}, "/bdoy"), ({"body": "a", "delay": "16m"}, "/delay"),
                 ({"body": "a", "group_id": 1}, "/group_id"), ({"body": "a", "dedup_id": "d" * 129}, "/dedup_id"),
                 ({"body": "a", "attributes": {"x": True}}, "/attributes/x"), ({"body": "a", "attributes": {"x": {}}}, "/attributes/x"),
                 ({"body": "a", "attributes": {"x": {"type": "Strung", "value": "a"}}}, "/attributes/x"),
                 ({"body": "a", "attributes": {"x": {"type": "Binary", "value": "a"}}}, "/attributes/x"),
                 ({"body": "a", "attributes": {"x": {"type": "Number", "value": "abc"}}}, "/attributes/x"),
                 ({"body": "a", "attributes": {"x": {"type": "String", "vaule": "abc"}}}, "/attributes/x/vaule"),
                 ({"body": "a", "attributes": {"AWS.x": "a"}}, "/attributes/AWS.x"), ({"body": "a", "attributes": {"a/b": "a"}}, "/attributes/a~1b"),
                 ({"body": "a", "attributes": {str(i): "a" for i in range(11)}}, "/attributes"), ("a", "")]
        for message, pointer in cases:
            problem(s.c.post("/v1/topics/q/messages:batch", {"messages": [{"body": "x"}, message]}), 400, "invalid_body", ("pointer", "/messages/1" + pointer))
        for alone, pointer in (({"body": "a", "group_id": "a b"}, "/group_id"), ({"body_base64": "/w==", "attributes": {str(i): "a" for i in range(10)}}, "/attributes")):
            got = s.c.post("/v1/topics/q/messages:batch", {"messages": [{"body": "x"}, alone]}).json
            assert got["failed"] == 1 and got["results"][1]["problem"]["errors"][0]["pointer"] == "/messages/1" + pointer, got
        assert s.c.get("/v1/topics/q").json["stats"]["visible"] == 2  # of the last two only


@test
def paths_are_never_more_than_names():
    with Rested() as s:
        s.c.topic()
        for path, status in (("/v1/topics/", 404), ("/v1/topics//", 404), ("/v1/topics/..", 404), ("/v1/topics/../q", 404), ("/v1/topics/%2e%2e/q", 404),
                             ("/v1/topics/q/", 404), ("/v1/topics/q//messages", 404), ("/v1/topics/q%2fmessages", 400), ("/v1/topics/%2e", 404), ("/v1/topics/%", 400),
                             ("/v1/topics/%zz", 400), ("/v1/topics/%00", 400), ("/v1/topics/q%00", 400), ("/v1/topics/%ff", 400), ("/v1/topics/a%0d%0ab", 400),
                             ("/v1/topics/q/none", 404), ("/v1/topics/q/groups/default/leases/x/y", 404), ("/v1/topics/q/groups/default/leases/x/y/z/0/1", 404),
                             ("/v1/topic", 404), ("/v1/none", 404), ("/v1/topicsx", 404), ("/v1/openapi.yaml/x", 404), ("/problems/", 404), ("/problems/../v1", 404),
                             ("/v1/topics/" + "x" * 3000, 404)):
            a = s.c.get(path)
            assert a.status == status, (path, a)
            problem(a, status, "invalid_path" if status == 400 else ("topic_not_found" if path.endswith("xxx") else "not_found"))
        assert s.c.get("/v1/%74opics/q").status == 404
        assert s.c.get("/v1/topics/%71").json["name"] == "q"
        assert s.c.get("/v1/topics/q/%6dessages").status == 200
        assert s.c.post("/v1/topics/q/messages%3Abatch", {"messages": [{"body": "a"}]}).status == 200
        for bad in ("a%20b", "a.b", "x" * 81, "fifo.", ".fifo", "%C3%A9"):
            problem(s.c.put(f"/v1/topics/{bad}"), 400, "invalid_path")
        assert s.c.put("/v1/topics/" + "x" * 75 + ".fifo").status == 201


@test
def a_stopped_server_keeps_what_was_answered():
    with Rested() as s:
        s.c.topic()
        for i in range(20):
            s.c.send(b"m%d" % i)
        for m in s.c.receive(max=10):
            assert s.c.delete(m["lease_url"]).status == 204
        s.kill()
        s.start()
        c = Rest(s.port)
        assert c.get("/v1/topics/q").json["stats"] == {"visible": 10, "in_flight": 0, "delayed": 0, "moving": 0}
        assert sorted(m["body"] for m in c.receive(max=10)) == sorted(f"m{i}" for i in range(10, 20))


RECORDS = "/v1/topics/users/partitions/0/records"


def lines(a):
    assert a.status == 200, a
    return [json.loads(line) for line in a.body.splitlines()]


@test
def a_compact_topic_takes_keys_and_tombstones_and_is_read_as_a_log():
    with Rested() as s:
        t = s.c.topic("users", cleanup="compact", delete_retention="2h")
        assert t["cleanup"] == "compact" and t["delete_retention_seconds"] == 7200, t
        assert s.c.put("/v1/topics/users", t).json == t
        assert s.c.patch("/v1/topics/users", {"delete_retention": 5}).json["delete_retention_seconds"] == 5
        s.c.send("a1", "users", Leaselog_Key="a")
        s.c.send(b"\xff", "users", Leaselog_Key="b c")
        assert s.c.post("/v1/topics/users/messages", headers={"Leaselog-Key": "a", "Leaselog-Tombstone": "1"}).status == 201
        batch = s.c.post("/v1/topics/users/messages:batch", {"messages": [
            {"key": "a", "body": None}, {"key_base64": base64.b64encode(b"\x00\xff").decode(), "body": "z"}, {"body": "none"},
            {"key": "d", "body": "x", "delay": 1}, {"key": "e"}, {"key": "f", "body": None, "body_base64": "eA=="}]}).json
        assert batch["failed"] == 4, batch
        places = [r["problem"]["errors"][0]["pointer"] for r in batch["results"] if "problem" in r]
        assert places == ["/messages/2/key", "/messages/3/delay", "/messages/4", "/messages/5/body"], batch
        a = s.c.get(RECORDS)
        all_of_it = lines(a)
        assert [(r["number"], r.get("key"), r.get("body", "-")) for r in all_of_it] == \
            [(0, "a", "a1"), (1, "b c", "-"), (2, "a", None), (3, "a", None), (4, None, "z")], all_of_it
        assert all_of_it[1]["body_base64"] == "/w==" and all_of_it[4]["key_base64"] == "AP8=", all_of_it
        assert a.headers["Leaselog-Next"] == a.headers["Leaselog-End"], a.headers
        got, place = [], 0
        while place < int(a.headers["Leaselog-End"]):
            page = s.c.get(f"{RECORDS}?limit=2&from={place}")
            got, place = got + lines(page), int(page.headers["Leaselog-Next"])
        assert got == all_of_it, got
        assert len(lines(s.c.get(RECORDS + "?max_bytes=1"))) == 1
        assert lines(s.c.get(f"{RECORDS}?from={place}")) == []
        problem(s.c.get(RECORDS + "?limit=0"), 400, "invalid_parameter", ("parameter", "limit"))
        problem(s.c.get(RECORDS.replace("/0/", "/1/")), 404, "partition_not_found")


@test
def a_compact_topic_refuses_what_a_log_has_not():
    with Rested() as s:
        s.c.topic("users", cleanup="compact")
        s.c.topic("q")
        for method, path in (("POST", "/groups/default/receive"), ("GET", "/messages"), ("GET", "/messages/0-0"), ("POST", "/purge"),
                             ("GET", "/groups/default"), ("GET", "/groups/default/leases"), ("DELETE", "/groups/default/leases/x")):
            problem(s.c.ask(method, "/v1/topics/users" + path), 409, "compact_topic")
        assert s.c.get("/v1/topics/users/groups").json == {"groups": []}
        problem(s.c.post("/v1/topics/users/messages", "x"), 400, "invalid_header", ("header", "Leaselog-Key"))
        problem(s.c.post("/v1/topics/users/messages", "x", headers={"Leaselog-Key": "a", "Leaselog-Tombstone": "1"}), 400,
                "invalid_header", ("header", "Leaselog-Tombstone"))
        for topic, name, one, other in (("users", "Leaselog-Key", "a", "b"), ("q", "Leaselog-Group-Id", "a", "b"), ("q", "Leaselog-Delay", "9", "5"),
                                        ("users", "Leaselog-Tombstone", "0", "1")):
            twice = dict({name: one, name.lower(): other}, **({"Leaselog-Key": "a"} if name == "Leaselog-Tombstone" else {}))
            body = "" if name == "Leaselog-Tombstone" else "x"
            a = s.c.post(f"/v1/topics/{topic}/messages", body, headers=twice)
            problem(a, 400, "invalid_header", ("header", name))
            assert "twice" in a.json["errors"][0]["detail"], a
        problem(s.c.post("/v1/topics/q/messages", headers={"Leaselog-Key": "a", "Leaselog-Tombstone": "1"}), 400,
                "invalid_header", ("header", "Leaselog-Tombstone"))
        batch = s.c.post("/v1/topics/q/messages:batch", {"messages": [{"body": None, "body_base64": "eA=="}, {"body": None}]}).json
        assert batch["failed"] == 1 and "at least 1 byte" in batch["results"][1]["problem"]["errors"][0]["detail"], batch
        problem(s.c.patch("/v1/topics/users", {"cleanup": "delete"}), 409, "immutable", ("pointer", "/cleanup"))
        problem(s.c.patch("/v1/topics/q", {"cleanup": "compact"}), 409, "immutable", ("pointer", "/cleanup"))
        for name, settings, place in (("x.fifo", {"cleanup": "compact"}, "cleanup"), ("x", {"cleanup": "x"}, "cleanup"),
                                      ("x", {"delete_retention": 1}, "delete_retention"),
                                      ("x", {"cleanup": "compact", "delay": 1}, "delay"),
                                      ("x", {"redrive": {"topic": "users", "receives_max": 1}}, "redrive"),
                                      ("x", {"cleanup": "compact", "redrive": {"topic": "q", "receives_max": 1}}, "redrive")):
            problem(s.c.put(f"/v1/topics/{name}", settings), 400, "invalid_body", ("pointer", "/" + place))
        for action, more in (("SendMessage", {"MessageBody": "x"}), ("ReceiveMessage", {}), ("PurgeQueue", {})):
            try:
                s.c.call(action, QueueUrl="users", **more)
            except Exception as e:
                assert "UnsupportedOperation" in str(e), e
            else:
                raise AssertionError(action)
        policy = {"RedrivePolicy": json.dumps({"deadLetterTargetArn": "arn:aws:sqs:us-east-1:000000000000:users", "maxReceiveCount": 1})}
        try:
            s.c.call("SetQueueAttributes", QueueUrl="q", Attributes=policy)
        except Exception as e:
            assert "A compact topic takes no dead letters." in str(e), e
        else:
            raise AssertionError("a compact topic takes dead letters of SQS queues")


@test
def the_log_of_a_plain_topic_is_read_too_with_keys():
    with Rested() as s:
        s.c.topic("users", partitions=3)
        sent = [s.c.send(str(i), "users", Leaselog_Key=f"k{i % 4}") for i in range(12)]
        for i in range(12):
            assert sent[i]["partition"] == sent[i % 4]["partition"], sent
        m = s.c.receive("users")[0]
        assert m["key"] in ("k0", "k1", "k2", "k3"), m
        assert s.c.delete(m["lease_url"]).status == 204
        got = [r for p in range(3) for r in lines(s.c.get(f"/v1/topics/users/partitions/{p}/records"))]
        assert sorted([r["body"] for r in got] + [m["body"]], key=int) == [str(i) for i in range(12)], got


OF_A_CLUSTER = {"get_cluster", "move_leader", "recover_partition"}  # tests/cluster asks for these


@test
def a_broker_that_is_alone_has_no_cluster_and_one_copy_of_each_topic():
    with Rested() as s:
        problem(s.c.get("/v1/cluster"), 404, "no_cluster")
        s.c.topic("t")
        for verb in ("leader", "recover"):
            problem(s.c.post(f"/v1/cluster/partitions/t/0/{verb}", {"broker": 1}), 404, "no_cluster")
            problem(s.c.post(f"/v1/cluster/partitions/nonesuch/0/{verb}", {"broker": 1}), 404, "topic_not_found")
        problem(s.c.put("/v1/topics/c", {"copies": 2}), 400, "invalid_body", ("pointer", "/copies"))
        assert s.c.put("/v1/topics/c", {"copies": 1, "min_isr": 1}).status == 201
        assert s.c.put("/v1/topics/c", {"copies": 1, "allow_single_copy": True}).status == 200
        problem(s.c.put("/v1/topics/c", {"copies": 3}), 409, "immutable", ("pointer", "/copies"))
        assert "copies" not in s.c.get("/v1/topics/c").json


@test
def every_operation_was_asked_for():
    """Runs last: SEEN is what the tests above have asked for."""
    if len(sys.argv) > 1:
        return
    missing = set(DOCUMENT.operations) - OF_A_CLUSTER - {oid for oid, statuses in SEEN.items() if any(x < 400 for x in statuses)}
    assert not missing, missing


run_tests(globals())
