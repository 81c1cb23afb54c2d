"""Connections to services that are kept between calls: whose they are, how many, and what is never sent twice."""

import asyncio
import ipaddress
import uuid
from collections.abc import AsyncIterator, Iterator

import pytest
from django.test import override_settings

from tests.waiting import PATIENCE_SECONDS
from tools.network import clients, egress
from tools.network.clients import client_of, digest

HOST = "127.0.0.2"
TENANT, OTHER = uuid.uuid4(), uuid.uuid4()


class Place:
    """A server that counts connections; `drops` is how many requests of a connection it answers before it hangs up."""

    def __init__(self) -> None:
        self.connections = 0
        self.open = 0
        self.requests: list[bytes] = []
        self.answers = 1_000
        self.url = ""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self.open += 1
        try:
            for _ in range(self.answers):
                head = await reader.readuntil(b"\r\n\r\n")
                self.requests.append(head.split(b" ")[0])
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
                await writer.drain()
            head = await reader.readuntil(b"\r\n\r\n")
            self.requests.append(head.split(b" ")[0])
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            self.open -= 1
            writer.close()


@pytest.fixture(autouse=True)
def allowed() -> Iterator[None]:
    """The server may be reached."""
    with override_settings(TOOLGATE_EGRESS_ALLOW=(frozenset(), (ipaddress.ip_network(HOST),))):
        yield


@pytest.fixture
async def place() -> AsyncIterator[Place]:
    """The server, while it is up."""
    found = Place()
    server = await asyncio.start_server(found.serve, HOST, 0)
    found.url = f"http://{HOST}:{server.sockets[0].getsockname()[1]}/"
    yield found
    await clients.close()
    server.close()


async def ask(place: Place, key: clients.Key, method: str = "GET") -> int:
    """One request; the status of the answer. Raises EgressFailed."""
    async with client_of(key) as client:
        return await _asked(client, place, method)


async def _asked(client: egress.Client, place: Place, method: str) -> int:
    answer = await client.request(
        method, place.url, connect_seconds=PATIENCE_SECONDS, seconds=PATIENCE_SECONDS, most=10
    )
    return answer.status


async def test_calls_of_one_service_with_one_credential_share_a_connection(place: Place) -> None:
    key = (TENANT, "desk", digest({"Authorization": "Bearer a"}))
    for _ in range(3):
        assert await ask(place, key) == 200
    assert (place.connections, len(place.requests)) == (1, 3)


async def test_no_connection_is_shared_among_tenants_services_or_credentials(place: Place) -> None:
    keys = [
        (TENANT, "desk", digest({"Authorization": "Bearer a"})),
        (TENANT, "desk", digest({"Authorization": "Bearer b"})),
        (TENANT, "other", digest({"Authorization": "Bearer a"})),
        (OTHER, "desk", digest({"Authorization": "Bearer a"})),
    ]
    for key in keys * 2:
        assert await ask(place, key) == 200
    assert place.connections == len(keys)


async def test_clients_that_nobody_uses_are_closed_when_there_are_too_many(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clients, "MOST_HELD", 2)
    async with client_of((TENANT, "in use", "")) as client:
        for number in range(5):
            assert await ask(place, (TENANT, str(number), "")) == 200
        # Whoever uses one at the moment keeps it.
        assert await _asked(client, place, "GET") == 200
    async with asyncio.timeout(PATIENCE_SECONDS):
        while place.open > 2:
            await asyncio.sleep(0.01)
    assert place.connections == 6


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "POST"])
async def test_a_request_on_a_kept_connection_that_is_cut_is_not_sent_again(place: Place, method: str) -> None:
    place.answers = 1
    key = (TENANT, "desk", "")
    assert await ask(place, key, method) == 200
    with pytest.raises(egress.Unanswered):
        await ask(place, key, method)
    assert place.requests == [method.encode()] * 2
    assert place.connections == 1
