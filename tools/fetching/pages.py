"""One page of the web as text: each request of it goes through the egress guard, and to a host that it may go to."""

import asyncio
import time
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from yarl import URL

from tools.errors import ToolCallRejected, ToolTimeout, ToolValidationError
from tools.fetching import bodies, extraction, hosts, robots
from tools.network import egress
from tools.network.egress import Exchange

MAX_BYTES = 4 * 1024 * 1024
MOST_REDIRECTS = 5
CONNECT_SECONDS = 5.0
_SHOWN_URL = 300
_HEADERS = {"Accept": "text/html, application/xhtml+xml, text/plain, application/json;q=0.9, */*;q=0.1"}
_REDIRECTS = frozenset({301, 302, 303, 307, 308})

# The tenant's allowed hosts; asked for when a page leads to another host.
AllowedHosts = Callable[[], Awaitable[tuple[str, ...]]]
_robots = robots.Memory()


@dataclass(frozen=True, slots=True)
class Page:
    """A page as text: where it was in the end, its title or "", its main text, and whether that is all of it."""

    url: str
    title: str
    text: str
    whole: bool


async def fetch(tenant_id: uuid.UUID, url: str, allowed: AllowedHosts, seconds: float) -> Page:
    """The page at `url`. Raises ToolValidationError, ToolCallRejected, ToolUnavailable and ToolTimeout."""
    try:
        start = egress.check(url).with_fragment(None)
    except egress.EgressRefused as refused:
        raise ToolValidationError(str(refused), "url") from None
    began = time.monotonic()
    client = egress.Client(keeps=False)
    try:
        async with asyncio.timeout(seconds):
            return await _Fetch(client, tenant_id, allowed, began + seconds).page(start)
    except (TimeoutError, egress.TooSlow):
        elapsed = time.monotonic() - began
        raise ToolTimeout(f"{_host(start)} did not answer within {elapsed:.0f} seconds.", elapsed) from None
    finally:
        await client.close()


@dataclass(frozen=True, slots=True)
class _Fetch:
    """One fetch on its way, until `deadline` of the monotonic clock."""

    client: egress.Client
    tenant_id: uuid.UUID
    allowed: AllowedHosts
    deadline: float

    async def page(self, url: URL) -> Page:
        """The page where the URL leads."""
        for _ in range(MOST_REDIRECTS + 1):
            await self._ask_robots(url)
            async with self._exchange(url) as exchange:
                if exchange.status not in _REDIRECTS:
                    return await self._read(url, exchange)
                url = await self._next(url, exchange)
        raise ToolCallRejected(f"{_host(url)} redirects more than {MOST_REDIRECTS} times.")

    async def _ask_robots(self, url: URL) -> None:
        """Raises ToolCallRejected where the site does not want its page fetched, or nobody knows whether."""
        try:
            if await _robots.allows(url, self._robots_txt):
                return
        except robots.Unknown as unknown:
            raise ToolCallRejected(
                f"Whether {_host(url)} lets programs fetch this page is not known: its robots.txt answered {unknown}. "
                "Nothing was fetched. It can be tried again in a minute."
            ) from None
        raise ToolCallRejected(
            f"{_host(url)} does not let programs fetch this page (its robots.txt). Nothing was fetched, and "
            "trying again changes nothing."
        )

    async def _robots_txt(self, url: URL) -> tuple[int, str]:
        for _ in range(MOST_REDIRECTS + 1):
            async with self._exchange(url) as exchange:
                if exchange.status in _REDIRECTS:
                    url = await self._next(url, exchange)
                    continue
                body = await bodies.read(exchange, _host(url), robots.MAX_BYTES, cuts=True)
                return exchange.status, body.decode("utf-8", "replace")
        # As the standard has it: there is none.
        return 404, ""

    @asynccontextmanager
    async def _exchange(self, url: URL) -> AsyncIterator[Exchange]:
        seconds = max(0.1, self.deadline - time.monotonic())
        try:
            async with self.client.exchange(
                "GET", url, headers=_HEADERS, connect_seconds=min(CONNECT_SECONDS, seconds), seconds=seconds
            ) as exchange:
                yield exchange
        except egress.TooSlow:
            raise
        except egress.EgressFailed as failed:
            raise ToolCallRejected(f"{_host(url)}: {failed}") from None

    async def _next(self, url: URL, exchange: Exchange) -> URL:
        """Where a redirect leads, when a request may go there without asking anybody."""
        try:
            after = egress.check(url.join(URL(exchange.headers.get("Location", "")))).with_fragment(None)
        except ValueError:
            raise ToolCallRejected(f"{_host(url)} redirects to something that is no URL.") from None
        except egress.EgressRefused as refused:
            raise ToolCallRejected(f"{_host(url)} redirects to where no request may go: {refused}") from None
        if not hosts.same_place(url, after) and not hosts.allows(await self.allowed(), after):
            raise ToolCallRejected(
                f"{_host(url)} redirects to {after.scheme}://{_host(after)}, where nothing is fetched without "
                f"a human. Nothing was fetched from there. To have it, call web_fetch with {str(after)[:_SHOWN_URL]}."
            )
        return after

    async def _read(self, url: URL, exchange: Exchange) -> Page:
        host = _host(url)
        if not 200 <= exchange.status < 300:
            raise ToolCallRejected(f"{host} answered HTTP {exchange.status}.")
        type_, charset = bodies.kind(exchange.headers.get("Content-Type", ""))
        if not bodies.readable(type_):
            what = f"{type_!a}, which is no text" if type_ else "without saying what it is"
            raise ToolCallRejected(f"{host} answered {what}. web_fetch reads HTML, text, JSON and XML.")
        html = type_ in bodies.HTML
        text = bodies.decode(await bodies.read(exchange, host, MAX_BYTES), charset, html=html, host=host)
        if not html:
            most = extraction.MOST_CHARACTERS
            return Page(str(url), "", text[:most], len(text) <= most)
        found = await extraction.extract(self.tenant_id, text)
        return Page(str(url), bodies.clean(found.title), bodies.clean(found.text), found.whole)


def _host(url: URL) -> str:
    """The host as requests name it, whatever its letters look like."""
    return hosts.place(url)[0]
