"""Who is told that requests are new or changed: notices in the same commit, then those who watch the queue."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from approvals.notifications import live, outbox
from approvals.notifications.outbox import Added, Event
from approvals.rows import ApprovalRequest
from tenants.scope.transactions import Connection


@dataclass(frozen=True, slots=True)
class ApprovalEvents:
    """Requests of one tenant that changed together, and the notices that were written of it."""

    requests: list[ApprovalRequest]
    added: Sequence[Added] = ()

    @property
    def request(self) -> ApprovalRequest:
        """The request, where it is one."""
        (request,) = self.requests
        return request


async def write(connection: Connection, requests: list[ApprovalRequest], event: Event) -> ApprovalEvents:
    """Write the notices, in the transaction of what they tell of."""
    return ApprovalEvents(requests, [await outbox.add(connection, each, event) for each in requests])


async def publish(news: ApprovalEvents) -> None:
    """Tell everybody, after the commit; whoever is not reached looks by himself, or is reached later."""
    if news.requests:
        ids = [each.id for each in news.requests]
        await asyncio.gather(live.announce(news.requests[0].tenant_id, ids), outbox.send(*news.added))
