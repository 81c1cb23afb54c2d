"""The HTTP half of an adapter: a question as the official SDK would send it, the answer as parsed JSON.

The SDK is asked once for a path what it knows of a request: URL, credentials, headers. The bytes of each question
travel over the adapter's own connections: the SDK's client and its typed models cost several times as much as these.
"""

import asyncio
import json
import re
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any, Protocol, TypeVar

import aiohttp
import httpx2
import orjson
from aiohttp.http_exceptions import ContentEncodingError

from gateway.providers.errors import ProviderError, ProviderGarbled
from gateway.providers.translation.managed import Definitions
from gateway.providers.transport import streams
from gateway.providers.transport.connections import CONNECT_SECONDS, Connections, Target
from gateway.providers.transport.failures import Failures
from gateway.providers.transport.posting import Response
from tools.network.egress import EgressRefused

T = TypeVar("T")

LONGEST_ANSWER = 32 * 1024 * 1024
SILENT_SECONDS = 120.0
"""How long a provider may send nothing before an answer's first byte; the run's own budget is usually shorter."""
IDLE_SECONDS = 30.0
"""How long it may send nothing in the middle of an answer; see PROVIDER_IDLE_SECONDS."""
_DRAIN_SECONDS = 0.05
# Gemini's paths hold the model's name, which a request may choose.
_MOST_PATHS = 256
_NO_HEADERS: dict[str, str] = {}


class FellSilent(Exception):
    """Nothing came for too long in the middle of an answer."""


class Exchange(ABC):
    """Questions to one provider's API; `secrets` must be in no message, what follows `raw_member` stays unparsed.

    An answer has begun with its body's first byte. From there on any byte, a comment or ping too, has to come within
    `idle_seconds` of the one before; before there, within `silent_seconds`, since a model may think. `guarded`: the
    address is a tenant's, see `Connections`.
    """

    def __init__(
        self,
        name: str,
        secrets: tuple[str, ...],
        raw_member: re.Pattern[bytes],
        *,
        silent_seconds: float,
        idle_seconds: float,
        guarded: bool = False,
    ):
        self._raw_member = raw_member
        self._idle_seconds = idle_seconds
        self._failures = Failures(name, secrets)
        self._connections = Connections(silent_seconds, guarded=guarded)
        self._targets: dict[str, Target] = {}

    @abstractmethod
    async def _target(self, path: str) -> Target:
        """What the SDK knows of a request for `path`."""

    def _refusal(self, status: int, headers: Mapping[str, str], report: Any) -> ProviderError:
        """The failure of an answer with this status; `report` is its body's JSON, None when it has none."""
        return self._failures.of_status(status, headers, report)

    async def close(self) -> None:
        """Close the connections."""
        await self._connections.close()

    async def ask(self, path: str, body: dict[str, Any], headers: Mapping[str, str] = _NO_HEADERS) -> dict[str, Any]:
        """The whole answer; `headers` are those of this request alone. Raises ProviderError."""
        return await self._exchange(path, body, headers, self._whole)

    async def stream(
        self,
        path: str,
        body: dict[str, Any],
        take: Callable[[dict[str, Any]], bool],
        headers: Mapping[str, str] = _NO_HEADERS,
    ) -> dict[str, Any] | None:
        """Hand each event's JSON to `take` until it says that one was the last; an answer that came whole is returned.

        Raises ProviderError, and what `take` raises.
        """

        async def read(response: Response) -> dict[str, Any] | None:
            if response.headers.get("content-type", "").startswith("application/json"):
                return await self._whole(response)
            events = streams.Events()
            chunks = limited(response.content, self._idle_seconds)
            async for chunk in chunks:
                if self._over(events.feed(chunk), take):
                    await _drain(chunks)
                    return None
            self._over(events.rest(), take)
            return None

        return await self._exchange(path, body, headers, read)

    async def _exchange(
        self,
        path: str,
        body: dict[str, Any],
        headers: Mapping[str, str],
        read: Callable[[Response], Awaitable[T]],
    ) -> T:
        target = self._targets.get(path)
        if target is None:
            if len(self._targets) >= _MOST_PATHS:
                self._targets.clear()
            target = self._targets[path] = await self._target(path)
        failure: ProviderError
        try:
            async with await self._connections.post(target, _json(body), headers) as response:
                if 200 <= response.status < 300:
                    return await read(response)
                failure = self._refusal(response.status, response.headers, await self._report(response))
        except FellSilent:
            failure = self._failures.of_silence(self._idle_seconds)
        except aiohttp.ClientError as error:
            failure = self._failure(error)
        except EgressRefused:
            failure = self._failures.of_address()
        # Outside of the except clauses, so that what was caught is not this one's context.
        raise failure

    def _failure(self, error: aiohttp.ClientError) -> ProviderError:
        if isinstance(error.__cause__, ContentEncodingError):
            return ProviderGarbled("The provider's answer is compressed in a way that cannot be read.")
        failure = self._failures.of_connection(error)
        failure.sent = not isinstance(error, aiohttp.ClientConnectorError | aiohttp.ConnectionTimeoutError)
        return failure

    async def _report(self, response: Response) -> Any:
        try:
            return orjson.loads(await self._body(response))
        except (FellSilent, ProviderGarbled, aiohttp.ClientError, orjson.JSONDecodeError):
            return None

    def _over(self, datas: list[bytes], take: Callable[[dict[str, Any]], bool]) -> bool:
        return any(data.startswith(b"[DONE]") or take(self._parsed(data)) for data in datas)

    async def _whole(self, response: Response) -> dict[str, Any]:
        return self._parsed(await self._body(response))

    async def _body(self, response: Response) -> bytes:
        return b"".join([chunk async for chunk in limited(response.content, self._idle_seconds)])

    def _parsed(self, data: bytes) -> dict[str, Any]:
        answer = streams.parsed(streams.unparsed(data, self._raw_member))
        if answer.get("error"):
            raise self._failures.of_report(answer["error"])
        return answer


class Unsent(httpx2.AsyncBaseTransport):
    """Sends nothing: what an SDK's client has built is found as the `request` of the empty answer."""

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """The empty answer."""
        return httpx2.Response(200, request=request)


def unsent(silent_seconds: float) -> httpx2.AsyncClient:
    """An HTTP client for an SDK that builds requests and does not send them."""
    timeout = httpx2.Timeout(silent_seconds, connect=CONNECT_SECONDS, pool=None)
    return httpx2.AsyncClient(transport=Unsent(), timeout=timeout, trust_env=False)


class Upstream(Exchange):
    """One provider's API; `client` is the async client of an official SDK of OpenAI's or Anthropic's kind, `unsent`."""

    def __init__(
        self,
        name: str,
        client: Any,
        raw_member: re.Pattern[bytes],
        *,
        silent_seconds: float,
        idle_seconds: float,
        guarded: bool = False,
    ):
        super().__init__(
            name,
            (client.api_key, client.base_url.host),
            raw_member,
            silent_seconds=silent_seconds,
            idle_seconds=idle_seconds,
            guarded=guarded,
        )
        self._client = client

    async def close(self) -> None:
        """Close the connections and the SDK's client."""
        await super().close()
        await self._client.close()

    async def _target(self, path: str) -> Target:
        response = await self._client.post(path, cast_to=httpx2.Response, content=b"{}")
        return Target.of(str(response.request.url), response.request.headers.multi_items())


def _json(body: dict[str, Any]) -> bytes:
    try:
        return orjson.dumps(body, _written, orjson.OPT_PASSTHROUGH_SUBCLASS)
    except orjson.JSONEncodeError:
        # Lone surrogates and integers of more than 64 bits, which JSON can spell all the same.
        return json.dumps(body).encode()


def _written(value: object) -> orjson.Fragment:
    if isinstance(value, Definitions):
        return value.written
    raise TypeError


class Body(Protocol):
    """What of aiohttp's reader of a response is asked."""

    def read_nowait(self) -> bytes:
        """What has come."""
        ...

    async def readany(self) -> bytes:
        """What comes next; nothing at the end."""
        ...

    def at_eof(self) -> bool:
        """Whether all has come and been read."""
        ...


async def limited(body: Body, idle_seconds: float) -> AsyncIterator[bytes]:
    """A response's body as it comes.

    Raises ProviderGarbled when it is longer than LONGEST_ANSWER, FellSilent when its next byte is late.
    """
    size = 0
    # What has come is not waited for: a timer for each piece costs more than reading it.
    while chunk := body.read_nowait() or await _next(body, idle_seconds if size else None):
        size += len(chunk)
        if size > LONGEST_ANSWER:
            raise ProviderGarbled(f"The provider's answer is longer than {LONGEST_ANSWER} bytes.")
        yield chunk


async def _next(body: Body, seconds: float | None) -> bytes:
    """What comes next; nothing at the end. Raises FellSilent."""
    if seconds is None or body.at_eof():
        return await body.readany()
    try:
        async with asyncio.timeout(seconds):
            return await body.readany()
    except aiohttp.ServerTimeoutError:
        raise
    except TimeoutError:
        raise FellSilent from None


async def _drain(chunks: AsyncIterator[bytes]) -> None:
    # The connection can be used again only when the body has been read to its end.
    try:
        async with asyncio.timeout(_DRAIN_SECONDS):
            async for _ in chunks:
                pass
    except (TimeoutError, FellSilent, ProviderGarbled, aiohttp.ClientError):
        return
