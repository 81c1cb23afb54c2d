"""One bounded request to a provider, for the list of its models: whether it answers, and takes the key."""

import asyncio
import time
from dataclasses import dataclass

import aiohttp
import orjson

from gateway.providers.errors import ProviderGarbled
from gateway.providers.routing.errors import InvalidProvider, ProviderFailed
from gateway.providers.routing.settings.wanted import WantedProvider
from gateway.providers.transport.connections import Connections, Target
from gateway.providers.transport.upstream import FellSilent, limited
from tools.network.egress import EgressRefused

SECONDS = 10.0
MOST_MODELS = 1000


@dataclass(frozen=True, slots=True)
class Tested:
    """What came of it: `ok`, the HTTP status if there was one, how long it took, in words what is wrong, and the names
    of models that it listed."""

    ok: bool
    status: int | None
    ms: int
    detail: str
    models: tuple[str, ...] = ()


async def test(wanted: WantedProvider) -> Tested:
    """Ask the provider for its models; what goes wrong is said in the answer, without address or key."""
    began = time.monotonic()
    status: int | None = None
    models: tuple[str, ...] = ()
    connections = Connections(SECONDS, guarded=wanted.guarded)
    try:
        async with asyncio.timeout(SECONDS):
            path, headers = _request(wanted)
            target = Target.of(wanted.address + path, headers.items())
            async with await connections.get(target) as response:
                status = response.status
                body = b"".join([chunk async for chunk in limited(response.content, SECONDS)])
            models = _names(body) if status == 200 else ()
            detail = _words(status, len(models))
    except EgressRefused:
        detail = _NOT_PUBLIC
    except (TimeoutError, FellSilent):
        detail = "It did not answer in time."
    except (aiohttp.ClientError, ProviderGarbled, OSError, ValueError):
        detail = "It could not be reached, or its answer cannot be read."
    finally:
        await connections.close()
    return Tested(status == 200, status, round((time.monotonic() - began) * 1000), detail, models)


async def demand(wanted: WantedProvider) -> Tested:
    """The same before it is saved. Raises ProviderFailed where the key is refused, InvalidProvider for an address that
    leads to no public host; a provider that is only away, or has no list, can be saved."""
    tested = await test(wanted)
    if tested.detail == _NOT_PUBLIC:
        raise InvalidProvider(f"{_NOT_PUBLIC} The operator can allow it (TOOLGATE_EGRESS_ALLOW).", "base_url")
    if tested.status in (401, 403):
        raise ProviderFailed(
            f"The provider refuses this key (HTTP {tested.status}), so nothing was saved. Check the key, and "
            "that it is one of this provider.",
            "api_key",
        )
    return tested


_NOT_PUBLIC = "The address leads to no public host."


def _request(wanted: WantedProvider) -> tuple[str, dict[str, str]]:
    """The path of the list, and the headers of a request for it."""
    key = wanted.api_key
    if wanted.kind == "anthropic":
        return "/v1/models?limit=1000", {"x-api-key": key, "anthropic-version": "2023-06-01"} if key else {}
    if wanted.kind == "gemini":
        return "/v1beta/models?pageSize=1000", {"x-goog-api-key": key} if key else {}
    return "/models", {"Authorization": f"Bearer {key}"} if key else {}


def _names(body: bytes) -> tuple[str, ...]:
    given = orjson.loads(body)
    rows = (given.get("data") or given.get("models") or []) if isinstance(given, dict) else []
    named = [row.get("id") or row.get("name") for row in rows if isinstance(row, dict)]
    return tuple(name.removeprefix("models/") for name in named if isinstance(name, str) and len(name) <= 200)[
        :MOST_MODELS
    ]


def _words(status: int, models: int) -> str:
    if status == 200:
        return f"It answers, and lists {models} model{'' if models == 1 else 's'}."
    if status in (401, 403):
        return "It answers, and refuses the key."
    if status == 404:
        return "It answers, and has no list of models at this address."
    if status < 400:
        return "It answers with a redirect, and those are not followed."
    return f"It answers with HTTP {status}."
