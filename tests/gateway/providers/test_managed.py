"""What providers are told of managed tools is made once, and never of another offer."""

from dataclasses import replace

from gateway.providers import managed
from gateway.providers.interface import ClientTool, Prompt
from gateway.providers.names import Names
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
