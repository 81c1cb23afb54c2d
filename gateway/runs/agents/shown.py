"""Agents and their versions as owners are shown them, over REST and on pages."""

from collections.abc import Iterable
from typing import Any

from gateway.models import Agent, AgentVersion
from gateway.runs.agents import versions


def agent(row: Agent) -> dict[str, Any]:
    """An agent with all of its fields; null where the operator's value, or any tier, is meant."""
    return {
        "slug": row.slug,
        **versions.values(row),
        "model": row.model or None,
        "max_tier": row.max_tier or None,
        "version": row.version,
        "archived": row.archived,
        "created_at": row.created_at,
    }


def history(rows: Iterable[AgentVersion]) -> list[dict[str, Any]]:
    """Versions of one agent, the newest first as they are given, each with what it changed of the one before it.

    `rows` are one page of them: the version before its last is read.
    """
    rows = list(rows)
    earlier = [*rows[1:], versions.before(rows[-1].agent_id, rows[-1].number)] if rows else []
    return [
        {
            "version": row.number,
            "by": None if row.actor is None else {"id": str(row.actor.pk), "username": row.actor.username},
            "via": row.via,
            "restored": row.restored,
            "created_at": row.created_at,
            "changes": versions.differences(before.values if before else {}, row.values),
            "values": row.values,
        }
        for row, before in zip(rows, earlier, strict=True)
    ]
