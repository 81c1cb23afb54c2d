"""The functions of the Berkeley Function Calling Leaderboard, and the calls that it holds to be right.

`make` puts them beside the virtual environment's packages, see requirements.lock.
"""

import json
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

DATA = Path(sys.prefix) / "bfcl" / "bfcl_eval" / "data"
# What the leaderboard's own words for types mean, those of Java among them; any other stands for every type.
TYPES = {
    word: kind
    for kind, words in {
        "object": "dict HashMap",
        "array": "array tuple Array ArrayList",
        "string": "string String char",
        "integer": "integer long",
        "number": "float double",
        "boolean": "boolean Boolean",
    }.items()
    for word in words.split()
}
# Calls in Java and JavaScript have arguments written in those languages.
_OTHER_LANGUAGES = ("BFCL_v4_simple_java.json", "BFCL_v4_simple_javascript.json")


@dataclass(frozen=True, slots=True)
class Function:
    """A function as the leaderboard declares it, with a schema that is JSON Schema."""

    name: str
    description: str
    parameters: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Call:
    """A call that the leaderboard holds to be right."""

    question: str
    function: Function
    arguments: dict[str, Any]


def need() -> None:
    """Skip where the data is not; in CI that is a failure."""
    if not DATA.is_dir():
        missing = f"the leaderboard's data is not in {DATA}; `make test` puts it there"
        pytest.fail(missing) if os.environ.get("CI") else pytest.skip(missing)


def functions() -> list[Function]:
    """Every function of every question."""
    found = []
    for path in sorted(DATA.glob("BFCL_v4_*.json")):
        if path.name != "BFCL_v4_format_sensitivity.json":
            found += [_function(each) for row in _rows(path) for each in row.get("function", ())]
    return found


def calls() -> list[Call]:
    """Every call that answers a question of one turn."""
    return [call for path in sorted(DATA.glob("possible_answer/BFCL_v4_*.json")) for call in _calls(path)]


def _calls(path: Path) -> Iterator[Call]:
    if path.name in _OTHER_LANGUAGES or any(kind in path.name for kind in ("multi_turn", "memory", "web_search")):
        return
    asked = {row["id"]: row["function"] for row in _rows(DATA / path.name)}
    for row in _rows(path):
        offered = {each["name"]: _function(each) for each in asked[row["id"]]}
        for answer in row["ground_truth"]:
            for name, options in answer.items():
                yield Call(row["id"], offered[name], _chosen(options))


def _chosen(options: dict[str, Any]) -> dict[str, Any]:
    """Of each argument the first of the values that are right; "" is one that is left out."""
    kept = {name: values for name, values in options.items() if values and values[0] != ""}
    return {name: _inner(values[0]) for name, values in kept.items()}


def _inner(value: Any) -> Any:
    """A value in which objects have right values for their members, too."""
    if isinstance(value, list):
        return [_inner(item) if isinstance(item, dict) else item for item in value]
    if not isinstance(value, dict):
        return value
    listed = {name: item if isinstance(item, list) else [item] for name, item in value.items()}
    return {name: _inner(item[0]) if item else item for name, item in listed.items() if not item or item[0] != ""}


def _rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def _function(declared: dict[str, Any]) -> Function:
    parameters = {**_schema(declared["parameters"]), "additionalProperties": False}
    return Function(declared["name"], declared["description"], parameters)


def _schema(declared: dict[str, Any]) -> dict[str, Any]:
    schema = dict(declared)
    kind = TYPES.get(schema.pop("type", ""))
    if kind:
        schema["type"] = kind
    if isinstance(schema.get("properties"), dict):
        schema["properties"] = {name: _schema(each) for name, each in schema["properties"].items()}
    for keyword in ("items", "additionalProperties"):
        if isinstance(schema.get(keyword), dict):
            schema[keyword] = _schema(schema[keyword])
    return schema
