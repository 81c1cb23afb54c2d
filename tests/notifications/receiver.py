"""A receiver of webhooks on a real socket, which verifies what it is sent as the specification says."""

import asyncio
import base64
import hashlib
import hmac
import ipaddress
import json
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from aiohttp import web

from notifications.channels.webhook import signature
from notifications.models import NotificationTarget
from tenants.people.encryption import encrypt
from tenants.scope.routing import on_login
from tests.people import Cast

HERE = ipaddress.ip_network("127.0.0.1/32")


class Receiver:
    """Answers each message with the next of `answers`, then 200; `messages` are those whose signature was right.

    What is posted below /services/, as to Slack, is unsigned: it is in `unsigned`, with its path.
    """

    def __init__(self) -> None:
        self.secret = signature.new_secret()
        self.answers: list[int | Callable[[web.Request], Awaitable[web.StreamResponse]]] = []
        self.messages: list[dict[str, Any]] = []
        self.unsigned: list[tuple[str, dict[str, Any]]] = []
        self.ids: list[str] = []
        self.forged = 0
        self.reached = asyncio.Event()
        self.released = asyncio.Event()
        self.port = 0

    @property
    def url(self) -> str:
        """Where it listens; the path is as good as a password."""
        return f"http://127.0.0.1:{self.port}/hook/very-secret-path"

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """One message."""
        body = await request.read()
        if request.path.startswith("/services/"):
            self.unsigned.append((request.path, json.loads(body)))
            answer = self.answers.pop(0) if self.answers else 200
            return web.Response(status=answer) if isinstance(answer, int) else await answer(request)
        if not self._verified(request, body):
            self.forged += 1
            return web.Response(status=401)
        self.ids.append(request.headers["webhook-id"])
        self.messages.append(json.loads(body))
        self.reached.set()
        answer = self.answers.pop(0) if self.answers else 200
        return web.Response(status=answer) if isinstance(answer, int) else await answer(request)

    async def received(self, count: int) -> None:
        """Return when so many messages have come."""
        while len(self.messages) < count:
            self.reached.clear()
            await self.reached.wait()

    def _verified(self, request: web.Request, body: bytes) -> bool:
        key = base64.b64decode(self.secret.removeprefix("whsec_"), validate=True)
        assert len(key) == 32
        signed = f"{request.headers['webhook-id']}.{request.headers['webhook-timestamp']}.".encode() + body
        expected = "v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
        fresh = abs(time.time() - int(request.headers["webhook-timestamp"])) < 300
        return fresh and hmac.compare_digest(expected, request.headers["webhook-signature"])

    async def hang(self, request: web.Request) -> web.StreamResponse:
        """An answer that comes when the test is over."""
        await self.released.wait()
        return web.Response()


APPROVALS = [f"approval.{change}" for change in ("requested", "approved", "denied", "expired", "cancelled")]


def register(cast: Cast, receiver: Receiver, wanted: Sequence[str] = APPROVALS) -> NotificationTarget:
    """A webhook of the tenant at the receiver, for the events that are wanted."""
    return make_target(cast, "webhook", receiver.url, receiver.secret, wanted)


def make_target(
    cast: Cast, channel: str, destination: str, secret: str = "", wanted: Sequence[str] = APPROVALS, **more: Any
) -> NotificationTarget:
    """A target of the tenant."""
    with on_login("operator"):
        return NotificationTarget.objects.create(
            tenant_id=cast.id,
            channel=channel,
            destination=destination,
            secret=encrypt(secret) if secret else "",
            events=list(wanted),
            **more,
        )
