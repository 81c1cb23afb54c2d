"""What is under a run: its descendants, and the requests of theirs that wait for humans."""

import uuid
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any

from gateway.runs.rows import Run
from gateway.runs.view import RunView
from tenants.scope import rows
from tenants.scope.transactions import Connection, TenantScope

# It is about the turns that the ancestors are in.
_ANCESTORS_WAIT = """
    WITH RECURSIVE above AS (
        SELECT r.id, r.parent_run_id, r.turns FROM runs r WHERE r.id = %s
        UNION ALL SELECT r.id, r.parent_run_id, r.turns FROM runs r JOIN above ON r.id = above.parent_run_id)
    UPDATE turns t SET suspensions = suspensions + 1 FROM above
    WHERE t.run_id = above.id AND t.number = above.turns RETURNING above.id"""
# Of runs that were released: of one that is about to be, no turn above says yet that a human is waited for.
_APPROVALS_OF = """
    SELECT b.* FROM approvals_below(%s, %s, %s) b JOIN runs r ON r.id = b.asked_by AND r.status = 'requires_action'
    ORDER BY b.path, b.approval_id"""


@dataclass(frozen=True, slots=True)
class _Node:
    """A run of a tree."""

    id: uuid.UUID
    parent_run_id: uuid.UUID | None
    parent_call_id: uuid.UUID | None
    kind: str
    depth: int
    agent: str | None
    model: str
    conversation_id: uuid.UUID
    status: str
    incomplete_reason: str | None
    error_code: str | None
    error_message: str | None
    input_tokens: int
    output_tokens: int
    turns: int
    created_at: datetime
    finished_at: datetime | None
    max_run_tokens: int | None
    run_tokens: int | None
    max_run_usd: str | None
    run_usd: str | None


_WORKED_OUT = {
    "agent": "r.profile ->> 'slug'",
    "max_run_tokens": "(r.profile ->> 'max_run_tokens')::bigint",
    "run_tokens": "CASE WHEN r.profile ->> 'max_run_tokens' IS NOT NULL THEN run_tokens(r.id) END",
    "max_run_usd": "r.profile ->> 'max_run_usd'",
    "run_usd": "CASE WHEN r.profile ->> 'max_run_usd' IS NOT NULL THEN trim_scale(run_usd(r.id))::text END",
}
_OF_NODE = ", ".join(_WORKED_OUT.get(each.name, f"r.{each.name}") for each in fields(_Node))
_TREE = f"""
    WITH RECURSIVE tree AS (
        SELECT r.* FROM runs r WHERE r.id = %s AND r.tenant_id = %s AND r.user_id = %s
        UNION ALL SELECT r.* FROM runs r JOIN tree ON r.parent_run_id = tree.id)
    SELECT {_OF_NODE} FROM tree r ORDER BY r.created_at, r.id"""


async def fill(connection: Connection, scope: TenantScope, view: RunView) -> None:
    """Put what waits for humans below a parked run into its view."""
    last = view.last
    if last is None or not view.parked or not any(call.waits_for_child for call in last.calls):
        return
    found = await connection.execute(_APPROVALS_OF, [*scope, view.id])
    view.below = [_request(row) for row in await found.fetchall()]


def _request(row: dict[str, Any]) -> dict[str, Any]:
    return {
        "id": str(row["approval_id"]),
        "tool": row["tool_name"],
        "input": row["input"],
        "expires_at": row["expires_at"].isoformat(),
        "run_id": str(row["asked_by"]),
        "path": [str(each) for each in row["path"]],
    }


async def tree(connection: Connection, scope: TenantScope, run_id: uuid.UUID) -> dict[str, Any] | None:
    """One of the user's runs with its descendants, each with its `children` in the order in which they began; None when
    there is no such run."""
    found = await rows.every(connection, _Node, _TREE, [run_id, *scope])
    children: dict[uuid.UUID | None, list[_Node]] = {}
    for node in found:
        children.setdefault(node.parent_run_id, []).append(node)
    top = next((node for node in found if node.id == run_id), None)
    return None if top is None else _shown(top, children)


def _shown(node: "_Node", children: dict[uuid.UUID | None, list["_Node"]]) -> dict[str, Any]:
    below = [_shown(child, children) for child in children.get(node.id, ())]
    status = node.status
    if status == "waiting":
        waits = any(child["status"] == "requires_action" for child in below)
        status = "requires_action" if waits else "in_progress"
    return {
        "run_id": str(node.id),
        "parent_run_id": node.parent_run_id and str(node.parent_run_id),
        "parent_call_id": node.parent_call_id and str(node.parent_call_id),
        "kind": node.kind,
        "depth": node.depth,
        "agent": node.agent or "",
        "model": node.model,
        "conversation_id": str(node.conversation_id),
        "status": status,
        "incomplete_reason": node.incomplete_reason,
        "error": {"code": node.error_code, "message": node.error_message} if node.error_code else None,
        "usage": {
            "input_tokens": node.input_tokens,
            "output_tokens": node.output_tokens,
            "turns": node.turns,
            **_limits(node),
        },
        "created_at": node.created_at.isoformat(),
        "finished_at": node.finished_at and node.finished_at.isoformat(),
        "children": below,
    }


def _limits(node: "_Node") -> dict[str, Any]:
    """Those that it has, and what counts against each."""
    tokens = {"max_run_tokens": node.max_run_tokens, "run_tokens": node.run_tokens}
    money = {"max_run_usd": node.max_run_usd, "run_usd": node.run_usd}
    return {name: value for name, value in (tokens | money).items() if value is not None}


async def ancestors_wait(connection: Connection, run: Run) -> list[uuid.UUID]:
    """Count, in the turns that a run's ancestors are in, that they wait for humans; the ids of those runs."""
    if run.parent_run_id is None:
        return []
    found = await connection.execute(_ANCESTORS_WAIT, [run.parent_run_id])
    return [row["id"] for row in await found.fetchall()]
