"""What is written of conversations, runs, turns and messages; `reading` has what is read of them.

A run's transitions, each a compare-and-set in the caller's transaction:

    (new) → in_progress                        begin     with a lease, under fence 1
    in_progress → in_progress                  leave     by who began it, before the commit: nobody holds it yet
    in_progress → in_progress                  take_over when its lease has run out; raises the fence
    in_progress → requires_action | waiting    suspend   under the driver's fence; nobody holds it, its clock stops
    requires_action, waiting → in_progress     take_over when a human has decided or answered, or a call has ended that
                                                         waited for a child; raises the fence
    in_progress → completed | incomplete | failed        finish    under the driver's fence
    in_progress, waiting, requires_action → cancelled    cancel    by anyone, with all runs below; raises the fences
"""

import uuid
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from psycopg.types.json import Jsonb

from gateway.budgets import reservations
from gateway.runs.errors import NoSuchConversation
from gateway.runs.publisher import NOTIFIED, NOTIFY
from gateway.runs.rows import CHANGING, NewRun, Run, RunEnd, TurnValues, changed
from tenants.scope import jsonb, rows
from tenants.scope.functions import Function
from tenants.scope.transactions import Connection, TenantScope
from tools.gates.interface import Rights, RightsChanged

_OF_RUN = rows.columns(Run)
_CHANGING = ", ".join(f"(run).{name}" for name in CHANGING)

_BEGIN = Function(
    "begin_run", str,
    version="uuid", new_conversation="bool", id="uuid", conversation_id="uuid", message_id="uuid",
    user_message_id="uuid", agent_id="uuid", profile="jsonb", model="text", surface="text", lease="int4",
    idempotency_key="text", request_hash="bytea", content="text", title="text", request="text",
    key_id="uuid", priced="bool", durable="bool",
)  # fmt: skip
_TURN: dict[str, Any] = {
    "run_id": "uuid", "fence": "int4", "turn_id": "uuid", "attempt": "int4", "text": "text", "calls": "int4",
    "finish_reason": "text", "input_tokens": "int8", "output_tokens": "int8", "latency_ms": "int4", "more": "text",
    "usage": "jsonb",
}  # fmt: skip
# A parked run's turn has fewer open calls than when it was parked.
CALL_ENDED = """open_calls > (SELECT count(*) FROM tool_calls c
            WHERE c.run_id = runs.id AND c.turn = runs.turns AND c.status NOT IN ('success', 'error'))"""
# With the children whose end it finds in its calls from now on.
_TAKE_OVER = f"""WITH run AS (
    UPDATE runs SET status = 'in_progress', fence = fence + 1, lease_until = now() + make_interval(secs => %s),
        resumed_at = coalesce(resumed_at, now()), open_calls = NULL,
        budgeted = budgeted OR EXISTS (SELECT FROM budgets b WHERE b.tenant_id = runs.tenant_id)
    WHERE id = %s AND coalesce(lease_until, '-infinity') < now() AND (status = 'in_progress'
        OR status IN ('requires_action', 'waiting') AND (EXISTS (SELECT FROM approval_requests a
            WHERE a.run_id = runs.id AND a.status <> 'pending' AND a.used_at IS NULL)
            OR EXISTS (SELECT FROM questions q
            WHERE q.run_id = runs.id AND q.ready_at IS NOT NULL AND q.used_at IS NULL)
            OR {CALL_ENDED}))
    RETURNING *), noted AS (
    UPDATE runs c SET unnoted = false FROM run WHERE c.parent_run_id = run.id AND c.unnoted)
    SELECT {_OF_RUN}, extract(epoch FROM now() - resumed_at) + spent_ms / 1000.0 FROM run"""
_END = """status = %(status)s, incomplete_reason = %(incomplete_reason)s, error_code = %(error_code)s,
            error_message = %(error_message)s, error_status = %(error_status)s, finished_at = now(),
            lease_until = NULL"""
_HELD = "WHERE id = %(id)s AND fence = %(fence)s AND status = 'in_progress' RETURNING *"
_ANSWER = """message AS (
        INSERT INTO messages (id, tenant_id, user_id, conversation_id, run_id, role, content)
        SELECT message_id, tenant_id, user_id, conversation_id, id, 'assistant', %(content)s FROM run)"""
_PUBLISHED = f"SELECT {_OF_RUN}, {NOTIFIED} FROM run"
_FINISH = f"WITH run AS (UPDATE runs SET {_END} {_HELD}), {_ANSWER}, {NOTIFY} {_PUBLISHED}"
_SUSPEND = f"""WITH run AS (
        UPDATE runs SET status = %(status)s, lease_until = NULL, resumed_at = NULL, open_calls = %(open_calls)s,
            spent_ms = spent_ms + (extract(epoch FROM now() - resumed_at) * 1000)::bigint
        {_HELD}), turn AS (
        UPDATE turns SET suspensions = suspensions + 1 FROM run
        WHERE turns.run_id = run.id AND turns.number = %(number)s AND run.status = 'requires_action'), {NOTIFY}
    {_PUBLISHED}"""
# Until the transaction ends nobody ends it.
_IS_OPEN = "SELECT status IN ('in_progress', 'waiting', 'requires_action') AS is_open FROM runs WHERE id = %s FOR SHARE"
_IS_HELD = "SELECT FROM runs WHERE id = %s AND fence = %s AND status = 'in_progress'"
# Its clock begins when somebody takes it over.
_LEAVE = "UPDATE runs SET lease_until = NULL, resumed_at = NULL WHERE id = %s AND fence = %s AND status = 'in_progress'"
_RELEASE = "UPDATE runs SET lease_until = now() WHERE id = %s AND fence = %s AND status = 'in_progress'"


@dataclass(frozen=True, slots=True)
class Published:
    """A run's new row, and whether a worker is to be asked to deliver notifications about it."""

    run: Run
    notified: bool

    @classmethod
    def of(cls, *columns: Any) -> "Published":
        """Out of the run's columns and that."""
        return cls(Run(*columns[:-1]), columns[-1])


_COMMIT_TURN = Function(
    "commit_turn",
    lambda holds, *change: (holds, change),
    columns=f"holds, {_CHANGING}",
    version="uuid", valid_until="timestamptz", **_TURN, call_rows="jsonb", entries="jsonb", taint="text[]",
    durable="bool",
)  # fmt: skip
_CANCEL_TREE = Function(
    "cancel_tree",
    Published.of,
    columns=f"{rows.columns_of(Run, 'run')}, notified",
    run_id="uuid",
    spared="bool",
)
_COMMIT_LAST_TURN = Function(
    "commit_last_turn",
    lambda notified, *change: (notified, change),
    columns=f"notified, {_CHANGING}",
    **_TURN, status="text", content="text", incomplete_reason="text", error_code="text", error_message="text",
    error_status="int4", digest="bytea",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class TakenOver:
    """A run under its new fence; `elapsed`: seconds of its time that are spent."""

    run: Run
    elapsed: float

    @classmethod
    def of(cls, *columns: Any) -> "TakenOver":
        """Out of the run's columns and the seconds."""
        return cls(Run(*columns[:-1]), float(columns[-1]))


async def begin(
    connection: Connection | None,
    new: NewRun,
    *,
    version: uuid.UUID,
    new_conversation: bool,
    request: str | None = None,
    told: bool = True,
) -> Run:
    """Write the user's message and its run, in progress, with what its client asked over a compatible API; nobody else
    has the transcript. Within the connection's transaction, or alone. Returns the run's row.

    `version`: of the rights that the profile was read with. Where nobody is `told` of a run that is begun alone before
    it ends or waits, a crash of the database may lose it, with all that came of it. Raises RightsChanged,
    NoSuchConversation, BudgetExhausted, ModelUnpriced; UniqueViolation on a second open run or a used key. Then nothing
    is written.
    """
    values = rows.values(new)
    scope = TenantScope(values.pop("tenant_id"), values.pop("user_id"))
    durable = told or connection is not None
    begun = {"version": version, "new_conversation": new_conversation, "request": request, "durable": durable}
    values["profile"] = jsonb.plain(new.profile)
    [outcome] = await _BEGIN.on(connection, scope, **values, **begun)
    if outcome == "rights_changed":
        raise RightsChanged
    if outcome == "no_conversation":
        raise NoSuchConversation(new.conversation_id)
    if refusal := reservations.refusal_of(outcome, new.model):
        raise refusal
    return new.begun(budgeted=outcome == "begun_budgeted")


async def take_over(connection: Connection, run_id: uuid.UUID, lease_seconds: int) -> TakenOver | None:
    """Drive a run that nobody holds: its row under the new fence; None when it is held or over."""
    return await rows.one(connection, TakenOver.of, _TAKE_OVER, [lease_seconds, run_id])


async def commit_turn(
    connection: Connection | None,
    run: Run,
    turn: TurnValues,
    rights: Rights,
    call_rows: Jsonb,
    entries: Jsonb,
    taint: Collection[str] | None = None,
    told: bool = True,
) -> Run | None:
    """Write an answered turn with its calls, as `proposing.new_rows` has them; the run's new row, or None when the run
    is not ours any more. Within the connection's transaction, or alone. Raises RightsChanged, also when the
    conversation has read more than `taint`, where that is given. `told` is as with `begin`: nobody sees an effect of
    the calls that outlives them."""
    durable = told or connection is not None
    held = {"version": rights.version, "valid_until": rights.valid_until, "durable": durable}
    calls = {"call_rows": call_rows, "entries": entries, "taint": None if taint is None else sorted(taint)}
    [(holds, change)] = await _COMMIT_TURN.on(connection, _scope(run), **_turn(run, turn), **held, **calls)
    if not holds:
        raise RightsChanged
    return None if change[0] is None else changed(run, change)


async def commit_last_turn(
    connection: Connection | None, run: Run, turn: TurnValues, end: RunEnd, digest: bytes | None = None
) -> Published | None:
    """Write an answered turn, the assistant's message and the run's end; None when the run is not ours any more.

    `digest` is of the transcript by which a stateless client comes back. Within the connection's transaction, or alone.
    """
    ended = await _COMMIT_LAST_TURN.on(connection, _scope(run), **_turn(run, turn), **rows.values(end), digest=digest)
    return Published(changed(run, ended[0][1]), ended[0][0]) if ended else None


async def finish(connection: Connection, run: Run, end: RunEnd) -> Published | None:
    """Write the run's end and the assistant's message; None when the run is not ours any more."""
    return await rows.one(connection, Published.of, _FINISH, _held_by(run) | rows.values(end))


async def cancel(
    connection: Connection, scope: TenantScope, run_id: uuid.UUID, *, spared: bool = False
) -> list[Published]:
    """End an open run of the user's from outside, and every run below it; those that were open, the run first.

    `spared`: only those below it.
    """
    return await _CANCEL_TREE.within(connection, scope, run_id=run_id, spared=spared)


async def suspend(
    connection: Connection, run: Run, turn: int, open_calls: int | None, *, for_humans: bool = True
) -> Published | None:
    """Park a run in one of its turns: it waits for humans, and for children, or unless `for_humans` for children alone;
    None when the run is not ours any more. `open_calls`: how many of the turn are open, where it waits for children."""
    status = "requires_action" if for_humans else "waiting"
    values = {"number": turn, "open_calls": open_calls, "status": status}
    return await rows.one(connection, Published.of, _SUSPEND, _held_by(run) | values)


async def is_open(connection: Connection, run_id: uuid.UUID) -> bool:
    """Whether the run is not over; nobody ends it until the transaction does."""
    row = await (await connection.execute(_IS_OPEN, [run_id])).fetchone()
    return row is not None and bool(row["is_open"])


async def is_held(connection: Connection, run: Run) -> bool:
    """Whether the run is in progress under this fence."""
    return await (await connection.execute(_IS_HELD, [run.id, run.fence])).fetchone() is not None


async def leave(connection: Connection, run: Run) -> None:
    """Let a run that was begun in this transaction wait for whoever takes it over."""
    await connection.execute(_LEAVE, [run.id, run.fence])


async def release(connection: Connection, run: Run) -> None:
    """Let go of a run, so that a worker may take it over at once."""
    await connection.execute(_RELEASE, [run.id, run.fence])


def _scope(run: Run) -> TenantScope:
    return TenantScope(run.tenant_id, run.user_id)


def _turn(run: Run, turn: TurnValues) -> dict[str, Any]:
    return {"run_id": run.id, "fence": run.fence, **rows.values(turn), "usage": jsonb.plain(turn.usage)}


def _held_by(run: Run) -> dict[str, Any]:
    return {"id": run.id, "fence": run.fence}
