"""What a conversation has read: private data, what strangers wrote; a set that only grows, and goes with it.

What the answers of calls read is written by `settle_tool_call`, in the commit that settles the call; this is about the
rest.
"""

import uuid
from collections.abc import Collection
from typing import Any

from tenants.scope.functions import Function
from tenants.scope.transactions import Connection, TenantScope

# The source of what a schedule's words had been written after.
SCHEDULE = "schedule"
_add = Function(
    "add_taint",
    lambda done: None,
    conversation="uuid",
    run="uuid",
    labels="text[]",
    named="text",
    call="uuid",
)
_flow = Function("flow_taint", lambda done: None, from_conversation="uuid", to_conversation="uuid", to_run="uuid")
_OF = "SELECT taint_of(%s) AS taint"


async def add(
    connection: Connection | None,
    scope: TenantScope,
    *,
    conversation_id: uuid.UUID,
    run_id: uuid.UUID | None,
    labels: Collection[str],
    source: str,
) -> None:
    """Remember what was read that was no call's answer, within the connection's transaction, or alone."""
    await _add.on(
        connection, scope, conversation=conversation_id, run=run_id, labels=sorted(labels), named=source, call=None
    )


async def flow(
    connection: Connection,
    scope: TenantScope,
    *,
    from_conversation: uuid.UUID | None,
    to_conversation: uuid.UUID | None,
    to_run: uuid.UUID | None,
) -> None:
    """Remember in one conversation what another one has read, in the transaction that tells it something from there."""
    values = {"from_conversation": from_conversation, "to_conversation": to_conversation, "to_run": to_run}
    await _flow.within(connection, scope, **values)


async def of(connection: Connection, conversation_id: uuid.UUID) -> list[dict[str, Any]]:
    """What the conversation of the transaction's user has read: [{label, source, call, at}], the newest first."""
    row = await (await connection.execute(_OF, [conversation_id])).fetchone()
    return [] if row is None else list(row["taint"])
