"""Approval requests as the run that waits for them writes them.

    (new) → pending                         open       in the commit that writes the held calls
    pending → cancelled                     withdraw   when the run ends without waiting any longer
    approved: used, once                    take       by the run's driver, as the call goes on or is refused
    denied, expired, cancelled: used, once  note       by the run's driver, who has seen it

What humans do to them is in `approvals.requests.decisions`.
"""

import uuid
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from psycopg.types.json import Jsonb

from approvals.notifications import events
from approvals.notifications.events import ApprovalEvents
from audit.calls.recorder import NewCall, Place
from audit.canonical import sha256_hex
from tenants.scope.transactions import Connection
from tools.gates.policy import Policy
from tools.registry import registry

Row = dict[str, Any]

_OPEN = """
    INSERT INTO approval_requests (id, tenant_id, user_id, call_id, run_id, conversation_id, agent, tool_name, tier,
        why, context, schema_hash, params_hash, approvals_needed, status, expires_at)
    VALUES (%(id)s, %(tenant_id)s, %(user_id)s, %(call_id)s, %(run_id)s, %(conversation_id)s, %(agent)s, %(tool_name)s,
        %(tier)s, %(why)s, %(context)s, %(schema_hash)s, %(params_hash)s, %(approvals_needed)s, 'pending',
        %(expires_at)s)"""
_WITHDRAW = """
    UPDATE approval_requests SET status = CASE status WHEN 'pending' THEN 'cancelled' ELSE status END,
        decided_at = coalesce(decided_at, now()), used_at = now()
    WHERE run_id = %s AND used_at IS NULL RETURNING *"""
_TAKE = """
    UPDATE approval_requests SET used_at = now()
    WHERE id = %s AND status = 'approved' AND used_at IS NULL RETURNING *"""
_NOTE = """
    UPDATE approval_requests SET used_at = now()
    WHERE id = ANY(%s) AND status IN ('denied', 'expired', 'cancelled') AND used_at IS NULL"""


async def open(
    connection: Connection, place: Place, calls: Sequence[NewCall], policy: Policy, *, agent: str, context: list[Row]
) -> ApprovalEvents:
    """Ask for a human's decision about each held call; `news.publish` it after the commit."""
    asked: list[Row] = []
    for call in calls:
        tool = registry().get(call.tool_name)
        assert tool is not None
        setting = policy.setting(tool)
        asked.append(
            {
                "id": call.approval_id,
                "tenant_id": place.tenant_id,
                "user_id": place.user_id,
                "call_id": call.id,
                "run_id": place.run_id,
                "conversation_id": place.conversation_id,
                "agent": agent,
                "tool_name": call.tool_name,
                "tier": call.tier,
                "why": call.decision[-1].get("log", ""),
                "context": context,
                "schema_hash": sha256_hex(tool.parameters),
                "params_hash": call.params_hash,
                "approvals_needed": setting.approvals_needed,
                "expires_at": datetime.now(UTC) + timedelta(hours=setting.approval_hours),
            }
        )
    async with connection.cursor() as cursor:
        await cursor.executemany(_OPEN, [row | {"context": Jsonb(row["context"])} for row in asked])
    return await events.write(connection, asked, "requested")


async def withdraw(connection: Connection, run_id: uuid.UUID) -> ApprovalEvents:
    """Cancel what the run waits for, and take note of what was decided; `news.publish` it after the commit."""
    rows = await (await connection.execute(_WITHDRAW, [run_id])).fetchall()
    return await events.write(connection, [row for row in rows if row["status"] == "cancelled"], "cancelled")


async def take(connection: Connection, request_id: uuid.UUID) -> Row | None:
    """Use an approval, which can be done once: its row, or None when it was used or never given."""
    return await (await connection.execute(_TAKE, [request_id])).fetchone()


async def note(connection: Connection, request_ids: list[uuid.UUID]) -> None:
    """Take note of requests that were not approved: their run has gone on."""
    await connection.execute(_NOTE, [request_ids])
