"""Requests to an MCP server, in whichever revision it speaks, with a session that is opened again once when it is over.

2026-07-28      each request says everything; leaving its stream cancels it
older ones      `initialize` first; a session by header; `notifications/cancelled` cancels
"""

import asyncio
import time
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager

from services.mcp import exchange, revisions, sessions
from services.mcp.errors import (
    METHOD_NOT_FOUND,
    UNSUPPORTED_VERSION,
    HttpFailed,
    Malformed,
    McpFailed,
    Rejected,
    SessionEnded,
    Unsupported,
)
from services.mcp.exchange import Message, Peer
from services.mcp.sessions import Session
from services.offers.marks import encoded
from tools.network import clients, egress
from tools.network.clients import Key

# Which parameter of a request is named in a header.
_NAMED = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
# Of the credential or of the moment, and nothing about the revision.
_NO_VERDICT = frozenset({401, 403, 407, 408, 425, 429, 502, 503, 504})
# How long telling a server that nobody waits any more may take.
_CANCEL_SECONDS = 2.0

# Gets a server's progress, its log messages, and what it asks of its client: `answer(method, params)` is the result, or
# raises Rejected.
Progress = Callable[[Message], None]
Logged = Callable[[Message], None]
Answer = Callable[[str, Message], Awaitable[Message]]
_cancelling: set[asyncio.Task[None]] = set()


async def _refuse(method: str, params: Message) -> Message:
    raise Rejected(METHOD_NOT_FOUND, f"{method} is not offered here.")


class Connection:
    """A server for the time of one call, or of one look at what it offers."""

    def __init__(self, peer: Peer, session: Session):
        self._peer, self.session = peer, session

    async def request(
        self,
        method: str,
        params: Message,
        *,
        headers: Mapping[str, str] | None = None,
        progress: Progress | None = None,
        logged: Logged | None = None,
        answer: Answer = _refuse,
    ) -> Message:
        """The result; a request to a session that is over is sent once more, in a new one. Raises McpFailed,
        EgressFailed."""
        await self._open()
        for last in (False, True):
            try:
                return await self._once(method, params, headers or {}, progress, answer, logged=logged)
            except SessionEnded:
                if last:
                    raise
            except Rejected as rejected:
                if last or rejected.code != UNSUPPORTED_VERSION:
                    raise
            # It has refused the request without looking at what it asks for.
            self.session.forget()
            await self._open()
        raise AssertionError("unreachable")

    async def _open(self) -> None:
        """Agree on a revision, unless that was done."""
        if self.session.revision:
            return
        async with self.session.opening:
            if self.session.revision:
                return
            known = self.session.known
            if known.revision == revisions.MODERN:
                self.session.about, self.session.revision = known.about, known.revision
                return
            if known.revision or not await self._discover():
                await self._initialize()
            known.about, known.revision = self.session.about, self.session.revision

    async def _discover(self, *, again: bool = True) -> bool:
        """Whether the server speaks the stateless revision; it is asked `again` where it names that and refuses it."""
        try:
            about = await self._once("server/discover", {}, {}, None, _refuse, revision=revisions.MODERN)
        except Rejected as rejected:
            return revisions.MODERN in _named(rejected) and again and await self._discover(again=False)
        except HttpFailed as failed:
            # An older one answers what it does not know in many ways.
            if failed.status in _NO_VERDICT or 300 <= failed.status < 400:
                raise
            return False
        except (Malformed, SessionEnded):
            return False
        offered = about.get("supportedVersions")
        if not isinstance(offered, list) or revisions.MODERN not in offered:
            return False
        self.session.revision, self.session.about = revisions.MODERN, about
        return True

    async def _initialize(self) -> None:
        message = {"jsonrpc": "2.0", "id": next(self.session.ids), "method": "initialize"}
        message["params"] = revisions.initialize_params()
        try:
            reply = await exchange.ask(self._peer, message, {}, _deaf, resumes=False)
        except Rejected as rejected:
            if rejected.code == UNSUPPORTED_VERSION:
                raise Unsupported(_named(rejected)) from None
            raise
        revision = reply.result.get("protocolVersion")
        if revision not in revisions.HANDSHAKE:
            raise Unsupported([str(revision)])
        headers = _older(revision, reply.session)
        await exchange.tell(self._peer, {"jsonrpc": "2.0", "method": "notifications/initialized"}, headers)
        self.session.id, self.session.about, self.session.revision = reply.session, reply.result, revision

    async def _once(
        self,
        method: str,
        params: Message,
        headers: Mapping[str, str],
        progress: Progress | None,
        answer: Answer,
        *,
        logged: Logged | None = None,
        revision: str = "",
    ) -> Message:
        number, revision = next(self.session.ids), revision or self.session.revision
        modern = revision == revisions.MODERN
        meta = {**(params.get("_meta") or {}), **(revisions.modern_meta() if modern else {})}
        if progress is not None:
            meta["progressToken"] = number
        message = {"jsonrpc": "2.0", "id": number, "method": method}
        message["params"] = {**params, "_meta": meta} if meta else params
        sent = {**headers, **_modern(method, params)} if modern else _older(revision, self.session.id)

        async def hear(heard: Message) -> None:
            said = heard.get("params")
            about = said if isinstance(said, dict) else {}
            if "id" in heard:
                await self._respond(heard, about, sent, answer, modern)
            elif heard["method"] == "notifications/progress" and about.get("progressToken") == number and progress:
                progress(about)
            elif heard["method"] == "notifications/message" and logged:
                logged(about)

        try:
            reply = await exchange.ask(self._peer, message, sent, hear, resumes=not modern)
        except (asyncio.CancelledError, egress.TooSlow, _Stop) as left:
            if not modern:
                self._cancel(number, sent)
            if isinstance(left, _Stop):
                raise left.reason from None
            raise
        return reply.result

    async def _respond(
        self, asked: Message, params: Message, headers: Mapping[str, str], answer: Answer, modern: bool
    ) -> None:
        if modern:
            raise Malformed("It asked something on a stream, which its revision does not have.")
        response: Message = {"jsonrpc": "2.0", "id": asked["id"]}
        try:
            response["result"] = {} if asked["method"] == "ping" else await answer(str(asked["method"]), params)
        except Rejected as rejected:
            response["error"] = {"code": rejected.code, "message": rejected.said}
        except McpFailed:
            raise
        except Exception as reason:
            # Whoever answers wants the call to end here.
            raise _Stop(reason) from None
        await exchange.tell(self._peer, response, headers)

    def _cancel(self, number: int, headers: Mapping[str, str]) -> None:
        """Tell the server that nobody waits for this request any more; nothing waits for that."""
        params = {"requestId": number, "reason": "The call has ended."}
        message = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}

        async def cancel() -> None:
            client = egress.Client(keeps=False)
            peer = Peer(client, self._peer.url, self._peer.credential, time.monotonic() + _CANCEL_SECONDS)
            try:
                await exchange.tell(peer, message, headers)
            except (McpFailed, egress.EgressFailed):
                return
            finally:
                await client.close()

        task = asyncio.create_task(cancel())
        _cancelling.add(task)
        task.add_done_callback(_cancelling.discard)


class _Stop(Exception):
    """What a request of a server was answered with ends the call: `reason`."""

    def __init__(self, reason: Exception):
        super().__init__("the call ends here")
        self.reason = reason


@asynccontextmanager
async def connected(
    key: Key, user_id: uuid.UUID, url: str, credential: Mapping[str, str], seconds: float
) -> AsyncIterator[Connection]:
    """A connection of a user to the server at `url`, for so long at most; `key` is whose connections it uses."""
    async with clients.client_of(key) as client:
        yield Connection(Peer(client, url, credential, time.monotonic() + seconds), sessions.of(key, user_id))


@asynccontextmanager
async def once(url: str, credential: Mapping[str, str], seconds: float) -> AsyncIterator[Connection]:
    """A connection of which nothing is kept, to look at a server that need not be a service yet."""
    client = egress.Client()
    try:
        yield Connection(Peer(client, url, credential, time.monotonic() + seconds), Session())
    finally:
        await client.close()


async def _deaf(message: Message) -> None:
    """Nothing is heard before a session is open."""


def _modern(method: str, params: Message) -> dict[str, str]:
    headers = {"MCP-Protocol-Version": revisions.MODERN, "Mcp-Method": method}
    if (named := _NAMED.get(method)) is not None:
        headers["Mcp-Name"] = encoded(str(params.get(named, "")))
    return headers


def _older(revision: str, session: str) -> dict[str, str]:
    headers = {"MCP-Protocol-Version": revision} if revision else {}
    return {**headers, "Mcp-Session-Id": session} if session else headers


def _named(rejected: Rejected) -> list[str]:
    """The revisions that a server names which refuses another one. Raises Unsupported where Toolgate speaks none."""
    if rejected.code != UNSUPPORTED_VERSION:
        return []
    named = rejected.data.get("supported") if isinstance(rejected.data, dict) else None
    offered = [str(each) for each in named] if isinstance(named, list) else []
    if offered and not set(offered) & {*revisions.HANDSHAKE, revisions.MODERN}:
        raise Unsupported(offered) from None
    return offered
