"""The only writer of `tool_calls` and `ledger_entries`.

A call's transitions, each a compare-and-set in the caller's transaction:

    (new) → proposed | awaiting_approval | queued | error
                                     propose     ledger: proposed, and settled when refused
    proposed → queued                enqueue     when the calls before it in the turn are final
    awaiting_approval                decide      ledger: decided, by one human; the call still waits
    awaiting_approval → queued       resume      with the answers of the gates that it has passed again
    awaiting_approval → error        refuse      ledger: settled
    queued → claimed                 claim       takes a lease and raises the fence
    claimed → running                start       commit it before the first byte of a side effect leaves
    claimed, running → success|error settle      ledger: settled
    claimed, running → queued        requeue     the fence stays: the next claim raises it
    proposed, awaiting_approval, queued → error  withdraw   ledger: settled

A transition that finds another status or a newer fence changes nothing and says so.
"""

import json
import os
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

import psycopg
from psycopg.types.json import Jsonb

from audit.calls import ledger
from audit.calls.rows import ToolCall
from audit.models import Status
from tenants.scope import rows

Connection = psycopg.AsyncConnection[dict[str, Any]]
_ROW = rows.columns(ToolCall)
_ENQUEUE = (
    "UPDATE tool_calls SET status = 'queued', queued_at = now() WHERE id = ANY(%s) AND status = 'proposed' RETURNING id"
)
_RESEND = "UPDATE tool_calls SET queued_at = now() WHERE id = %s AND status = 'queued'"
_EDIT = """
    UPDATE tool_calls SET approved_input = %s, approved_params_hash = %s
    WHERE id = %s AND status = 'awaiting_approval' RETURNING id"""
_RESUME = """
    UPDATE tool_calls SET status = 'queued', queued_at = now(), resumed_decision = %s
    WHERE id = %s AND status = 'awaiting_approval' RETURNING id"""
_CLAIM = f"""
    UPDATE tool_calls SET status = 'claimed', fence = fence + 1, attempt = attempt + 1,
        lease_until = now() + make_interval(secs => %s)
    WHERE id = %s AND status = 'queued' RETURNING {_ROW}"""
_START = """
    UPDATE tool_calls SET status = 'running', started_at = coalesce(started_at, clock_timestamp())
    WHERE id = %s AND status = 'claimed' AND fence = %s RETURNING started_at"""
_REQUEUE = """
    UPDATE tool_calls SET status = 'queued', lease_until = NULL, queued_at = now()
    WHERE id = %s AND status IN ('claimed', 'running') AND fence = %s RETURNING id"""
_SETTLE = """
    WITH settled AS (
        UPDATE tool_calls SET status = %(status)s, error_code = %(error_code)s, error_message = %(error_message)s,
            error_field = %(error_field)s, output = %(output)s, output_bytes = %(output_bytes)s,
            output_hash = %(output_hash)s, display = %(display)s, side_effects = %(side_effects)s,
            execution_time_ms = %(execution_time_ms)s, finished_at = %(finished_at)s, lease_until = NULL,
            resumed_decision = %(resumed_decision)s
        WHERE id = %(id)s AND status = ANY(%(from)s) AND fence = %(fence)s RETURNING tenant_id, id)
    INSERT INTO ledger_entries (tenant_id, call_id, kind, version, commitment)
    SELECT tenant_id, id, 'settled', %(version)s, %(commitment)s FROM settled RETURNING call_id"""
_OPEN = f"""
    SELECT {_ROW} FROM tool_calls WHERE run_id = %s AND status IN ('proposed', 'awaiting_approval', 'queued')
    ORDER BY id FOR UPDATE"""
_OPEN_ALONE = f"""
    SELECT {_ROW} FROM tool_calls
    WHERE id = %s AND run_id IS NULL AND status IN ('proposed', 'awaiting_approval', 'queued') FOR UPDATE"""


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a call failed or was refused: `code` as in the contract, `message` for the model and the client."""

    code: str
    message: str
    field: str | None = None
    display: str = ""


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
class Outcome:
    """The outcome of a call that was claimed or withdrawn."""

    failure: Failure | None = None
    output: Any = None
    output_bytes: int | None = None
    output_hash: str | None = None
    display: str = ""
    side_effects: list[dict[str, str]] = field(default_factory=list)
    execution_time_ms: int | None = None


@dataclass(frozen=True, slots=True)
class Place:
    """Where in the tenant calls belong: a turn of a run; or, without a chat, nowhere but to their user."""

    tenant_id: uuid.UUID
    user_id: uuid.UUID
    conversation_id: uuid.UUID | None = None
    message_id: uuid.UUID | None = None
    run_id: uuid.UUID | None = None
    turn: int | None = None
    origin: str = "chat"


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
        call = _row(place, each, now, each.id in queued)
        values = rows.values(call)
        payloads = [ledger.proposed(values)]
        if each.refusal is not None:
            payloads.append(ledger.settled(values))
        entries += [dict(zip(ledger.COLUMNS, _entry(call, payload), strict=True)) for payload in payloads]
        call_rows.append({name: values[name] for name in _NEW})
        written.append(call)
    return written, Jsonb(call_rows, _dumps), Jsonb(entries, _dumps)


def _dumps(values: Any) -> str:
    return json.dumps(values, default=_text)


def _text(value: Any) -> str:
    """A value as PostgreSQL reads it out of JSON."""
    if isinstance(value, bytes):
        return f"\\x{value.hex()}"
    if isinstance(value, datetime):
        return value.isoformat()
    return str(value)


def _entry(call: ToolCall, payload: dict[str, Any], record_id: uuid.UUID | None = None) -> tuple[Any, ...]:
    return ledger.entry(call.tenant_id, _key(call), payload, call_id=call.id, record_id=record_id)


def _key(call: ToolCall) -> bytes:
    assert call.row_key is not None, "only what is final is erased"
    return call.row_key


def _row(place: Place, call: NewCall, now: datetime, queued: bool) -> ToolCall:
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
        row_key=os.urandom(32),
        created_at=now,
        queued_at=now if queued and not refusal else None,
        finished_at=now if refusal else None,
    )


def _json(value: Any) -> Jsonb | None:
    return None if value is None else Jsonb(value)


async def enqueue(connection: Connection, ids: list[uuid.UUID]) -> list[uuid.UUID]:
    """Queue proposed calls; returns those that were still proposed."""
    return [row["id"] for row in await (await connection.execute(_ENQUEUE, [ids])).fetchall()]


async def resend(connection: Connection, call_id: uuid.UUID) -> None:
    """Count a queued call's wait from now on: its message is sent again."""
    await connection.execute(_RESEND, [call_id])


async def decide(connection: Connection, call: ToolCall, decision: Mapping[str, Any]) -> None:
    """Add the ledger entry of a human's decision about a waiting call, a row of `approval_decisions`."""
    await connection.execute(ledger.INSERT.encode(), _entry(call, ledger.decided(decision), decision["id"]))


async def edit(connection: Connection, call_id: uuid.UUID, approved: Any, params_hash: str) -> bool:
    """Store the arguments that a waiting call will run with instead of the model's; False when it no longer waits."""
    found = await connection.execute(_EDIT, [Jsonb(approved), params_hash, call_id])
    return await found.fetchone() is not None


async def resume(connection: Connection, call_id: uuid.UUID, answers: list[dict[str, Any]]) -> bool:
    """Queue a waiting call that was approved and has passed the gates again; False when it no longer waits."""
    found = await connection.execute(_RESUME, [Jsonb(answers), call_id])
    return await found.fetchone() is not None


async def refuse(
    connection: Connection, call: ToolCall, failure: Failure, answers: list[dict[str, Any]] | None
) -> bool:
    """End a waiting call that was not approved, or that the gates refuse now; False when it no longer waits."""
    outcome = Outcome(failure=failure, display=failure.display)
    return await _settle(connection, replace(call, resumed_decision=answers), outcome, [Status.AWAITING_APPROVAL])


async def claim(connection: Connection, call_id: uuid.UUID, lease_seconds: float) -> ToolCall | None:
    """Take a queued call: its row, with the new fence; None when it is not queued (any more)."""
    return await rows.one(connection, ToolCall, _CLAIM, [lease_seconds, call_id])


async def start(connection: Connection, call: ToolCall) -> ToolCall | None:
    """Mark a claimed call as running: its row, with the time since when; None when the claim was lost."""
    started = await (await connection.execute(_START, [call.id, call.fence])).fetchone()
    # A row of its own: the transaction may be rolled back, and then the call has not begun.
    return None if started is None else replace(call, started_at=started["started_at"])


async def requeue(connection: Connection, call_id: uuid.UUID, fence: int) -> bool:
    """Give a claimed or running call back to the queue; False when the claim was lost."""
    return await (await connection.execute(_REQUEUE, [call_id, fence])).fetchone() is not None


async def settle(connection: Connection, call: ToolCall, outcome: Outcome) -> bool:
    """End a claimed or running call under the fence in its row; False, and no trace, when the claim was lost."""
    return await _settle(connection, call, outcome, [Status.CLAIMED, Status.RUNNING])


async def withdraw(connection: Connection, run_id: uuid.UUID, failure: Failure) -> list[uuid.UUID]:
    """End the run's calls that nobody has begun; returns their ids."""
    return await _withdraw(connection, _OPEN, run_id, failure)


async def withdraw_alone(connection: Connection, call_id: uuid.UUID, failure: Failure) -> bool:
    """End a call without a run that nobody has begun; False when it has begun, or is final."""
    return bool(await _withdraw(connection, _OPEN_ALONE, call_id, failure))


async def _withdraw(connection: Connection, query: str, of: uuid.UUID, failure: Failure) -> list[uuid.UUID]:
    waiting = await rows.every(connection, ToolCall, query, [of])
    unbegun = [Status.PROPOSED, Status.AWAITING_APPROVAL, Status.QUEUED]
    outcome = Outcome(failure=failure, display=failure.display)
    return [call.id for call in waiting if await _settle(connection, call, outcome, unbegun)]


async def _settle(connection: Connection, call: ToolCall, outcome: Outcome, sources: list[Status]) -> bool:
    failure = outcome.failure
    values: dict[str, Any] = {
        "id": call.id,
        "from": [status.value for status in sources],
        "fence": call.fence,
        "status": Status.ERROR.value if failure else Status.SUCCESS.value,
        "error_code": failure and failure.code,
        "error_message": failure and failure.message,
        "error_field": failure and failure.field,
        "output_bytes": outcome.output_bytes,
        "output_hash": outcome.output_hash,
        "display": outcome.display,
        "side_effects": outcome.side_effects,
        "output": None if failure else outcome.output,
        "attempt": call.attempt,
        "queued_at": call.queued_at,
        "started_at": call.started_at,
        "execution_time_ms": outcome.execution_time_ms,
        "approved_params_hash": call.approved_params_hash,
        "resumed_decision": call.resumed_decision,
        "finished_at": datetime.now(UTC),
        "version": ledger.VERSION,
    }
    values["commitment"] = ledger.commitment(_key(call), ledger.settled(values))
    # JSON null is an output too; only a call without any output leaves the column empty.
    values["output"] = None if failure or outcome.output_hash is None else Jsonb(outcome.output)
    values["side_effects"] = Jsonb(outcome.side_effects)
    values["resumed_decision"] = _json(call.resumed_decision)
    return await (await connection.execute(_SETTLE, values)).fetchone() is not None
