"""What is found to fit a simple schema at once fits it by the whole check too."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tools.registry import registry
from tools.schemas import schema

PROPERTY: Any = st.fixed_dictionaries(
    {"type": st.sampled_from(["string", "integer", "boolean", "number", "null", "array", "object"])},
    optional={
        "enum": st.lists(st.sampled_from(["", "a", "é", 0, 1, True, 1.0, None]), max_size=4),
        "minLength": st.integers(0, 2),
        "maxLength": st.integers(0, 2),
        "minimum": st.integers(-1, 1) | st.sampled_from([0.5, 1.0]),
        "maximum": st.integers(-1, 1) | st.sampled_from([0.5, 1.0]),
        "description": st.just("words"),
        "exclusiveMinimum": st.integers(-1, 1),
        "pattern": st.just("^a"),
        "format": st.just("date"),
        "const": st.sampled_from(["a", 1]),
    },
)
SCHEMA: Any = st.fixed_dictionaries(
    {
        "type": st.just("object"),
        "properties": st.dictionaries(st.sampled_from("abc"), PROPERTY, max_size=3),
        "additionalProperties": st.just(False),
    },
    optional={
        "required": st.lists(st.sampled_from("abcd"), unique=True, max_size=2),
        "minProperties": st.integers(0, 2),
        "anyOf": st.just([{"required": ["a"]}]),
    },
)
VALUE: Any = st.sampled_from(["", "a", "aé", "aaaa", "2026-01-01", 0, 1, -1, True, False, 1.0, 0.5, None, [], {}])
ARGUMENTS: Any = st.dictionaries(st.sampled_from("abcd"), VALUE, max_size=3)


def _fits(parameters: dict[str, Any], arguments: Any) -> bool:
    fit = schema._simple(parameters)
    return fit is not None and fit.holds(arguments)


def _whole(parameters: dict[str, Any], arguments: dict[str, Any]) -> bool:
    return not schema._errors(parameters, arguments)


@given(SCHEMA, ARGUMENTS)
@settings(max_examples=1500, deadline=None)
def test_what_fits_at_once_fits(parameters: dict[str, Any], arguments: dict[str, Any]) -> None:
    if _fits(parameters, arguments):
        assert _whole(parameters, arguments)


@pytest.mark.parametrize(
    ("arguments", "fits"),
    [
        ({"title": "ab", "count": 2}, True), ({"title": "ab", "done": True, "kind": "note"}, True),
        ({}, False), ({"count": 2}, False), ({"title": "a"}, False), ({"title": "abcd"}, False), ({"title": 2}, False),
        ({"title": "ab", "count": 4}, False), ({"title": "ab", "count": True}, False),
        ({"title": "ab", "done": 1}, False), ({"title": "ab", "kind": "other"}, False),
        ({"title": "ab", "x": 1}, False),
    ],
)  # fmt: skip
def test_a_simple_schema_is_answered_at_once(arguments: dict[str, Any], fits: bool) -> None:
    parameters = {
        "type": "object",
        "properties": {
            "title": {"type": "string", "minLength": 2, "maxLength": 3},
            "count": {"type": "integer", "minimum": 1, "maximum": 3},
            "done": {"type": "boolean"},
            "kind": {"enum": ["note", "task"], "type": "string"},
        },
        "required": ["title"],
        "additionalProperties": False,
    }
    assert _fits(parameters, arguments) is _whole(parameters, arguments) is fits
    assert (schema.check(parameters, arguments) is None) is fits


@pytest.mark.parametrize(
    "more",
    [{"minProperties": 1}, {"anyOf": [{}]}, {"$ref": "#"}, {"type": "array"}, {"properties": 1}, {"required": "a"}],
    ids=str,
)
def test_another_schema_takes_the_whole_check(more: dict[str, Any]) -> None:
    assert not _fits({"type": "object", "properties": {"a": {"type": "string"}}} | more, {"a": "b"})


def test_most_tools_without_arguments_are_answered_at_once() -> None:
    tool = registry().get("list_tasks")
    assert tool is not None and _fits(tool.parameters, {})
