"""Approval requests as the run that waits for them writes them.

    (new) → pending                         open       in the commit that writes the held calls
    pending → cancelled                     withdraw   when the run ends without waiting any longer, or the client
                                                       of a call without a run does
    approved: used, once                    take       by the run's driver, as the call goes on or is refused; by
                                                       `resumption.go_on`, where there is no run
    denied, expired, cancelled: used, once  note       by the run's driver, who has seen it

What humans do to them is in `approvals.requests.decisions`.
"""

import uuid
from collections.abc import Collection, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from psycopg.types.json import Jsonb

from approvals import events
from approvals.events import ApprovalEvents
from approvals.rows import ApprovalRequest
from audit.calls.proposing import NewCall, Place
from tenants.scope import rows
from tenants.scope.transactions import Connection
from tools.gates.policy import Policy
from tools.invocation import lookup

_COLUMNS = rows.columns(ApprovalRequest)
_OPEN = f"INSERT INTO approval_requests ({_COLUMNS}) VALUES ({rows.placeholders(ApprovalRequest)})"
_FIND = f"SELECT {_COLUMNS} FROM approval_requests WHERE id = ANY(%s)"
_OF_RUN = f"SELECT {_COLUMNS} FROM approval_requests WHERE run_id = %s"
_LOCK = f"SELECT {_COLUMNS} FROM approval_requests WHERE id = %s FOR UPDATE"
_WITHDRAWN = """
    UPDATE approval_requests SET status = CASE status WHEN 'pending' THEN 'cancelled' ELSE status END,
        decided_at = coalesce(decided_at, now()), used_at = now()"""
_WITHDRAW = f"{_WITHDRAWN} WHERE run_id = %s AND used_at IS NULL RETURNING {_COLUMNS}"
_WITHDRAW_ALONE = f"{_WITHDRAWN} WHERE id = %s AND run_id IS NULL AND used_at IS NULL RETURNING {_COLUMNS}"
_TAKE = f"""
    UPDATE approval_requests SET used_at = now()
    WHERE id = %s AND status = 'approved' AND used_at IS NULL RETURNING {_COLUMNS}"""
_TAKE_ALONE = f"""
    UPDATE approval_requests SET used_at = now()
    WHERE id = %s AND status = 'approved' AND used_at IS NULL AND run_id IS NULL RETURNING {_COLUMNS}"""
_NOTE = """
    UPDATE approval_requests SET used_at = now()
    WHERE id = ANY(%s) AND status IN ('denied', 'expired', 'cancelled') AND used_at IS NULL"""


async def open(
    connection: Connection,
    place: Place,
    calls: Sequence[NewCall],
    policy: Policy,
    *,
    agent: str,
    context: list[dict[str, Any]],
) -> ApprovalEvents:
    """Ask for a human's decision about each held call; `events.publish` it after the commit."""
    asked: list[ApprovalRequest] = []
    now = datetime.now(UTC)
    for call in calls:
        tool = lookup.known(policy, call.tool_name)
        assert tool is not None and call.tier is not None
        assert call.approval_id is not None and call.params_hash is not None, "only what the gates let through is held"
        setting = policy.setting(tool)
        asked.append(
            ApprovalRequest(
                id=call.approval_id,
                tenant_id=place.tenant_id,
                user_id=place.user_id,
                call_id=call.id,
                run_id=place.run_id,
                conversation_id=place.conversation_id,
                agent=agent,
                tool_name=call.tool_name,
                tier=call.tier,
                why=_why(call),
                context=context,
                schema_hash=tool.binding,
                params_hash=call.params_hash,
                approvals_needed=setting.approvals_needed,
                created_at=now,
                expires_at=now + timedelta(seconds=setting.approval_seconds),
            )
        )
    async with connection.cursor() as cursor:
        await cursor.executemany(_OPEN.encode(), [rows.values(each) | {"context": Jsonb(context)} for each in asked])
    return await events.write(connection, asked, "requested")


def _why(call: NewCall) -> str:
    """What the gates that hold the call say."""
    return "; ".join(answer["log"] for answer in call.decision if answer.get("holds") and "log" in answer)


async def withdraw(connection: Connection, run_id: uuid.UUID) -> ApprovalEvents:
    """Cancel what the run waits for, and take note of what was decided; `events.publish` it after the commit."""
    return await _withdrawn(connection, _WITHDRAW, run_id)


async def withdraw_alone(connection: Connection, request_id: uuid.UUID) -> ApprovalEvents:
    """The same for the one request of a call without a run."""
    return await _withdrawn(connection, _WITHDRAW_ALONE, request_id)


async def _withdrawn(connection: Connection, query: str, of: uuid.UUID) -> ApprovalEvents:
    withdrawn = await rows.every(connection, ApprovalRequest, query, [of])
    return await events.write(connection, [each for each in withdrawn if each.status == "cancelled"], "cancelled")


async def take(connection: Connection, request_id: uuid.UUID, *, alone: bool = False) -> ApprovalRequest | None:
    """Use an approval, which can be done once: its row, or None when it was used or never given.

    `alone`: only the approval of a call without a run.
    """
    return await rows.one(connection, ApprovalRequest, _TAKE_ALONE if alone else _TAKE, [request_id])


async def find(connection: Connection, request_ids: Collection[uuid.UUID]) -> list[ApprovalRequest]:
    """The requests of these ids, as far as there are any."""
    return await rows.every(connection, ApprovalRequest, _FIND, [list(request_ids)])


async def of_run(connection: Connection, run_id: uuid.UUID) -> list[ApprovalRequest]:
    """All the requests of a run."""
    return await rows.every(connection, ApprovalRequest, _OF_RUN, [run_id])


async def lock(connection: Connection, request_id: uuid.UUID) -> ApprovalRequest | None:
    """A request that nobody else changes until the transaction ends."""
    return await rows.one(connection, ApprovalRequest, _LOCK, [request_id])


async def note(connection: Connection, request_ids: list[uuid.UUID]) -> None:
    """Take note of requests that were not approved: their run has gone on."""
    await connection.execute(_NOTE, [request_ids])
