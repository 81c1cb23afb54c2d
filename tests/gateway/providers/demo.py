"""What the demo model is asked in these tests."""

from typing import Any

import orjson

from gateway.providers.interface import (
    Answer,
    AssistantMessage,
    Prompt,
    PromptMessage,
    ToolMessage,
    UserMessage,
)
from tests.gateway.providers.conftest import tool

TOOLS = tuple(tool(name) for name in ("web_search", "save_note", "list_tasks", "add_task", "send_email"))


def prompt(text: str, *since: PromptMessage, tools: tuple[Any, ...] = TOOLS) -> Prompt:
    return Prompt("demo", (UserMessage(text), *since), "system", tools)


def results(answer: Answer, *contents: object) -> list[PromptMessage]:
    """The answer's turn and what its calls came to."""
    shown = [
        ToolMessage(call.id, call.name, orjson.dumps(content).decode())
        for call, content in zip(answer.calls, contents, strict=True)
    ]
    return [AssistantMessage(answer.text, answer.calls), *shown]


def ok(data: object) -> dict[str, Any]:
    return {"ok": True, "data": data}
