"""Resources that a client of the revisions with `initialize` wants to be told about when they change.

Nobody tells Toolgate of a change, so it looks: a subscription has the hash of what the resource held, and the process
with the standing stream of the client (`streams`) reads the resource again from time to time, by the rights that its
user has then. Subscriptions are in Redis, under the name that the client got by `initialize`: any web process can take
the stream up again, and what changed meanwhile is told then. Losing them silences the stream.
"""

import json
import logging
from typing import Any

from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp_types import INTERNAL_ERROR, SubscribeRequestParams, UnsubscribeRequestParams

from audit.canonical import NotCanonical, sha256_hex
from gateway.mcp import exchange, offers
from gateway.mcp.errors import NoSession, NotStored, TooManySubscriptions
from gateway.mcp.exchange import Exchange
from tools.errors import ToolError
from tools.network import redis

log = logging.getLogger(__name__)

Context = ServerRequestContext[Any, Any]
MOST, SECONDS = 20, 24 * 3600
# What of a feed says how it was read, and not what it holds.
_OF_READING = frozenset({"read_at", "state", "problem"})


async def subscribe(context: Context, params: SubscribeRequestParams) -> dict[str, Any]:
    """`resources/subscribe`: be told, for a day, when a resource that the user may read changes.

    Raises NoSession, TooManySubscriptions, NotStored, and MCPError for a resource that cannot be read.
    """
    under_way, uri = _named(context), str(params.uri)
    name = under_way.name_of("resources")
    try:
        held = await redis.client().hkeys(name)
        if uri.encode() not in held and len(held) >= MOST:
            raise TooManySubscriptions(MOST)
        found = await digest(under_way, uri)
        await redis.client().hset(name, uri, found)
        await redis.client().expire(name, SECONDS)
    except LookupError:
        raise offers.unknown_resource(context, uri) from None
    except ToolError as error:
        raise MCPError(INTERNAL_ERROR, error.message) from None
    except redis.AWAY:
        raise NotStored from None
    return {}


async def unsubscribe(context: Context, params: UnsubscribeRequestParams) -> dict[str, Any]:
    """`resources/unsubscribe`: not to be told any more. Raises NoSession, NotStored."""
    under_way = _named(context)
    try:
        await redis.client().hdel(under_way.name_of("resources"), str(params.uri))
    except redis.AWAY:
        raise NotStored from None
    return {}


async def changed(under_way: Exchange) -> list[str]:
    """The addresses of what has changed since the client was told last; each is named once.

    What cannot be read at the moment, or not any more, has not changed: its reader finds out why when they read it.
    """
    name, found = under_way.name_of("resources"), []
    try:
        for address, before in (await redis.client().hgetall(name)).items():
            uri = _text(address)
            try:
                now = await digest(under_way, uri)
            except (LookupError, ToolError) as failed:
                log.debug("resource not looked at", extra={"why": type(failed).__name__})
                continue
            if now != _text(before):
                await redis.client().hset(name, uri, now)
                found.append(uri)
    except redis.AWAY as away:
        log.debug("subscriptions not known", extra={"why": type(away).__name__})
    return found


def _text(stored: bytes | str) -> str:
    return stored.decode() if isinstance(stored, bytes) else stored


def _named(context: Context) -> Exchange:
    under_way = exchange.of(context)
    if not under_way.session:
        raise NoSession(context.method)
    return under_way


async def digest(under_way: Exchange, uri: str) -> str:
    """The hash of what the resource holds. Raises LookupError, ToolError."""
    found = await offers.contents(under_way.tenant_scope, uri)
    contents = found.get("contents")
    try:
        return sha256_hex([_held(each) for each in contents] if isinstance(contents, list) else contents)
    except NotCanonical:
        # Two of these are never taken for the same.
        return sha256_hex(repr(contents))


def _held(content: Any) -> Any:
    """A part of a resource without what differs from one reading to the next."""
    if not isinstance(content, dict):
        return content
    content = {key: value for key, value in content.items() if key != "_meta"}
    if str(content.get("uri")).startswith("toolgate://") and isinstance(content.get("text"), str):
        try:
            feed = json.loads(content["text"])
        except ValueError:
            return content
        if isinstance(feed, dict) and "feed" in feed:
            return {key: value for key, value in feed.items() if key not in _OF_READING}
    return content
