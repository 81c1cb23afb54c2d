"""Models of every provider that answer alike: the offline demo, and the mocked ones, which are given its words."""

import json
from collections.abc import Callable, Mapping
from typing import Any

from llmock.pytest_plugin import LLMock
from llmock.scenarios import Reply, ToolCall

from gateway.providers.demo.summary import LABEL

MOCKED = {"openai": "openai/gpt-4o", "anthropic": "anthropic/claude-sonnet-4-6", "gemini": "gemini/gemini-2.5-pro"}
MODELS = [*MOCKED.values(), "offline/demo"]

Turn = list[tuple[str, Mapping[str, Any]]]


def environment(base_url: Callable[[str], str]) -> dict[str, str]:
    """What a Toolgate needs to know of llmock."""
    return {f"{name.upper()}_{key}": value for name in MOCKED for key, value in _settings(base_url(name)).items()}


def _settings(url: str) -> dict[str, str]:
    return {"API_KEY": "sk-mocked-3e9f0a", "BASE_URL": url}


def words(turn: Turn) -> str:
    """What the demo model says beside its calls."""
    return f"I will use {' and '.join(dict.fromkeys(name for name, _ in turn))}."


def script(llmock: LLMock, model: str, *turns: Turn, end: str = "") -> str:
    """Make the model suggest these calls, turn by turn, and at last say `end`; the question to ask it."""
    if model != "offline/demo":
        for turn in turns:
            llmock.add(Reply(words(turn), tuple(ToolCall(name, dict(arguments)) for name, arguments in turn)))
        if end:
            llmock.reply(end)
    spelt = ("\n".join(f"call: {name} {json.dumps(arguments)}" for name, arguments in turn) for turn in turns)
    return "\nthen:\n".join(spelt) or NOTHING


# A question that the demo model answers without a tool.
NOTHING = "Please google"
TEXT = f'Please say what to search for, for example "search the web for tea".\n\n{LABEL}'
