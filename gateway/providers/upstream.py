"""The HTTP half of an adapter: a question through the official SDK's client, the answer as parsed JSON.

The SDK keeps what it is good at (credentials, headers, URLs, connections); its typed models are passed by,
because building them costs more than all the rest of a call.
"""

import asyncio
import json
import re
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Awaitable, Callable
from types import ModuleType
from typing import Any, TypeVar

import aiohttp
import httpx2
import orjson

from gateway.providers import streams
from gateway.providers.errors import ProviderError, ProviderGarbled
from gateway.providers.failures import Failures

T = TypeVar("T")

LONGEST_ANSWER = 32 * 1024 * 1024
CONNECT_SECONDS = 10.0
CONNECTIONS = 10_000
SILENT_SECONDS = 120.0
"""How long a provider may send nothing before an answer's first byte; the run's own budget is usually shorter."""
IDLE_SECONDS = 30.0
"""How long it may send nothing in the middle of an answer; see PROVIDER_IDLE_SECONDS."""
_DRAIN_SECONDS = 0.05


def http_client(sdk: ModuleType, silent_seconds: float) -> httpx2.AsyncClient:
    """The SDK's aiohttp client; it follows no redirect, which would take prompt and key where nobody sent them."""
    client: httpx2.AsyncClient = sdk.DefaultAioHttpClient(
        # The SDKs' own bound is 1,000, which that many quiet streams use up; a process has descriptors for more.
        limits=httpx2.Limits(max_connections=CONNECTIONS, max_keepalive_connections=100),
        timeout=httpx2.Timeout(silent_seconds, connect=CONNECT_SECONDS, pool=None),
        follow_redirects=False,
    )
    return client


class FellSilent(Exception):
    """Nothing came for too long in the middle of an answer."""


class Exchange(ABC):
    """Questions to one provider's API; `secrets` must be in no message, what follows `raw_member` stays unparsed.

    An answer has begun with its body's first byte. From there on any byte, a comment or ping too, has to come within
    `idle_seconds` of the one before; before there, a model may think.
    """

    def __init__(self, name: str, secrets: tuple[str, ...], raw_member: re.Pattern[bytes], idle_seconds: float):
        self._raw_member = raw_member
        self._idle_seconds = idle_seconds
        self._failures = Failures(name, secrets)

    @abstractmethod
    async def _send(self, path: str, content: bytes) -> httpx2.Response:
        """The response, its status 200 and its body unread. Raises ProviderError and what the connection raises."""

    @abstractmethod
    async def close(self) -> None:
        """Close the client and its connections."""

    async def ask(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        """The whole answer. Raises ProviderError."""
        return await self._exchange(path, body, self._whole)

    async def stream(
        self, path: str, body: dict[str, Any], take: Callable[[dict[str, Any]], bool]
    ) -> dict[str, Any] | None:
        """Hand each event's JSON to `take` until it says that one was the last; an answer that came whole is returned.

        Raises ProviderError, and what `take` raises.
        """

        async def read(response: httpx2.Response) -> dict[str, Any] | None:
            if response.headers.get("content-type", "").startswith("application/json"):
                return await self._whole(response)
            events = streams.Events()
            chunks = limited(response, self._idle_seconds)
            async for chunk in chunks:
                if self._over(events.feed(chunk), take):
                    await _drain(chunks)
                    return None
            self._over(events.rest(), take)
            return None

        return await self._exchange(path, body, read)

    async def _exchange(self, path: str, body: dict[str, Any], read: Callable[[httpx2.Response], Awaitable[T]]) -> T:
        response: httpx2.Response | None = None
        failure: ProviderError
        try:
            response = await self._send(path, _json(body))
            return await read(response)
        except FellSilent:
            failure = self._failures.of_silence(self._idle_seconds)
        except httpx2.DecodingError:
            failure = ProviderGarbled("The provider's answer is compressed in a way that cannot be read.")
        except (httpx2.TransportError, aiohttp.ClientError) as error:
            failure = self._lost(error)
        finally:
            if response is not None:
                await response.aclose()
        # Outside of the except clauses, so that what was caught is not this one's context.
        raise failure

    def _lost(self, error: Exception) -> ProviderError:
        """The failure of an error of the connection."""
        return self._failures.of_connection(error)

    def _over(self, datas: list[bytes], take: Callable[[dict[str, Any]], bool]) -> bool:
        return any(data.startswith(b"[DONE]") or take(self._parsed(data)) for data in datas)

    async def _whole(self, response: httpx2.Response) -> dict[str, Any]:
        return self._parsed(b"".join([chunk async for chunk in limited(response, self._idle_seconds)]))

    def _parsed(self, data: bytes) -> dict[str, Any]:
        answer = streams.parsed(streams.unparsed(data, self._raw_member))
        if answer.get("error"):
            raise self._failures.of_report(answer["error"])
        return answer


class Upstream(Exchange):
    """One provider's API behind `client`, an async client of the official `sdk` of OpenAI's or Anthropic's kind."""

    def __init__(self, name: str, sdk: ModuleType, client: Any, raw_member: re.Pattern[bytes], idle_seconds: float):
        super().__init__(name, (client.api_key, client.base_url.host), raw_member, idle_seconds)
        self._sdk = sdk
        self._client = client

    async def close(self) -> None:
        """Close the SDK's client and its connections."""
        await self._client.close()

    async def _send(self, path: str, content: bytes) -> httpx2.Response:
        failure: ProviderError
        try:
            response: httpx2.Response = await self._client.post(
                path, cast_to=httpx2.Response, content=content, stream=True, stream_cls=self._sdk.AsyncStream
            )
            return response
        except self._sdk.APIStatusError as error:
            failure = self._failures.of_status(error.status_code, error.response.headers, error.body)
        except self._sdk.APIConnectionError as error:
            failure = self._failures.of_connection(error)
        raise failure


def _json(body: dict[str, Any]) -> bytes:
    try:
        return orjson.dumps(body)
    except orjson.JSONEncodeError:
        # Lone surrogates and integers of more than 64 bits, which JSON can spell all the same.
        return json.dumps(body).encode()


async def limited(response: httpx2.Response, idle_seconds: float) -> AsyncIterator[bytes]:
    """The response's body as it comes.

    Raises ProviderGarbled when it is longer than LONGEST_ANSWER, FellSilent when its next byte is late.
    """
    size = 0
    chunks = response.aiter_bytes()
    while True:
        try:
            async with asyncio.timeout(idle_seconds if size else None):
                chunk = await anext(chunks)
        except StopAsyncIteration:
            return
        except TimeoutError:
            raise FellSilent from None
        size += len(chunk)
        if size > LONGEST_ANSWER:
            raise ProviderGarbled(f"The provider's answer is longer than {LONGEST_ANSWER} bytes.")
        yield chunk


async def _drain(chunks: AsyncIterator[bytes]) -> None:
    # The connection can be used again only when the body has been read to its end.
    try:
        async with asyncio.timeout(_DRAIN_SECONDS):
            async for _ in chunks:
                pass
    except (TimeoutError, FellSilent, ProviderGarbled, httpx2.TransportError, aiohttp.ClientError):
        return
