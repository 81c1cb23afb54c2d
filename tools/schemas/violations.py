"""What is wrong with a call's arguments, in words that a model can act on."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import orjson
from jsonschema import ValidationError

from tools.schemas.arguments import shown
from tools.schemas.undecidable import Undecidable

# Enough of a wrong value to recognise it by, and of what was expected to correct it.
_SHOWN_VALUE = 100
_SHOWN_EXPECTED = 500


@dataclass(frozen=True, slots=True)
class Violation:
    """Why arguments do not fit: `field` is a dotted path such as "limit" or "tags.0", None for the whole."""

    message: str
    field: str | None


def violation(error: ValidationError) -> Violation:
    """A jsonschema error as a Violation; for a missing or unexpected property `field` is that property."""
    path: list[str | int] = list(error.absolute_path)
    expected: Any = error.validator_value
    instance: Any = error.instance
    if error.validator == "required":
        missing = next((name for name in expected if name not in instance), "")
        path.append(missing)
        said = "is required"
    else:
        said = _said(error)
    field = ".".join(shown(str(part)) for part in path) or None
    field = shown(field) if field else None
    return Violation(f'"{field}" {said}.' if field else f"The arguments {said}.", field)


def unchecked(undecidable: Undecidable, arguments: Any) -> Violation:
    """A check that could not be decided as a Violation; its field is where the text at fault is, if it is one text."""
    field = _place(arguments, undecidable.subject) if undecidable.subject is not None else None
    what = f'"{field}"' if field else "The arguments"
    return Violation(f"{what} {_cut(undecidable.why, _SHOWN_EXPECTED)}.", field)


def _place(arguments: Any, subject: str) -> str | None:
    """The path of this very text, as a value or a name; None when it is not there."""
    branches: list[tuple[Any, str]] = [(arguments, "")]
    while branches:
        branch, path = branches.pop()
        members = branch.items() if isinstance(branch, dict) else enumerate(branch)
        for name, item in members:
            at = f"{path}{shown(str(name))}"
            if item is subject or name is subject:
                return shown(at)
            if isinstance(item, dict | list):
                branches.append((item, f"{at}."[-_SHOWN_VALUE:]))
    return None


def _said(error: ValidationError) -> str:
    expected: Any = error.validator_value
    keyword = str(error.validator)
    if keyword in {"pattern", "patternProperties", "uniqueItems", "additionalProperties"}:
        return _cut(error.message, _SHOWN_EXPECTED)
    words = {
        "minLength": f"must have at least {expected} characters",
        "maxLength": f"must have at most {expected} characters",
        "minItems": f"must have at least {expected} items",
        "maxItems": f"must have at most {expected} items",
        "minProperties": f"must have at least {expected} properties",
        "maxProperties": f"must have at most {expected} properties",
        "minimum": f"must be at least {expected}",
        "maximum": f"must be at most {expected}",
        "exclusiveMinimum": f"must be more than {expected}",
        "exclusiveMaximum": f"must be less than {expected}",
        "multipleOf": f"must be a multiple of {expected}",
    }
    if keyword in words:
        return words[keyword] + (_got(error.instance) if isinstance(error.instance, int | float) else "")
    if keyword in {"type", "format", "enum", "const"}:
        return f"must be {_expected(keyword, expected)}{_got(error.instance)}"
    if keyword in {"anyOf", "oneOf"}:
        return f"must be {_either(_choice(each) for each in expected)}{_got(error.instance)}"
    return "must fit the tool's schema" + _got(error.instance)


def _choice(schema: Any) -> str:
    for keyword in ("format", "const", "enum", "type"):
        if isinstance(schema, dict) and keyword in schema:
            return _expected(keyword, schema[keyword])
    return "another form"


def _expected(keyword: str, value: Any) -> str:
    if keyword == "format":
        return f"a valid {shown(str(value))}"
    if keyword == "const":
        return _json(value, _SHOWN_EXPECTED)
    if keyword == "enum":
        return _cut("one of " + ", ".join(_json(each, _SHOWN_VALUE) for each in value), _SHOWN_EXPECTED)
    types = value if isinstance(value, list) else [value]
    return _either({"integer": "an integer", "object": "an object", "array": "an array", "null": "null"}.get(
        each, f"a {each}") for each in types)  # fmt: skip


def _either(words: Iterable[str]) -> str:
    return _cut(" or ".join(words), _SHOWN_EXPECTED)


def _got(instance: Any) -> str:
    return f", not {_json(instance, _SHOWN_VALUE)}"


def _json(value: Any, limit: int) -> str:
    if isinstance(value, str):
        value = value[: limit + 1]
    elif isinstance(value, dict | list):
        return f"{'an object' if isinstance(value, dict) else 'an array'} of {len(value)}"
    try:
        return _cut(orjson.dumps(value).decode(), limit)
    except TypeError:
        return "that value"


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[:limit] + "…"
