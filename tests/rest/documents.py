"""The OpenAPI document, and answers held against it."""

import functools
import io
import json
from typing import Any

import httpx
from django.core.management import call_command
from jsonschema import Draft202012Validator

Schema = dict[str, Any]


@functools.cache
def document() -> Schema:
    """The document, as it is served."""
    text = io.StringIO()
    call_command("spectacular", format="openapi-json", stdout=text)
    found: Schema = json.loads(text.getvalue())
    return found


def named(component: str) -> Schema:
    """A component's schema, by reference."""
    return {"$ref": f"#/components/schemas/{component}"}


def problems_of(schema: Schema, value: Any) -> list[str]:
    """What is wrong with a value by a schema of the document, undocumented fields included."""
    whole = {**schema, "components": _strict()["components"]}
    validator = Draft202012Validator(whole, format_checker=Draft202012Validator.FORMAT_CHECKER)
    return [f"{error.json_path}: {error.message[:300]}" for error in validator.iter_errors(value)]


def assert_documented(method: str, path: str, answer: httpx.Response) -> Any:
    """The answer is one that the document has for the operation; its JSON."""
    responses = document()["paths"][path][method.lower()]["responses"]
    assert str(answer.status_code) in responses, f"{method} {path}: {answer.status_code} is undocumented"
    content = responses[str(answer.status_code)]["content"]
    kind = answer.headers["Content-Type"].partition(";")[0]
    assert kind in content, f"{method} {path}: {answer.status_code} {kind} is undocumented"
    problems = problems_of(content[kind]["schema"], answer.json())
    assert problems == [], f"{method} {path}: {answer.status_code}: {problems}"
    return answer.json()


@functools.cache
def _strict() -> Schema:
    """The document, in which no object has fields that are not described, unless it says so."""
    found: Schema = _closed(document())
    return found


def _closed(node: Any) -> Any:
    if isinstance(node, list):
        return [_closed(each) for each in node]
    if not isinstance(node, dict):
        return node
    closed = {name: _closed(value) for name, value in node.items()}
    if node.get("type") == "object" and isinstance(node.get("properties"), dict):
        closed.setdefault("additionalProperties", False)
    return closed
