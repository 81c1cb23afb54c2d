"""A Python client that openapi-python-client makes of our document."""

import json
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any
from uuid import UUID

import httpx
import pytest

from tests.people import Cast, Person
from tests.rest import sse
from tests.stack import Stack

NOTE = 'call: save_note {"title": "Milk", "content": "Two litres"}'
MAIL = 'call: send_email {"to": "bob@example.com", "subject": "Hello", "body": "Hi Bob"}'


class Generated:
    """The generated package, for one Toolgate."""

    def __init__(self, package: ModuleType, url: str, document: Path):
        self.url = url
        self.models = import_module(f"{package.__name__}.models")
        self._package = package
        self._union = json.loads(document.read_text())["components"]["schemas"]["StreamEvent"]["discriminator"]

    def client(self, person: Person) -> Any:
        """The generated client as a person."""
        made = import_module(f"{self._package.__name__}.client")
        return made.AuthenticatedClient(base_url=self.url, token=person.key, timeout=httpx.Timeout(60))

    def operation(self, tag: str, name: str) -> Any:
        """The module of one operation."""
        return import_module(f"{self._package.__name__}.api.{tag}.{name}")

    def read(self, event: sse.Event) -> Any:
        """An event as the model that its name stands for."""
        model = getattr(self.models, self._union["mapping"][event.name].rpartition("/")[2])
        return model.from_dict({"id": event.id, "event": event.name, "data": event.data})

    def stream(self, client: Any, **body: Any) -> Iterator[Any]:
        """A streamed chat's events, as models, as they come."""
        kwargs = self.operation("runs", "create_chat")._get_kwargs(body=self.models.ChatRequest(stream=True, **body))
        with client.get_httpx_client().stream(**kwargs) as response:
            assert response.status_code == 200
            for event in sse.live(response):
                if isinstance(event, sse.Event):
                    yield self.read(event)


@pytest.fixture
def generated(python_client: ModuleType, stack: Stack, document: Path) -> Generated:
    """What was generated, for the running Toolgate."""
    return Generated(python_client, stack.url, document)


def test_a_generated_python_client_chats(generated: Generated, tenant: Cast) -> None:
    models, client = generated.models, generated.client(tenant.alice)
    run = generated.operation("runs", "create_chat").sync(client=client, body=models.ChatRequest(content=NOTE))
    assert isinstance(run, models.Run)
    assert run.status is models.RunStatus.COMPLETED
    [call] = run.tool_calls
    assert (call.tool, call.status, call.error) == ("save_note", models.ToolCallStatus.SUCCESS, None)
    assert (call.input_, run.required_action) == ({"title": "Milk", "content": "Two litres"}, None)
    trace = generated.operation("runs", "get_run_trace").sync(run.run_id, client=client)
    assert [gate.gate for gate in trace.tool_trace[0].tool_calls[0].decision][:2] == [
        models.Gate.ALLOWLIST, models.Gate.SCHEMA
    ]  # fmt: skip
    record = generated.operation("tool_calls", "get_tool_call").sync(call.id, client=client)
    assert (record.tier, record.side_effects[0].kind) == (models.Tier.WORKSPACE, "note")


def test_a_generated_python_client_reads_problems(generated: Generated, tenant: Cast) -> None:
    models, client = generated.models, generated.client(tenant.alice)
    asked = models.ChatRequest(content="Hello", agent="nobody")
    problem = generated.operation("runs", "create_chat").sync(client=client, body=asked)
    assert isinstance(problem, models.Problem)
    assert (problem.status, problem.code, problem.field) == (404, models.ProblemCode.UNKNOWN_AGENT, "agent")


def test_a_generated_python_client_lists_tools_of_every_style(generated: Generated, tenant: Cast) -> None:
    operation = generated.operation("tools", "list_tools")
    client, models = generated.client(tenant.alice), generated.models
    kinds = {"openai": models.OpenAITool, "anthropic": models.AnthropicTool, "gemini": models.GeminiTool}
    for style, kind in {**kinds, "mcp": models.McpTool}.items():
        listed = operation.sync(client=client, style=models.ListToolsStyle(style)).tools
        assert listed and all(type(tool) is kind for tool in listed)
    assert all(type(tool) is models.Tool for tool in operation.sync(client=client).tools)
    access = generated.operation("tools", "get_tool_access").sync("send_email", client=client)
    assert (access.allowed, access.tier, access.gates[-1].holds) == (True, models.Tier.ELEVATED, True)


def test_a_generated_python_client_reads_a_stream(generated: Generated, tenant: Cast) -> None:
    models, client = generated.models, generated.client(tenant.alice)
    events = list(generated.stream(client, content=NOTE))
    assert type(events[0]) is models.RunCreatedEvent
    [settled] = [event for event in events if isinstance(event, models.ToolCallSettledEvent)]
    assert settled.data.status is models.ToolCallStatus.SUCCESS
    assert type(events[-1]) is models.RunCompletedEvent
    run = events[-1].data
    said = "".join(e.data.text for e in events if isinstance(e, models.MessageDeltaEvent) and e.data.turn == 2)
    assert said == run.content
    # The operation itself answers the whole stream as text, once the run is over.
    text = generated.operation("runs", "stream_run_events").sync(run.run_id, client=client)
    assert [generated.read(event) for event in sse.parse(text)][-1] == events[-1]


def test_a_generated_python_client_approves(generated: Generated, tenant: Cast) -> None:
    models, alice, carol = generated.models, generated.client(tenant.alice), generated.client(tenant.carol)
    waiting = generated.operation("runs", "create_chat").sync(client=alice, body=models.ChatRequest(content=MAIL))
    assert waiting.status is models.RunStatus.REQUIRES_ACTION
    [asked] = waiting.required_action.approvals
    pending = models.ListApprovalsStatus.PENDING
    queue = generated.operation("approvals", "list_approvals").sync(client=carol, status=pending).results
    [found] = [each for each in queue if each.id == asked.id]
    assert (found.tool, found.decidable) == ("send_email", True)
    body = models.ApproveRequest(reason="fine")
    if hasattr(found, "params_hash") and hasattr(body, "seen"):
        body.seen = found.params_hash
    operation = generated.operation("approvals", "approve_request")
    approved = operation.sync(asked.id, client=carol, body=body)
    assert (approved.status, approved.decisions[0].verdict) == (models.ApprovalStatus.APPROVED, models.Verdict.APPROVE)
    again = operation.sync(asked.id, client=carol, body=body)
    assert (again.status, again.code) == (409, models.ProblemCode.ALREADY_DECIDED)
    text = generated.operation("runs", "stream_run_events").sync(UUID(str(waiting.run_id)), client=alice)
    ended = [generated.read(event) for event in sse.parse(text)][-1]
    assert [call.status for call in ended.data.tool_calls] == [models.ToolCallStatus.SUCCESS]
