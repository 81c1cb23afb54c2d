"""What a server asks the user of a call, and how far it says it is: in both manners of the protocol."""

import ipaddress
from collections.abc import Iterator
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.test import override_settings

from services import changes
from services.execution.tool import ServiceTool
from tenants.scope import transactions
from tenants.scope.transactions import transaction
from tests.people import Cast
from tests.services.api import OUTSIDE, Api, Asked, Reply
from tests.services.mcp_server import MODERN, OLDER, Error, Server, answered, stream, text
from tests.services.test_mcp_passing_on import add
from tests.waiting import PATIENCE_SECONDS
from tools.errors import ToolError
from tools.interface import ToolContext, ToolResult
from tools.invocation import lookup
from tools.questions import Answer, InputRequired, Question

SCHEMA = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
ASKED = {"message": "Who are you?", "requestedSchema": SCHEMA}


@pytest.fixture(autouse=True)
def allowed() -> Iterator[None]:
    """The servers of these tests may be reached."""
    with override_settings(TOOLGATE_EGRESS_ALLOW=(frozenset(), (ipaddress.ip_network(OUTSIDE),))):
        yield


async def executed(tenant: Cast, **more: Any) -> Any:
    """The output of one execution of a call; raises ToolError and InputRequired."""
    return (await execution(tenant, **more)).output


async def execution(tenant: Cast, **more: Any) -> ToolResult:
    """One execution of a call; raises the same."""
    async with transaction(tenant.alice.scope) as connection:
        tool = await lookup.of_call(connection, "notes.echo")
    assert isinstance(tool, ServiceTool)
    scope = tenant.alice.scope
    ctx = ToolContext(scope.tenant_id, scope.tenant_id, scope.user_id, None, None, PATIENCE_SECONDS, **more)
    return await tool.execute({"text": "hello"}, ctx)


async def test_an_answer_is_sent_with_the_same_call_and_the_state_of_the_server(
    tenant: Cast, api: Api, url: str
) -> None:
    server = Server(api)
    await add(tenant, url)

    def ask(params: Any, asked: Asked) -> Any:
        if params.get("inputResponses") != {"who": {"action": "accept", "content": {"name": "Alice"}}}:
            requests = {"who": {"method": "elicitation/create", "params": ASKED}}
            return {"resultType": "input_required", "inputRequests": requests, "requestState": "s-1"}
        return text(f"Hello {params['inputResponses']['who']['content']['name']}")

    server.call = ask
    with pytest.raises(InputRequired) as raised:
        await executed(tenant)
    assert raised.value.questions == (Question("who", "Who are you?", schema=SCHEMA),)
    answers = {"who": Answer("accept", {"name": "Alice"})}
    assert await executed(tenant, answers=answers, state=raised.value.state) == text("Hello Alice")
    first, second = server.calls
    assert (second["requestState"], second["name"], second["arguments"]) == ("s-1", "echo", {"text": "hello"})
    assert "inputResponses" not in first


async def call_idempotent(tenant: Cast) -> None:
    """Say that the tool may be called twice, as an owner does."""

    def say() -> None:
        with transactions.scope(*tenant.olga.scope):
            changes.change_tool("notes", "echo", {"idempotent": True})

    await sync_to_async(say)()


async def test_an_older_server_is_told_that_nobody_answers_where_its_tool_may_not_be_called_twice(
    tenant: Cast, api: Api, url: str
) -> None:
    server = Server(api, OLDER)
    await add(tenant, url)
    got: list[Any] = []

    def ask(params: Any, asked: Asked) -> Reply:
        def write(send: Any, handler: Any) -> None:
            send({"jsonrpc": "2.0", "id": "q", "method": "elicitation/create", "params": ASKED})
            assert until_answered(server, "q", asked.json["id"], got)
            send({"jsonrpc": "2.0", "id": asked.json["id"], "result": text("half of it")})

        return stream(write)

    server.call = ask
    result = await execution(tenant)
    assert (result.output, got, len(server.calls)) == (text("half of it"), [{"action": "cancel"}], 1)
    assert "asked its user in the middle of the call" in result.display


async def test_a_server_of_an_older_revision_is_cancelled_and_asked_again_with_the_answer(
    tenant: Cast, api: Api, url: str
) -> None:
    server = Server(api, OLDER)
    await add(tenant, url)
    await call_idempotent(tenant)
    got: list[Any] = []

    def ask(params: Any, asked: Asked) -> Reply:
        def write(send: Any, handler: Any) -> None:
            call = asked.json["id"]
            for words in ("Who are you?", "And how old?"):
                number = f"{call} {words}"
                send({"jsonrpc": "2.0", "id": number, "method": "elicitation/create",
                      "params": {**ASKED, "message": words}})  # fmt: skip
                if not until_answered(server, number, call, got):
                    return
            send({"jsonrpc": "2.0", "id": asked.json["id"], "result": text("done")})

        return stream(write)

    server.call = ask
    with pytest.raises(InputRequired) as first:
        await executed(tenant)
    [question] = first.value.questions
    assert (question.message, question.schema) == ("Who are you?", SCHEMA)
    answers = {question.key: Answer("accept", {"name": "Alice"})}
    with pytest.raises(InputRequired) as second:
        await executed(tenant, answers=answers, state=first.value.state)
    [other] = second.value.questions
    assert (other.message, other.key == question.key) == ("And how old?", False)
    # Answers of earlier rounds are carried along: it asks everything again.
    answers = {other.key: Answer("decline")}
    assert await executed(tenant, answers=answers, state=second.value.state) == text("done")
    assert got[-2:] == [{"action": "accept", "content": {"name": "Alice"}}, {"action": "decline"}]


def until_answered(server: Server, number: str, call: int, got: list[Any]) -> bool:
    """Wait for the client's response to a request of the server's, or for its cancelling the call."""
    for _ in range(3000):
        for message in server.messages:
            if message.get("id") == number and "method" not in message:
                server.messages.remove(message)
                got.append(message["result"])
                return True
        cancelled = [each["params"]["requestId"] for each in server.of("notifications/cancelled")]
        if call in cancelled or server.api.released.wait(0.02):
            return False
    return False


async def test_pages_that_an_older_server_wants_visited_are_asked_for_once(tenant: Cast, api: Api, url: str) -> None:
    server = Server(api, OLDER)
    await add(tenant, url)
    page = {"mode": "url", "message": "Log in.", "url": "https://login.example.com/", "elicitationId": "e-1"}

    def ask(params: Any, asked: Asked) -> Any:
        raise Error(-32042, "Log in first", {"elicitations": [page]})

    server.call = ask
    with pytest.raises(InputRequired) as raised:
        await executed(tenant)
    [question] = raised.value.questions
    assert (question.message, question.url, question.schema) == ("Log in.", "https://login.example.com/", None)
    with pytest.raises(ToolError, match="the error -32042. It said: Log in first"):
        await executed(tenant, answers={question.key: Answer("accept")}, state=raised.value.state)
    server.call = lambda params, asked: text("welcome")
    assert await executed(tenant, answers={question.key: Answer("accept")}, state=raised.value.state) == text("welcome")


@pytest.mark.parametrize("method", ["sampling/createMessage", "roots/list"])
async def test_nobody_here_answers_for_a_model_or_gives_files_away(
    tenant: Cast, api: Api, url: str, method: str
) -> None:
    server = Server(api, OLDER)
    await add(tenant, url)

    def ask(params: Any, asked: Asked) -> Reply:
        def write(send: Any, handler: Any) -> None:
            send({"jsonrpc": "2.0", "id": "q", "method": method, "params": {}})
            for _ in range(3000):
                said = [each for each in server.messages if each.get("id") == "q"]
                if said or api.released.wait(0.02):
                    break
            send({"jsonrpc": "2.0", "id": asked.json["id"], "result": text(str(said[0]["error"]["code"]))})

        return stream(write)

    server.call = ask
    assert await executed(tenant) == text("-32601")


@pytest.mark.parametrize("revision", [MODERN, OLDER])
async def test_how_far_a_call_is_reaches_whoever_watches_it(tenant: Cast, api: Api, url: str, revision: str) -> None:
    server = Server(api, revision)
    await add(tenant, url)

    def slowly(params: Any, asked: Asked) -> Reply:
        token = params["_meta"]["progressToken"]

        def write(send: Any, handler: Any) -> None:
            for said in (
                {"progressToken": token, "progress": 1, "total": 3, "message": "one"},
                {"progressToken": "another's", "progress": 2},
                {"progressToken": token, "progress": "x"},
                {"progressToken": token, "progress": 3.5, "total": None, "message": 7},
            ):
                send({"jsonrpc": "2.0", "method": "notifications/progress", "params": said})
            send({"jsonrpc": "2.0", "id": asked.json["id"], "result": text("done")})

        return stream(write)

    server.call = slowly
    heard: list[Any] = []
    assert await executed(tenant, report=lambda *said: heard.append(said)) == text("done")
    assert heard == [(1, 3, "one"), (3.5, None, None)]


async def test_two_calls_at_once_in_one_session_are_not_mixed_up(tenant: Cast, api: Api, url: str) -> None:
    import asyncio

    server = Server(api, OLDER)
    await add(tenant, url)
    server.call = lambda params, asked: answered(asked.json["id"], text(str(asked.json["id"])))
    found = await asyncio.gather(*(executed(tenant) for _ in range(8)))
    assert len({each["content"][0]["text"] for each in found}) == 8
    assert len(server.of("initialize")) == 2
