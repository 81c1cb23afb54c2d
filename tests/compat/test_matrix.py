"""Every official SDK with every provider: each answer is the same, whoever gave it, and in the SDK's own shapes."""

from collections.abc import Callable
from typing import Any

import pytest
from llmock.pytest_plugin import LLMock
from llmock.scenarios import Reply, ToolCall

from gateway.providers.demo.summary import LABEL
from tests.compat.clients import CLIENTS, WEATHER, Client, Said
from tests.compat.models import MOCKED, MODELS, TEXT, script
from tests.database import rows
from tests.people import Cast, Person
from tests.stack import Stack

ROME = ("get_weather", {"city": "Rome"})
TASKS: tuple[str, dict[str, Any]] = ("list_tasks", {})
NOTE = ("save_note", {"title": "a", "content": "b"})
CLEAR = '{"ok": true, "data": {"sky": "clear"}}'
CLEAR_SAID = 'get_weather answered: {"sky":"clear"}'

STREAMS = pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
EACH_MODEL = pytest.mark.parametrize("model", MODELS)
EACH_MOCKED = pytest.mark.parametrize("model", MOCKED.values())


@pytest.fixture(params=CLIENTS.values(), ids=CLIENTS)
def client(request: pytest.FixtureRequest, mocked: Stack, tenant: Cast) -> Client:
    """Alice's."""
    made: Callable[[Stack, Person], Client] = request.param
    return made(mocked, tenant.alice)


def _ran(said: Said) -> list[tuple[str, str]]:
    return [(call["tool"], call["status"]) for call in said.toolgate["tool_calls"]]


def _heard(said: Said, stream: bool) -> bool:
    """Whether the whole text streamed just when it should, white space aside."""
    return "".join("".join(said.pieces).split()) == ("".join(said.text.split()) if stream else "")


@STREAMS
@EACH_MODEL
def test_text(client: Client, llmock: LLMock, model: str, stream: bool) -> None:
    # So slow that no pause of a busy machine makes one piece of all.
    question = script(llmock.pace(30), model, end=TEXT)
    said = client.ask(model, [client.user(question)], stream=stream)
    assert (said.text, said.calls, said.finish) == (TEXT, [], client.finishes["stop"])
    assert (said.toolgate["status"], _ran(said)) == ("completed", [])
    assert said.tokens > 10
    assert _heard(said, stream)
    assert (len(said.pieces) > 1) == stream


@STREAMS
@EACH_MODEL
def test_a_managed_turn(client: Client, llmock: LLMock, model: str, stream: bool) -> None:
    end = f"You have no tasks.\n\n{LABEL}"
    question = script(llmock, model, [TASKS], end=end)
    said = client.ask(model, [client.user(question)], tools=WEATHER, stream=stream)
    assert (said.text, said.calls) == (f"I will use list_tasks.\n\n{end}", [])
    assert (said.finish, _ran(said)) == (client.finishes["stop"], [("list_tasks", "success")])
    assert _heard(said, stream)


@STREAMS
@EACH_MODEL
def test_a_clients_turn_and_its_follow_up(client: Client, llmock: LLMock, model: str, stream: bool) -> None:
    end = f"{CLEAR_SAID}\n\n{LABEL}"
    transcript = [client.user(script(llmock, model, [ROME], end=end))]
    said = client.ask(model, transcript, tools=WEATHER, stream=stream)
    [call] = said.calls
    assert (said.text, call.name, call.arguments) == ("I will use get_weather.", *ROME)
    assert (said.finish, _ran(said)) == (client.finishes["calls"], [])
    transcript += [*said.items, client.result(call, CLEAR)]
    said = client.ask(model, transcript, tools=WEATHER, stream=stream)
    assert (said.text, said.calls, said.finish) == (end, [], client.finishes["stop"])
    if model in MOCKED.values():
        assert "clear" in str(llmock.last_request.body)


@STREAMS
@EACH_MODEL
def test_a_clients_turn_after_a_managed_one_and_its_follow_up(
    client: Client, llmock: LLMock, model: str, stream: bool
) -> None:
    end = f"You have no tasks.\n\n{CLEAR_SAID}\n\n{LABEL}"
    transcript = [client.user(script(llmock, model, [TASKS], [ROME], end=end))]
    said = client.ask(model, transcript, tools=WEATHER, stream=stream)
    [call] = said.calls
    assert (said.text, call.name) == ("I will use list_tasks.\n\nI will use get_weather.", "get_weather")
    assert (said.finish, _ran(said)) == (client.finishes["calls"], [("list_tasks", "success")])
    transcript += [*said.items, client.result(call, CLEAR)]
    said = client.ask(model, transcript, tools=WEATHER, stream=stream)
    # The demo model would call get_weather once more if the managed round were not there.
    assert (said.text, said.calls, _ran(said)) == (end, [], [])
    if model in MOCKED.values():
        seen = str(llmock.last_request.body)
        assert seen.index("list_tasks") < seen.index("tasks': []" if model.startswith("gemini") else '"tasks":[]')


@STREAMS
@EACH_MODEL
def test_a_clients_call_before_a_managed_one(
    client: Client, llmock: LLMock, tenant: Cast, model: str, stream: bool
) -> None:
    question = script(llmock, model, [ROME, NOTE], end=TEXT)
    # The model says something first, and a stream that has begun keeps its status.
    error = client.broken if stream else client.errors.UnprocessableEntityError
    with pytest.raises(error, match="managed tools first"):
        client.ask(model, [client.user(question)], tools=WEATHER, stream=stream)
    assert rows("SELECT 1 AS it FROM notes WHERE tenant_id = %(id)s", id=tenant.id) == []


@STREAMS
@EACH_MOCKED
def test_a_clients_call_before_a_managed_one_without_a_word(
    client: Client, llmock: LLMock, model: str, stream: bool
) -> None:
    llmock.add(Reply(tool_calls=(ToolCall(*ROME), ToolCall(*NOTE))))
    with pytest.raises(client.errors.UnprocessableEntityError, match="get_weather.*save_note.*managed tools first"):
        client.ask(model, [client.user("hi")], tools=WEATHER, stream=stream)


@STREAMS
@EACH_MOCKED
def test_a_providers_429(client: Client, llmock: LLMock, model: str, stream: bool) -> None:
    llmock.rate_limit(times=None, retry_after=60)
    with pytest.raises(client.errors.RateLimitError) as failed:
        client.ask(model, [client.user("hi")], stream=stream)
    assert int(failed.value.response.headers["retry-after"]) > 0
    assert len(llmock.requests) == 1


@STREAMS
@EACH_MOCKED
@pytest.mark.parametrize("status", [401, 500])
def test_a_provider_that_refuses_or_fails(
    client: Client, llmock: LLMock, model: str, stream: bool, status: int
) -> None:
    llmock.fail(status, times=None, retry_after=0)
    with pytest.raises(client.errors.InternalServerError) as failed:
        client.ask(model, [client.user("hi")], stream=stream)
    assert failed.value.status_code == 502
    assert "sk-mocked" not in str(failed.value)


@EACH_MOCKED
@pytest.mark.parametrize("fault", ["truncate", "corrupt", "disconnect"])
def test_a_stream_that_breaks(client: Client, llmock: LLMock, model: str, fault: str) -> None:
    llmock.pace(20).reply("One two three four five six seven.")
    getattr(llmock, fault)(after_chunks=5)
    with pytest.raises(client.broken):
        client.ask(model, [client.user("hi")], stream=True)
    assert len(llmock.requests) == 1
