"""Publishes that approval requests are new or changed: notifications in the same commit, then the live queue."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from approvals import links, live
from approvals.rows import ApprovalRequest
from notifications import outbox
from notifications.events import Event, EventType, Words, declare
from notifications.outbox import Written
from tenants.scope.transactions import Connection

Change = Literal["requested", "approved", "denied", "expired", "cancelled"]

_REQUESTED = declare(
    EventType(
        "approval.requested",
        "a call begins to wait for a human",
        Words(
            headline="Approval needed: {tool} for {user}",
            text="{user} asks for a call of {tool} ({tier}), which needs a human's approval.",
            link="Decide here",
            closing="Without a decision it expires at {expires_at} UTC.",
        ),
        asks_deciders=True,
    )
)


def _ended(change: Change, label: str, text: str) -> EventType:
    headline = f"Approval {change}: {{tool}} for {{user}}"
    words = Words(headline=headline, text=text, link="See the request")
    return declare(EventType(f"approval.{change}", label, words, answers=_REQUESTED.name))


_TYPES: dict[Change, EventType] = {
    "requested": _REQUESTED,
    "approved": _ended("approved", "a human approved a call", "{user}'s call of {tool} ({tier}) was approved."),
    "denied": _ended("denied", "a human denied a call", "{user}'s call of {tool} ({tier}) was denied."),
    "expired": _ended("expired", "nobody decided in time", "Nobody decided in time about {user}'s call of {tool}."),
    "cancelled": _ended(
        "cancelled", "who asked withdrew it, or its run ended", "{user}'s call of {tool} waits for nobody any more."
    ),
}


@dataclass(frozen=True, slots=True)
class ApprovalEvents:
    """Requests of one tenant that changed together, and the notifications that were written about it."""

    requests: list[ApprovalRequest]
    written: Sequence[Written] = ()

    @property
    def request(self) -> ApprovalRequest:
        """The request, where it is one."""
        (request,) = self.requests
        return request


async def write(connection: Connection, requests: list[ApprovalRequest], change: Change) -> ApprovalEvents:
    """Write the notifications about requests in the transaction that changes them; `publish` them after the commit."""
    return ApprovalEvents(requests, [await outbox.write(connection, _event(each, change)) for each in requests])


async def publish(events: ApprovalEvents) -> None:
    """Let live queues and workers know, after the commit; whoever is not reached looks for themself later."""
    if events.requests:
        ids = [each.id for each in events.requests]
        await asyncio.gather(live.announce(events.requests[0].tenant_id, ids), outbox.send(*events.written))


def _event(request: ApprovalRequest, change: Change) -> Event:
    """Neither the arguments nor what the conversation led up to are in it."""
    payload = {
        "id": request.id,
        "status": "pending" if change == "requested" else change,
        "tool": request.tool_name,
        "tier": request.tier,
        "user": {"id": request.user_id},
        "run_id": request.run_id,
        "created_at": request.created_at,
        "expires_at": request.expires_at,
        "url": links.path_of(request.id),
    }
    return Event(_TYPES[change], request.tenant_id, request.user_id, request.id, payload)
