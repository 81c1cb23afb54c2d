"""Each of the leaderboard's functions as each provider is told of it, be it a managed tool or the client's own."""

import re
from collections.abc import Callable
from typing import Any

import orjson
import pytest

from gateway.providers.anthropic import requests
from gateway.providers.gemini import requests as gemini_wire
from gateway.providers.interface import ClientTool, Prompt, UserMessage
from gateway.providers.openai import requests as openai_wire
from gateway.providers.translation import managed
from gateway.providers.translation.names import Names
from tests.bfcl.leaderboard import Function
from tools import definitions
from tools.interface import Tier, ToolSpec
from tools.schemas import schema

Shown = list[tuple[str, str, dict[str, Any]]]
ACCEPTED = {
    "openai": r"[a-zA-Z0-9_-]{1,64}",
    "anthropic": r"[a-zA-Z0-9_-]{1,64}",
    "gemini": r"[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}",
    "mcp": r"[a-zA-Z0-9_.-]{1,128}",
}
READ: dict[str, Callable[[list[Any]], Shown]] = {
    "openai": lambda tools: [
        (tool["function"]["name"], tool["function"]["description"], tool["function"]["parameters"]) for tool in tools
    ],
    "anthropic": lambda tools: [(tool["name"], tool["description"], tool["input_schema"]) for tool in tools],
    "gemini": lambda tools: [
        (made["name"], made["description"], made["parametersJsonSchema"])
        for tool in tools
        for made in tool["functionDeclarations"]
    ],
    "mcp": lambda tools: [(tool["name"], tool["description"], tool["inputSchema"]) for tool in tools],
}
DEFINE = {
    "openai": definitions.openai,
    "anthropic": definitions.anthropic,
    "gemini": definitions.gemini,
    "mcp": definitions.mcp,
}
BODY: dict[str, Callable[[Prompt, Names], dict[str, Any]]] = {
    "openai": lambda prompt, names: openai_wire.body(prompt, names, limit="max_tokens", streaming=False),
    "anthropic": requests.body,
    "gemini": gemini_wire.body,
}


def test_there_are_as_many_functions_as_the_leaderboard_has(functions: list[Function]) -> None:
    assert len(functions) == 8726
    assert sum("." in function.name for function in functions) == 2178


def test_the_schema_of_each_is_one_that_a_tool_may_declare(functions: list[Function]) -> None:
    for declared in {orjson.dumps(function.parameters) for function in functions}:
        schema.declare(orjson.loads(declared))


@pytest.mark.parametrize("style", DEFINE)
def test_each_is_translated_as_a_managed_tool_and_back(functions: list[Function], style: str) -> None:
    names = Names(function.name for function in functions)
    specs = [ToolSpec(each.name, each.description, each.parameters, Tier.READ_ONLY) for each in functions]
    assert_shown(READ[style](sent(DEFINE[style](specs, names.alias))), functions, names, ACCEPTED[style])


@pytest.mark.parametrize("provider", BODY)
def test_each_is_translated_as_a_tool_of_the_clients_and_back(functions: list[Function], provider: str) -> None:
    tools = tuple(ClientTool(each.name, each.description, each.parameters) for each in functions)
    prompt = Prompt("m", (UserMessage("hi"),), client_tools=tools)
    names = managed.names(prompt)
    shown = READ[provider](sent(BODY[provider](prompt, names)["tools"]))
    assert_shown(shown, functions, names, ACCEPTED[provider])


def sent(tools: list[Any]) -> list[Any]:
    """The definitions as they arrive."""
    arrived: list[Any] = orjson.loads(orjson.dumps(tools))
    return arrived


def assert_shown(shown: Shown, functions: list[Function], names: Names, accepted: str) -> None:
    """Each function is told under a name that is accepted and its own alone, and else as it is."""
    rule = re.compile(accepted)
    assert [name for name, _, _ in shown if not rule.fullmatch(name)] == []
    assert len({name for name, _, _ in shown}) == len({function.name for function in functions})
    assert [(names.real(name), description, parameters) for name, description, parameters in shown] == [
        (function.name, function.description, function.parameters) for function in functions
    ]
