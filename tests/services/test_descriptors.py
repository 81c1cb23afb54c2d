"""Descriptors as owners paste them: sound ones of both versions, and hostile ones, which change nothing."""

import copy
from typing import Any

import pytest

from services.errors import InvalidService
from services.offers import definition, descriptor
from services.offers.definition import changes
from tests.services.api import TRADING
from tools.registry import registry
from tools.schemas.schema import check

SCHEMA = {"type": "object", "properties": {"q": {"type": "string"}}}


def tool(**more: Any) -> dict[str, Any]:
    """A small sound tool, with other fields."""
    return {
        "name": "find",
        "description": "Finds.",
        "inputSchema": SCHEMA,
        "http": {"method": "GET", "path": "/find"},
    } | more


def offered(*tools: Any, **more: Any) -> descriptor.Offer:
    """What a descriptor of these tools offers."""
    return descriptor.read("desk", {"version": 2, "tools": list(tools), **more})


def refused(*tools: Any, **more: Any) -> tuple[str, str]:
    """The field and the words of its refusal."""
    with pytest.raises(InvalidService) as caught:
        offered(*tools, **more)
    return caught.value.field or "", caught.value.detail


def nested(depth: int) -> dict[str, Any]:
    """A schema of so many levels."""
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(depth):
        schema = {"type": "object", "properties": {"a": schema}}
    return schema


def test_a_descriptor_of_version_2_is_read() -> None:
    offer = descriptor.read("desk", TRADING)
    assert [each.name for each in offer.tools] == ["get_market_context", "execute_trade", "get_order"]
    assert offer.description == "A trading desk: market context and orders."
    assert offer.feeds == [{"name": "market-context", "path": "/api/v1/market_context/{claw_id}", "ttl": 30}]
    [context, trade, _] = offer.tools
    path = "/api/v1/market_context/{claw_id}"
    assert context.http == {"method": "GET", "path": path, "body": "none", "places": {}, "identity": ["claw_id"]}
    assert trade.http is not None and (trade.http["body"], trade.http["identity"]) == ("json", [])
    assert trade.parameters["additionalProperties"] is False


def test_a_descriptor_of_version_1_has_endpoints_for_people_and_no_tools() -> None:
    endpoints = [{"method": "GET", "path": "/health", "description": "Is it up"}]
    for version in ({"version": 1}, {}):
        offer = descriptor.read("desk", {**version, "description": "Old.", "endpoints": endpoints})
        assert (offer.tools, offer.endpoints) == ([], endpoints)


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ([], "descriptor"),
        ("text", "descriptor"),
        ({"version": 3}, "descriptor.version"),
        ({"version": True}, "descriptor.version"),
        ({"version": 1, "tools": [tool()]}, "descriptor.version"),
        ({"version": 2, "tools": {}}, "descriptor.tools"),
        ({"version": 2, "tools": [tool()] * 1001}, "descriptor.tools"),
        ({"version": 2, "tools": [[]]}, "descriptor.tools[0]"),
        ({"version": 2, "surprise": 1}, "descriptor"),
        ({"version": 2, "feeds": [{"name": "a", "path": "/a/{id}", "ttl": 5}]}, "descriptor.feeds[0].path"),
        ({"version": 2, "feeds": [{"name": "a", "path": "/a", "ttl": 0}]}, "descriptor.feeds[0].ttl"),
        ({"version": 2, "feeds": [{"name": "a", "path": "http://evil/", "ttl": 5}]}, "descriptor.feeds[0].path"),
        ({"version": 2, "skill": "x" * 20_000}, "descriptor.skill"),
        ({"version": 2, "skill": "hidden \u202e text"}, "descriptor.skill"),
        ({"version": 2, "description": "a\u0000b"}, "descriptor.description"),
        ({"version": 2, "endpoints": [{"path": "a\u0007"}]}, "descriptor.endpoints[0]"),
    ],
)
def test_a_descriptor_that_is_none_says_where(given: Any, field: str) -> None:
    with pytest.raises(InvalidService) as caught:
        descriptor.read("desk", given)
    assert caught.value.field == field


@pytest.mark.parametrize(
    ("more", "field"),
    [
        ({"name": "a.b"}, "name"),
        ({"name": "a b"}, "name"),
        ({"name": "а"}, "name"),
        ({"name": ""}, "name"),
        ({"name": None}, "name"),
        ({"name": "x" * 65}, "name"),
        # 59 and the slug's 4 with two underscores between.
        ({"name": "x" * 59}, "name"),
        ({"title": "\u2066turned"}, "title"),
        ({"description": ""}, "description"),
        ({"description": "x" * 5000}, "description"),
        ({"description": "safe\u202eefas"}, "description"),
        ({"description": "tag\U000e0041"}, "description"),
        ({"description": "zero\u200bwidth"}, "description"),
        ({"description": "bell\u0007"}, "description"),
        ({"inputSchema": []}, "inputSchema"),
        ({"inputSchema": {"type": "array"}}, "inputSchema"),
        ({"inputSchema": nested(20)}, "inputSchema"),
        ({"inputSchema": nested(50_000)}, "inputSchema"),
        ({"inputSchema": SCHEMA | {"description": "x" * 70_000}}, "inputSchema"),
        ({"inputSchema": {"properties": {"q": {"$ref": "http://evil.example/schema"}}}}, "inputSchema"),
        ({"inputSchema": {"properties": {"q": {"$ref": "file:///etc/passwd"}}}}, "inputSchema"),
        ({"inputSchema": {"properties": {"q": {"$ref": "#"}}}}, "inputSchema"),
        ({"inputSchema": {"properties": {"q": {"$ref": "#/$defs/no"}}}}, "inputSchema"),
        ({"inputSchema": {"properties": {"q": {"pattern": "("}}}}, "inputSchema"),
        ({"inputSchema": {"properties": {"q": {"$dynamicRef": "#x"}}}}, "inputSchema"),
        ({"inputSchema": {"properties": {"q": {"type": "nonsense"}}}}, "inputSchema"),
        ({"inputSchema": {"properties": {"q": {"description": "\u202e"}}}}, "inputSchema"),
        ({"inputSchema": {"properties": {"q\u200b": {}}}}, "inputSchema"),
        ({"inputSchema": {"properties": []}}, "inputSchema"),
        ({"inputSchema": {"maximum": 10**30}}, "inputSchema"),
        ({"outputSchema": nested(40)}, "outputSchema"),
        ({"annotations": []}, "annotations"),
        ({"annotations": {"a": "x" * 5000}}, "annotations"),
        ({"http": None}, "http"),
        ({"http": {"method": "TRACE", "path": "/"}}, "http.method"),
        ({"http": {"method": "GET", "path": "find"}}, "http.path"),
        ({"http": {"method": "GET", "path": "/a?b=c"}}, "http.path"),
        ({"http": {"method": "GET", "path": "/a#b"}}, "http.path"),
        ({"http": {"method": "GET", "path": "/../a"}}, "http.path"),
        ({"http": {"method": "GET", "path": "/%2E%2e/a"}}, "http.path"),
        ({"http": {"method": "GET", "path": "/a\r\nX: 1"}}, "http.path"),
        ({"http": {"method": "GET", "path": "/{id}"}}, "http"),
        ({"http": {"method": "GET", "path": "/a", "body": "json"}}, "http.body"),
        ({"http": {"method": "GET", "path": "/a", "url": "http://evil"}}, "http"),
        ({"handler": "rm"}, ""),
    ],
)  # fmt: skip
def test_a_tool_that_cannot_be_used_is_refused_with_its_place(more: dict[str, Any], field: str) -> None:
    at = "descriptor.tools[0]"
    assert refused(tool(**more))[0] == (f"{at}.{field}" if field else at)


def test_a_bomb_of_references_is_refused_before_it_is_made() -> None:
    levels = {f"l{number}": {"type": "object", "properties": {
        name: {"$ref": f"#/$defs/l{number + 1}"} for name in "abcdefghij"
    }} for number in range(12)}  # fmt: skip
    bomb = {"type": "object", "properties": {"a": {"$ref": "#/$defs/l0"}}, "$defs": {**levels, "l12": {"type": "null"}}}
    field, words = refused(tool(inputSchema=bomb))
    assert (field, "references" in words) == ("descriptor.tools[0].inputSchema", True)


def test_local_references_are_put_in_place() -> None:
    schema = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "type": "object",
        "properties": {"a": {"$ref": "#/$defs/text"}, "b": {"type": "array", "items": {"$ref": "#/$defs/text"}}},
        "$defs": {"text": {"type": "string", "minLength": 1}},
    }
    [found] = offered(tool(inputSchema=schema)).tools
    text = {"type": "string", "minLength": 1}
    assert found.parameters == {
        "type": "object",
        "properties": {"a": text, "b": {"type": "array", "items": text}},
        "additionalProperties": False,
    }
    assert found.given["inputSchema"] == schema


@pytest.mark.parametrize("name", ["claw_id", "toolgate_user", "toolgate_tenant"])
def test_identity_is_no_parameter_wherever_it_goes(name: str) -> None:
    schema = {"type": "object", "properties": {name: {"type": "string"}, "q": {}}, "required": [name, "q"]}
    for http in (
        {"method": "GET", "path": f"/{{{name}}}"},
        {"method": "GET", "path": "/"},
        {"method": "POST", "path": "/"},
    ):
        [found] = offered(tool(inputSchema=schema, http=http)).tools
        assert (list(found.parameters["properties"]), found.parameters["required"]) == (["q"], ["q"])
        assert found.http is not None and found.http["identity"] == [name]


def test_properties_that_an_alternative_names_alone_are_arguments_too() -> None:
    text, number = {"type": "string"}, {"type": "integer"}
    alternatives = [
        {"properties": {"a": text, "own": text}}, {"properties": {"b": text, "c": text}}, {"properties": {"c": number}},
    ]  # fmt: skip
    given = {
        "type": "object",
        "properties": {"own": number},
        "oneOf": alternatives,
        "then": {"properties": {"d": text}},
    }
    shown = definition.shown_schema(given, "it", without=frozenset({"b"}), in_path=set())
    assert shown["properties"] == {"own": number, "a": text, "c": {"anyOf": [text, number]}, "d": text}
    assert (shown["oneOf"], shown["additionalProperties"]) == (alternatives, False)


def test_the_hash_is_of_everything_that_was_defined() -> None:
    [first] = offered(tool()).tools
    assert first.hash == offered(tool()).tools[0].hash
    for more in (
        {"title": "Find"}, {"description": "Finds!"}, {"inputSchema": {"type": "object"}},
        {"outputSchema": {"type": "object"}}, {"annotations": {"readOnly": True}},
        {"http": {"method": "POST", "path": "/find"}},
    ):  # fmt: skip
        [other] = offered(tool(**more)).tools
        assert other.hash != first.hash
        assert [change["field"] for change in changes(first.given, other.given)] == list(more)


def test_names_that_collide_towards_providers_are_refused() -> None:
    installed = list(registry().all())
    definition.refuse_collisions("a", ["b", "c"], {"x__y": "x.y"}, installed)
    for slug, names, others in (
        ("a", ["b", "b"], {}),
        ("a", ["b__c"], {"a__b__c": "a__b.c"}),
        ("save", ["_note"], {"save___note": "save__.note"}),
    ):
        with pytest.raises(InvalidService):
            definition.refuse_collisions(slug, names, others, installed)


def test_reading_changes_nothing_of_what_was_given() -> None:
    given = copy.deepcopy(TRADING)
    descriptor.read("desk", given)
    assert given == TRADING


@pytest.mark.parametrize(
    "given", [{"type": "string"}, {"pattern": "^[a-z./]*$", "minLength": 0}, {"minLength": 3}, True]
)
def test_a_part_of_an_address_has_a_schema_that_cannot_climb(given: Any) -> None:
    schema = {"type": "object", "properties": {"id": given}}
    [found] = offered(tool(inputSchema=schema, http={"method": "GET", "path": "/items/{id}"})).tools
    for climbs in ("", ".", "..", "a/..", "../a", "a/../b", "/..", "..\\a", "a\\.."):
        assert check(found.parameters, {"id": climbs}) is not None, climbs
    for stays in ("abc", "a/b/c", "...", "a..b", "..a/b..", ".hidden"):
        assert check(found.parameters, {"id": stays}) is None, stays


def test_an_offer_that_takes_too_long_to_check_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(definition.Effort.__init__, "__defaults__", (-1.0,))
    field, words = refused(tool())
    assert (field, "take too long to check" in words) == ("descriptor.tools[0]", True)
