"""A request on bare ASGI, from its headers to its answer: without Django's request cycle, at a fraction of its cost."""

from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from contextlib import aclosing
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol

import orjson
import structlog

from gateway.http import asking, bodies, errors
from gateway.http.bodies import ClientGone
from gateway.process.request_ids import request_id
from tenants.errors import Refused
from tenants.people import owners

Scope = MutableMapping[str, Any]
Receive = bodies.Receive
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Headers = dict[str, str]

EVENT_STREAM = "text/event-stream"
# What every answer carries.
SECURITY = {"x-content-type-options": "nosniff", "cache-control": "no-store"}
_SECURITY = [(name.encode(), value.encode()) for name, value in SECURITY.items()]


class Answer(NamedTuple):
    """One JSON document, and how it is sent."""

    status: int
    content: Any
    headers: Mapping[str, str] = MappingProxyType({})
    content_type: str = "application/json"


class Form(Protocol):
    """What an API's answers have in common: the headers that carry the request's id, and the shape of a refusal."""

    id_headers: tuple[bytes, ...]

    def refusal(self, refused: Refused) -> Answer:
        """A refused request's answer."""
        ...


class Request:
    """A request and its answer; names of `headers` are in lower case, `identity` is the request's id."""

    def __init__(self, form: Form, scope: Scope, receive: Receive, send: Send):
        self.headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        self.identity = request_id(self.headers.get("x-request-id", ""))
        self.started = False
        self._form = form
        self._receive = receive
        self._send = send

    async def body(self, most: int, too_large: Callable[[], Refused]) -> bytes:
        """The whole body. Raises what `too_large` makes beyond `most` bytes, and ClientGone."""
        return await bodies.read(self.headers, self._receive, most, too_large)

    async def hung_up(self) -> None:
        """Return when the client has hung up; to be asked once the body is read."""
        while (await self._receive())["type"] != "http.disconnect":
            pass

    async def answer(self, answer: Answer) -> None:
        """Answer with JSON; what is accepted without an answer has none."""
        bare = answer.status == 202 and answer.content is None
        data = b"" if bare else orjson.dumps(answer.content, default=str)
        length = (b"content-length", str(len(data)).encode())
        await self._begin(answer.status, answer.content_type, answer.headers, [*_SECURITY, length])
        await self._send({"type": "http.response.body", "body": data})

    async def stream(self, content: Any, content_type: str, headers: Mapping[str, str]) -> None:
        """Answer with what an asynchronous generator yields, as it comes; it is closed whatever happens.

        `headers` say how it may be cached.
        """
        await self._begin(200, content_type, headers, _SECURITY[:1])
        async with aclosing(content):
            async for piece in content:
                await self._send({"type": "http.response.body", "body": piece, "more_body": True})
        await self._send({"type": "http.response.body", "body": b""})

    async def _begin(
        self, status: int, content_type: str, more: Mapping[str, str], fields: list[tuple[bytes, bytes]]
    ) -> None:
        identity = self.identity.encode()
        headers = [(b"content-type", content_type.encode()), *((name, identity) for name in self._form.id_headers)]
        headers += fields
        headers += [(name.lower().encode(), value.encode("latin-1")) for name, value in more.items()]
        self.started = True
        await self._send({"type": "http.response.start", "status": status, "headers": headers})


async def serve(
    form: Form, scope: Scope, receive: Receive, send: Send, handler: Callable[[Request], Awaitable[None]]
) -> None:
    """Have a request handled, under its id in the log; an exception of the handler's is answered in the API's form."""
    request = Request(form, scope, receive, send)
    structlog.contextvars.clear_contextvars()
    asking.remember(None)
    structlog.contextvars.bind_contextvars(request_id=request.identity)
    try:
        await handler(request)
    except ClientGone:
        return
    except Exception as error:
        if request.started:
            # Too late for an answer: the server closes the connection, and the client sees that it is cut.
            raise
        refusal = errors.refusal_of(error)
        refusal.detail = await owners.named(asking.who(), refusal.detail)
        await request.answer(form.refusal(refusal))
