"""Which call a request under way has made, so that `notifications/cancelled` can name the request.

Only for the revisions that have `initialize`; in 2026-07-28 a client cancels by closing its stream. The notification is
a request of its own, which may reach another web process, so this is in Redis: losing it cancels nothing. Two clients
that have the same key and name no session may use the same id at the same time: it is not known then which of them is
meant, and nothing is cancelled.
"""

import logging
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

from gateway.mcp.exchange import Exchange
from tools.invocation import invoke
from tools.network import redis

log = logging.getLogger(__name__)

# Longer than a request waits for its call.
_SECONDS = 600
_SEVERAL = b"several"
# Where another client's request has the same id, that stays known until it expires.
_FORGET = "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end"


@asynccontextmanager
async def known(under_way: Exchange, request_id: str | int | None, call_id: uuid.UUID) -> AsyncIterator[None]:
    """Let a notification with this request's id cancel the call, while the request is under way."""
    name = under_way.name_of(request_id)
    try:
        if not await redis.client().set(name, call_id.bytes, nx=True, ex=_SECONDS):
            await redis.client().set(name, _SEVERAL, ex=_SECONDS)
    except redis.AWAY as away:
        log.warning("request cannot be cancelled", extra={"call_id": str(call_id), "why": type(away).__name__})
    try:
        yield
    finally:
        with suppress(*redis.AWAY):
            await redis.client().eval(_FORGET, 1, name, call_id.bytes)


async def cancel(under_way: Exchange, request_id: Any) -> None:
    """Cancel the call that the request has made, if it has not begun; no effect when that is not known."""
    if isinstance(request_id, bool) or not isinstance(request_id, str | int):
        return
    try:
        found = await redis.client().get(under_way.name_of(request_id))
    except redis.AWAY as away:
        log.warning("cancellation lost", extra={"why": type(away).__name__})
        return
    if isinstance(found, bytes) and found != _SEVERAL:
        with suppress(LookupError):
            await invoke.cancel(under_way.tenant_scope, uuid.UUID(bytes=found))
