"""A provider's server over real HTTP whose every byte a test decides, for what llmock cannot do."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

Reply = Callable[[web.Request], Awaitable[web.StreamResponse]]


@dataclass(slots=True)
class Asked:
    """One request as it came in."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]


@dataclass(slots=True)
class FakeProvider:
    """Answers the replies in turn, the last one for ever; remembers requests and connections."""

    url: str = ""
    replies: list[Reply] = field(default_factory=list)
    asked: list[Asked] = field(default_factory=list)
    connections: set[object] = field(default_factory=set)
    received: asyncio.Event = field(default_factory=asyncio.Event)
    _over: asyncio.Event = field(default_factory=asyncio.Event)

    def json(self, body: object, status: int = 200, headers: dict[str, str] | None = None) -> None:
        """Answer with JSON; bytes go out as they are."""
        data = body if isinstance(body, bytes) else json.dumps(body).encode()

        async def reply(request: web.Request) -> web.StreamResponse:
            return web.Response(body=data, status=status, headers=headers, content_type="application/json")

        self.replies.append(reply)

    def page(self, html: str, status: int = 200) -> None:
        """Answer with a web page, as proxies do."""

        async def reply(request: web.Request) -> web.StreamResponse:
            return web.Response(text=html, status=status, content_type="text/html")

        self.replies.append(reply)

    def redirect(self, location: str) -> None:
        """Answer with a redirect."""

        async def reply(request: web.Request) -> web.StreamResponse:
            return web.Response(status=307, headers={"Location": location})

        self.replies.append(reply)

    def stream(self, *chunks: bytes, cut: bool = False, hang: bool = False) -> None:
        """Answer with these bytes as an event stream, then end it, drop the connection, or stay silent."""

        async def reply(request: web.Request) -> web.StreamResponse:
            response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
            await response.prepare(request)
            for chunk in chunks:
                await response.write(chunk)
            if hang:
                await self._over.wait()
            if cut and request.transport is not None:
                request.transport.close()
            return response

        self.replies.append(reply)

    def stalled_json(self, data: bytes) -> None:
        """Begin an answer of JSON with these bytes, and stay silent."""

        async def reply(request: web.Request) -> web.StreamResponse:
            response = web.StreamResponse(headers={"Content-Type": "application/json"})
            await response.prepare(request)
            await response.write(data)
            await self._over.wait()
            return response

        self.replies.append(reply)

    def silent(self) -> None:
        """Take the request and never answer."""

        async def reply(request: web.Request) -> web.StreamResponse:
            await self._over.wait()
            return web.Response()

        self.replies.append(reply)

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """The server's only route."""
        self.asked.append(Asked(request.path, dict(request.headers), await request.json()))
        self.connections.add(request.transport)
        self.received.set()
        reply = self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]
        return await reply(request)

    def release(self) -> None:
        """Let everything that hangs go on."""
        self._over.set()


def events(*datas: object, names: bool = False) -> bytes:
    """Server-Sent Events with this JSON each; with `names` under their types, as Anthropic does."""
    lines = []
    for data in datas:
        if names and isinstance(data, dict):
            lines.append(f"event: {data['type']}\n")
        lines.append(f"data: {data if isinstance(data, str) else json.dumps(data)}\n\n")
    return "".join(lines).encode()
