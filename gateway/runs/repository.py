"""The SQL of conversations, runs, turns and messages.

A run's transitions, each a compare-and-set in the caller's transaction:

    (new) → in_progress                        begin     with a lease, under fence 1
    in_progress → in_progress                  take_over when its lease has run out; raises the fence
    in_progress → requires_action              suspend   under the driver's fence; nobody holds it, its clock stops
    requires_action → in_progress              take_over when a human has decided; raises the fence
    in_progress → completed | incomplete | failed        finish    under the driver's fence
    in_progress, requires_action → cancelled   cancel    by anyone; raises the fence
"""

import uuid
from dataclasses import dataclass
from typing import Any

from psycopg.types.json import Jsonb

from approvals.requests import rights
from audit.calls.rows import ToolCall
from gateway.runs.publisher import NOTIFIED, NOTIFY
from gateway.runs.rows import NewRun, PastRun, PastTurn, Run, RunCall, RunEnd, Turn, TurnValues
from tenants.scope import rows
from tenants.scope.transactions import Connection, TenantScope
from tools.invocation import idempotency

_OF_RUN = rows.columns(Run)

_CONTEXT = f"""
    SELECT p.*, a.id AS agent_id, a.slug, a.instructions, a.model, a.tools, a.max_turns, a.max_seconds, a.tool_seconds,
        a.max_result_bytes, a.max_tier, a.on_refused_approval, a.on_disconnect
    FROM ({rights.LOAD}) p LEFT JOIN agents a ON CASE WHEN %s::text IS NULL THEN a.is_default ELSE a.slug = %s END"""
_BEGIN_CONVERSATION = """conversation AS (
        INSERT INTO conversations (id, tenant_id, user_id, title)
        VALUES (%(conversation_id)s, %(tenant_id)s, %(user_id)s, %(title)s))"""
_GO_ON_CONVERSATION = """conversation AS (
        UPDATE conversations SET updated_at = now() WHERE id = %(conversation_id)s)"""
_BEGIN = """WITH {conversation}, {idempotency}, run AS (
        INSERT INTO runs (id, tenant_id, user_id, conversation_id, message_id, agent_id, profile, model, surface,
            status, lease_until, resumed_at, idempotency_key, request_hash)
        VALUES (%(id)s, %(tenant_id)s, %(user_id)s, %(conversation_id)s, %(message_id)s, %(agent_id)s, %(profile)s,
            %(model)s, %(surface)s, 'in_progress', now() + make_interval(secs => %(lease)s), now(), %(idempotency_key)s,
            %(request_hash)s))
    INSERT INTO messages (id, tenant_id, user_id, conversation_id, run_id, role, content)
    VALUES (%(user_message_id)s, %(tenant_id)s, %(user_id)s, %(conversation_id)s, %(id)s, 'user', %(content)s)"""
_KEEP_REQUEST = """
    INSERT INTO run_requests (run_id, tenant_id, user_id, request)
    VALUES (%(id)s, %(tenant_id)s, %(user_id)s, %(request)s)"""
_REQUEST = "SELECT request FROM run_requests WHERE run_id = %s"
_TAKE_OVER = f"""
    UPDATE runs SET status = 'in_progress', fence = fence + 1, lease_until = now() + make_interval(secs => %s),
        resumed_at = coalesce(resumed_at, now())
    WHERE id = %s AND coalesce(lease_until, '-infinity') < now() AND (status = 'in_progress'
        OR status = 'requires_action' AND EXISTS (SELECT FROM approval_requests a
            WHERE a.run_id = runs.id AND a.status <> 'pending' AND a.used_at IS NULL))
    RETURNING {_OF_RUN}, extract(epoch FROM now() - resumed_at) + spent_ms / 1000.0"""
_TURN = """turn AS (
        INSERT INTO turns (id, tenant_id, user_id, run_id, number, attempt, text, calls, finish_reason, input_tokens,
            output_tokens, latency_ms, more)
        SELECT %(turn_id)s, tenant_id, user_id, id, turns, %(attempt)s, %(text)s, %(calls)s, %(finish_reason)s,
            %(input_tokens)s, %(output_tokens)s, %(latency_ms)s, %(more)s FROM run)"""
_COUNT = """turns = turns + 1, input_tokens = input_tokens + %(input_tokens)s,
            output_tokens = output_tokens + %(output_tokens)s"""
_END = """status = %(status)s, incomplete_reason = %(incomplete_reason)s, error_code = %(error_code)s,
            error_message = %(error_message)s, error_status = %(error_status)s, finished_at = now(),
            lease_until = NULL"""
_HELD = "WHERE id = %(id)s AND fence = %(fence)s AND status = 'in_progress' RETURNING *"
_ANSWER = """message AS (
        INSERT INTO messages (id, tenant_id, user_id, conversation_id, run_id, role, content)
        SELECT message_id, tenant_id, user_id, conversation_id, id, 'assistant', %(content)s FROM run)"""
_COMMIT_TURN = f"WITH run AS (UPDATE runs SET {_COUNT} {_HELD}), {_TURN} SELECT {_OF_RUN} FROM run"
_PUBLISHED = f"SELECT {_OF_RUN}, {NOTIFIED} FROM run"
_LAST_TURN = f"WITH run AS (UPDATE runs SET {_COUNT}, {_END} {_HELD}), {_TURN}, {_ANSWER}, {NOTIFY} {_PUBLISHED}"
_FINISH = f"WITH run AS (UPDATE runs SET {_END} {_HELD}), {_ANSWER}, {NOTIFY} {_PUBLISHED}"
_CANCEL = f"""WITH run AS (
        UPDATE runs SET status = 'cancelled', fence = fence + 1, finished_at = now(), lease_until = NULL
        WHERE id = %s AND user_id = %s AND status IN ('in_progress', 'requires_action') RETURNING *), {NOTIFY}
    {_PUBLISHED}"""
_SUSPEND = f"""WITH run AS (
        UPDATE runs SET status = 'requires_action', lease_until = NULL, resumed_at = NULL,
            spent_ms = spent_ms + (extract(epoch FROM now() - resumed_at) * 1000)::bigint
        {_HELD}), turn AS (
        UPDATE turns SET suspensions = suspensions + 1 FROM run
        WHERE turns.run_id = run.id AND turns.number = %(number)s), {NOTIFY}
    {_PUBLISHED}"""
_RELEASE = "UPDATE runs SET lease_until = now() WHERE id = %s AND fence = %s AND status = 'in_progress'"


@dataclass(frozen=True, slots=True)
class Published:
    """A run's new row, and whether a worker is to be asked to deliver notifications about it."""

    run: Run
    notified: bool

    @classmethod
    def of(cls, *columns: Any) -> "Published":
        """Out of the run's columns and the number of notifications."""
        return cls(Run(*columns[:-1]), columns[-1] > 0)


async def context(connection: Connection, user_id: uuid.UUID, agent: str | None) -> dict[str, Any] | None:
    """The member's policy columns beside the agent's (by slug, or the tenant's default); None: not a member."""
    return await (await connection.execute(_CONTEXT, [user_id, agent, agent])).fetchone()


@dataclass(frozen=True, slots=True)
class TakenOver:
    """A run under its new fence; `elapsed`: seconds of its time that are spent."""

    run: Run
    elapsed: float

    @classmethod
    def of(cls, *columns: Any) -> "TakenOver":
        """Out of the run's columns and the seconds."""
        return cls(Run(*columns[:-1]), float(columns[-1]))


async def begin(connection: Connection, new: NewRun, *, new_conversation: bool) -> None:
    """Write the user's message and its run, in progress; raises UniqueViolation on a second open run or a used key."""
    conversation = _BEGIN_CONVERSATION if new_conversation else _GO_ON_CONVERSATION
    query = _BEGIN.format(conversation=conversation, idempotency=idempotency.BIND_RUN)
    await connection.execute(query.encode(), rows.values(new) | {"profile": Jsonb(new.profile)})


async def keep_request(connection: Connection, new: NewRun, request: str) -> None:
    """Keep what a client asked over a compatible API: nobody else has the transcript."""
    values = {"id": new.id, "tenant_id": new.tenant_id, "user_id": new.user_id, "request": request}
    await connection.execute(_KEEP_REQUEST, values)


async def request(connection: Connection, run_id: uuid.UUID) -> str | None:
    """What the client asked, as `keep_request` kept it."""
    row = await (await connection.execute(_REQUEST, [run_id])).fetchone()
    return row["request"] if row else None


async def take_over(connection: Connection, run_id: uuid.UUID, lease_seconds: int) -> TakenOver | None:
    """Drive a run that nobody holds: its row under the new fence; None when it is held or over."""
    return await rows.one(connection, TakenOver.of, _TAKE_OVER, [lease_seconds, run_id])


async def commit_turn(connection: Connection, run: Run, turn: TurnValues) -> Run | None:
    """Write an answered turn; the run's new row, or None when the run is not ours any more."""
    return await rows.one(connection, Run, _COMMIT_TURN, _held_by(run) | rows.values(turn))


async def commit_last_turn(connection: Connection, run: Run, turn: TurnValues, end: RunEnd) -> Published | None:
    """Write an answered turn, the assistant's message and the run's end; None when the run is not ours any more."""
    values = _held_by(run) | rows.values(turn) | rows.values(end)
    return await rows.one(connection, Published.of, _LAST_TURN, values)


async def finish(connection: Connection, run: Run, end: RunEnd) -> Published | None:
    """Write the run's end and the assistant's message; None when the run is not ours any more."""
    return await rows.one(connection, Published.of, _FINISH, _held_by(run) | rows.values(end))


async def cancel(connection: Connection, run_id: uuid.UUID, user_id: uuid.UUID) -> Published | None:
    """End an open run of the user's from outside; None when there is none."""
    return await rows.one(connection, Published.of, _CANCEL, [run_id, user_id])


async def suspend(connection: Connection, run: Run, turn: int) -> Published | None:
    """Let a run wait for humans, in one of its turns; None when the run is not ours any more."""
    return await rows.one(connection, Published.of, _SUSPEND, _held_by(run) | {"number": turn})


async def release(connection: Connection, run: Run) -> None:
    """Let go of a run, so that a worker may take it over at once."""
    await connection.execute(_RELEASE, [run.id, run.fence])


def _held_by(run: Run) -> dict[str, Any]:
    return {"id": run.id, "fence": run.fence}


# --- reading ---------------------------------------------------------------------------------------------------------
_RUN = f"SELECT {_OF_RUN} FROM runs WHERE id = %s AND user_id = %s"
_RUN_BY_KEY = f"SELECT {_OF_RUN} FROM runs WHERE user_id = %s AND idempotency_key = %s"
_TURNS = f"SELECT {rows.columns(Turn)} FROM turns WHERE run_id = %s ORDER BY number"
# With the request that a call waits or waited for.
_CALL = f"""
    SELECT {rows.columns(ToolCall, "c")}, a.status, a.expires_at, a.used_at
    FROM tool_calls c LEFT JOIN approval_requests a ON a.id = c.approval_id"""
_CALLS = f"{_CALL} WHERE c.run_id = %s ORDER BY c.turn, c.position"
_CALLS_OF_TURN = f"{_CALL} WHERE c.run_id = %s AND c.turn = %s ORDER BY c.position"
_OWN = "SELECT 1 AS own FROM conversations WHERE id = %s"
# The newest runs of a conversation, newest first, and everything that was said in them.
_PAST_RUNS = """
    SELECT r.id, m.content FROM runs r
    JOIN messages m ON m.run_id = r.id AND m.role = 'user' AND m.conversation_id = r.conversation_id
    WHERE r.conversation_id = %s AND r.created_at < coalesce((SELECT created_at FROM runs WHERE id = %s), 'infinity')
    ORDER BY r.created_at DESC LIMIT %s"""
_PAST_TURNS = "SELECT run_id, number, text FROM turns WHERE run_id = ANY(%s) ORDER BY run_id, number"
_TURNS_OF_RUNS = f"SELECT {rows.columns(Turn)} FROM turns WHERE run_id = ANY(%s) ORDER BY run_id, number"
_PAST_CALLS = f"""
    SELECT {rows.columns(ToolCall)} FROM tool_calls WHERE run_id = ANY(%s) ORDER BY run_id, turn, position"""
_USER_MESSAGE = "SELECT content FROM messages WHERE run_id = %s AND role = 'user' AND conversation_id = %s"


async def run(connection: Connection, scope: TenantScope, run_id: uuid.UUID) -> Run | None:
    """One of the user's runs."""
    return await rows.one(connection, Run, _RUN, [run_id, scope.user_id])


async def run_by_key(connection: Connection, scope: TenantScope, key: str) -> Run | None:
    """The run that an Idempotency-Key began."""
    return await rows.one(connection, Run, _RUN_BY_KEY, [scope.user_id, key])


async def owns(connection: Connection, conversation_id: uuid.UUID) -> bool:
    """Whether the conversation is the user's own."""
    return await (await connection.execute(_OWN, [conversation_id])).fetchone() is not None


async def turns(connection: Connection, run_id: uuid.UUID) -> list[Turn]:
    """A run's answered turns, in order."""
    return await rows.every(connection, Turn, _TURNS, [run_id])


async def calls(connection: Connection, run_id: uuid.UUID, turn: int | None = None) -> list[RunCall]:
    """A run's calls, or one turn's, in the order the model made them."""
    if turn is None:
        return await rows.every(connection, RunCall, _CALLS, [run_id])
    return await rows.every(connection, RunCall, _CALLS_OF_TURN, [run_id, turn])


async def of_runs(connection: Connection, run_ids: list[uuid.UUID]) -> tuple[list[Turn], list[RunCall]]:
    """The turns and the calls of several runs, in order."""
    of_turns = await rows.every(connection, Turn, _TURNS_OF_RUNS, [run_ids])
    return of_turns, await rows.every(connection, RunCall, _PAST_CALLS, [run_ids])


async def agent_slugs(connection: Connection) -> list[str]:
    """The tenant's agents, the default one first."""
    query = "SELECT slug FROM agents ORDER BY is_default DESC, slug"
    return [row["slug"] for row in await (await connection.execute(query)).fetchall()]


async def user_message(connection: Connection, run: Run) -> str:
    """What the user said to begin the run."""
    row = await (await connection.execute(_USER_MESSAGE, [run.id, run.conversation_id])).fetchone()
    return row["content"] if row else ""


async def past(
    connection: Connection, conversation_id: uuid.UUID, before: uuid.UUID, most: int
) -> tuple[list[PastRun], list[PastTurn], list[RunCall]]:
    """The conversation's newest runs before one, newest first, with their turns and calls in order."""
    runs = await rows.every(connection, PastRun, _PAST_RUNS, [conversation_id, before, most])
    ids = [run.id for run in runs]
    if not ids:
        return [], [], []
    of_turns = await rows.every(connection, PastTurn, _PAST_TURNS, [ids])
    return runs, of_turns, await rows.every(connection, RunCall, _PAST_CALLS, [ids])
