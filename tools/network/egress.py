"""Requests to URLs that tenants or models name: to the public internet, and to what the operator allows, only.

EgressFailed
├── EgressRefused   the URL, or where its name leads, is not allowed
└── Unanswered      it could not be reached, or did not answer in time
    └── TooSlow     it did not answer in time

A name is looked up once, and the connection goes to the addresses that were checked: a name that leads elsewhere a
moment later leads nowhere. The operator's own URLs (providers, search engines) do not come this way.
"""

import asyncio
import re
import socket
from collections.abc import AsyncIterator, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Any

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult
from django.conf import settings
from yarl import URL

MAX_URL = 2048
# Of all Link headers together; longer ones are passed over.
MAX_LINK = 8192
_NAME = re.compile(r"(?!-)[a-z0-9_-]{1,63}(\.[a-z0-9_-]{1,63})*\.?")
# What `inet_aton` would read as an address: decimal, octal, hexadecimal, with fewer than four parts.
_NUMBER = re.compile(r"([0-9]+|0x[0-9a-f]*)\.?")
_NAT64 = IPv6Network("64:ff9b::/96")
# All that is handed out of IPv6; and what is not for the public although Python's `is_global` says so in some versions.
_GLOBAL6 = IPv6Network("2000::/3")
_SPECIAL = tuple(
    # The first is a cloud's metadata.
    map(ip_network, ("168.63.129.16/32", "192.0.0.0/24", "192.88.99.0/24", "2001::/23", "3fff::/20"))
)
# Our own: a name server that hangs keeps these, and nobody else's.
_THREADS = ThreadPoolExecutor(64, thread_name_prefix="egress-dns")
_CHUNK = 64 * 1024
# How long a connection is kept without a request.
KEEPALIVE_SECONDS = 4.0


class EgressFailed(Exception):
    """There is no answer to a request; the message names no address."""


class EgressRefused(EgressFailed):
    """The request may not be made."""


class Unanswered(EgressFailed):
    """The request was made, or tried to be."""


class TooSlow(Unanswered):
    """The time was over before the answer was."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back: `body` is its beginning, `encoding` how it was packed, if at all, `kind` its Content-Type, `link`
    its Link headers, where they are not too long."""

    status: int
    body: bytes
    encoding: str = ""
    kind: str = ""
    link: str = ""


class Exchange:
    """One answer while it arrives: `status`, `headers` (names in any case), `encoding` what its body is packed with,
    `link` as in Answer."""

    def __init__(self, response: aiohttp.ClientResponse):
        self._response = response
        self.status = response.status
        self.headers: Mapping[str, str] = response.headers
        packed = response.headers.get("Content-Encoding", "").strip().lower()
        self.encoding = "" if packed == "identity" else packed[:100]
        link = ", ".join(response.headers.getall("Link", ()))
        self.link = link if len(link) <= MAX_LINK else ""

    async def beginning(self, most: int) -> bytes:
        """At most `most` bytes of the body, as it was packed; none are waited for with 0."""
        body = bytearray()
        with _failures():
            while len(body) < most and (chunk := await self._response.content.read(min(_CHUNK, most - len(body)))):
                body += chunk
        return bytes(body)

    async def chunks(self) -> AsyncIterator[bytes]:
        """The body piece by piece, as it arrives, to its end."""
        while True:
            with _failures():
                chunk = await self._response.content.readany()
            if not chunk:
                return
            yield chunk


class Client:
    """Requests on connections that are kept for a moment after each, to be used again by the next.

    A connection goes to an address that was checked when it was made. For one event loop, and one (tenant, service,
    credential): see `clients`. `close` it.
    """

    def __init__(self, *, keeps: bool = True):
        connector = _Connector(
            resolver=_Resolver(),
            use_dns_cache=False,
            limit=0,
            # Servers close theirs after 5 seconds, many of them: a request should not meet that.
            **({"keepalive_timeout": KEEPALIVE_SECONDS} if keeps else {"force_close": True}),
        )
        self._session = aiohttp.ClientSession(
            connector=connector,
            cookie_jar=aiohttp.DummyCookieJar(),
            # What is not unpacked is no bomb.
            auto_decompress=False,
            headers={"Accept-Encoding": "identity", "User-Agent": "Toolgate"},
        )
        # aiohttp would send a PUT or a DELETE again by itself; whether that is allowed is for the tool's label to say.
        self._session._retry_connection = False

    @asynccontextmanager
    async def exchange(
        self,
        method: str,
        url: str | URL,
        *,
        data: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        connect_seconds: float,
        seconds: float,
    ) -> AsyncIterator[Exchange]:
        """One request, whose answer is read inside; left early, its connection is closed.

        A redirect is an answer like any other. A URL that is no text is sent encoded as it is. Raises EgressFailed.
        """
        checked = check(url)
        timeout = aiohttp.ClientTimeout(total=seconds, connect=connect_seconds)
        with _failures():
            response = await self._session.request(
                method, checked, data=data, headers=headers, allow_redirects=False, timeout=timeout
            )
        async with response:
            yield Exchange(response)

    async def request(self, method: str, url: str | URL, *, most: int, **options: Any) -> Answer:
        """The answer to one request, with at most `most` bytes of its body; `options` are those of `exchange`."""
        async with self.exchange(method, url, **options) as exchange:
            kind = exchange.headers.get("Content-Type", "")
            return Answer(exchange.status, await exchange.beginning(most), exchange.encoding, kind, exchange.link)

    async def close(self) -> None:
        """Close its connections."""
        await self._session.close()


@contextmanager
def _failures() -> Iterator[None]:
    """What the network does, as EgressFailed."""
    try:
        yield
    except TimeoutError:
        raise TooSlow("It did not answer in time.") from None
    except (aiohttp.ClientError, OSError, ValueError):
        raise Unanswered("It could not be reached, or cut its answer off.") from None


async def request(method: str, url: str | URL, *, most: int, **options: Any) -> Answer:
    """The answer to one request on a connection of its own; see `Client.request`. Raises EgressFailed."""
    check(url)
    client = Client(keeps=False)
    try:
        return await client.request(method, url, most=most, **options)
    finally:
        await client.close()


def check(url: str | URL) -> URL:
    """The URL, when nothing in it forbids a request; where its name leads is seen later. Raises EgressRefused."""
    text = str(url)
    if len(text) > MAX_URL or not text.isprintable() or " " in text or "\\" in text:
        raise EgressRefused("The URL is too long, or holds spaces, control characters or backslashes.")
    try:
        parsed = URL(url)
        host, user, password = parsed.raw_host or "", parsed.raw_user, parsed.raw_password
    except ValueError:
        raise EgressRefused("This is not a URL.") from None
    if parsed.scheme not in {"http", "https"} or not host:
        raise EgressRefused("The URL must begin with http:// or https:// and name a host.")
    if user is not None or password is not None:
        raise EgressRefused("The URL must not hold a name or a password.")
    literal = _address(host)
    if literal is None and (_NUMBER.fullmatch(host.rstrip(".").rpartition(".")[2]) or not _NAME.fullmatch(host)):
        raise EgressRefused("The URL's host is neither a name nor an address in its usual form.")
    if literal is not None and not _permitted(host, literal):
        raise EgressRefused("The URL's host is not a public address.")
    return parsed


def connector(**options: Any) -> aiohttp.TCPConnector:
    """A connector for a session of one's own, which connects to nothing that requests here may not: `options` are
    aiohttp's. What it refuses raises EgressRefused out of the session's request."""
    return _Connector(resolver=_Resolver(), use_dns_cache=False, **options)


class _Connector(aiohttp.TCPConnector):
    """Checks whatever is about to be connected to, since an address in a URL is never looked up."""

    async def connect(self, req: aiohttp.ClientRequest, *args: Any, **options: Any) -> Any:
        check(req.url)
        return await super().connect(req, *args, **options)


class _Resolver(AbstractResolver):
    """Looks a name up once, and keeps what may be connected to."""

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        found = await asyncio.get_running_loop().run_in_executor(_THREADS, _look_up, host, port)
        kept = [each for each in found if _permitted(host, ip_address(each[1]))]
        if found and not kept:
            raise EgressRefused("The URL's host leads to no public address.")
        flags = socket.AI_NUMERICHOST | socket.AI_NUMERICSERV
        return [
            ResolveResult(hostname=host, host=address, port=port, family=kind, proto=socket.IPPROTO_TCP, flags=flags)
            for kind, address in kept
        ]

    async def close(self) -> None:
        """Nothing is open."""


def _look_up(host: str, port: int) -> list[tuple[int, str]]:
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [(kind, str(address[0])) for kind, _, _, _, address in found]


def _address(host: str) -> IPv4Address | IPv6Address | None:
    try:
        return ip_address(host)
    except ValueError:
        return None


def listed(url: URL) -> bool:
    """Whether the operator's list names the URL's host itself, or the network that its literal address is in."""
    host = url.raw_host or ""
    hosts, networks = settings.TOOLGATE_EGRESS_ALLOW
    literal = _address(host)
    return host.rstrip(".") in hosts or (literal is not None and any(literal in network for network in networks))


def _permitted(host: str, address: IPv4Address | IPv6Address) -> bool:
    hosts, networks = settings.TOOLGATE_EGRESS_ALLOW
    plain = (address.ipv4_mapped if isinstance(address, IPv6Address) else None) or address
    return host.rstrip(".") in hosts or any(plain in network for network in networks) or _public(plain)


def _public(address: IPv4Address | IPv6Address) -> bool:
    if isinstance(address, IPv6Address):
        inner = address.ipv4_mapped or address.sixtofour
        if address in _NAT64:
            inner = IPv4Address(int(address) & 0xFFFFFFFF)
        if inner is not None:
            return _public(inner)
        if address not in _GLOBAL6:
            return False
    return (
        address.is_global
        and not (address.is_multicast or address.is_reserved)
        and not any(address in network for network in _SPECIAL)
    )
