# SPDX-License-Identifier: Apache-2.0
"""api/openapi.yaml, api/rest.def and api/problems.def say the same: paths, methods, operations, query parameters and their
bounds, settings and their bounds, problems and their statuses. No server is needed."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "lib"))
from leaselog import run_tests, test
from openapi import Document, Wrong, load, read, rows

DOCUMENT = Document()
REST = read("rest.def")
FLAGS = ["", "0", "1", "false", "true"]


def same(what, table, document):
    assert table == document, f"{what}: only in the table {table - document}, only in the document {document - table}"


@test
def the_routes_are_the_paths_methods_and_operations():
    same("routes", {tuple(r) for r in rows(REST, "ROUTE")},
         {(method, path, oid) for oid, (method, path, _) in DOCUMENT.operations.items()})


def parameter_of_document(schema):
    """(kind, min, max, default, choices) as api/rest.def has them."""
    schema = DOCUMENT.resolve(schema)
    preset = str(schema.get("default", ""))
    if schema.get("enum") == FLAGS:
        return ("FLAG", 0, 1, preset, "")
    if "enum" in schema:
        return ("CHOICE", 0, 0, preset, "|".join(schema["enum"]))
    if "x-seconds-max" in schema:
        return ("DURATION", schema["x-seconds-min"], schema["x-seconds-max"], preset, "")
    if schema["type"] == "integer":
        return ("NUMBER", schema["minimum"], schema["maximum"], preset, "")
    return ("TEXT", schema["minLength"], schema["maxLength"], preset, "")


@test
def the_query_parameters_have_the_same_kinds_bounds_and_defaults():
    table = {(o, n, k, int(low), int(high), d, c) for o, n, k, low, high, d, c in rows(REST, "PARAM")}
    document = {(oid, name, *parameter_of_document(schema))
                for oid, (_, _, operation) in DOCUMENT.operations.items()
                for name, schema in DOCUMENT.parameters(operation, "query").items() if name != "pretty"}
    same("parameters", table, document)


@test
def every_operation_knows_pretty_and_its_path_parameters():
    for oid, (_, path, operation) in DOCUMENT.operations.items():
        assert "pretty" in DOCUMENT.parameters(operation, "query"), oid
        same(oid, {part[1:-1] for part in path.split("/") if part.startswith("{")},
             set(DOCUMENT.parameters(operation, "path")))


@test
def the_settings_have_the_same_kinds_and_bounds():
    members = DOCUMENT.properties({"$ref": "#/components/schemas/TopicSettings"})
    known = {"name", "version", "created_at", "modified_at", "stats", "usage", "oldest"}  # of the output, ignored
    for name, kind, low, high in rows(REST, "SETTING"):
        schema = DOCUMENT.resolve(members[name])
        known.add(name)
        if kind == "DURATION":
            assert members[name + "_seconds"]["type"] == "number"
            known.add(name + "_seconds")
            assert (schema["x-seconds-min"], schema["x-seconds-max"]) == (int(low), int(high)), name
        elif kind == "NUMBER":
            assert (schema["minimum"], schema["maximum"]) == (int(low), int(high)), name
        else:
            assert schema["type"] == {"FLAG": "boolean", "CHOICE": "string", "OBJECT": "object"}[kind], name
    same("settings", known, set(members))


@test
def the_problems_have_the_same_statuses():
    table = {(name, int(status)) for _, name, status, _, _ in rows(read("problems.def"), "PROBLEM")}
    document = set()
    for key, response in DOCUMENT.tree["components"]["responses"].items():
        document |= {(name, int(key.removeprefix("Problem"))) for name in response["x-problems"]}
    same("problems", table, document)


def references(node):
    if isinstance(node, dict):
        if "$ref" in node:
            yield node["$ref"]
        for x in node.values():
            yield from references(x)
    elif isinstance(node, list):
        for x in node:
            yield from references(x)


@test
def every_reference_leads_somewhere_and_every_component_is_used():
    used = set(references(DOCUMENT.tree))
    for r in used:
        DOCUMENT.resolve({"$ref": r})
    there = {f"#/components/{kind}/{name}" for kind, names in DOCUMENT.tree["components"].items() for name in names}
    unused = {x for x in there - used if not x.endswith("/Problem500")}
    assert unused <= {"#/components/headers/Allow"}, unused


@test
def every_operation_has_an_example_in_curl():
    for oid, (_, _, operation) in DOCUMENT.operations.items():
        for line in operation["x-codeSamples"][0]["source"].strip().split("\n"):
            assert line.startswith("curl ") and "localhost:9324/" in line, (oid, line)


@test
def the_small_reader_refuses_what_it_does_not_know():
    assert load('a:\n  - b: "x: y"\n    c: [1, d, "e, f"]\n  - |\n    t\n     u\n') == \
        {"a": [{"b": "x: y", "c": [1, "d", "e, f"]}, "t\n u\n"]}
    for bad in ("a: b: c\n", "a: 1\na: 2\n", "a:\n", "a: 'x'\n", "a:\n  b\n", "a: {b: 1}\n"):
        try:
            load(bad)
        except Wrong:
            continue
        raise AssertionError(f"taken: {bad!r}")


@test
def a_full_yaml_reader_reads_the_same():
    try:
        import yaml
    except ImportError:
        print("SKIP: python3-yaml is not here")
        return
    text = read("openapi.yaml")
    assert yaml.safe_load(text) == load(text)


run_tests(globals())
