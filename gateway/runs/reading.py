"""What is read of conversations, runs, turns and messages, as typed rows; `repository` writes them.

Nothing here locks: what has to hold until a transaction ends is asked of `repository`.
"""

import uuid
from collections.abc import Collection
from typing import Any

from approvals.requests import callers_rights
from audit.calls.rows import ToolCall
from gateway.providers.routing import resolution
from gateway.runs.rows import PastRun, PastTurn, Run, RunCall, Turn
from tenants.scope import rows
from tenants.scope.functions import Function
from tenants.scope.transactions import Connection, TenantScope

_CONTEXT = f"""
    SELECT p.*, {resolution.COLUMN}, a.id AS agent_id, a.slug, a.instructions, a.model, a.tools, a.max_turns,
        a.max_seconds, a.max_run_tokens, a.max_run_usd, a.tool_seconds, a.max_result_bytes, a.max_offered_tools,
        a.pinned_tools, a.max_tier, a.on_refused_approval, a.on_disconnect, a.version, (
            SELECT jsonb_object_agg(o.slug, o.name) FROM agents o
            WHERE jsonb_typeof(a.tools) = 'array' AND a.tools ? o.slug AND o.archived_at IS NULL) AS agents
    FROM ({callers_rights.LOAD}) p LEFT JOIN agents a ON a.archived_at IS NULL
        AND CASE WHEN %s::text IS NULL THEN a.is_default ELSE a.slug = %s END"""
_RUN = f"SELECT {rows.columns(Run)} FROM runs WHERE id = %s AND user_id = %s"
_RUN_BY_KEY = f"SELECT {rows.columns(Run)} FROM runs WHERE user_id = %s AND idempotency_key = %s"
_TURNS = f"SELECT {rows.columns(Turn)} FROM turns WHERE run_id = %s ORDER BY number"
# With the request that a call waits or waited for, and what a parked one asks.
_CALL = f"""
    SELECT {rows.columns(ToolCall, "c")}, a.status, a.expires_at, a.used_at,
        CASE WHEN c.status = 'running' AND c.lease_until IS NULL THEN open_questions(c.id) END
    FROM tool_calls c LEFT JOIN approval_requests a ON a.id = c.approval_id"""
_CALLS = f"{_CALL} WHERE c.run_id = %s AND c.turn = coalesce(%s, c.turn) ORDER BY c.turn, c.position"
_CALLS_BY_ID = Function(
    "calls_by_id",
    RunCall,
    columns=f"{rows.columns_of(ToolCall, 'call')}, approval_status, approval_expires_at, approval_used_at, questions,"
    " version",
    writes=False,
    ids="uuid[]",
)
# The newest runs of a conversation, newest first, and everything that was said in them.
# Of a branch with those that led up to it, in the conversations that it comes from.
_PAST_RUNS = """
    WITH RECURSIVE line AS (
        SELECT c.id, c.parent_id, c.branched_at, 'infinity'::timestamptz AS until FROM conversations c WHERE c.id = %s
        UNION ALL
        SELECT c.id, c.parent_id, c.branched_at, b.created_at FROM line
        JOIN conversations c ON c.id = line.parent_id JOIN runs b ON b.id = line.branched_at)
    SELECT r.id, m.content, r.parent_run_id IS NULL AS by_person, m.attachments FROM line
    JOIN runs r ON r.conversation_id = line.id AND r.created_at <= line.until
    JOIN messages m ON m.run_id = r.id AND m.role = 'user' AND m.conversation_id = r.conversation_id
    WHERE r.created_at < coalesce((SELECT created_at FROM runs WHERE id = %s), 'infinity')
    ORDER BY r.created_at DESC LIMIT %s"""
_PAST_TURNS = "SELECT run_id, number, text FROM turns WHERE run_id = ANY(%s) ORDER BY run_id, number"
_TURNS_OF_RUNS = f"SELECT {rows.columns(Turn)} FROM turns WHERE run_id = ANY(%s) ORDER BY run_id, number"
_PAST_CALLS = f"""
    SELECT {rows.columns(ToolCall)} FROM tool_calls WHERE run_id = ANY(%s) ORDER BY run_id, turn, position"""
_USER_MESSAGE = "SELECT content, attachments FROM messages WHERE run_id = %s AND role = 'user' AND conversation_id = %s"
_REQUEST = "SELECT request FROM run_requests WHERE run_id = %s"


async def context(connection: Connection, user_id: uuid.UUID, agent: str | None) -> dict[str, Any] | None:
    """The member's policy columns beside the agent's (by slug, or the tenant's default); None: not a member."""
    return await (await connection.execute(_CONTEXT, [user_id, agent, agent])).fetchone()


async def run(connection: Connection, scope: TenantScope, run_id: uuid.UUID) -> Run | None:
    """One of the user's runs."""
    return await rows.one(connection, Run, _RUN, [run_id, scope.user_id])


async def run_by_key(connection: Connection, scope: TenantScope, key: str) -> Run | None:
    """The run that an Idempotency-Key began."""
    return await rows.one(connection, Run, _RUN_BY_KEY, [scope.user_id, key])


async def turns(connection: Connection, run_id: uuid.UUID) -> list[Turn]:
    """A run's answered turns, in order."""
    return await rows.every(connection, Turn, _TURNS, [run_id])


async def calls(connection: Connection, run_id: uuid.UUID, turn: int | None = None) -> list[RunCall]:
    """A run's calls, or one turn's, in the order the model made them."""
    return await rows.every(connection, RunCall, _CALLS, [run_id, turn])


async def calls_by_id(connection: Connection | None, scope: TenantScope, ids: Collection[uuid.UUID]) -> list[RunCall]:
    """A turn's calls, in the order the model made them; within the connection's transaction, or alone."""
    return await _CALLS_BY_ID.on(connection, scope, ids=sorted(ids))


async def of_runs(connection: Connection, run_ids: list[uuid.UUID]) -> tuple[list[Turn], list[RunCall]]:
    """The turns and the calls of several runs, in order."""
    of_turns = await rows.every(connection, Turn, _TURNS_OF_RUNS, [run_ids])
    return of_turns, await rows.every(connection, RunCall, _PAST_CALLS, [run_ids])


async def agents(connection: Connection) -> list[tuple[str, str]]:
    """The slugs of the tenant's agents, the default one first, each with its model ("" is the operator's default)."""
    query = "SELECT slug, model FROM agents WHERE archived_at IS NULL ORDER BY is_default DESC, slug"
    return [(row["slug"], row["model"]) for row in await (await connection.execute(query)).fetchall()]


async def request(connection: Connection, run_id: uuid.UUID) -> str | None:
    """What the client asked over a compatible API, as `begin` kept it."""
    row = await (await connection.execute(_REQUEST, [run_id])).fetchone()
    return row["request"] if row else None


async def user_message(connection: Connection, run: Run) -> tuple[str, list[dict[str, Any]]]:
    """What the user said to begin the run, and the versions of files that this refers to."""
    row = await (await connection.execute(_USER_MESSAGE, [run.id, run.conversation_id])).fetchone()
    return (row["content"], row["attachments"]) if row else ("", [])


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
