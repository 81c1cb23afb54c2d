"""What is found to be a valid schema at once is valid to JSON Schema's own schema too."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from tools.registry import registry
from tools.schemas.plain import is_plain

KEYWORDS = (
    *("type", "properties", "required", "additionalProperties", "items", "enum", "const", "default", "examples"),
    *("title", "description", "pattern", "format", "deprecated", "readOnly", "uniqueItems", "minimum", "maximum"),
    *("exclusiveMinimum", "minLength", "maxItems", "minProperties", "anyOf", "oneOf", "allOf", "not", "$ref", "if"),
)
VALUES: Any = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 3) | st.floats(0, 2) | st.sampled_from(["string", "array", "a", ""]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYWORDS), inner, max_size=4),
    max_leaves=12,
)


@given(VALUES)
@settings(max_examples=1500, deadline=None)
def test_a_plain_schema_is_valid(schema: Any) -> None:
    if is_plain(schema):
        assert Draft202012Validator(Draft202012Validator.META_SCHEMA).is_valid(schema)


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "text"}, {"type": []}, {"type": ["string", "string"]}, {"required": ["a", "a"]}, {"required": "a"},
        {"properties": []}, {"properties": {"a": 1}}, {"minLength": -1}, {"minLength": True}, {"minLength": 1.5},
        {"maximum": "1"}, {"anyOf": []}, {"anyOf": {}}, {"items": [{}]}, {"enum": {}}, {"title": 1}, {"not": None},
        {"$ref": "#/a"}, {"unknown": 1}, [], "text", None, 1,
    ],
)  # fmt: skip
def test_what_is_wrong_or_uncommon_is_not_plain(schema: Any) -> None:
    assert not is_plain(schema)


@pytest.mark.parametrize("tool", registry().all(), ids=lambda tool: tool.name)
def test_the_schemas_of_the_built_in_tools_are_plain(tool: Any) -> None:
    assert is_plain(tool.parameters)
