"""A socket that tells what changes: who may open it, how it listens to Redis, how it ends.

Where it comes to listen late, or again, it begins anew: of what changed before, nothing was heard.

Whoever may no longer read what it tells is told nothing more: the socket closes with 4403. One beyond as many streams
as its person, or this process, may have is told so, and closes with 4429.
"""

import asyncio
import logging
import uuid
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any, ClassVar

import django.db
import orjson
import psycopg
from channels.db import DatabaseSyncToAsync
from channels.generic.websocket import AsyncWebsocketConsumer

from approvals.web.hearing import HEARING
from approvals.web.socket_authentication import SocketClient
from tenants.limits.streams import STREAMS, OpenStream, TooManyOpenStreams
from tenants.people.principal import Principal

log = logging.getLogger(__name__)

FORBIDDEN, TOO_MANY = 4403, 4429
FAILED, TRY_AGAIN_LATER = 1011, 1013
# A client that falls further behind misses the rest; pages also look by themselves.
MOST_CHANGES = 1000
# How long a new socket waits for Redis before it begins without.
PATIENCE_SECONDS = 1.0
DATABASE_AWAY = (psycopg.OperationalError, django.db.OperationalError)
AWAY = {
    "type": "about:blank", "title": "Service Unavailable", "status": 503, "code": "unavailable",
    "detail": "The database is away for the moment. Try again in a few seconds.",
}  # fmt: skip
# Few and our own: sockets share them, and nothing else waits behind a slow database here.
_THREADS = ThreadPoolExecutor(4, thread_name_prefix="sockets")


class NoLongerAllowed(Exception):
    """The socket's member was removed, demoted or logged out, or went to another tenant."""


class LiveConsumer(AsyncWebsocketConsumer):
    """One socket; what changes is told by a task beside its frames.

    A subclass says which `scope` its member needs, which group's changes it tells (`group`), what it
    says when it begins, also anew (`ready`), and of each change (`change`; None: nothing). The last two run in a
    thread.
    """

    scope_needed: ClassVar[str]

    def group(self, principal: Principal) -> str:
        """The group whose changes it tells."""
        raise NotImplementedError

    def ready(self, principal: Principal) -> dict[str, Any]:
        """What the socket says first, and whenever it may have missed something; synchronous."""
        raise NotImplementedError

    def change(self, principal: Principal, changed_id: uuid.UUID) -> dict[str, Any] | None:
        """What the socket says of a change; synchronous."""
        raise NotImplementedError

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Serve the socket, and end with it whatever was begun for it."""
        self._client = SocketClient(scope)
        self._telling: asyncio.Task[None] | None = None
        self._listening = asyncio.Event()
        self._changed: dict[uuid.UUID, None] = {}
        self._wake = asyncio.Event()
        self._begun = self._missed = self._over = False
        self._opened: OpenStream | None = None
        try:
            await super().__call__(scope, receive, send)
        finally:
            if self._opened is not None:
                self._opened.close()
            if self._telling is not None:
                HEARING.end(self._group, self)
                self._telling.cancel()
                await asyncio.gather(self._telling, return_exceptions=True)

    # --- the handshake -----------------------------------------------------------------------------------------------
    async def connect(self) -> None:
        """Let in who may read what it tells; anybody else gets a 403, and a 503 while nobody can be known."""
        try:
            principal = await in_thread(self._client.principal)
        except DATABASE_AWAY:
            headers = [(b"content-type", b"application/problem+json"), (b"retry-after", b"2")]
            await self.base_send({"type": "websocket.http.response.start", "status": 503, "headers": headers})
            await self.base_send({"type": "websocket.http.response.body", "body": orjson.dumps(AWAY)})
            return
        if principal is None or self.scope_needed not in principal.scopes:
            await self.close()
            return
        self._tenant_id, self._user_id = principal.tenant_id, principal.user_id
        self._group = self.group(principal)
        try:
            self._opened = STREAMS.open(principal)
        except TooManyOpenStreams as full:
            # A browser shows its page the code of a close, and nothing of a refused handshake.
            await self.accept()
            why = {"status": full.status, "code": full.code, "detail": full.detail}
            await self.say({"type": "refused", "ref": None, "id": None} | why)
            await self.end(TOO_MANY, full.code)
            return
        await self.accept()
        HEARING.begin(self._group, self)
        self._telling = asyncio.create_task(self._tell())

    def now(self) -> Principal:
        """The member as of this moment; synchronous. Raises NoLongerAllowed."""
        principal = self._client.principal()
        if (
            principal is None
            or (principal.tenant_id, principal.user_id) != (self._tenant_id, self._user_id)
            or self.scope_needed not in principal.scopes
        ):
            raise NoLongerAllowed
        return principal

    def _ready(self) -> dict[str, Any]:
        return self.ready(self.now())

    def _change(self, changed_id: uuid.UUID) -> dict[str, Any] | None:
        return self.change(self.now(), changed_id)

    # --- what changes ------------------------------------------------------------------------------------------------
    def hears(self) -> None:
        """It is told what changes, from now on; what changed before may have been missed."""
        self._listening.set()
        if self._begun:
            self._missed = True
            self._wake.set()

    def note(self, changed_id: uuid.UUID) -> None:
        """Tell the client of this, too."""
        if len(self._changed) < MOST_CHANGES:
            self._changed[changed_id] = None
            self._wake.set()

    async def _tell(self) -> None:
        """Tell what changed, as the client can take it; what changes twice meanwhile is told once."""
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(PATIENCE_SECONDS):
                    await self._listening.wait()
            self._begun = True
            await self.say(await in_thread(self._ready))
            while True:
                await self._wake.wait()
                self._wake.clear()
                if self._missed:
                    self._missed = False
                    await self.say(await in_thread(self._ready))
                while self._changed:
                    changed_id = next(iter(self._changed))
                    del self._changed[changed_id]
                    change = await in_thread(self._change, changed_id)
                    if change is not None:
                        await self.say(change)
        except NoLongerAllowed:
            await self.end(FORBIDDEN)
        except DATABASE_AWAY:
            await self.end(TRY_AGAIN_LATER)
        except OSError:
            # The client has gone, which the consumer hears of too.
            return
        except Exception:
            log.exception("socket failed")
            await self.end(FAILED)

    # --- the wire ----------------------------------------------------------------------------------------------------
    async def say(self, message: dict[str, Any]) -> None:
        """Send a message, unless the socket is over."""
        if not self._over:
            await self.send(text_data=orjson.dumps(message).decode())

    async def end(self, code: int, reason: str | None = None) -> None:
        """Close the socket, once."""
        if not self._over:
            self._over = True
            with suppress(OSError):
                await self.close(code, reason)


async def in_thread(work: Any, *args: Any) -> Any:
    """What synchronous work with the database answers."""
    return await DatabaseSyncToAsync(work, thread_sensitive=False, executor=_THREADS)(*args)
