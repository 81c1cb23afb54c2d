"""Asks the ASGI application itself: bytes as no client library would send them, and no server in between."""

import asyncio
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

import orjson

from gateway.config.asgi import application


@dataclass(frozen=True)
class Answer:
    """What a request was answered."""

    status: int
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        """Its body; None when that is no JSON."""
        try:
            return orjson.loads(self.body)
        except orjson.JSONDecodeError:
            return None


async def ask(method: str, url: str, headers: dict[str, bytes], body: bytes = b"") -> Answer:
    """One request, answered whole; what the application raises is raised."""
    raw_path, _, query = url.partition("?")
    named = {"host": b"localhost", "content-length": str(len(body)).encode()} | {
        name.lower(): value for name, value in headers.items()
    }
    scope = {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": method, "scheme": "http",
        "path": unquote(raw_path), "raw_path": raw_path.encode(), "query_string": query.encode(), "root_path": "",
        "headers": [(name.encode(), value) for name, value in named.items()], "client": ("192.0.2.7", 1),
        "server": ("localhost", 80), "state": {},
    }  # fmt: skip
    given = [{"type": "http.request", "body": body, "more_body": False}]
    sent: list[Any] = []

    async def receive() -> Any:
        return given.pop() if given else await asyncio.Event().wait()

    async def send(message: Any) -> None:
        sent.append(message)

    await application(scope, receive, send)
    answered = {name.decode().lower(): value.decode("latin-1") for name, value in sent[0]["headers"]}
    return Answer(sent[0]["status"], answered, b"".join(message.get("body", b"") for message in sent[1:]))
