# SPDX-License-Identifier: Apache-2.0
"""Signed requests: with --sqs-access-keys only they are taken. Signed here by curl, and by a signer of the test's own,
written from AWS's documentation of Signature Version 4."""
import datetime
import hashlib
import hmac
import http.client
import json
import os
import subprocess
import sys
import tempfile
import urllib.parse

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from leaselog import Server, memory_folder, run_tests, test

tempfile.tempdir = memory_folder()  # syncs are not what is asked here

ID, SECRET = "AKIDOFTHETEST", "wJalr/XUtnFEMI+K7MDENG"
CORAL = "com.amazon.coral.service#"


class Signed(Server):
    """A server that takes the keys of a file."""

    def __init__(self, text=f"# id secret\n\nother otherSecret\n{ID} {SECRET}\n"):
        super().__init__()
        self.keys = os.path.join(self.folder, "keys")
        with open(self.keys, "w") as f:
            f.write(text)
        os.chmod(self.keys, 0o600)
        self.options = ("--sqs-access-keys", self.keys)


def digest(key, text):
    return hmac.new(key, text.encode(), hashlib.sha256).digest()


def quoted(text):
    return urllib.parse.quote(text, safe="-_.~")


def sign(method, target, headers, body, key_id=ID, secret=SECRET, at=None, region="eu-west-1", service="sqs"):
    """The headers, with a signature over all of them."""
    now = at or datetime.datetime.now(datetime.timezone.utc)
    time, date = now.strftime("%Y%m%dT%H%M%SZ"), now.strftime("%Y%m%d")
    headers = dict(headers, **{"X-Amz-Date": time})
    signed = {k.lower(): " ".join(v.split()) for k, v in headers.items()}
    path, _, query = target.partition("?")
    pairs = sorted(tuple(quoted(urllib.parse.unquote(x)) for x in p.partition("=")[::2]) for p in query.split("&") if p)
    names = ";".join(sorted(signed))
    canonical = "\n".join([method, urllib.parse.quote(path, safe="/-_.~"), "&".join(f"{k}={v}" for k, v in pairs),
                           *(f"{k}:{signed[k]}" for k in sorted(signed)), "", names, hashlib.sha256(body).hexdigest()])
    scope = f"{date}/{region}/{service}/aws4_request"
    text = "\n".join(["AWS4-HMAC-SHA256", time, scope, hashlib.sha256(canonical.encode()).hexdigest()])
    key = ("AWS4" + secret).encode()
    for part in (date, region, service, "aws4_request"):
        key = digest(key, part)
    signature = digest(key, text).hex()
    headers["Authorization"] = f"AWS4-HMAC-SHA256 Credential={key_id}/{scope}, SignedHeaders={names}, Signature={signature}"
    return headers


def ask(s, method, target, headers, body):
    conn = http.client.HTTPConnection("127.0.0.1", s.port, timeout=30)
    conn.putrequest(method, target, skip_host=True, skip_accept_encoding=True)
    for name, value in dict(headers, **{"Content-Length": str(len(body))}).items():
        conn.putheader(name, value)
    conn.endheaders(body)
    r = conn.getresponse()
    text = r.read()
    conn.close()
    return r.status, text


def json_headers(s, action="CreateQueue"):
    return {"Host": f"127.0.0.1:{s.port}", "X-Amz-Target": f"AmazonSQS.{action}", "Content-Type": "application/x-amz-json-1.0"}


CREATE = b'{"QueueName": "orders"}'


def create(s, change=lambda headers: headers, body=CREATE, **how):
    """CreateQueue, signed, then changed; the status, and the answer."""
    headers = change(sign("POST", "/", json_headers(s), CREATE, **how))
    status, text = ask(s, "POST", "/", headers, body)
    return status, json.loads(text)


def refused(got, status, kind):
    assert got[0] == status and got[1]["__type"] == CORAL + kind and got[1]["message"], got


def changed(name, old, new):
    def change(headers):
        assert old in headers[name], headers
        return dict(headers, **{name: headers[name].replace(old, new)})
    return change


def without(name):
    return lambda headers: {k: v for k, v in headers.items() if k != name}


@test
def signed_requests_are_served_in_either_protocol():
    with Signed() as s:
        status, answer = create(s)
        assert status == 200 and answer["QueueUrl"].endswith("/orders"), answer
        assert create(s, key_id="other", secret="otherSecret")[0] == 200
        host = {"Host": f"127.0.0.1:{s.port}"}
        body = b"Action=SendMessage&MessageBody=a%20b&Version=2012-11-05"
        headers = dict(host, **{"Content-Type": "application/x-www-form-urlencoded", "X-Amz-Security-Token": "token / + ="})
        status, text = ask(s, "POST", "/000000000000/orders", sign("POST", "/000000000000/orders", headers, body), body)
        assert status == 200 and b"<MessageId>" in text, text
        # The query string is sorted and written anew: other escapes are the same request.
        target = "/000000000000/orders?Version=2012-11-05&MaxNumberOfMessages=1&Action=ReceiveMess%61ge&AttributeName=All"
        status, text = ask(s, "GET", target, sign("GET", target, host, b""), b"")
        assert status == 200 and b"<Body>a b</Body>" in text, text


@test
def the_region_of_the_signature_is_that_of_arns():
    with Signed() as s:
        assert create(s)[0] == 200
        body = b'{"QueueUrl": "orders", "AttributeNames": ["QueueArn"]}'
        headers = sign("POST", "/", json_headers(s, "GetQueueAttributes"), body, region="ap-south-1")
        status, text = ask(s, "POST", "/", headers, body)
        assert json.loads(text) == {"Attributes": {"QueueArn": "arn:aws:sqs:ap-south-1:000000000000:orders"}}, text


@test
def curl_signs_as_it_is_verified():
    with Signed() as s:
        def curl(user, *more):
            done = subprocess.run(["curl", "-s", "--max-time", "30", "--aws-sigv4", "aws:amz:us-east-1:sqs", "--user", user, *more],
                                  stdout=subprocess.PIPE, check=True)
            return done.stdout.decode()
        good = f"{ID}:{SECRET}"
        made = curl(good, "-H", "X-Amz-Target: AmazonSQS.CreateQueue", "-H", "Content-Type: application/x-amz-json-1.0",
                    "-d", '{"QueueName": "q"}', f"{s.url}/")
        assert json.loads(made)["QueueUrl"] == f"{s.url}/000000000000/q", made
        sent = curl(good, "-d", "Action=SendMessage&MessageBody=hello&Version=2012-11-05", f"{s.url}/000000000000/q")
        assert "<MD5OfMessageBody>5d41402abc4b2a76b9719d911017c592</MD5OfMessageBody>" in sent, sent
        assert "<Code>SignatureDoesNotMatch</Code>" in curl(f"{ID}:wrong", "-d", "Action=ListQueues&Version=2012-11-05", f"{s.url}/")


@test
def an_unsigned_request_is_denied_before_anything_else_is_looked_at():
    with Signed() as s:
        refused(create(s, without("Authorization")), 403, "AccessDeniedException")
        status, text = ask(s, "POST", "/", without("Authorization")(json_headers(s, "NoSuchAction")), b"no json")
        refused((status, json.loads(text)), 403, "AccessDeniedException")
        body = b"Action=ListQueues&Version=2012-11-05"
        headers = {"Host": "h", "Content-Type": "application/x-www-form-urlencoded"}
        status, text = ask(s, "POST", "/", headers, body)
        assert status == 403 and b"<Code>AccessDenied</Code>" in text, text
        assert ask(s, "GET", "/readyz", {"Host": "h"}, b"")[0] == 200


@test
def wrong_keys_and_signatures_have_the_faults_of_aws():
    with Signed() as s:
        refused(create(s, key_id="nobody"), 403, "UnrecognizedClientException")
        refused(create(s, secret="wrong"), 403, "InvalidSignatureException")
        refused(create(s, body=b'{"QueueName": "ordert"}'), 403, "InvalidSignatureException")
        refused(create(s, changed("X-Amz-Target", "CreateQueue", "DeleteQueue")), 403, "InvalidSignatureException")
        refused(create(s, without("Content-Type")), 403, "InvalidSignatureException")
        refused(create(s, changed("Authorization", "eu-west-1", "eu-west-2")), 403, "InvalidSignatureException")
        refused(create(s, lambda h: dict(h, Authorization=h["Authorization"][:-1] + ("0" if h["Authorization"][-1] != "0" else "1"))),
                403, "InvalidSignatureException")
        # A header that was not signed may be there.
        assert create(s, lambda h: dict(h, Unsigned="x"))[0] == 200


@test
def a_clock_that_is_off_by_more_than_fifteen_minutes_is_refused():
    with Signed() as s:
        now = datetime.datetime.now(datetime.timezone.utc)
        for minutes, good in ((-20, False), (-14, True), (14, True), (20, False)):
            at = now + datetime.timedelta(minutes=minutes)
            got = create(s, at=at)
            if good:
                assert got[0] == 200, (minutes, got)
            else:
                refused(got, 403, "InvalidSignatureException")
        other = (now + datetime.timedelta(days=1)).strftime("%Y%m%d")
        refused(create(s, changed("Authorization", now.strftime("%Y%m%d") + "/", other + "/")), 403, "InvalidSignatureException")


@test
def a_header_that_cannot_be_read_is_an_incomplete_signature():
    with Signed() as s:
        refused(create(s, lambda h: dict(h, Authorization="Basic dXNlcjpwYXNz")), 400, "IncompleteSignatureException")
        refused(create(s, lambda h: dict(h, Authorization="AWS4-HMAC-SHA256")), 400, "IncompleteSignatureException")
        for old, new in (("Credential=", "Credentials="), ("Signature=", "Signature="[:-2] + "x="), ("SignedHeaders=", "Signed="),
                         ("/sqs/", "/sns/"), ("aws4_request", "aws4"), (";host;", ";")):
            refused(create(s, changed("Authorization", old, new)), 400, "IncompleteSignatureException")
        refused(create(s, without("X-Amz-Date")), 400, "IncompleteSignatureException")
        refused(create(s, lambda h: dict(h, **{"X-Amz-Date": "yesterday"})), 400, "IncompleteSignatureException")


@test
def a_file_of_keys_that_makes_no_sense_stops_the_start_and_names_the_line():
    for text, wants in (("", "there is no access key"), ("# none\n", "there is no access key"), ("id secret\nid\n", "line 2"),
                        ("id secret more\n", "line 1"), ("i" * 129 + " secret\n", "line 1"),
                        ("".join(f"id{i} s\n" for i in range(65)), "line 65")):
        s = Signed(text)
        try:
            s.start()
            raise AssertionError(f"it started with {text[:40]!r}")
        except RuntimeError as e:
            assert wants in str(e), e
        finally:
            s.__exit__()


run_tests(globals(), lanes=2)
