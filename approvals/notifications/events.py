"""Who is told that requests are new or changed: notices in the same commit, then those who watch the queue."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from approvals.notifications import live, outbox
from approvals.notifications.outbox import Added, Event
from tenants.scope.transactions import Connection

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class ApprovalEvents:
    """Requests of one tenant that changed together, and the notices that were written of it."""

    rows: list[Row]
    added: Sequence[Added] = ()

    @property
    def row(self) -> Row:
        """The request, where it is one."""
        (row,) = self.rows
        return row


async def write(connection: Connection, rows: list[Row], event: Event) -> ApprovalEvents:
    """Write the notices, in the transaction of what they tell of."""
    return ApprovalEvents(rows, [await outbox.add(connection, row, event) for row in rows])


async def publish(news: ApprovalEvents) -> None:
    """Tell everybody, after the commit; whoever is not reached looks by himself, or is reached later."""
    if news.rows:
        ids = [row["id"] for row in news.rows]
        await asyncio.gather(live.announce(news.rows[0]["tenant_id"], ids), outbox.send(*news.added))
