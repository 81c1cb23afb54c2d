"""The calls that the leaderboard holds to be right: which of them fit, and what each provider is told of them."""

from collections.abc import Callable
from typing import Any

import orjson
import pytest

from gateway.providers.anthropic import requests
from gateway.providers.gemini import requests as gemini_wire
from gateway.providers.interface import AssistantMessage, Prompt, SuggestedCall, UserMessage
from gateway.providers.openai import requests as openai_wire
from gateway.providers.translation.names import Names
from tests.bfcl.leaderboard import Call
from tools.schemas import arguments, schema

# What is wrong with them is wrong in the leaderboard: a value that the function does not list, a parameter that it does
# not have, one that it requires and the call leaves out, null or text where it wants something else.
WRONG = {
    *("live_multiple_87-38-4", "live_multiple_144-56-0", "live_multiple_152-58-6", "live_multiple_507-149-4"),
    *("live_multiple_552-153-1", "live_multiple_595-158-1", "live_multiple_596-158-2", "live_multiple_731-167-2"),
    *("live_multiple_733-167-4", "live_multiple_735-167-6", "live_multiple_750-169-5", "live_multiple_756-169-11"),
    *("live_multiple_834-178-9", "live_multiple_835-178-10", "live_multiple_862-181-3", "live_multiple_871-182-8"),
    *("live_multiple_947-197-0", "live_multiple_964-207-0", "live_multiple_1038-265-0", "live_multiple_1041-268-0"),
    *("live_parallel_multiple_2-2-0", "live_simple_71-35-0", "live_simple_106-63-0", "live_simple_112-68-0"),
    *("parallel_multiple_21", "parallel_multiple_26", "parallel_multiple_94", "simple_python_200"),
}
SHOWN: dict[str, Callable[[Prompt, Names], list[tuple[str, Any]]]] = {
    "openai": lambda prompt, names: [
        (call["function"]["name"], orjson.loads(call["function"]["arguments"]))
        for call in openai_wire.body(prompt, names, limit="n", streaming=False)["messages"][1]["tool_calls"]
    ],
    "anthropic": lambda prompt, names: [
        (block["name"], block["input"]) for block in requests.body(prompt, names)["messages"][1]["content"]
    ],
    "gemini": lambda prompt, names: [
        (part["functionCall"]["name"], part["functionCall"]["args"])
        for part in gemini_wire.body(prompt, names)["contents"][1]["parts"]
    ],
}


def test_the_right_calls_fit_and_the_wrong_ones_do_not(calls: list[Call]) -> None:
    refused = [
        call.question
        for call in calls
        if schema.check(call.function.parameters, arguments.parse(orjson.dumps(call.arguments).decode())) is not None
    ]
    assert (len(calls), len(refused)) == (3152, 28)
    assert set(refused) == WRONG


@pytest.mark.parametrize("provider", SHOWN)
def test_each_call_is_told_to_each_provider_as_it_was(calls: list[Call], provider: str) -> None:
    made = tuple(
        SuggestedCall(f"call_{number}", call.function.name, orjson.dumps(call.arguments).decode())
        for number, call in enumerate(calls)
    )
    prompt = Prompt("m", (UserMessage("hi"), AssistantMessage("", made)))
    names = Names(call.function.name for call in calls)
    shown = SHOWN[provider](prompt, names)
    assert [(names.real(name), given) for name, given in shown] == [
        (call.function.name, call.arguments) for call in calls
    ]
