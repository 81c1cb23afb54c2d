"""What providers are sent of managed tools is made once, and never of another offer."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import orjson
import pytest

from gateway.providers.anthropic import requests as anthropic
from gateway.providers.gemini import requests as gemini
from gateway.providers.interface import ClientTool, Prompt
from gateway.providers.openai import requests as openai
from gateway.providers.translation import managed
from gateway.providers.translation.names import Names
from gateway.providers.transport import upstream
from tools import definitions
from tools.interface import Tier, ToolSpec


def _spec(name: str) -> ToolSpec:
    return ToolSpec(name, "What it does.", {"type": "object"}, Tier.READ_ONLY)


def _names(prompt: Prompt) -> list[str]:
    found = managed.definitions(prompt, managed.names(prompt), definitions.openai)
    return [each["function"]["name"] for each in found]


def test_the_same_offer_is_told_the_same_and_another_one_its_own() -> None:
    prompt = Prompt("m", (), tools=(_spec("desk.find"), _spec("list_tasks")))
    assert _names(prompt) == ["desk__find", "list_tasks"]
    assert managed.names(replace(prompt, model="n")) is managed.names(prompt)
    assert _names(replace(prompt, tools=(_spec("desk.find"),))) == ["desk__find"]
    # A tool of the client has the name that the managed one's alias would be.
    client = replace(prompt, client_tools=(ClientTool("desk__find", parameters={}),))
    assert _names(client) != _names(prompt)
    assert managed.definitions(prompt, Names(["desk__find", "desk.find"]), definitions.openai) != managed.definitions(
        prompt, managed.names(prompt), definitions.openai
    )


def test_so_many_offers_are_known_and_no_more() -> None:
    for number in range(managed.MOST + 10):
        assert _names(Prompt("m", (), tools=(_spec(f"tool_{number}"),))) == [f"tool_{number}"]
    assert len(managed._offered) == managed.MOST


BODIES: dict[str, Callable[[Prompt], dict[str, Any]]] = {
    "openai": lambda prompt: openai.body(prompt, managed.names(prompt), limit="max_tokens", streaming=False),
    "anthropic": lambda prompt: anthropic.counted(prompt, managed.names(prompt)),
    "gemini": lambda prompt: gemini._tools(prompt, managed.names(prompt)),
}


@pytest.mark.parametrize("family", BODIES)
def test_an_offer_is_written_as_json_once_and_as_its_definitions_are(family: str) -> None:
    prompt = Prompt("m", (), tools=(_spec("desk.find"), _spec("list_tasks")))
    body = BODIES[family](prompt)
    sent = upstream._json(body)
    assert orjson.loads(sent) == body
    definitions = BODIES[family](replace(prompt, model="n"))["tools"]
    assert isinstance(definitions, managed.Definitions)
    assert definitions.written is body["tools"].written
    assert orjson.loads(upstream._json(BODIES[family](replace(prompt, tools=(_spec("add_task"),))))) != orjson.loads(
        sent
    )


@pytest.mark.parametrize("family", BODIES)
def test_the_clients_own_tools_stand_beside_those_of_the_offer_in_their_request_alone(family: str) -> None:
    prompt = Prompt("m", (), tools=(_spec("list_tasks"),))
    alone = upstream._json(BODIES[family](prompt))
    client = replace(prompt, client_tools=(ClientTool("open_door", "Opens it.", {"type": "object"}),))
    assert b"open_door" in upstream._json(BODIES[family](client))
    assert b"list_tasks" in upstream._json(BODIES[family](client))
    assert upstream._json(BODIES[family](prompt)) == alone


def test_a_body_that_orjson_cannot_write_is_written_all_the_same() -> None:
    prompt = Prompt("m", (), tools=(replace(_spec("list_tasks"), description="half a \ud83d"),))
    body = BODIES["openai"](prompt)
    assert orjson.loads(upstream._json(body | {"tools": []}))["tools"] == []
    assert b"half a \\ud83d" in upstream._json(body)
    plain = BODIES["openai"](replace(prompt, tools=(_spec("list_tasks"),)))
    assert b'"list_tasks"' in upstream._json(plain | {"user": "half a \ud83d"})


def test_what_is_made_of_an_offer_is_made_once_for_it_and_again_for_another() -> None:
    made: list[managed.Specs] = []

    def count(specs: managed.Specs) -> int:
        made.append(specs)
        return len(specs)

    first, second = (_spec("a"), _spec("b")), (_spec("a"),)
    assert [managed.once(specs, count) for specs in (first, first, second, first)] == [2, 2, 1, 2]
    assert made == [first, second]


def test_what_is_made_of_an_offer_is_made_of_what_models_are_told() -> None:
    odd = replace(
        _spec("odd"), parameters={"type": "object", "properties": {"$a": {}}, "anyOf": [{"required": ["$a"]}]}
    )
    [told] = managed.once((odd,), list)
    assert told.parameters == {"type": "object", "properties": {"a": {}}}
    assert '{"anyOf":[{"required":["a"]}]}' in told.description
