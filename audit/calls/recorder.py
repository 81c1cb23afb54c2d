"""The transitions of calls. `proposing` has the first, which writes a call, and `begun` those that a worker makes.

These three and `reported` are the only writers of `tool_calls` and `ledger_entries`. Each transition is a
compare-and-set in the caller's transaction:

    (new) → proposed | awaiting_approval | queued | error
                                     propose     ledger: proposed, and settled when refused
    proposed → queued                enqueue     when the calls before it in the turn are final
    awaiting_approval                decide      ledger: decided, by one human; the call still waits
    awaiting_approval → queued       resume      with the answers of the gates that it has passed again
    awaiting_approval → error        refuse      ledger: settled
    queued → running                 claim       takes a lease and raises the fence; committed before the first byte of
                                                 a side effect leaves
    running → success | error        settle      ledger: settled
    running → queued                 requeue     the fence stays: the next claim raises it
    queued → success | error | queued            settle and requeue, of a call that was locked: its effect, and that it
                                                 has begun and ended, are one commit
    running → running                park        no lease, under another fence: the call waits for its user's answer
    running → queued                 go_on       of a parked call, once it has passed the gates again
    running → error                  refuse      of a parked call; ledger: settled
    queued → running                 begun.wait  no lease: it has begun a run in the same commit, and waits for it
    running → success | error        begun.end   of such a call, in the commit that ends its run; ledger: settled
    proposed, awaiting_approval, queued, and running where parked → error        withdraw   ledger: settled

An answer of the user's is an entry of its own: answered.

A transition that finds another status or a newer fence changes nothing and says so. `claimed` is what an older
release's worker made of a queued call before it began it; it is settled and queued again like a running one.
"""

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from psycopg.types.json import Jsonb

from audit.calls import ledger
from audit.calls.rows import ToolCall
from audit.models import Status
from tenants.scope import rows
from tenants.scope.functions import Function
from tenants.scope.transactions import Connection as Connection
from tenants.scope.transactions import TenantScope

COLUMNS = rows.columns(ToolCall)
_ENQUEUE = (
    "UPDATE tool_calls SET status = 'queued', queued_at = now() WHERE id = ANY(%s) AND status = 'proposed' RETURNING id"
)
# One that is locked is being worked on.
_RESEND = """
    UPDATE tool_calls SET queued_at = now() WHERE id = (
        SELECT id FROM tool_calls WHERE id = %s AND status = 'queued' FOR NO KEY UPDATE SKIP LOCKED) RETURNING id"""
_EDIT = """
    UPDATE tool_calls SET approved_input = %s, approved_params_hash = %s
    WHERE id = %s AND status = 'awaiting_approval' RETURNING id"""
_RESUME = """
    UPDATE tool_calls SET status = 'queued', queued_at = now(), resumed_decision = %s
    WHERE id = %s AND status = 'awaiting_approval' RETURNING id"""
_PARK = """
    UPDATE tool_calls SET lease_until = NULL, fence = fence + 1, attempt = attempt - 1
    WHERE id = %s AND status = 'running' AND fence = %s AND lease_until IS NOT NULL RETURNING id"""
_GO_ON = """
    UPDATE tool_calls SET status = 'queued', queued_at = now(), resumed_decision = %s
    WHERE id = %s AND status = 'running' AND lease_until IS NULL AND waits_on_run IS NULL RETURNING id"""
# Of a call that is stopped between two executions.
_HAD_BEGUN = "It had begun: what it has done until then stays done, and the rest is not done."
# A queued one that is locked has begun.
_OPEN = f"""
    WITH waiting AS (
        SELECT {COLUMNS} FROM tool_calls
        WHERE {{of}} AND (status IN ('proposed', 'awaiting_approval') OR status = 'running' AND lease_until IS NULL)
        ORDER BY id FOR UPDATE), queued AS (
        SELECT {COLUMNS} FROM tool_calls WHERE {{of}} AND status = 'queued' ORDER BY id FOR UPDATE SKIP LOCKED)
    SELECT * FROM waiting UNION ALL SELECT * FROM queued ORDER BY id"""
_OF_RUN, _ALONE = (_OPEN.format(of=of) for of in ("run_id = %(of)s", "id = %(of)s AND run_id IS NULL"))
settle_function = Function(
    "settle_tool_call",
    bool,
    call="uuid",
    demanded="bool",
    sources="text[]",
    was="int4",
    fence="int4",
    attempt="int4",
    status="text",
    error_code="text",
    error_message="text",
    error_field="text",
    output="jsonb",
    output_bytes="int4",
    output_hash="text",
    display="text",
    side_effects="jsonb",
    execution_time_ms="int4",
    resumed_decision="jsonb",
    queued_at="timestamptz",
    started_at="timestamptz",
    finished_at="timestamptz",
    version="int2",
    commitment="bytea",
    reads="text[]",
)


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a call failed or was refused: `code` as in the contract, `message` for the model and the client."""

    code: str
    message: str
    field: str | None = None
    display: str = ""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of a call that was claimed or withdrawn; `reads` is what its answer, or its error's words, taint the
    call's conversation with."""

    failure: Failure | None = None
    output: Any = None
    output_bytes: int | None = None
    output_hash: str | None = None
    display: str = ""
    side_effects: list[dict[str, str]] = field(default_factory=list)
    execution_time_ms: int | None = None
    reads: frozenset[str] = frozenset()


def _entry(call: ToolCall, payload: dict[str, Any], record_id: uuid.UUID | None = None) -> tuple[Any, ...]:
    return ledger.entry(call.tenant_id, _key(call), payload, call_id=call.id, record_id=record_id)


def _key(call: ToolCall) -> bytes:
    assert call.row_key is not None, "only what is final is erased"
    return call.row_key


async def enqueue(connection: Connection, ids: list[uuid.UUID]) -> list[uuid.UUID]:
    """Queue proposed calls; returns those that were still proposed."""
    return [row["id"] for row in await (await connection.execute(_ENQUEUE, [ids])).fetchall()]


async def resend(connection: Connection, call_id: uuid.UUID) -> bool:
    """Count a queued call's wait from now on: its message is sent again. False when it does not wait any more."""
    return await (await connection.execute(_RESEND, [call_id])).fetchone() is not None


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
    changed = replace(call, resumed_decision=answers)
    waits = ["running" if call.asks_user else "awaiting_approval"]
    [done] = await settle_function.within(connection, scope_of(call), **settlement(changed, outcome, waits, call.fence))
    return done


async def park(connection: Connection, call: ToolCall) -> bool:
    """Let a call that a worker runs wait for its user's answer, in the commit that asks them: nobody has it then.

    False when the claim was lost. The execution that ends here counts as no attempt.
    """
    return await (await connection.execute(_PARK, [call.id, call.fence])).fetchone() is not None


async def go_on(connection: Connection, call_id: uuid.UUID, answers: list[dict[str, Any]]) -> bool:
    """Queue a parked call that has passed the gates again; False when it is not parked any more."""
    return await (await connection.execute(_GO_ON, [Jsonb(answers), call_id])).fetchone() is not None


async def answered(connection: Connection, call: ToolCall, question: Mapping[str, Any]) -> None:
    """Add the ledger entry of what became of a question of the call's, a row of `questions`."""
    await connection.execute(ledger.INSERT.encode(), _entry(call, ledger.answered(question), question["id"]))


async def withdraw(connection: Connection, run_id: uuid.UUID, failure: Failure) -> list[uuid.UUID]:
    """End the run's calls that nobody has begun; returns their ids."""
    return await _withdraw(connection, _OF_RUN, run_id, failure)


async def withdraw_alone(connection: Connection, call_id: uuid.UUID, failure: Failure) -> bool:
    """End a call without a run that nobody has begun; False when it has begun, or is final."""
    return bool(await _withdraw(connection, _ALONE, call_id, failure))


async def _withdraw(connection: Connection, query: str, of: uuid.UUID, failure: Failure) -> list[uuid.UUID]:
    withdrawn: list[uuid.UUID] = []
    for call in await rows.every(connection, ToolCall, query, {"of": of}):
        said, display = failure.message, failure.display
        if call.started_at is not None:
            said, display = f"The call was stopped. {_HAD_BEGUN}", f"Stopped. {_HAD_BEGUN}"
        outcome = Outcome(failure=replace(failure, message=said), display=display)
        [done] = await settle_function.within(
            connection, scope_of(call), **settlement(call, outcome, [call.status], call.fence)
        )
        withdrawn += [call.id] if done else []
    return withdrawn


def scope_of(call: ToolCall) -> TenantScope:
    return TenantScope(call.tenant_id, call.user_id)


def settlement(
    call: ToolCall, outcome: Outcome, sources: list[str], was: int, *, demanded: bool = False
) -> dict[str, Any]:
    """What the SQL function `settle_tool_call` is given."""
    failure = outcome.failure
    settled: dict[str, Any] = {
        "id": call.id,
        "fence": call.fence,
        "attempt": call.attempt,
        "status": Status.ERROR.value if failure else Status.SUCCESS.value,
        "error_code": failure and failure.code,
        "error_message": failure and failure.message,
        "error_field": failure and failure.field,
        "output": None if failure else outcome.output,
        "output_bytes": outcome.output_bytes,
        "output_hash": outcome.output_hash,
        "display": outcome.display,
        "side_effects": outcome.side_effects,
        "execution_time_ms": outcome.execution_time_ms,
        "approved_params_hash": call.approved_params_hash,
        "resumed_decision": call.resumed_decision,
        "waits_on_run": call.waits_on_run,
        "queued_at": call.queued_at,
        "started_at": call.started_at,
        "finished_at": datetime.now(UTC),
    }
    commitment = ledger.commitment(_key(call), ledger.settled(settled))
    del settled["id"], settled["approved_params_hash"], settled["waits_on_run"]
    # JSON null is an output too; only a call without any output leaves the column empty.
    settled["output"] = None if failure or outcome.output_hash is None else Jsonb(outcome.output)
    held = {"call": call.id, "demanded": demanded, "sources": sources, "was": was}
    entry = {"version": ledger.VERSION, "commitment": commitment}
    return held | settled | entry | {"reads": sorted(outcome.reads)}
