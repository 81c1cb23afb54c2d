"""Small requests to one address, over aiohttp's connections: their head is written once, and leaves with the body.

aiohttp's session works out anew for each request what is the same in all of them, and writes it in a task of its own.
Here its connector still makes, guards and keeps the connections, and its parser still reads the answers.
"""

import asyncio
import re
from collections.abc import Mapping
from ssl import SSLContext

import aiohttp
from aiohttp.client_proto import ResponseHandler
from aiohttp.connector import Connection
from aiohttp.http_exceptions import HttpProcessingError
from yarl import URL

SMALL = 64 * 1024
"""As much as a socket takes at once. Longer bodies are the session's, which waits until they have left."""
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
_CONTINUES = range(100, 200)
_SWITCHING_PROTOCOLS = 101


class Posting:
    """POST to one address, with the same headers each time; no cookie is stored, and no redirect followed."""

    def __init__(
        self, connector: aiohttp.BaseConnector, timeout: aiohttp.ClientTimeout, request: aiohttp.ClientRequest
    ):
        self._connector, self._timeout = connector, timeout
        # Where to connect to, and what aiohttp would send of a request with an empty body.
        self._request = request
        fields = [f"{name}: {value}" for name, value in request.headers.items() if name.lower() != "content-length"]
        lines = [f"POST {request.url.raw_path_qs} HTTP/1.1", *fields]
        if any(_CONTROL.search(line) for line in lines):
            raise ValueError("A header holds a control character.")
        self._head = "\r\n".join([*lines, "Content-Length: "]).encode()

    async def send(self, content: bytes) -> "Posted":
        """The response, its body unread; leave its context to give the connection back. Raises aiohttp.ClientError."""
        try:
            connection = await self._connector.connect(self._request, traces=[], timeout=self._timeout)
        except TimeoutError as error:
            raise aiohttp.ConnectionTimeoutError(f"Connection timeout to host {self._request.url}") from error
        try:
            return await self._sent(connection, content)
        except BaseException:
            connection.close()
            raise

    async def _sent(self, connection: Connection, content: bytes) -> "Posted":
        protocol = connection.protocol
        assert protocol is not None
        protocol.set_response_params(read_until_eof=True, read_timeout=self._timeout.sock_read)
        transport = protocol.transport
        if transport is None or transport.is_closing():
            raise aiohttp.ClientConnectionResetError("Cannot write to closing transport")
        transport.write(b"%b%d\r\n\r\n%b" % (self._head, len(content), content))
        protocol.start_timeout()
        return await self._answered(connection, protocol)

    async def _answered(self, connection: Connection, protocol: ResponseHandler) -> "Posted":
        while True:
            try:
                message, body = await protocol.read()
            except HttpProcessingError as error:
                raise aiohttp.ClientResponseError(
                    self._request.request_info, (), status=error.code, message=error.message, headers=error.headers
                ) from error
            if message.code not in _CONTINUES or message.code == _SWITCHING_PROTOCOLS:
                return Posted(connection, message.code, message.headers, body)


class Posted:
    """An answer to a `Posting`; when its context is left unread, its connection is closed."""

    def __init__(self, connection: Connection, status: int, headers: Mapping[str, str], content: aiohttp.StreamReader):
        self._connection, self.status, self.headers, self.content = connection, status, headers, content

    async def __aenter__(self) -> "Posted":
        return self

    async def __aexit__(self, *raised: object) -> None:
        self._connection.release()


# An answer whose head has come: aiohttp's own, or one to a `Posting`.
Response = aiohttp.ClientResponse | Posted


def posting(
    session: aiohttp.ClientSession,
    url: URL,
    headers: Mapping[str, str],
    ssl: SSLContext | bool,
    timeout: aiohttp.ClientTimeout,
) -> Posting:
    """What sends to `url` over the connections of a session in this event loop. Raises ValueError for an address of a
    kind that aiohttp does not know."""
    connector = session.connector
    assert connector is not None
    if url.scheme not in connector.allowed_protocol_schema_set:
        raise ValueError(url.scheme)
    loop = asyncio.get_running_loop()
    return Posting(
        connector, timeout, aiohttp.ClientRequest("POST", url, headers=headers, loop=loop, session=session, ssl=ssl)
    )
