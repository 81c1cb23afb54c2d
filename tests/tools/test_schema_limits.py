import inspect
import sys
import time
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.tools.test_schema import OPEN, schema
from tools.schemas.schema import InvalidToolDeclaration, check, declare
from tools.schemas.violations import Violation


def bomb():
    doubling = {f"d{i}": {"allOf": [{"$ref": f"#/$defs/d{i + 1}"}] * 2} for i in range(18)}
    return {**OPEN, "$defs": {**doubling, "d18": {"type": "integer"}}, "properties": {"a": {"$ref": "#/$defs/d0"}}}


def nested(levels):
    value = 1
    for _ in range(levels):
        value = {"a": value}
    return value


TWICE = {"properties": {"a": {"$ref": "#/$defs/n"}}}
EXPLOSIONS = {
    "two to the eighteenth allOf": (bomb(), {"a": 1}),
    "two to the depth of the value": (
        {**OPEN, "$defs": {"n": {"allOf": [TWICE, TWICE]}}, "properties": {"a": {"$ref": "#/$defs/n"}}},
        nested(60),
    ),
    "a large enum for every item": (
        schema(a={"type": "array", "items": {"enum": list(range(5000))}}),
        {"a": [4999] * 60_000},
    ),
    "a cubic pattern for every item": (
        schema(a={"type": "array", "items": {"pattern": "^(?=a)a*a*a*b$"}}),
        {"a": ["a" * 390 + "b"] * 600},
    ),
}


@pytest.mark.parametrize(("parameters", "arguments"), EXPLOSIONS.values(), ids=EXPLOSIONS)
def test_a_check_that_explodes_is_given_up_as_a_violation(parameters, arguments):
    declare(parameters)
    started = time.process_time()
    violation = check(parameters, arguments)
    assert violation == Violation(
        "The arguments and the tool's schema are too complex to be checked against each other.", None
    )
    assert time.process_time() - started < 10


def test_the_steps_of_one_check_are_not_charged_to_the_next():
    check(*EXPLOSIONS["two to the eighteenth allOf"])
    assert check(schema(title={"type": "string"}), {"title": "x"}) is None


def test_many_items_without_order_are_told_apart_quickly():
    parameters = schema(a={"type": "array", "uniqueItems": True})
    started = time.process_time()
    assert check(parameters, {"a": [{"i": i} for i in range(20_000)]}) is None
    assert time.process_time() - started < 10


def test_a_check_deep_in_the_stack_is_a_violation_and_not_a_recursion_error():
    parameters = {**OPEN, "$defs": {"n": {"additionalProperties": {"$ref": "#/$defs/n"}}}, "$ref": "#/$defs/n"}
    parameters["properties"] = {"a": {"$ref": "#/$defs/n"}}

    def sink(levels):
        return sink(levels - 1) if levels else check(parameters, nested(60))

    room = sys.getrecursionlimit() - len(inspect.stack())
    assert sink(0) is None
    assert sink(room - 100) == Violation(
        "The arguments and the tool's schema are too complex to be checked against each other.", None
    )


@pytest.mark.parametrize(
    "parameters",
    [
        {"type": "dict"},
        {"$ref": "http://127.0.0.1:9/x"},
        {"$ref": "#"},
        [],
        {"properties": {"a": {"type": 5}}},
        {"pattern": "("},
        {"enum": [float("nan")]},
    ],
)
def test_arguments_never_fit_a_schema_that_is_not_sound(parameters):
    expected = Violation("The tool's own schema is not sound, so no arguments fit it.", None)
    assert check(parameters, {"a": 1}) == expected


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=4),
    max_leaves=10,
)
KEYWORDS = st.sampled_from(
    ["type", "properties", "items", "allOf", "anyOf", "not", "enum", "const", "pattern", "format", "$ref", "minimum"]
    + ["required", "additionalProperties", "patternProperties", "uniqueItems", "prefixItems", "contains", "if", "then"]
)
SCHEMAS = st.recursive(
    JSON | st.sampled_from(["object", "string", "#", "#/properties", "date", "a+"]),
    lambda inner: st.dictionaries(KEYWORDS, inner, max_size=4) | st.lists(inner, max_size=3),
    max_leaves=15,
)


@given(SCHEMAS, st.dictionaries(st.text(max_size=3), JSON, max_size=4))
def test_any_schema_is_refused_or_can_be_checked_against(parameters, arguments):
    with suppress(InvalidToolDeclaration):
        declare(parameters)
    assert isinstance(check(parameters, arguments), Violation | None)
