"""The level of log messages that a client of the revisions with `initialize` has asked for.

It is in Redis under the name that the client got there, so that every web process knows it; losing it silences the
tools. A client of 2026-07-28 says it with each request.
"""

import logging
from typing import Any

from mcp.server.context import ServerRequestContext
from mcp_types import SetLevelRequestParams

from gateway.mcp import exchange
from gateway.mcp.errors import NoSession, NotStored
from gateway.mcp.exchange import Exchange
from tools.invocation.live.logs import LEVELS
from tools.network import redis

log = logging.getLogger(__name__)

SECONDS = 24 * 3600


async def set_level(context: ServerRequestContext[Any, Any], params: SetLevelRequestParams) -> dict[str, Any]:
    """`logging/setLevel`: be told what is at least as severe, for a day. Raises NoSession, NotStored."""
    under_way = exchange.of(context)
    if not under_way.session:
        raise NoSession(context.method)
    try:
        await redis.client().set(_name(under_way), params.level, ex=SECONDS)
    except redis.AWAY:
        raise NotStored from None
    return {}


async def wanted(under_way: Exchange) -> frozenset[str]:
    """The levels that the client has asked for; none where it has not, or where that is not known."""
    try:
        found = await redis.client().get(_name(under_way)) if under_way.session else None
    except redis.AWAY as away:
        log.debug("level not known", extra={"why": type(away).__name__})
        found = None
    level = found.decode() if isinstance(found, bytes) else ""
    return frozenset(LEVELS[LEVELS.index(level) :]) if level in LEVELS else frozenset()


def _name(under_way: Exchange) -> str:
    return under_way.name_of("level")
