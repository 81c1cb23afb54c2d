"""`subscriptions/listen` of 2026-07-28: one request, whose answer is a stream of what has changed for its user.

What the stream's client asked about is read by the rights that its user has at that moment, and compared with what was
found before: the lists when the tenant's rights have changed, and everything from time to time, since nobody tells
Toolgate of a change elsewhere. Nothing is stored: a client that opens another stream asks for the lists again.
"""

import asyncio
import logging
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp.shared.subscriptions import (
    SUBSCRIPTION_ID_META_KEY,
    PromptsListChanged,
    ResourcesListChanged,
    ResourceUpdated,
    ServerEvent,
    ToolsListChanged,
    event_to_notification,
)
from mcp_types import (
    INVALID_REQUEST,
    SubscriptionFilter,
    SubscriptionsAcknowledgedNotification,
    SubscriptionsAcknowledgedNotificationParams,
    SubscriptionsListenRequestParams,
    SubscriptionsListenResult,
)

from audit.canonical import sha256_hex
from gateway.http import stopping
from gateway.mcp import exchange, offers, tools
from gateway.mcp.errors import TooManySubscriptions
from gateway.mcp.exchange import Exchange
from gateway.mcp.notifications import subscriptions
from gateway.mcp.notifications.rights import Watch, watching
from gateway.mcp.notifications.streams import counted
from tenants.errors import Refused
from tenants.scope.transactions import transaction
from tools import definitions
from tools.errors import ToolError
from tools.invocation import evaluation

log = logging.getLogger(__name__)

Context = ServerRequestContext[Any, Any]
LOOK_SECONDS = 60.0
# By what was asked about, the hash of what was found; None: it could not be read.
Found = dict[ServerEvent, str | None]


async def listen(context: Context, params: SubscriptionsListenRequestParams) -> SubscriptionsListenResult:
    """Say what is listened to, then what changes, until the client hangs up, its key ends, or this process stops.

    Raises TooManyStreams, TooManySubscriptions, and MCPError for a notification.
    """
    under_way, asked = exchange.of(context), params.notifications
    if context.request_id is None:
        raise MCPError(INVALID_REQUEST, "subscriptions/listen is a request, and needs an id.")
    meta: dict[str, Any] = {SUBSCRIPTION_ID_META_KEY: context.request_id}
    uris = dict.fromkeys(str(uri) for uri in asked.resource_subscriptions or ())
    if len(uris) > subscriptions.MOST:
        raise TooManySubscriptions(subscriptions.MOST)
    with counted(under_way), watching(under_way.principal.tenant_id) as watch:
        lists: tuple[tuple[bool | None, ServerEvent], ...] = (
            (asked.tools_list_changed, ToolsListChanged()),
            (asked.prompts_list_changed, PromptsListChanged()),
            (asked.resources_list_changed, ResourcesListChanged()),
        )
        events = [event for wanted, event in lists if wanted] + [ResourceUpdated(uri) for uri in uris]
        change = watch.next
        found, unknown = await _look(under_way, events)
        events = [event for event in events if event not in unknown]
        said = SubscriptionsAcknowledgedNotificationParams(notifications=_honored(events), _meta=meta)
        await context.session.send_notification(SubscriptionsAcknowledgedNotification(params=said), context.request_id)
        async with aclosing(_changes(under_way, events, found, watch, change)) as changes:
            async for event in changes:
                await context.session.send_notification(event_to_notification(event, meta), context.request_id)
    return SubscriptionsListenResult(_meta=meta)


async def _changes(
    under_way: Exchange, events: list[ServerEvent], before: Found, watch: Watch, change: asyncio.Event
) -> AsyncGenerator[ServerEvent, None]:
    """What has changed, each time when it is seen, as long as the client's key is valid and the process goes on.

    `change` is the watch's event of the time when `before` was found.
    """
    lists: list[ServerEvent] = [event for event in events if not isinstance(event, ResourceUpdated)]
    ends = asyncio.ensure_future(stopping.begun().wait())
    at_all = time.monotonic() + LOOK_SECONDS
    try:
        while True:
            changing = asyncio.ensure_future(change.wait())
            left = max(0.0, at_all - time.monotonic())
            try:
                done, _ = await asyncio.wait([ends, changing], timeout=left, return_when=asyncio.FIRST_COMPLETED)
            finally:
                changing.cancel()
            if ends in done:
                return
            try:
                await under_way.check_key()
            except Refused:
                return
            change, looked = watch.next, lists
            if at_all <= time.monotonic():
                at_all, looked = time.monotonic() + LOOK_SECONDS, events
            now, _ = await _look(under_way, looked)
            for event, digest in now.items():
                if digest is not None and digest != before[event]:
                    before[event] = digest
                    yield event
    finally:
        ends.cancel()


async def _look(under_way: Exchange, events: list[ServerEvent]) -> tuple[Found, set[ServerEvent]]:
    """What each of these is now, and which are resources that the user cannot read because there are none such."""
    found: Found = {}
    unknown: set[ServerEvent] = set()
    scope = under_way.tenant_scope
    policy = await tools.policy_in(scope)
    for event in events:
        digest: str | None = None
        try:
            if isinstance(event, ToolsListChanged):
                offered = evaluation.offered(policy, origin="mcp")
                digest = sha256_hex(list(definitions.mcp(tool.spec for tool in offered)))
            elif isinstance(event, ResourceUpdated):
                digest = await subscriptions.digest(under_way, event.uri)
            else:
                listing = offers.prompts_of if isinstance(event, PromptsListChanged) else offers.resources_of
                async with transaction(scope) as connection:
                    digest = sha256_hex(await listing(connection, policy))
        except LookupError:
            unknown.add(event)
        except ToolError as failed:
            # It is told once it can be read again and is another one.
            log.debug("resource not looked at", extra={"why": type(failed).__name__})
        found[event] = digest
    return found, unknown


def _honored(events: list[ServerEvent]) -> SubscriptionFilter:
    """What of a request is listened to, as the client is told."""
    uris = [event.uri for event in events if isinstance(event, ResourceUpdated)]
    return SubscriptionFilter(
        tools_list_changed=True if ToolsListChanged() in events else None,
        prompts_list_changed=True if PromptsListChanged() in events else None,
        resources_list_changed=True if ResourcesListChanged() in events else None,
        resource_subscriptions=uris or None,
    )
