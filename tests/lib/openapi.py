# SPDX-License-Identifier: Apache-2.0
"""Reads api/openapi.yaml and the tables beside it, and judges answers by it. Standard library only: the document keeps to
a small part of YAML, which is all that load() knows."""
import json
import os
import re

API = os.path.join(os.path.dirname(__file__), "..", "..", "api")


class Wrong(Exception):
    """Something is not as the document says."""


# ---- the small part of YAML ----

def scalar(text):
    if text.startswith('"'):
        return json.loads(text)
    if text.startswith("["):
        if not text.endswith("]"):
            raise Wrong(f"a list on one line: {text}")
        return [scalar(x) for x in re.findall(r'"(?:[^"\\]|\\.)*"|[^,\s][^,]*', text[1:-1])]
    if text in ("true", "false"):
        return text == "true"
    if re.fullmatch(r"-?[0-9]+", text):
        return int(text)
    if re.search(r": | #|^[&*!|>%@`'{]", text):
        raise Wrong(f"quotes are missing around: {text}")
    return text


class Reader:
    def __init__(self, text):
        self.lines = []
        for number, line in enumerate(text.split("\n"), 1):
            self.lines.append((number, len(line) - len(line.lstrip(" ")), line.strip()))
        self.at = 0

    def peek(self):
        while self.at < len(self.lines) and (not self.lines[self.at][2] or self.lines[self.at][2].startswith("#")):
            self.at += 1
        return self.lines[self.at] if self.at < len(self.lines) else (0, -1, "")

    def value(self, text, indent):
        """What stands behind `key:` or `- `, of a parent at this indent."""
        if text == "|":
            return self.block(indent)
        if text:
            return scalar(text)
        _, deeper, _ = self.peek()
        if deeper <= indent:
            raise Wrong(f"line {self.lines[self.at - 1][0]}: nothing below")
        return self.node(deeper)

    def block(self, indent):
        got, inside = [], None
        while self.at < len(self.lines):
            _, deep, text = self.lines[self.at]
            if text and deep <= indent:
                break
            inside = deep if inside is None and text else inside
            got.append(" " * (deep - inside) + text if text else "")
            self.at += 1
        while got and not got[-1]:
            got.pop()
        return "\n".join(got) + "\n"

    def node(self, indent):
        return self.sequence(indent) if self.peek()[2].startswith("- ") else self.mapping(indent)

    def sequence(self, indent):
        got = []
        while True:
            number, deep, text = self.peek()
            if deep != indent or not text.startswith("- "):
                return got
            rest = text[2:]
            if re.match(r'("[^"]*"|[\w$*/.{}:-]+):( |$)', rest):
                self.lines[self.at] = (number, indent + 2, rest)
                got.append(self.mapping(indent + 2))
            else:
                self.at += 1
                got.append(self.value(rest, indent))

    def mapping(self, indent):
        got = {}
        while True:
            number, deep, text = self.peek()
            if deep < indent:
                return got
            m = re.match(r'("(?:[^"]*)"|[^\s"]+):(?: (.*))?$', text)
            if deep != indent or not m:
                raise Wrong(f"line {number}: {text}")
            key = str(scalar(m[1])) if m[1].startswith('"') else m[1]
            if key in got:
                raise Wrong(f"line {number}: {key} twice")
            self.at += 1
            got[key] = self.value(m[2] or "", indent)


def load(text):
    reader = Reader(text)
    got = reader.node(0)
    if reader.peek()[1] >= 0:
        raise Wrong(f"line {reader.peek()[0]}: not read")
    return got


def read(name):
    with open(os.path.join(API, name), encoding="utf-8") as f:
        return f.read()


# ---- the tables ----

def rows(text, macro):
    """The calls of a macro as lists of texts; adjoining literals are one."""
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    got = []
    for m in re.finditer(r"^%s\(((?:\"(?:[^\"\\]|\\.)*\"|[^\")])*)\)" % macro, text, flags=re.M):
        fields = re.findall(r'((?:"(?:[^"\\]|\\.)*"\s*)+)|([^,\s"]+)', m[1])
        got.append(["".join(re.findall(r'"((?:[^"\\]|\\.)*)"', a)) if a else b for a, b in fields])
    return got


# ---- the document ----

class Document:
    def __init__(self):
        self.tree = load(read("openapi.yaml"))
        self.operations = {}
        for path, methods in self.tree["paths"].items():
            for method, operation in methods.items():
                if operation["operationId"] in self.operations:
                    raise Wrong(f"operation twice: {operation['operationId']}")
                self.operations[operation["operationId"]] = (method.upper(), path, operation)

    def resolve(self, node):
        """Follows a $ref; what stands beside it is added."""
        if not isinstance(node, dict) or "$ref" not in node:
            return node
        found = self.tree
        for part in node["$ref"].removeprefix("#/").split("/"):
            if part not in found:
                raise Wrong(f"a reference to nothing: {node['$ref']}")
            found = found[part]
        return {**self.resolve(found), **{k: v for k, v in node.items() if k != "$ref"}}

    def parameters(self, operation, where):
        all_of_it = [self.resolve(p) for p in operation.get("parameters", [])]
        return {p["name"]: self.resolve(p["schema"]) for p in all_of_it if p["in"] == where}

    def find(self, method, path):
        """The operation of a request, or None."""
        parts = path.partition("?")[0].split("/")
        best = None
        for oid, (known, template, operation) in self.operations.items():
            wanted = template.split("/")
            if known == method and len(parts) == len(wanted) and all(
                    w == p or w.startswith("{") for w, p in zip(wanted, parts)):
                if best is None or template.count("{") < best[1].count("{"):
                    best = (oid, template, operation)
        return best and (best[0], best[2])

    # ---- schemas, as far as the document uses them ----

    def properties(self, schema):
        schema = self.resolve(schema)
        got = dict(schema.get("properties", {}))
        for part in schema.get("allOf", []):
            got.update(self.properties(part))
        return got

    def check(self, value, schema, at=""):
        schema = self.resolve(schema)
        kinds = {"object": dict, "array": list, "string": str, "boolean": bool, "integer": int, "number": (int, float)}
        kind = schema.get("type")
        if kind == "null":
            if value is not None:
                raise Wrong(f"{at}: {value!r} is not null")
            return
        if kind and (not isinstance(value, kinds[kind]) or (kind in ("integer", "number") and isinstance(value, bool))):
            raise Wrong(f"{at}: {value!r} is no {kind}")
        if "enum" in schema and value not in schema["enum"]:
            raise Wrong(f"{at}: {value!r} is none of {schema['enum']}")
        if "pattern" in schema and not re.search(schema["pattern"], value):
            raise Wrong(f"{at}: {value!r} is not like {schema['pattern']}")
        if value_out_of_bounds(value, schema):
            raise Wrong(f"{at}: {value!r} is out of bounds")
        for part in schema.get("allOf", []):
            self.check(value, part, at)
        if "oneOf" in schema:
            self.check_one(value, schema["oneOf"], at)
        if isinstance(value, list) and "items" in schema:
            for i, x in enumerate(value):
                self.check(x, schema["items"], f"{at}/{i}")
        if isinstance(value, dict):
            self.check_members(value, schema, at)

    def check_one(self, value, schemas, at):
        faults = []
        for schema in schemas:
            try:
                self.check(value, schema, at)
            except Wrong as e:
                faults.append(str(e))
        if len(schemas) - len(faults) != 1:
            raise Wrong(f"{at}: fits {len(schemas) - len(faults)} of {len(schemas)}: {faults}")

    def check_members(self, value, schema, at):
        known = self.properties(schema)
        rest = schema.get("additionalProperties", None)
        for name in schema.get("required", []):
            if name not in value:
                raise Wrong(f"{at}: {name} is missing")
        for name, x in value.items():
            if name in known:
                self.check(x, known[name], f"{at}/{name}")
            elif isinstance(rest, dict):
                self.check(x, rest, f"{at}/{name}")
            elif rest is False or "allOf" in schema:
                raise Wrong(f"{at}: {name} is unknown")

    def check_answer(self, operation, status, headers, body):
        """Judges a whole answer: its status is one that the operation has, its body fits the schema."""
        responses = operation["responses"]
        if str(status) not in responses:
            raise Wrong(f"{operation['operationId']} does not answer {status}: {body[:300]!r}")
        response = self.resolve(responses[str(status)])
        content = response.get("content")
        if content is None:
            if body:
                raise Wrong(f"{status} with a body: {body[:300]!r}")
            return
        kind = (headers.get("Content-Type") or "").partition(";")[0]
        schema = content.get(kind, content.get("application/octet-stream"))
        if schema is None:
            raise Wrong(f"{status} has no type {kind}")
        if kind == "application/x-ndjson":
            for line in body.splitlines():
                self.check(json.loads(line), schema["schema"])
        elif kind.endswith("json") and kind in content:
            self.check(json.loads(body), schema["schema"])
        if status >= 400 and json.loads(body)["type"].rpartition("/")[2] not in response["x-problems"]:
            raise Wrong(f"{status}: {body[:300]!r} is no problem of this status")


def value_out_of_bounds(value, schema):
    n = len(value) if isinstance(value, (str, list)) else value
    low = schema.get({str: "minLength", list: "minItems"}.get(type(value), "minimum"))
    high = schema.get({str: "maxLength", list: "maxItems"}.get(type(value), "maximum"))
    return (low is not None and n < low) or (high is not None and n > high)
