"""Publishes that a run ended, or waits for humans, in the transaction that ends or suspends it."""

import uuid

from gateway.runs.rows import Run
from notifications import outbox
from notifications.events import Event, EventType, Words, declare
from notifications.outbox import Written
from tenants.scope.transactions import Connection


def _type(status: str, label: str, text: str) -> EventType:
    words = Words(headline=f"Run {status.replace('_', ' ')}: {{agent}} for {{user}}", text=text, link="See the run")
    return declare(EventType(f"run.{status}", label, words))


_TYPES = {
    "completed": _type("completed", "a run ended with its answer", "{user}'s run of {agent} ({model}) completed."),
    "incomplete": _type(
        "incomplete", "a run ended at one of its limits", "{user}'s run of {agent} ({model}) ended at a limit."
    ),
    "failed": _type("failed", "a run failed", "{user}'s run of {agent} ({model}) failed."),
    "cancelled": _type("cancelled", "a run was cancelled", "{user}'s run of {agent} ({model}) was cancelled."),
    "requires_action": _type(
        "requires_action", "a run begins to wait for humans", "{user}'s run of {agent} ({model}) waits for a human."
    ),
}


async def write(connection: Connection, run: Run) -> Written:
    """Write the notifications about a run's new status; `outbox.send` them after the commit.

    They are pipelined with the transaction's end: where no target wants them, they cost no round trip.
    """
    payload = {
        "id": run.id,
        "status": run.status,
        "user": {"id": run.user_id},
        "run_id": run.id,
        "conversation_id": run.conversation_id,
        "agent": run.profile.get("slug", ""),
        "model": run.model,
        "created_at": run.created_at,
        "finished_at": run.finished_at,
        "url": path_of(run.id),
    }
    return await outbox.write(connection, Event(_TYPES[run.status], run.tenant_id, run.user_id, run.id, payload))


def path_of(run_id: uuid.UUID) -> str:
    """The path of a run's page."""
    return f"/history/runs/{run_id}/"
