"""New calls, as they have passed the gates: their rows, with their first entries in the ledger.

They are written in one commit with what they belong to: the turn of a run, or the claim that their user's rights hold.
What may become of them from there on is in `recorder`, which draws all transitions.
"""

import json
import os
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import orjson
from psycopg.types.json import Jsonb

from audit.calls import ledger
from audit.calls.recorder import Failure
from audit.calls.rows import ToolCall
from audit.models import Status
from tenants.scope import rows
from tenants.scope.transactions import Connection


@dataclass(frozen=True, slots=True)
class NewCall:
    """A call after the gates: to be queued, held for the approval `approval_id`, or with the `refusal` that ends
    it at once."""

    id: uuid.UUID
    position: int
    tool_name: str
    tier: str | None
    input: Any
    input_raw: str | None
    params_hash: str | None
    decision: list[dict[str, Any]]
    time_limit_ms: int
    approval_id: uuid.UUID | None = None
    refusal: Failure | None = None


@dataclass(frozen=True, slots=True)
class Place:
    """Where in the tenant calls belong: a turn of a run, with its agent's slug and its model; or, without a chat,
    nowhere but to their user."""

    tenant_id: uuid.UUID
    user_id: uuid.UUID
    conversation_id: uuid.UUID | None = None
    message_id: uuid.UUID | None = None
    run_id: uuid.UUID | None = None
    turn: int | None = None
    origin: str = "chat"
    agent: str | None = None
    model: str | None = None


_OF_CALL = tuple(name for name in NewCall.__slots__ if name != "refusal")
_OF_STATE = ("status", "error_code", "error_message", "error_field", "display", "row_key", "created_at", "queued_at")
_NEW = (*Place.__slots__, *_OF_CALL, *_OF_STATE, "finished_at")
_RECORD = "SELECT record_calls(%s, %s)"


async def propose(
    connection: Connection, place: Place, calls: Sequence[NewCall], queued: frozenset[uuid.UUID]
) -> list[ToolCall]:
    """Write calls with their first ledger entries: refused ones final, those in `queued` queued.

    Returns their rows.
    """
    written, call_rows, entries = new_rows(place, calls, queued)
    await connection.execute(_RECORD, [call_rows, entries])
    return written


def new_rows(
    place: Place, calls: Sequence[NewCall], queued: frozenset[uuid.UUID]
) -> tuple[list[ToolCall], Jsonb, Jsonb]:
    """Calls as `propose` writes them: their rows; and the two arguments of the SQL function `record_calls`, for a
    function that writes them together with something else."""
    now = datetime.now(UTC)
    written: list[ToolCall] = []
    call_rows: list[dict[str, Any]] = []
    entries: list[dict[str, Any]] = []
    for each in calls:
        key = os.urandom(32)
        call = _row(place, each, key, now, each.id in queued)
        values = rows.values(call)
        payloads = [ledger.proposed(values)]
        if each.refusal is not None:
            payloads.append(ledger.settled(values))
        for payload in payloads:
            entry = ledger.entry(place.tenant_id, key, payload, call_id=each.id)
            entries.append(dict(zip(ledger.COLUMNS, entry, strict=True)))
        call_rows.append({name: values[name] for name in _NEW})
        written.append(call)
    return written, Jsonb(call_rows, _dumps), Jsonb(entries, _dumps)


def _dumps(values: Any) -> str | bytes:
    try:
        return orjson.dumps(values, _text)
    except orjson.JSONEncodeError:
        # Lone surrogates and integers of more than 64 bits, which JSON can spell all the same.
        return json.dumps(values, default=_text)


def _text(value: Any) -> str:
    """A value as PostgreSQL reads it out of JSON."""
    if isinstance(value, bytes):
        return f"\\x{value.hex()}"
    if isinstance(value, datetime):
        return value.isoformat()
    return str(value)


def _row(place: Place, call: NewCall, key: bytes, now: datetime, queued: bool) -> ToolCall:
    refusal = call.refusal
    held = Status.AWAITING_APPROVAL if call.approval_id else Status.PROPOSED
    unrefused = Status.QUEUED if queued else held
    return ToolCall(
        **{name: getattr(place, name) for name in Place.__slots__},
        **{name: getattr(call, name) for name in _OF_CALL},
        status=Status.ERROR.value if refusal else unrefused.value,
        error_code=refusal.code if refusal else None,
        error_message=refusal.message if refusal else None,
        error_field=refusal.field if refusal else None,
        display=refusal.display if refusal else "",
        row_key=key,
        created_at=now,
        queued_at=now if queued and not refusal else None,
        finished_at=now if refusal else None,
    )
