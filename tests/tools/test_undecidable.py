"""What cannot be decided is neither a yes nor a no, whatever stands around it."""

import unicodedata
from typing import Any

import pytest

from tests.tools.test_schema import OPEN, schema
from tools.schemas import normal
from tools.schemas.schema import InvalidToolDeclaration, check, declare, declare_condition, satisfies
from tools.schemas.undecidable import Undecidable
from tools.schemas.violations import Violation

# RE2 has no look ahead, and Python's engine is asked about short texts only.
PATTERN = "(?=B)BEGIN PRIVATE KEY"
LONG = "BEGIN PRIVATE KEY" + " " * 10_001
UNDECIDABLE: dict[str, tuple[dict[str, Any], Any]] = {
    "a pattern": ({"pattern": PATTERN}, LONG),
    "a format": ({"format": "uri"}, "https://example.com/" + "a" * 3000),
    "a name's pattern": ({"propertyNames": {"pattern": PATTERN}}, {LONG: 1}),
    "a pattern of properties": ({"patternProperties": {PATTERN: False}}, {LONG: 1}),
    "properties that no pattern names": (
        {"patternProperties": {PATTERN: {}}, "additionalProperties": False},
        {LONG: 1},
    ),
    "too many items": ({"uniqueItems": True}, ["x" * 100_000] * 20),
    "too many steps": ({"items": {"enum": list(range(700))}}, [699] * 60_000),
    "two names that are one": ({"properties": {"é": {"const": 1}}}, {"é": 2, "e\u0301": 1}),
    "endless marks": ({"const": "x"}, "x" + "\u0301\u0323" * 1000),
    "a lone surrogate": ({"pattern": "x"}, "x\ud800"),
}
AROUND: dict[str, Any] = {
    "nothing": lambda inner: inner,
    "not": lambda inner: {"not": inner},
    "not not": lambda inner: {"not": {"not": inner}},
    "allOf": lambda inner: {"allOf": [{}, inner]},
    "anyOf": lambda inner: {"anyOf": [False, inner]},
    "oneOf": lambda inner: {"oneOf": [inner, {}]},
    "if": lambda inner: {"if": inner, "then": False},
    "if, else": lambda inner: {"if": inner, "else": False},
    "then": lambda inner: {"if": {}, "then": inner},
    "else": lambda inner: {"if": False, "else": inner},
}
WITHIN: dict[str, tuple[Any, Any]] = {
    "properties": (lambda inner: {"properties": {"a": inner}, "required": ["a"]}, lambda value: {"a": value}),
    "not properties": (lambda inner: {"not": {"properties": {"a": inner}}}, lambda value: {"a": value}),
    "items": (lambda inner: {"properties": {"a": {"items": inner}}}, lambda value: {"a": [value]}),
    "prefixItems": (lambda inner: {"properties": {"a": {"prefixItems": [inner]}}}, lambda value: {"a": [value]}),
    "contains": (lambda inner: {"properties": {"a": {"contains": inner}}}, lambda value: {"a": [value]}),
    "contains none": (
        lambda inner: {"properties": {"a": {"contains": inner, "minContains": 0, "maxContains": 0}}},
        lambda value: {"a": [value]},
    ),
    "additionalProperties": (lambda inner: {"additionalProperties": inner}, lambda value: {"a": value}),
    "patternProperties": (lambda inner: {"patternProperties": {"^a$": inner}}, lambda value: {"a": value}),
    "dependentSchemas": (
        lambda inner: {"dependentSchemas": {"a": {"properties": {"a": inner}}}},
        lambda value: {"a": value},
    ),
    "a property of a property": (
        lambda inner: {"properties": {"a": {"properties": {"b": inner}}}},
        lambda value: {"a": {"b": value}},
    ),
}


@pytest.mark.parametrize("around", AROUND.values(), ids=AROUND)
@pytest.mark.parametrize(("inner", "value"), UNDECIDABLE.values(), ids=UNDECIDABLE)
def test_no_combinator_makes_an_answer_of_what_cannot_be_decided(inner: Any, value: Any, around: Any) -> None:
    condition = {"properties": {"a": around(inner)}, "required": ["a"]}
    assert satisfies(condition, {"a": value}) is None


@pytest.mark.parametrize(("within", "put"), WITHIN.values(), ids=WITHIN)
@pytest.mark.parametrize(("inner", "value"), UNDECIDABLE.values(), ids=UNDECIDABLE)
def test_nor_does_any_keyword_that_goes_into_a_value(inner: Any, value: Any, within: Any, put: Any) -> None:
    assert satisfies(within(inner), put(value)) is None


@pytest.mark.parametrize("around", AROUND.values(), ids=AROUND)
def test_arguments_that_cannot_be_checked_do_not_fit_a_tools_schema(around: Any) -> None:
    parameters = schema(a=around({"pattern": PATTERN}))
    declare(parameters)
    assert check(parameters, {"a": LONG}) == Violation(
        '"a" is too long to be matched against its pattern; at most 10,000 characters can be.', "a"
    )


def test_the_text_that_cannot_be_checked_is_named_by_its_place() -> None:
    parameters = schema(a={"type": "array", "items": schema(b={"format": "uri"})})
    found = check(parameters, {"a": [{"b": "https://example.com"}, {"b": "https://" + "a" * 3000}]})
    assert found == Violation('"a.1.b" is too long to be checked as uri; at most 2,048 characters can be.', "a.1.b")
    found = check({**OPEN, "patternProperties": {PATTERN: {}}}, {LONG: 1})
    assert found is not None
    assert found.field == LONG[:100] + "…"


def test_what_is_decided_before_is_an_answer() -> None:
    undecidable = {"pattern": PATTERN}
    assert satisfies({"properties": {"a": {"anyOf": [{"minLength": 1}, undecidable]}}}, {"a": LONG}) is True
    assert satisfies({"properties": {"a": {"not": {"anyOf": [{}, undecidable]}}}}, {"a": LONG}) is False


@pytest.mark.parametrize("name", ["date", "date-time", "email", "ipv4", "ipv6", "uuid", "hostname"])
def test_a_text_beyond_the_greatest_length_of_its_format_is_not_of_it(name: str) -> None:
    assert satisfies({"properties": {"a": {"format": name}}}, {"a": "1" * 3000}) is False


def test_long_text_is_matched_by_patterns_and_their_negations() -> None:
    key = {"a": "BEGIN PRIVATE KEY" + " " * 200_000}
    has = {"properties": {"a": {"pattern": "BEGIN PRIVATE KEY"}}, "required": ["a"]}
    assert satisfies(has, key) is True
    assert satisfies({"not": has}, key) is False
    assert satisfies(has, {"a": " " * 200_000}) is False


# --- one normal form -------------------------------------------------------------------------------------------------
COMPOSED = "café"
DECOMPOSED = unicodedata.normalize("NFD", COMPOSED)
ALIKE: dict[str, Any] = {
    "const": lambda text: ({"a": {"const": text}}, {"a": text}),
    "const of an object": lambda text: ({"a": {"const": {text: [text]}}}, {"a": {text: [text]}}),
    "enum": lambda text: ({"a": {"enum": ["x", text]}}, {"a": text}),
    "pattern": lambda text: ({"a": {"pattern": f"^{text}$"}}, {"a": text}),
    "maxLength": lambda text: ({"a": {"maxLength": 4, "minLength": 4}}, {"a": text}),
    "a name": lambda text: ({text: {"const": 1}}, {text: 1}),
    "a name's pattern": lambda text: ({"a": {"propertyNames": {"pattern": f"^{text}$"}}}, {"a": {text: 1}}),
    "a pattern of properties": lambda text: ({"a": {"patternProperties": {text: {"const": 1}}}}, {"a": {text: 1}}),
    "required": lambda text: ({"a": {"required": [text]}}, {"a": {text: 1}}),
    "dependentRequired": lambda text: ({"a": {"dependentRequired": {"b": [text]}}}, {"a": {"b": 1, text: 1}}),
}


@pytest.mark.parametrize("written", [COMPOSED, DECOMPOSED])
@pytest.mark.parametrize("sent", [COMPOSED, DECOMPOSED])
@pytest.mark.parametrize("pair", ALIKE.values(), ids=ALIKE)
def test_a_condition_compares_text_in_one_normal_form(pair: Any, written: str, sent: str) -> None:
    properties, _ = pair(written)
    _, arguments = pair(sent)
    assert satisfies({"properties": properties, "required": list(properties)}, arguments) is True
    assert satisfies({"not": {"properties": properties, "required": list(properties)}}, arguments) is False


def test_two_items_that_are_the_same_text_are_not_unique() -> None:
    unique = {"properties": {"a": {"uniqueItems": True}}}
    assert satisfies(unique, {"a": [COMPOSED, DECOMPOSED]}) is False
    assert satisfies(unique, {"a": [COMPOSED, "cafe"]}) is True


def test_compatible_text_is_not_the_same_text() -> None:
    assert satisfies({"properties": {"a": {"const": "fi"}}}, {"a": "ﬁ"}) is False


def test_a_tools_schema_takes_text_as_it_is() -> None:
    assert check(schema(a={"const": COMPOSED}), {"a": DECOMPOSED}) is not None


def test_a_condition_that_names_one_property_twice_is_refused() -> None:
    with pytest.raises(InvalidToolDeclaration, match="have two names that are the same text in different characters"):
        declare_condition({"properties": {COMPOSED: {}, DECOMPOSED: {}}})


def test_marks_without_end_are_not_sorted() -> None:
    with pytest.raises(Undecidable, match="more than 30 combining marks in a row"):
        normal.text("a" + "\u0301\u0323" * 50_000)
    assert normal.text("a" + "\u0301" * 30) == "á" + "\u0301" * 29
