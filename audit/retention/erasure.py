"""Erasure: removes the payload of a final call, with its hashes and its key; the row and every entry about it stay.

The SQL function `erased_call` defines what goes and what stays, and the trigger of `tool_calls` lets a final row become
that and nothing else. A row of `erasures` says who erased what and why, and an entry for each call, made with
the key of that row, covers what is left of the call.
"""

import os
import uuid
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from audit.calls import decisions, ledger
from audit.identifiers import uuid7
from audit.models import Erasure
from tenants.scope.transactions import Connection

Row = dict[str, Any]
Scope = Erasure.Scope
# What else goes with calls, in the same transaction: (connection, tenant, ids of the calls).
Also = Callable[[Connection, uuid.UUID, list[uuid.UUID]], Awaitable[None]]

# Calls in one transaction.
BATCH = 500
NOBODY = FIRST = uuid.UUID(int=0)
LAST = uuid.UUID(int=(1 << 128) - 1)

_NEXT = """
    SELECT id, status IN ('success', 'error') AS final FROM tool_calls
    WHERE tenant_id = %(tenant_id)s AND {whose} AND id > %(after)s AND id < %(before)s AND row_key IS NOT NULL
    ORDER BY id LIMIT %(limit)s"""
# Whose calls: each by an index of its own.
_CALL = "id = %(subject_id)s"
_CONVERSATIONS = "conversation_id = ANY(%(conversation_ids)s)"
_USER = "user_id = %(subject_id)s"
_ANYBODY = "true"
# In the order of the ids, so that two erasures of the same calls wait for each other instead of deadlocking.
_LOCK = "SELECT id FROM tool_calls WHERE id = ANY(%s) ORDER BY id FOR UPDATE"
_ERASE = """
    UPDATE tool_calls SET input = NULL, input_raw = NULL, output = NULL, display = '', error_message = NULL,
        error_field = NULL, params_hash = NULL, output_hash = NULL, approved_input = NULL, approved_params_hash = NULL,
        row_key = NULL, decision = bare_answers(decision), resumed_decision = bare_answers(resumed_decision)
    WHERE id = ANY(%s) AND status IN ('success', 'error') AND row_key IS NOT NULL RETURNING *"""
COLUMNS = ("id", "tenant_id", "scope", "subject_id", "low", "high", "actor_id", "reason", "calls", "row_key")
INSERT = f"""
    INSERT INTO erasures ({", ".join(COLUMNS)}, created_at)
    VALUES ({", ".join(f"%({name})s" for name in COLUMNS)}, %(created_at)s)"""
_ENTRIES = """
    INSERT INTO ledger_entries (tenant_id, call_id, record_id, kind, version, commitment)
    SELECT %s, given.call_id, %s, 'erased', %s, given.commitment
    FROM unnest(%s::uuid[], %s::bytea[]) WITH ORDINALITY AS given (call_id, commitment, place) ORDER BY place"""


@dataclass(frozen=True, slots=True)
class Cause:
    """Why payloads are erased: the scope, whose (a call's, conversation's or user's id), on whose order, and why."""

    tenant_id: uuid.UUID
    scope: str
    subject_id: uuid.UUID | None = None
    actor_id: uuid.UUID | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Batch:
    """The next unerased calls in the order of their ids: those that are final, and those that are not."""

    final: list[uuid.UUID]
    open: list[uuid.UUID]

    @property
    def last(self) -> uuid.UUID | None:
        """The id to continue after; None when there was nothing."""
        return max([*self.final, *self.open], default=None)


def new(cause: Cause, calls: int, low: uuid.UUID | None = None, high: uuid.UUID | None = None) -> Row:
    """A row of `erasures`."""
    return {
        "id": uuid7(),
        **{name: getattr(cause, name) for name in Cause.__slots__},
        "scope": str(cause.scope),
        "low": low,
        "high": high,
        "calls": calls,
        "row_key": os.urandom(32),
        "created_at": datetime.now(UTC),
    }


async def following(
    connection: Connection,
    cause: Cause,
    *,
    after: uuid.UUID = FIRST,
    before: uuid.UUID = LAST,
    conversation_ids: Sequence[uuid.UUID] | None = None,
    limit: int | None = BATCH,
) -> Batch:
    """The calls to erase next, of those whose ids are between `after` and `before`.

    They are the cause's, or those of `conversation_ids`.
    """
    if conversation_ids is not None:
        whose = _CONVERSATIONS
    elif cause.scope == Scope.USER:
        whose = _USER
    else:
        whose = _CALL if cause.scope == Scope.CALL else _ANYBODY
    values = {
        "tenant_id": cause.tenant_id,
        "subject_id": cause.subject_id,
        "conversation_ids": list(conversation_ids or ()),
        "after": after,
        "before": before,
        "limit": limit,
    }
    found = await (await connection.execute(_NEXT.format(whose=whose).encode(), values)).fetchall()
    return Batch([row["id"] for row in found if row["final"]], [row["id"] for row in found if not row["final"]])


async def erase(
    connection: Connection, cause: Cause, call_ids: list[uuid.UUID], also: Also, *, always: bool = False
) -> Row | None:
    """Erase the calls that are final and have a payload still; the row of `erasures`, or None when there were none.

    With `always` there is a row in any case: something else was erased.
    """
    await connection.execute(_LOCK, [call_ids])
    erased = await (await connection.execute(_ERASE, [call_ids])).fetchall()
    # PostgreSQL returns them in the order of its plan; the entries must be in that of the calls.
    calls = sorted(erased, key=lambda call: call["id"].int)
    if not calls and not always:
        return None
    row = new(cause, len(calls))
    await connection.execute(INSERT.encode(), row)
    ids = [call["id"] for call in calls]
    if ids:
        query = decisions.queries().before_erasure.encode()
        decided = await (await connection.execute(query, [cause.tenant_id, ids])).fetchall()
        for call in calls:
            call["decisions"] = [each for each in decided if each["call_id"] == call["id"]]
        commitments = [ledger.commitment(row["row_key"], ledger.erased(row, call)) for call in calls]
        await connection.execute(_ENTRIES, [cause.tenant_id, row["id"], ledger.VERSION, ids, commitments])
        await also(connection, cause.tenant_id, ids)
    return row
