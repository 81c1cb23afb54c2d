"""A tool that asks its user, and workers in this process that do what they were sent."""

import asyncio
import uuid
from collections.abc import Callable
from typing import Any

import pytest

from approvals import tasks as approval_tasks
from gateway import tasks as gateway_tasks
from tests.people import Person
from tests.tools.test_circuit import NONE
from tools import tasks as tool_tasks
from tools.interface import Tier, Tool, ToolContext, ToolResult
from tools.invocation import dispatch, lookup, ordering
from tools.invocation.in_worker import execution
from tools.invocation.live.circuit import Circuits
from tools.network import messages
from tools.questions import InputRequired, Question

NAME_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"name": {"type": "string", "minLength": 1}},
    "required": ["name"],
}
NAME = Question("name", "What is your name?", NAME_SCHEMA)
PAGE = Question("log-in", "Log in there.", url="https://example.com/log-in")
Execute = Callable[[ToolContext], ToolResult]


class Asking(Tool):
    """Does at each execution what the test says next; with its last word said, it says what it was answered."""

    name = "asking"
    description = "Asks."
    tier = Tier.WORKSPACE
    parameters: dict[str, Any] = {
        "type": "object", "properties": {"x": {"type": "integer"}}, "additionalProperties": False
    }  # fmt: skip
    rate = "1000/m"

    def __init__(self, *script: Exception) -> None:
        self.script = list(script)
        self.seen: list[ToolContext] = []

    async def execute(self, params: dict[str, Any], ctx: ToolContext) -> ToolResult:
        self.seen.append(ctx)
        if self.script:
            raise self.script.pop(0)
        answers = {key: [answer.action, answer.content] for key, answer in ctx.answers.items()}
        return ToolResult({"answers": answers, "state": ctx.state}, "answered")


def asks(*questions: Question, state: Any = None) -> InputRequired:
    """What a tool raises to ask; the name, where nothing is said."""
    return InputRequired(questions or (NAME,), state)


class _Registry:
    def __init__(self, tool: Tool) -> None:
        self._tool = tool

    def get(self, name: str) -> Tool | None:
        return self._tool if name == self._tool.name else None

    def all(self) -> tuple[Tool, ...]:
        return (self._tool,)

    def settings(self, name: str) -> Any:
        return NONE


class Workers:
    """Does what was sent to the workers when a test says so. `lost`: messages do not arrive."""

    TASKS = {
        "tools.execute_remote": tool_tasks.execute_remote,
        "approvals.answered": approval_tasks.answered,
        "gateway.take_over": gateway_tasks.take_over,
    }

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.sent: list[tuple[str, list[str]]] = []
        self._monkeypatch = monkeypatch
        self.lost = False
        monkeypatch.setattr(messages, "send", self._send)

    async def _send(self, more: Any) -> None:
        if not self.lost:
            self.sent.extend((task, list(given)) for task, given in more)

    def install(self, tool: Tool) -> None:
        """Make a tool the only one of this process."""
        for module in (execution, dispatch, lookup, ordering):
            self._monkeypatch.setattr(module, "registry", lambda: _Registry(tool))
        self._monkeypatch.setattr(execution, "circuits", Circuits())
        self._monkeypatch.setattr(execution, "BACK_OFF", 0.001)

    async def work(self, person: Person) -> int:
        """Do everything that was sent about the person's calls and runs, and what comes of it; how many tasks."""
        done, under_way = 0, set[asyncio.Task[None]]()
        while True:
            for message in [each for each in self.sent if each[1][:2] == [str(part) for part in person.scope]]:
                self.sent.remove(message)
                task, given = message
                if task in self.TASKS:
                    under_way.add(asyncio.ensure_future(self.TASKS[task](*given)))
                    done += 1
            if not under_way:
                return done
            ended, under_way = await asyncio.wait(under_way, timeout=0.02)
            for each in ended:
                each.result()


def as_id(text: object) -> uuid.UUID:
    """An id out of JSON."""
    return uuid.UUID(str(text))
