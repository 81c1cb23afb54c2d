"""The form of a question's answer, made from its JSON Schema: a field for each property, and text for what has none."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

_TYPES = {"date": "date", "email": "email", "uri": "url", "date-time": "text"}
_CUT = 100


@dataclass(frozen=True, slots=True)
class Choice:
    """One of the values that a field offers."""

    value: str
    title: str
    chosen: bool


@dataclass(frozen=True, slots=True)
class Field:
    """One property of the answer. `kind` is text, number, check, choice, choices or json; `input` the type of an input
    element."""

    name: str
    label: str
    help: str
    kind: str
    required: bool
    value: str = ""
    checked: bool = False
    input: str = "text"
    choices: tuple[Choice, ...] = ()

    @property
    def key(self) -> str:
        """The name in the form: never one of the form's own."""
        return f"field.{self.name}"


def fields(schema: Mapping[str, Any], typed: Mapping[str, Any] | None = None) -> list[Field]:
    """The fields of a schema's properties, with what was typed, or the schema's defaults."""
    properties = schema.get("properties")
    if not isinstance(properties, dict):
        return []
    required = schema.get("required", [])
    return [
        _field(name, each if isinstance(each, dict) else {}, name in required, typed)
        for name, each in properties.items()
    ]


def content(schema: Mapping[str, Any], sent: Any) -> dict[str, Any]:
    """What a form holds, as the answer; a field that was left empty is left out. Text that is no number stays text, so
    that the schema says what is wrong with it."""
    answer: dict[str, Any] = {}
    for field in fields(schema):
        given = sent.getlist(field.key)
        text = (given[0] if given else "").replace("\r\n", "\n")
        if field.kind == "check":
            answer[field.name] = bool(given)
        elif field.kind == "choices":
            if given or field.required:
                answer[field.name] = list(given)
        elif text != "":
            answer[field.name] = _read(text) if field.kind in ("number", "json") else text
    return answer


def _read(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _field(name: str, schema: dict[str, Any], required: bool, typed: Mapping[str, Any] | None) -> Field:
    value = schema.get("default") if typed is None else typed.get(name)
    label, about = str(schema.get("title") or name)[:_CUT], str(schema.get("description") or "")[:1000]
    kind = schema.get("type")
    options = _options(schema)
    if kind == "boolean":
        return Field(name, label, about, "check", required, checked=value is True)
    if kind == "string" and options is not None:
        return Field(name, label, about, "choice", required, choices=_choices(options, [value]))
    if kind == "array" and isinstance(schema.get("items"), dict):
        options = _options(schema["items"])
        if options is not None:
            chosen = value if isinstance(value, list) else []
            return Field(name, label, about, "choices", required, choices=_choices(options, chosen))
    if kind in ("integer", "number"):
        return Field(name, label, about, "number", required, "" if value is None else str(value))
    if kind == "string":
        shown = "" if value is None else str(value)
        return Field(name, label, about, "text", required, shown, input=_TYPES.get(str(schema.get("format")), "text"))
    return Field(name, label, about, "json", required, "" if value is None else json.dumps(value))


def _options(schema: dict[str, Any]) -> list[tuple[str, str]] | None:
    """The values that a schema of text allows, each with its title; None where it does not list them."""
    listed = schema.get("enum")
    if isinstance(listed, list) and listed and all(isinstance(each, str) for each in listed):
        names = schema.get("enumNames")
        titles = names if isinstance(names, list) and len(names) == len(listed) else listed
        return [(value, str(title)[:_CUT]) for value, title in zip(listed, titles, strict=True)]
    for word in ("oneOf", "anyOf"):
        each = schema.get(word)
        if isinstance(each, list) and each and all(isinstance(one, dict) and "const" in one for one in each):
            return [(str(one["const"]), str(one.get("title") or one["const"])[:_CUT]) for one in each]
    return None


def _choices(options: list[tuple[str, str]], chosen: list[Any]) -> tuple[Choice, ...]:
    return tuple(Choice(value, title, value in chosen) for value, title in options)
