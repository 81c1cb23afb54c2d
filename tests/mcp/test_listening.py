"""`subscriptions/listen`: what a client of 2026-07-28 is told of changes; in this process."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from mcp.shared.exceptions import MCPError
from mcp.shared.subscriptions import SUBSCRIPTION_ID_META_KEY
from mcp_types import SubscriptionsListenRequestParams

from gateway.http import stopping
from gateway.mcp import exchange
from gateway.mcp.errors import TooManyStreams, TooManySubscriptions, Unauthenticated
from gateway.mcp.exchange import Exchange
from gateway.mcp.notifications import listening, streams
from services import changes
from tenants.login.authentication import by_key
from tenants.scope import transactions
from tests.people import Cast, Person
from tests.services.api import Api
from tests.services.calling import allowed
from tests.services.conftest import api, url
from tests.services.mcp_server import MODERN
from tests.services.test_mcp_passing_on import Notes, add

__all__ = ["api", "url"]

ALL = {"toolsListChanged": True, "promptsListChanged": True, "resourcesListChanged": True}
META = {SUBSCRIPTION_ID_META_KEY: 7}


@pytest.fixture(autouse=True)
def _looking_often(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(listening, "LOOK_SECONDS", 0.02)
    with allowed():
        yield


class Client:
    """One that has opened a stream: what it was told, and how the stream ended."""

    def __init__(self, principal: Any, asked: dict[str, Any], check_key: Any = None):
        self._shown: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        under_way = Exchange(principal, **({"check_key": check_key} if check_key else {}))
        request = SimpleNamespace(scope={exchange.KEY: under_way})
        context: Any = SimpleNamespace(request=request, request_id=7, session=self, protocol_version=MODERN)
        params = SubscriptionsListenRequestParams.model_validate({"notifications": asked})
        self.stream = asyncio.ensure_future(listening.listen(context, params))

    async def send_notification(self, notification: Any, related_request_id: int) -> None:
        """As the SDK's session."""
        assert related_request_id == 7
        await self._shown.put(notification.model_dump(mode="json", by_alias=True, exclude_none=True))

    async def shown(self) -> tuple[str, dict[str, Any]]:
        """What it is told next, with nothing of another stream."""
        getting = asyncio.ensure_future(self._shown.get())
        done, _ = await asyncio.wait([getting, self.stream], return_when=asyncio.FIRST_COMPLETED)
        if getting not in done:
            getting.cancel()
            self.stream.result()
            raise AssertionError("The stream has ended.")
        said = getting.result()
        params = dict(said["params"])
        assert params.pop("_meta") == META
        return said["method"].removeprefix("notifications/"), params

    @property
    def nothing_more(self) -> bool:
        """Whether it was told all."""
        return self._shown.empty()


@asynccontextmanager
async def listen(person: Person, asked: dict[str, Any], check_key: Any = None) -> AsyncIterator[Client]:
    """A stream of somebody's, which is hung up at the end."""
    principal = await by_key(person.key)
    client = Client(principal, asked, check_key)
    try:
        yield client
    finally:
        client.stream.cancel()
        await asyncio.wait([client.stream])


@sync_to_async
def change(tenant: Cast, **given: Any) -> None:
    """An owner says something of the tool of `notes`."""
    with transactions.scope(*tenant.olga.scope):
        changes.change_tool("notes", "echo", given)


async def test_a_client_is_told_of_what_it_asked_for_and_of_nothing_else(tenant: Cast, api: Api, url: str) -> None:
    server = Notes(api, MODERN)
    await add(tenant, url, on=False)
    everything = listen(tenant.alice, ALL)
    only = listen(tenant.alice, {"promptsListChanged": True, "resourceSubscriptions": ["notes://today", "notes://no"]})
    async with everything as first:
        assert await first.shown() == ("subscriptions/acknowledged", {"notifications": ALL})
        # With its tool the service's prompts and resources come.
        await change(tenant, enabled=True)
        assert {(await first.shown())[0] for _ in range(3)} == {
            "tools/list_changed", "prompts/list_changed", "resources/list_changed",
        }  # fmt: skip
        async with only as second:
            honored = {"promptsListChanged": True, "resourceSubscriptions": ["notes://today"]}
            assert await second.shown() == ("subscriptions/acknowledged", {"notifications": honored})
            await change(tenant, tier="system")
            server.methods["resources/read"] = lambda params: {"contents": [{"uri": params["uri"], "text": "new"}]}
            assert await second.shown() == ("resources/updated", {"uri": "notes://today"})
            assert second.nothing_more
        assert (await first.shown())[0] == "tools/list_changed"


async def test_a_stream_is_of_its_user_s_rights(tenant: Cast, other_tenant: Cast, api: Api, url: str) -> None:
    Notes(api, MODERN)
    await add(tenant, url)
    async with listen(other_tenant.alice, ALL | {"resourceSubscriptions": ["notes://today"]}) as other:
        assert await other.shown() == ("subscriptions/acknowledged", {"notifications": ALL})
        async with listen(tenant.alice, ALL) as own:
            await own.shown()
            await change(tenant, enabled=False)
            for _ in range(3):
                await own.shown()
        assert other.nothing_more


async def test_a_stream_ends_with_a_result_when_its_key_ends_and_when_the_process_stops(tenant: Cast) -> None:
    async def revoked() -> None:
        raise Unauthenticated

    async with listen(tenant.alice, ALL, revoked) as client:
        assert (await client.stream).meta == META
    async with listen(tenant.alice, ALL) as client:
        await client.shown()
        stopping.begun().set()
        assert (await client.stream).meta == META
    assert not streams._open


async def test_a_stream_that_is_hung_up_leaves_nothing_that_waits(
    tenant: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listening, "LOOK_SECONDS", 3600)
    async with listen(tenant.alice, ALL) as client:
        await client.shown()
        while len(_waiting()) < 2:
            await asyncio.sleep(0.01)
    await asyncio.sleep(0.01)
    assert not _waiting()


def _waiting() -> set["asyncio.Task[Any]"]:
    return {each for each in asyncio.all_tasks() if "Event.wait()" in repr(each)}


async def test_streams_and_what_one_watches_are_bounded(tenant: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = {"resourceSubscriptions": [f"notes://{n}" for n in range(21)]}
    async with listen(tenant.alice, asked) as client:
        with pytest.raises(TooManySubscriptions):
            await client.shown()
    monkeypatch.setattr(streams, "MOST", 1)
    async with listen(tenant.alice, ALL) as client, listen(tenant.alice, ALL) as second:
        await client.shown()
        with pytest.raises(TooManyStreams):
            await second.shown()


async def test_a_notification_cannot_listen() -> None:
    context: Any = SimpleNamespace(request=SimpleNamespace(scope={exchange.KEY: None}), request_id=None)
    with pytest.raises(MCPError):
        await listening.listen(context, SubscriptionsListenRequestParams.model_validate({"notifications": {}}))
