"""The approver's socket, `/ws/approvals/`: tells what changes in a tenant's queue, and takes verdicts.

    ← {"type": "ready", "pending": n}                      once, when it begins to tell
    ← {"type": "approval", "approval": {…}}                when a request is new or decided
    → {"type": "approve" | "deny", "id", "reason"?, "seen"?, "arguments"?, "ref"?}
    ← {"type": "decided", "ref", "approval": {…}}
    ← {"type": "refused", "ref", "id", "status", "code", "detail", "field"?, "approval"?}

Whoever may no longer read approvals is told nothing more: the socket closes with 4403.
"""

import asyncio
import logging
import uuid
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import django.db
import orjson
import psycopg
from channels.db import DatabaseSyncToAsync
from channels.generic.websocket import AsyncWebsocketConsumer
from channels.layers import get_channel_layer
from redis.exceptions import RedisError

from approvals import live
from approvals.errors import Conflict, NoSuchRequest, NotAnApprover
from approvals.requests import decisions, parsing, queue
from approvals.requests.decisions import Decider
from approvals.web.socket_authentication import Visitor
from tenants.errors import Refused
from tenants.people.principal import Principal
from tools.network import redis

log = logging.getLogger(__name__)

FORBIDDEN = 4403
FAILED, TRY_AGAIN_LATER = 1011, 1013
# A client that falls further behind misses the rest; pages also look by themselves.
MOST_CHANGES = 1000
# How long a new socket waits for Redis before it begins without.
PATIENCE_SECONDS = 1.0
_DATABASE_AWAY = (psycopg.OperationalError, django.db.OperationalError)
_AWAY = {
    "type": "about:blank", "title": "Service Unavailable", "status": 503, "code": "unavailable",
    "detail": "The database is away for the moment. Try again in a few seconds.",
}  # fmt: skip
# Few and our own: sockets share them, and nothing else waits behind a slow database here.
_THREADS = ThreadPoolExecutor(4, thread_name_prefix="sockets")


class NoLongerAllowed(Exception):
    """The socket's member was removed, demoted or logged out, or went to another tenant."""


class ApprovalsConsumer(AsyncWebsocketConsumer):
    """One socket. Frames are answered one after the other; what changes is told by a task beside them."""

    # The consumer listens by itself, so that a Redis that is away neither refuses the socket nor fills the memory.
    channel_layer_alias = "none"

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Serve the socket, and end with it whatever was begun for it."""
        self._visitor = Visitor(scope)
        self._tasks: list[asyncio.Task[None]] = []
        self._listening = asyncio.Event()
        self._changed: dict[uuid.UUID, None] = {}
        self._news = asyncio.Event()
        self._over = False
        try:
            await super().__call__(scope, receive, send)
        finally:
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)

    # --- the handshake -----------------------------------------------------------------------------------------------
    async def connect(self) -> None:
        """Let in who may read approvals; anybody else gets a 403, and a 503 while nobody can be known."""
        try:
            principal = await _in_thread(self._visitor.principal)
        except _DATABASE_AWAY:
            headers = [(b"content-type", b"application/problem+json"), (b"retry-after", b"2")]
            await self.base_send({"type": "websocket.http.response.start", "status": 503, "headers": headers})
            await self.base_send({"type": "websocket.http.response.body", "body": orjson.dumps(_AWAY)})
            return
        if principal is None or "approvals:read" not in principal.scopes:
            await self.close()
            return
        self._tenant_id, self._user_id = principal.tenant_id, principal.user_id
        await self.accept()
        self._tasks = [asyncio.create_task(self._listen()), asyncio.create_task(self._tell())]

    def _now(self) -> Principal:
        """The member as of this moment; synchronous. Raises NoLongerAllowed."""
        principal = self._visitor.principal()
        if (
            principal is None
            or (principal.tenant_id, principal.user_id) != (self._tenant_id, self._user_id)
            or "approvals:read" not in principal.scopes
        ):
            raise NoLongerAllowed
        return principal

    def _waiting(self) -> int:
        return queue.waiting(self._now())

    def _look(self, request_id: uuid.UUID) -> dict[str, Any] | None:
        return queue.look(self._now(), request_id)

    # --- what changes ------------------------------------------------------------------------------------------------
    async def _listen(self) -> None:
        """Note which requests changed, for ever; begins again when Redis goes away and comes back."""
        layer, group, channel = get_channel_layer(), live.group(self._tenant_id), ""
        try:
            while True:
                try:
                    # A layer that could not subscribe would keep the channel that it made for us.
                    await redis.client().ping()
                    channel = channel or await layer.new_channel()
                    await layer.group_add(group, channel)
                    self._listening.set()
                    while True:
                        self._note(await layer.receive(channel))
                except (RedisError, OSError, TimeoutError):
                    await asyncio.sleep(PATIENCE_SECONDS)
        finally:
            if channel:
                with suppress(RedisError, OSError, TimeoutError):
                    await layer.group_discard(group, channel)

    def _note(self, message: dict[str, Any]) -> None:
        if len(self._changed) < MOST_CHANGES:
            self._changed[uuid.UUID(message["id"])] = None
            self._news.set()

    async def _tell(self) -> None:
        """Tell what changed, as the client can take it; what changes twice meanwhile is told once."""
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(PATIENCE_SECONDS):
                    await self._listening.wait()
            await self._say({"type": "ready", "pending": await _in_thread(self._waiting)})
            while True:
                await self._news.wait()
                self._news.clear()
                while self._changed:
                    request_id = next(iter(self._changed))
                    del self._changed[request_id]
                    approval = await _in_thread(self._look, request_id)
                    if approval is not None:
                        await self._say({"type": "approval", "approval": approval})
        except NoLongerAllowed:
            await self._end(FORBIDDEN)
        except _DATABASE_AWAY:
            await self._end(TRY_AGAIN_LATER)
        except OSError:
            # The client has gone, which the consumer hears of too.
            return
        except Exception:
            log.exception("socket failed")
            await self._end(FAILED)

    # --- verdicts ----------------------------------------------------------------------------------------------------
    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        """Answer a frame: decided, or refused."""
        answer: dict[str, Any] = {"type": "refused", "ref": None, "id": None}
        try:
            if text_data is None:
                raise Refused("A frame must be JSON text.")
            given = parsing.read(text_data)
            answer["ref"] = parsing.ref(given)
            verdict, answer["id"] = parsing.address(given)
            said = parsing.said(given, verdict, beside=parsing.ADDRESS)
            approval = await self._decide(verdict, answer["id"], said)
            await self._say({"type": "decided", "ref": answer["ref"], "approval": approval})
        except NoLongerAllowed:
            await self._end(FORBIDDEN)
        except Refused as refusal:
            why = {"status": refusal.status, "code": refusal.code, "detail": refusal.detail}
            await self._say(answer | why | ({"field": refusal.field} if refusal.field else {}) | refusal.more)
        except _DATABASE_AWAY:
            await self._say(answer | {name: _AWAY[name] for name in ("status", "code", "detail")})

    async def _decide(self, verdict: str, request_id: uuid.UUID, said: parsing.Said) -> dict[str, Any]:
        principal = await _in_thread(self._now)
        if "approvals:decide" not in principal.scopes:
            raise NotAnApprover
        decider = Decider(principal.tenant_id, principal.user_id, "socket")
        try:
            if verdict == "approve":
                await decisions.approve(
                    decider, request_id, reason=said.reason, arguments=said.arguments, seen=said.seen
                )
            else:
                await decisions.deny(decider, request_id, reason=said.reason, seen=said.seen)
        except Conflict as refusal:
            refusal.more = {"approval": await _in_thread(queue.look, principal, request_id)}
            raise
        approval: dict[str, Any] | None = await _in_thread(queue.look, principal, request_id)
        if approval is None:
            raise NoSuchRequest(request_id)
        return approval

    # --- the wire ----------------------------------------------------------------------------------------------------
    async def _say(self, message: dict[str, Any]) -> None:
        if not self._over:
            await self.send(text_data=orjson.dumps(message).decode())

    async def _end(self, code: int) -> None:
        if not self._over:
            self._over = True
            with suppress(OSError):
                await self.close(code)


async def _in_thread(work: Any, *args: Any) -> Any:
    """What synchronous work with the database answers."""
    return await DatabaseSyncToAsync(work, thread_sensitive=False, executor=_THREADS)(*args)
