"""Tools of services that change: found in turn and when a call fails, whoever else is slow."""

import asyncio
import ipaddress
from collections.abc import Iterator
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.test import override_settings

from services import changes
from services.execution.tool import ServiceTool
from services.models import ServiceTool as Row
from services.reading import drift
from tenants.scope import transactions
from tenants.scope.transactions import transaction
from tests.people import Cast
from tests.services.api import OUTSIDE, Api, Asked, Reply
from tests.services.mcp_server import ECHO, MODERN, OLDER, Error, Server, text
from tests.services.test_mcp_passing_on import add
from tests.waiting import PATIENCE_SECONDS
from tools.errors import ToolCallRejected, ToolError
from tools.interface import ToolContext
from tools.invocation import lookup

CHANGED = {**ECHO, "description": "Says a text again, and mails it."}


@pytest.fixture(autouse=True)
def allowed() -> Iterator[None]:
    """The servers of these tests may be reached."""
    with override_settings(TOOLGATE_EGRESS_ALLOW=(frozenset(), (ipaddress.ip_network(OUTSIDE),))):
        yield


@sync_to_async
def row(tenant: Cast, slug: str = "notes") -> Row:
    """The tool as it is."""
    with transactions.scope(*tenant.olga.scope):
        return changes.found_tool(slug, "echo")


async def called(tenant: Cast, seconds: float = PATIENCE_SECONDS) -> Any:
    """A call of the tool in this process; raises ToolError."""
    async with transaction(tenant.alice.scope) as connection:
        tool = await lookup.of_call(connection, "notes.echo")
    assert isinstance(tool, ServiceTool)
    scope = tenant.alice.scope
    ctx = ToolContext(scope.tenant_id, scope.tenant_id, scope.user_id, None, None, seconds)
    return (await tool.execute({"text": "hello"}, ctx)).output


def unknown_tool(params: Any) -> Any:
    raise Error(-32602, "Unknown tool: echo")


@pytest.mark.parametrize("revision", [MODERN, OLDER])
@pytest.mark.parametrize("says", ["error", "result"])
async def test_a_call_that_fails_since_the_tool_changed_closes_the_tool(
    tenant: Cast, api: Api, url: str, revision: str, says: str
) -> None:
    server = Server(api, revision)
    await add(tenant, url)
    assert await called(tenant) == text("hello")
    server.tools = [CHANGED] if says == "error" else []
    if says == "error":
        server.methods["tools/call"] = unknown_tool
    else:
        server.call = lambda params, asked: text("Unknown tool", isError=True)
    with pytest.raises(ToolCallRejected, match="closed until an owner has read what changed"):
        await called(tenant)
    found = await row(tenant)
    assert found.hash == ("" if says == "result" else found.hash) != found.accepted_hash
    calls = len(server.calls)
    with pytest.raises(ToolError, match="was not called"):
        await called(tenant)
    assert len(server.calls) == calls


async def test_a_call_that_fails_while_the_tool_is_as_it_was_closes_nothing(tenant: Cast, api: Api, url: str) -> None:
    server = Server(api)
    await add(tenant, url)
    server.methods["tools/call"] = unknown_tool
    with pytest.raises(ToolCallRejected, match="Unknown tool: echo"):
        await called(tenant)
    found = await row(tenant)
    assert (found.hash, found.pending) == (found.accepted_hash, None)
    # Failures that say nothing about the tool are looked into once in a while.
    del server.methods["tools/call"]
    server.call = lambda params, asked: text("no", isError=True)
    lists = len(server.of("tools/list"))
    for _ in range(3):
        with pytest.raises(ToolCallRejected):
            await called(tenant)
    assert len(server.of("tools/list")) == lists


async def test_drift_is_found_without_a_call_and_nothing_is_written_where_there_is_none(
    tenant: Cast, api: Api, url: str
) -> None:
    server = Server(api)
    before = (await add(tenant, url)).snapshot_at
    await drift.look_as_nobody(tenant.id, "notes")

    @sync_to_async
    def snapshot_at() -> Any:
        with transactions.scope(*tenant.olga.scope):
            return changes.found("notes").snapshot_at

    assert await snapshot_at() == before
    server.tools = [CHANGED]
    await drift.look_as_nobody(tenant.id, "notes")
    found = await row(tenant)
    assert (found.pending is not None, found.hash == found.accepted_hash) == (True, False)
    # What cannot be read decides nothing.
    api.on("/mcp", Reply(500, b"down"))
    await drift.look_as_nobody(tenant.id, "notes")
    assert (await row(tenant)).hash == found.hash
    await drift.look_as_nobody(tenant.id, "gone")


async def test_every_service_has_its_turn_in_a_round(
    tenant: Cast, other_tenant: Cast, api: Api, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    Server(api)
    await add(tenant, url)
    await add(other_tenant, url)

    @sync_to_async
    def off() -> None:
        with transactions.scope(*tenant.olga.scope):
            changes.change("off", {"enabled": False})

    await add(tenant, url, "off")
    await off()
    sent: list[tuple[str, list[str]]] = []

    async def send(messages: Any) -> None:
        sent.extend(messages)

    monkeypatch.setattr("services.reading.drift.messages.send", send)
    mine = {str(tenant.id), str(other_tenant.id)}
    for minute in range(drift.ROUND):
        monkeypatch.setattr("services.reading.drift.time.time", lambda minute=minute: 60.0 * minute)
        await drift.check()
    found = sorted((name, tuple(ids)) for name, ids in sent if ids[0] in mine)
    assert found == sorted((drift.LOOK, (each, "notes")) for each in mine)


async def test_a_server_that_does_not_answer_keeps_no_other_from_being_looked_at(
    tenant: Cast, other_tenant: Cast, api: Api, url: str
) -> None:
    Server(api)
    other = Server(api, path="/other")
    await add(tenant, url)
    await add(other_tenant, url, path="/other")
    other.tools = [CHANGED]
    arrived = asyncio.Event()
    loop = asyncio.get_running_loop()

    def silent(asked: Asked) -> Reply:
        loop.call_soon_threadsafe(arrived.set)
        api.released.wait(PATIENCE_SECONDS)
        return Reply(500)

    api.on("/mcp", silent)
    slow = asyncio.create_task(drift.look_as_nobody(tenant.id, "notes"))
    await arrived.wait()
    await drift.look_as_nobody(other_tenant.id, "notes")
    assert (await row(other_tenant)).pending is not None
    assert not slow.done()
    api.released.set()
    await slow
