"""What a rule's condition may say, and what is refused because it would match more than its author meant."""

from typing import Any

import pytest

from approvals.rules.conditions import InvalidCondition, check, loose_ends
from tests.approvals.rules import TO_BOB
from tests.tools.test_schema_limits import bomb
from tools.registry import registry

TASK = {
    "type": "object",
    "properties": {
        "title": {"type": "string"},
        "amount": {"type": "number"},
        "due": {
            "type": "object",
            "properties": {"date": {"type": "string"}},
            "additionalProperties": False,
        },
        "labels": {"type": "object"},
        "to": {"type": ["string", "array"]},
        "free": {},
        "people": {
            "type": "array",
            "items": {"type": "object", "properties": {"id": {"type": "string"}}, "additionalProperties": False},
        },
    },
    "required": ["title"],
    "additionalProperties": False,
}
SOUND = [
    {"minProperties": 1},
    {"properties": {"title": {"pattern": "^[a-z]+$"}, "amount": {"maximum": 10}}, "required": ["title", "amount"]},
    {"properties": {"due": {"properties": {"date": {"format": "date"}}, "required": ["date"]}}, "required": ["due"]},
    {"properties": {"labels": {"required": ["anything"]}}, "required": ["labels"]},
    {"properties": {"people": {"items": {"required": ["id"]}, "maxItems": 3}}, "required": ["people"]},
    {"properties": {"amount": False}},
    {"anyOf": [{"properties": {"amount": False}}, {"properties": {"amount": {"const": 1}}, "required": ["amount"]}]},
    {"not": {"required": ["due"]}},
    {"allOf": [{"required": ["title"]}, {"maxProperties": 2}]},
    {"properties": {"to": {"type": "string", "pattern": "^a$"}}, "required": ["to"]},
    {"properties": {"to": {"type": "string", "anyOf": [{"pattern": "^a$"}, {"maxLength": 3}]}}, "required": ["to"]},
    {"properties": {"free": {"enum": ["a", "b"], "maxLength": 9}}, "required": ["free"]},
    {"properties": {"to": {"not": {"pattern": "a"}}}, "required": ["to"]},
    {"propertyNames": {"maxLength": 9}},
]
# Each would pass a value of another type than it is about, which the tool's own schema lets through.
OF_ANOTHER_TYPE = {
    "a list for a text": (True, {"to": {"pattern": "^a$"}}, "to uses pattern"),
    "anything for a text": (True, {"free": {"format": "email"}}, "free uses format"),
    "a text for a number": (True, {"free": {"maximum": 3}}, "free uses maximum"),
    "a list for an object": (True, {"free": {"required": ["a"]}}, "free uses required"),
    "a text for a list": (True, {"to": {"contains": {"const": "a"}}}, "to uses contains"),
    "an item of any type": (True, {"to": {"type": "array", "items": {"pattern": "^a$"}}}, "to.* uses pattern"),
    "one inside anyOf": (True, {"to": {"anyOf": [{"const": "a"}, {"maxLength": 2}]}}, "to uses maxLength"),
    "one inside if": (True, {"to": {"if": {"pattern": "a"}, "then": {"const": "a"}}}, "to uses pattern"),
    "one that keeps a rule from denying": (False, {"to": {"not": {"pattern": "^a$"}}}, "to uses pattern"),
    "one that two nots turn back": (True, {"to": {"not": {"not": {"pattern": "^a$"}}}}, "to uses pattern"),
}
TOO_WIDE = {
    "a parameter that the tool does not have": (
        {"properties": {"too": {"const": "x"}}, "required": ["too"]},
        "its top names too, which the tool does not have there",
    ),
    "one that is only required": ({"required": ["titel"]}, "its top names titel, which"),
    "one deep inside": (
        {"properties": {"due": {"properties": {"day": {}}, "required": ["day"]}}, "required": ["due"]},
        "due names day, which",
    ),
    "one in an item": (
        {"properties": {"people": {"contains": {"required": ["name"]}}}, "required": ["people"]},
        "people.* names name, which",
    ),
    "one inside anyOf": ({"anyOf": [{"required": ["titel"]}, {"maxProperties": 1}]}, "its top names titel, which"),
    "one inside not": ({"not": {"required": ["titel"]}}, "its top names titel, which"),
    "one that others depend on": ({"dependentRequired": {"title": ["titel"]}}, "its top names titel, which"),
    "a keyword that does not exist": (
        {"property": {"title": {"const": "x"}}},
        "its top uses property, which is no keyword for conditions",
    ),
    "a parameter where a keyword is due": ({"amount": {"const": 1}}, "its top uses amount, which"),
    "a parameter that would be an annotation": ({"title": "Milk"}, "its top uses title, which"),
    "a keyword inside": ({"properties": {"title": {"equals": "x"}}, "required": ["title"]}, "title uses equals, which"),
    "a reference": ({"$defs": {"a": {}}, "$ref": "#/$defs/a"}, "its top uses $defs, which"),
    "a format that is not asserted": (
        {"properties": {"title": {"format": "emial"}}, "required": ["title"]},
        "title uses the format emial, which says nothing here",
    ),
    "a property without required": (
        {"properties": {"amount": {"maximum": 10}}},
        'its top looks at amount without "required", and so matches when it is left out',
    ),
    "a property inside without required": (
        {"properties": {"due": {"properties": {"date": {"const": "x"}}}}, "required": ["due"]},
        'due looks at date without "required"',
    ),
    "nothing": ({}, "it is empty, and so matches any arguments"),
}
UNSOUND: dict[str, tuple[Any, str]] = {
    "no schema": ([], "must be a JSON Schema, which is an object"),
    "a type that does not exist": ({"type": "dict"}, "the schema is not valid at type"),
    "a pattern that explodes": ({"propertyNames": {"pattern": "(?=a)(a+)+$"}}, "exponential time"),
    "a reference to itself": ({"$ref": "#"}, "refers to itself"),
    "a reference outwards": ({"$ref": "http://127.0.0.1:9/x"}, "is not local"),
    "a bomb": (bomb(), "is no keyword for conditions"),
    "too much": ({"enum": ["x" * 4096]}, "it has 4,109 bytes; at most 4,096 are allowed"),
    "a number that is none": ({"const": float("nan")}, "the schema is not JSON"),
}


@pytest.mark.parametrize("condition", SOUND, ids=repr)
def test_a_sound_condition_is_taken(condition: Any) -> None:
    check(condition, approves=True, parameters=TASK)


def test_a_condition_of_a_real_tool_is_taken() -> None:
    tool = registry().get("send_email")
    assert tool is not None
    check(TO_BOB | {"maxProperties": 3}, approves=True, parameters=tool.parameters)


@pytest.mark.parametrize(("condition", "why"), TOO_WIDE.values(), ids=TOO_WIDE)
def test_a_condition_that_would_match_more_than_was_meant_is_refused(condition: Any, why: str) -> None:
    with pytest.raises(InvalidCondition) as refused:
        check(condition, approves=True, parameters=TASK)
    assert why in str(refused.value)


@pytest.mark.parametrize(("approves", "properties", "why"), OF_ANOTHER_TYPE.values(), ids=OF_ANOTHER_TYPE)
def test_a_condition_that_a_value_of_another_type_would_pass_is_refused(
    approves: bool, properties: dict[str, Any], why: str
) -> None:
    condition = {"properties": properties, "required": list(properties)}
    with pytest.raises(InvalidCondition) as refused:
        check(condition, approves=approves, parameters=TASK)
    assert f"{why}, which passes whatever is not of the type" in str(refused.value)
    # Where that makes the rule stricter, it is no fault.
    check({"properties": {"to": {"pattern": "a"}}, "required": ["to"]}, approves=False, parameters=TASK)


@pytest.mark.parametrize(("condition", "why"), UNSOUND.values(), ids=UNSOUND)
@pytest.mark.parametrize("approves", [True, False])
def test_a_condition_that_is_not_sound_is_refused(condition: Any, why: str, approves: bool) -> None:
    with pytest.raises(InvalidCondition) as refused:
        check(condition, approves=approves, parameters=None)
    assert why in str(refused.value)


def test_a_rule_that_denies_may_look_at_what_can_be_left_out_but_not_at_what_is_not_there() -> None:
    check({"properties": {"amount": {"maximum": 10}}}, approves=False, parameters=TASK)
    check({}, approves=False, parameters=TASK)
    with pytest.raises(InvalidCondition, match="names titel, which the tool does not have"):
        check({"properties": {"titel": {}}}, approves=False, parameters=TASK)


def test_names_are_not_looked_up_where_there_is_no_one_tool() -> None:
    check({"required": ["to"]}, approves=False, parameters=None)


def test_a_pattern_that_matches_anywhere_is_pointed_out() -> None:
    condition = {"properties": {"to": {"pattern": "@example.com$"}, "cc": {"pattern": "^[a-z]+$"}}}
    assert list(loose_ends(condition)) == [
        "to: the pattern @example.com$ matches anywhere in a text; begin it with ^ and end it with $."
    ]
    assert list(loose_ends(None)) == []
