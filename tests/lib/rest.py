# SPDX-License-Identifier: Apache-2.0
"""A client of the REST API that holds every answer against api/openapi.yaml."""
import json

from leaselog import Client
from openapi import Document

DOCUMENT = Document()
SEEN = {}  # operationId → statuses that were answered


class Answer:
    def __init__(self, status, body, headers):
        self.status, self.body, self.headers = status, body, headers

    @property
    def json(self):
        return json.loads(self.body)

    def __repr__(self):
        return f"<{self.status} {self.body[:400]!r}>"


class Rest(Client):
    """c.get("/v1/topics"), c.post(path, body), … ; a dict or list is sent as JSON."""

    def ask(self, method, path, body=None, headers=None):
        headers = dict(headers or {})
        if isinstance(body, (dict, list)):
            body = json.dumps(body).encode()
            headers.setdefault("Content-Type", "application/json")
        a = Answer(*self.raw(method, path, body, headers))
        assert a.headers.get("Request-Id") or a.status == 431, a
        known = DOCUMENT.find(method, path)
        if known:
            DOCUMENT.check_answer(known[1], a.status, a.headers, a.body)
            SEEN.setdefault(known[0], set()).add(a.status)
        elif a.status >= 400 and method != "HEAD":
            DOCUMENT.check(a.json, {"$ref": "#/components/schemas/Problem"})
        return a

    def get(self, path, **kw):
        return self.ask("GET", path, **kw)

    def post(self, path, body=None, **kw):
        return self.ask("POST", path, body, **kw)

    def put(self, path, body=None, **kw):
        return self.ask("PUT", path, body, **kw)

    def patch(self, path, body=None, **kw):
        return self.ask("PATCH", path, body, **kw)

    def delete(self, path, **kw):
        return self.ask("DELETE", path, **kw)

    # ---- what most tests begin with ----

    def topic(self, name="q", **settings):
        a = self.put(f"/v1/topics/{name}", settings or None)
        assert a.status in (200, 201), a
        return a.json

    def send(self, body, topic="q", **headers):
        a = self.post(f"/v1/topics/{topic}/messages", body, headers={k.replace("_", "-"): v for k, v in headers.items()})
        assert a.status in (200, 201), a
        return a.json

    def receive(self, topic="q", **query):
        path = f"/v1/topics/{topic}/groups/default/receive?" + "&".join(f"{k}={v}" for k, v in query.items())
        a = self.post(path)
        assert a.status in (200, 204), a
        return a.json["messages"] if a.status == 200 else []


def problem(a, status, name, place=None):
    """The answer is this problem, and blames this place: ("pointer", "/a"), ("parameter", "a") or ("header", "A")."""
    assert a.status == status, a
    got = a.json
    assert got["type"] == f"/problems/{name}" and got["status"] == status, a
    assert got["instance"] == a.headers["Request-Id"], a
    if place:
        assert got["errors"][0].get(place[0]) == place[1], a
    return got
