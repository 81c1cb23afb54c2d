"""The HTTP client under a provider's adapter: keep-alive, TLS, limits, time-outs, and the environment's proxy.

It carries requests that the provider's SDK has built. It follows no redirect, which would take prompt and key where
nobody sent them, and stores no cookie, which would tie one tenant's request to another's.
"""

import ssl
import urllib.request
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import aiohttp
import httpx2
from multidict import CIMultiDict
from yarl import URL

from gateway.providers.transport import posting
from gateway.providers.transport.posting import Posting, Response
from tools.network import egress

CONNECT_SECONDS = 10.0
CONNECTIONS = 10_000
"""aiohttp's own bound is 100, which that many quiet streams use up; a process has descriptors for more."""
KEEP_ALIVE_SECONDS = 15.0
# What concerns one connection, or the body of one request: aiohttp says these itself, and which encodings it can read.
_OF_THE_TRANSPORT = frozenset(
    {"accept-encoding", "connection", "content-length", "host", "proxy-connection", "te", "transfer-encoding"}
)


@dataclass(frozen=True, slots=True)
class Target:
    """Where requests go, and with which headers; `proxy` is the one that the environment names for this address.

    `postings` is what posts there, once something was posted.
    """

    url: URL
    headers: CIMultiDict[str]
    proxy: URL | None
    postings: list[Posting] = field(default_factory=list)

    @classmethod
    def of(cls, url: str, headers: Iterable[tuple[str, str]]) -> "Target":
        """The target of a request that an SDK has built."""
        address = URL(url, encoded=True)
        sent = CIMultiDict((name, value) for name, value in headers if name.lower() not in _OF_THE_TRANSPORT)
        return cls(address, sent, proxy(address))

    def with_headers(self, more: Mapping[str, str]) -> CIMultiDict[str]:
        """The headers of one request, `more` in the place of those of the same name."""
        if not more:
            return self.headers
        headers = self.headers.copy()
        headers.update(more)
        return headers


def proxy(url: URL) -> URL | None:
    """The proxy that HTTP_PROXY, HTTPS_PROXY or ALL_PROXY names for `url`, unless NO_PROXY names its host."""
    named = urllib.request.getproxies()
    address = named.get(url.scheme) or named.get("all")
    if not address or url.host is None or urllib.request.proxy_bypass(url.host):
        return None
    return URL(address if "://" in address else f"http://{address}")


class Connections:
    """One session of aiohttp, opened by the first request in the event loop that it belongs to.

    An answer may take `silent_seconds` to begin. Guarded ones, for addresses that a tenant names, lead to the public
    internet and to what the operator allows, and through no proxy, which would look names up by itself; they raise
    EgressRefused.
    """

    def __init__(self, silent_seconds: float, *, guarded: bool = False):
        self._guarded = guarded
        self._timeout = aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_SECONDS, sock_read=silent_seconds)
        self._tls: ssl.SSLContext | None = None
        self._session: aiohttp.ClientSession | None = None
        self._closed = False

    @property
    def session(self) -> aiohttp.ClientSession:
        """The session; raises RuntimeError after `close`."""
        if self._session is None:
            if self._closed:
                raise RuntimeError("The provider's connections are closed.")
            connector = egress.connector if self._guarded else aiohttp.TCPConnector
            self._session = aiohttp.ClientSession(
                connector=connector(limit=CONNECTIONS, keepalive_timeout=KEEP_ALIVE_SECONDS),
                cookie_jar=aiohttp.DummyCookieJar(),
                timeout=self._timeout,
            )
        return self._session

    async def post(self, target: Target, content: bytes, headers: Mapping[str, str]) -> Response:
        """The response, its body unread; leave its context to give the connection back. Raises aiohttp.ClientError."""
        if self._closed or headers or len(content) > posting.SMALL or self._proxy(target) is not None:
            return await self._request("POST", target, content, headers)
        if not target.postings:
            target.postings.append(self._posting(target))
        return await target.postings[0].send(content)

    async def get(self, target: Target) -> Response:
        """The same for a GET."""
        return await self._request("GET", target, None, {})

    def _posting(self, target: Target) -> Posting:
        try:
            return posting.posting(self.session, target.url, target.headers, self._ssl(target), self._timeout)
        except ValueError as error:
            raise aiohttp.InvalidURL(target.url) from error

    async def _request(
        self, method: str, target: Target, content: bytes | None, headers: Mapping[str, str]
    ) -> Response:
        try:
            return await self.session.request(
                method,
                target.url,
                data=content,
                headers=target.with_headers(headers),
                allow_redirects=False,
                proxy=self._proxy(target),
                ssl=self._ssl(target),
            )
        except ValueError as error:
            # An address or a proxy of a kind that aiohttp does not know.
            raise aiohttp.InvalidURL(target.url) from error

    def _proxy(self, target: Target) -> URL | None:
        return None if self._guarded else target.proxy

    def _ssl(self, target: Target) -> ssl.SSLContext | bool:
        # The certificates that the SDKs' own clients trust: the system's, or those of SSL_CERT_FILE and SSL_CERT_DIR.
        if target.url.scheme != "https":
            return True
        if self._tls is None:
            self._tls = httpx2.create_ssl_context()
        return self._tls

    async def close(self) -> None:
        """Close every connection."""
        self._closed = True
        if self._session is not None:
            await self._session.close()
            self._session = None
