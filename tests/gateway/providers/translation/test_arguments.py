"""Arguments whose names a provider refuses go to it and come back by others, and are what they were."""

import random
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.providers.anthropic import answers as anthropic_answers
from gateway.providers.anthropic import requests as anthropic
from gateway.providers.gemini import requests as gemini
from gateway.providers.gemini.answers import Pieces
from gateway.providers.interface import Answer, AssistantMessage, ClientTool, Prompt, SuggestedCall, ToolMessage
from gateway.providers.openai import answers as openai_answers
from gateway.providers.openai import requests as openai
from gateway.providers.translation import managed
from gateway.providers.translation.arguments import ArgumentAliases, for_providers
from gateway.providers.translation.names import Names
from tools.interface import Tier, ToolSpec
from tools.schemas import schema

# As Anthropic words it today, and without the dot as it did before.
RULES = (re.compile(r"[a-zA-Z0-9_.-]{1,64}"), re.compile(r"[a-zA-Z0-9_-]{1,64}"))
TEXT = {"type": "string"}
AWKWARD = st.text(st.sampled_from("ab01_-. $[]@/é漢"), max_size=70)
NUMBERS = st.integers(-(2**53) + 1, 2**53 - 1) | st.floats(allow_nan=False, allow_infinity=False)
JSON = st.recursive(
    st.none() | st.booleans() | NUMBERS | st.text("a$.[] é", max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(AWKWARD, inner, max_size=3),
    max_leaves=6,
)
ODATA = {
    "type": "object",
    "properties": {"$filter": TEXT, "filter": TEXT, "tags[]": TEXT, "a.b": TEXT, "x" * 65: TEXT, "plain": TEXT},
    "required": ["$filter", "plain"],
    "additionalProperties": False,
}
NAME = "desk.find"
PROMPT = Prompt("m", (), tools=(ToolSpec(NAME, "Finds.", ODATA, Tier.READ_ONLY),))


def object_of(names: list[str]) -> dict[str, Any]:
    """A schema with these properties."""
    return {"type": "object", "properties": {name: {} for name in names}, "additionalProperties": False}


def both_ways(names: list[str]) -> tuple[dict[str, str], Callable[[str], str], Callable[[str], str]]:
    """The alias of each name, and the ways to the model and back."""
    found = ArgumentAliases.of(object_of(names))
    if found is None:
        return {name: name for name in names}, str, str
    aliases = {name: alias for alias, name in found.names.items()}
    return {name: aliases.get(name, name) for name in names}, found.to_provider, found.from_provider


def test_ten_thousand_random_names_are_accepted_told_apart_and_found_again() -> None:
    chance = random.Random(4711)
    names: set[str] = set()
    while len(names) < 10_000:
        length = chance.choice((0, 1, 2, 3, 8, 63, 64, 65, 200))
        names.add("".join(chance.choices(chance.choice(("ab$", "ab._-[]", "abcXYZ019_-", "aé漢@/ ")), k=length)))
    listed = sorted(names)
    aliases, to_provider, from_provider = both_ways(listed)
    assert [alias for alias in aliases.values() for rule in RULES if not rule.fullmatch(alias)] == []
    assert len(set(aliases.values())) == len(listed)
    assert all(alias == name or alias not in names for name, alias in aliases.items())
    for name in listed[::97]:
        assert orjson.loads(to_provider(orjson.dumps({name: 1}).decode())) == {aliases[name]: 1}
        assert orjson.loads(from_provider(orjson.dumps({aliases[name]: 1}).decode())) == {name: 1}
    chance.shuffle(listed)
    assert both_ways(listed)[0] == aliases


@given(st.data(), st.lists(AWKWARD, unique=True, max_size=12))
def test_arguments_are_what_they_were_on_the_way_there_and_back(data: st.DataObject, names: list[str]) -> None:
    aliases, to_provider, from_provider = both_ways(names)
    assert all(rule.fullmatch(alias) for alias in aliases.values() for rule in RULES)
    assert len(set(aliases.values())) == len(names)
    given = data.draw(st.fixed_dictionaries({}, optional=dict.fromkeys(names, JSON)))
    sent = to_provider(orjson.dumps(given).decode())
    assert orjson.loads(sent) == {aliases[name]: value for name, value in given.items()}
    assert orjson.loads(from_provider(sent)) == given
    # A model that knows the service's own names is understood, too.
    assert orjson.loads(from_provider(orjson.dumps(given).decode())) == given


def test_names_say_as_much_as_they_can_and_never_those_of_another_argument() -> None:
    found = ArgumentAliases.of(ODATA)
    assert found is not None
    aliases = {name: alias for alias, name in found.names.items()}
    of_filter, of_long = aliases["$filter"], aliases["x" * 65]
    assert re.fullmatch("filter_[0-9a-f]{8}", of_filter)
    assert re.fullmatch("x{55}_[0-9a-f]{8}", of_long)
    assert found.names == {of_filter: "$filter", "tags": "tags[]", "a_b": "a.b", of_long: "x" * 65}
    assert list(found.schema["properties"]) == [of_filter, "filter", "tags", "a_b", of_long, "plain"]
    assert found.schema["required"] == [of_filter, "plain"]
    assert ODATA["required"] == ["$filter", "plain"]


def test_a_schema_whose_names_are_all_accepted_is_the_tools_own() -> None:
    given = object_of(["a", "b-c", "d_e"])
    assert ArgumentAliases.of(given) is None
    assert ArgumentAliases.of({"type": "object"}) is None
    prompt = Prompt("m", (), tools=(ToolSpec("find", "Finds.", given, Tier.READ_ONLY),))
    [told] = openai.body(prompt, managed.names(prompt), limit="max_tokens", streaming=False)["tools"]
    assert told["function"]["parameters"] is given


def test_everything_that_a_schema_says_by_name_is_said_by_the_alias() -> None:
    given = object_of(["$a", "b"]) | {
        "anyOf": [{"required": ["$a"]}, {"required": ["b"]}],
        "if": {"properties": {"$a": {"const": {"$a": 1}}}},
        "then": {"not": {"required": ["$a", "b"]}},
        "dependentRequired": {"$a": ["b"], "b": ["$a"]},
        "dependentSchemas": {"$a": {"required": ["$a"]}},
        "dependencies": {"$a": ["b"], "b": {"required": ["$a"]}},
        "default": {"$a": 1},
        "examples": [{"$a": 1, "b": 2}, 7],
        "propertyNames": {"enum": ["$a", "b"]},
    }
    found = ArgumentAliases.of(given)
    assert found is not None
    assert found.schema == object_of(["a", "b"]) | {
        "anyOf": [{"required": ["a"]}, {"required": ["b"]}],
        # What is within an argument is the service's.
        "if": {"properties": {"a": {"const": {"$a": 1}}}},
        "then": {"not": {"required": ["a", "b"]}},
        "dependentRequired": {"a": ["b"], "b": ["a"]},
        "dependentSchemas": {"a": {"required": ["a"]}},
        "dependencies": {"a": ["b"], "b": {"required": ["a"]}},
        "default": {"a": 1},
        "examples": [{"a": 1, "b": 2}, 7],
    }


def test_what_providers_refuse_beside_the_properties_is_said_in_words() -> None:
    either = {"anyOf": [{"required": ["$a"]}, {"required": ["b"]}], "not": {"required": ["$a", "b"]}}
    given = object_of(["$a", "b"]) | either
    found, [shown] = for_providers([ToolSpec(NAME, "Finds.", given, Tier.READ_ONLY)])
    assert shown.parameters == object_of(["a", "b"])
    words, _, said = shown.description.rpartition(": ")
    assert words == "Finds.\n\nNot all of its arguments go together. They have to fit this JSON Schema, too"
    assert orjson.loads(said) == {"anyOf": [{"required": ["a"]}, {"required": ["b"]}], "not": {"required": ["a", "b"]}}
    assert found[NAME].names == {"a": "$a"}
    # Too much to be said is left for the tool to say.
    long = {"enum": [{"b": "x" * 5000}]}
    _, [shown] = for_providers([ToolSpec(NAME, "Finds.", object_of(["b"]) | long, Tier.READ_ONLY)])
    assert shown.parameters == object_of(["b"])
    assert shown.description.endswith("The tool says which.")
    plain = ToolSpec(NAME, "Finds.", object_of(["b"]), Tier.READ_ONLY)
    assert for_providers([plain]) == ({}, (plain,))


@pytest.mark.parametrize(
    "text",
    ["", "null", "[]", '"filter"', '{"tags": ', '{"tags": 1, "tags": 2}', '{"tags": NaN}', '{"tags": "\\u0000"}',
     '{"tags": 12345678901234567890}', "[" * 100_000, '{"tags": "' + "x" * 300_000 + '"}'],
)  # fmt: skip
def test_what_the_gates_refuse_reaches_them_as_the_model_wrote_it(text: str) -> None:
    found = ArgumentAliases.of(ODATA)
    assert found is not None
    assert (found.from_provider(text), found.to_provider(text)) == (text, text)


def test_an_argument_by_both_of_its_names_is_left_for_the_schema_to_refuse() -> None:
    found = ArgumentAliases.of(ODATA)
    assert found is not None
    both = '{"$filter":"a","plain":"b","tags":"c","tags[]":"d"}'
    assert found.from_provider(both) == both
    refused = schema.check(ODATA, orjson.loads(found.from_provider(both)))
    assert refused is not None and refused.field == "tags"


def asked(family: str, prompt: Prompt) -> tuple[dict[str, Any], dict[str, Any]]:
    """The schema that a provider is told, and the arguments of the first call that it is shown."""
    names = managed.names(prompt)
    if family == "openai":
        body = openai.body(prompt, names, limit="max_tokens", streaming=False)
        call = body["messages"][0]["tool_calls"][0]["function"]
        return body["tools"][0]["function"]["parameters"], orjson.loads(call["arguments"])
    if family == "anthropic":
        body = anthropic.counted(prompt, names)
        return body["tools"][0]["input_schema"], body["messages"][0]["content"][0]["input"]
    body = gemini.body(prompt, names)
    [function, *_] = body["tools"][0]["functionDeclarations"]
    return function["parametersJsonSchema"], body["contents"][0]["parts"][0]["functionCall"]["args"]


def answered(family: str, names: Names, arguments: str) -> Answer:
    """A provider's answer with one call of the tool."""
    if family == "openai":
        function = {"name": names.alias(NAME), "arguments": arguments}
        message = {"role": "assistant", "tool_calls": [{"id": "c", "type": "function", "function": function}]}
        return openai_answers.read({"choices": [{"message": message, "finish_reason": "tool_calls"}]}, names)
    if family == "anthropic":
        block = {"type": "tool_use", "id": "c", "name": names.alias(NAME), "input": arguments}
        return anthropic_answers.read({"content": [block], "stop_reason": "tool_use"}, names)
    pieces = Pieces()
    call = {"id": "c", "name": names.alias(NAME), "args": arguments}
    pieces.take({"candidates": [{"content": {"parts": [{"functionCall": call}]}, "finishReason": "STOP"}]})
    return pieces.answer(names, single=False)


@pytest.mark.parametrize("family", ["openai", "anthropic", "gemini"])
@pytest.mark.parametrize("beside", [(), (ClientTool("open_door", "Opens it.", object_of(["$door"])),)])
def test_every_provider_is_told_the_aliases_and_understood_by_them(family: str, beside: tuple[ClientTool, ...]) -> None:
    given = {"$filter": "x eq 1", "plain": "p", "tags[]": "t"}
    call = SuggestedCall("c", NAME, orjson.dumps(given).decode())
    messages = (AssistantMessage("", (call,)), ToolMessage("c", NAME, "{}"))
    prompt = replace(PROMPT, messages=messages, client_tools=beside)
    told, shown = asked(family, prompt)
    assert all(rule.fullmatch(name) for name in told["properties"] for rule in RULES)
    assert set(told["required"]) <= set(told["properties"])
    assert (shown.keys() <= told["properties"].keys(), sorted(shown.values())) == (True, sorted(given.values()))
    [made] = answered(family, managed.names(prompt), orjson.dumps(shown).decode()).calls
    assert (made.name, orjson.loads(made.arguments)) == (NAME, given)
