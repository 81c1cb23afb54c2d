"""A receiver of webhooks on a real socket, which verifies what it is sent as the specification says."""

import asyncio
import base64
import hashlib
import hmac
import ipaddress
import json
import time
from collections.abc import Awaitable, Callable
from typing import Any

from aiohttp import web

from approvals.models import WebhookEndpoint
from approvals.notifications import webhooks
from tenants.people.encryption import encrypt
from tenants.scope.routing import on_login
from tests.people import Cast

HERE = ipaddress.ip_network("127.0.0.1/32")


class Receiver:
    """Answers each message with the next of `answers`, then 200; `messages` are those whose signature was right."""

    def __init__(self) -> None:
        self.secret = webhooks.new_secret()
        self.answers: list[int | Callable[[web.Request], Awaitable[web.StreamResponse]]] = []
        self.messages: list[dict[str, Any]] = []
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
        if not self._verified(request, body):
            self.forged += 1
            return web.Response(status=401)
        self.ids.append(request.headers["webhook-id"])
        self.messages.append(json.loads(body))
        self.reached.set()
        answer = self.answers.pop(0) if self.answers else 200
        return web.Response(status=answer) if isinstance(answer, int) else await answer(request)

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


def register(cast: Cast, receiver: Receiver, url: str = "") -> WebhookEndpoint:
    """An endpoint of the tenant at the receiver."""
    with on_login("operator"):
        return WebhookEndpoint.objects.create(
            tenant_id=cast.id, url=url or receiver.url, secret=encrypt(receiver.secret)
        )
