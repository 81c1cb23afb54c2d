"""One user's tasks: adding, listing, changing."""

import uuid
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from psycopg import AsyncConnection
from psycopg.types.numeric import Int8

from tenants.scope import rows

_ADD_TASK = """
    INSERT INTO tasks (id, tenant_id, user_id, title, due_date, due_text, priority, taint)
    VALUES (%s, %s, %s, %s, %s, %s, %s, taint_labels(%s))
"""
# Row security says the same; said here too, so that neither alone has to be right.
_LIST_TASKS = """
    SELECT id, title, due_text AS due_date, status, taint
    FROM tasks
    WHERE tenant_id = %(tenant_id)s AND user_id = %(user_id)s
      AND (%(status)s::text IS NULL OR status = %(status)s::text)
    ORDER BY created_at DESC, id DESC
    LIMIT %(limit)s
"""
# What is not given stays; a due date may be given as none. Of what a conversation has read only a title can tell.
_UPDATE_TASK = """
    UPDATE tasks SET
        title = coalesce(%(title)s, title),
        due_date = CASE WHEN %(due)s THEN %(due_date)s ELSE due_date END,
        due_text = CASE WHEN %(due)s THEN %(due_text)s ELSE due_text END,
        priority = coalesce(%(priority)s, priority),
        status = coalesce(%(status)s, status),
        completed_at = CASE coalesce(%(status)s, status)
            WHEN 'completed' THEN coalesce(completed_at, statement_timestamp()) END,
        taint = CASE WHEN %(title)s IS NULL THEN taint
            ELSE ARRAY(SELECT DISTINCT unnest(taint || taint_labels(%(conversation)s)) ORDER BY 1) END
    WHERE id = %(id)s AND tenant_id = %(tenant_id)s AND user_id = %(user_id)s
    RETURNING id, title, due_text AS due_date, priority, status, taint
"""


def due_moment(text: str) -> datetime:
    """The moment that an ISO 8601 date or date-time names, a date being its midnight; without an offset it is UTC.

    Raises ValueError.
    """
    moment = datetime.fromisoformat(text.upper())
    try:
        return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
    except OverflowError:
        # PostgreSQL would keep it, and then no Python program could read the row.
        raise ValueError("The moment is outside the years 1 to 9999 in UTC.") from None


class TaskStore:
    """One user's tasks in one tenant.

    A task remembers what the conversations had read in which it got its titles (`tools.labels.TAINTS`): what `list` and
    `update` return as `taint`, the tool's `ToolResult.reads` has to have.
    """

    def __init__(
        self,
        connection: AsyncConnection[Any],
        tenant_id: uuid.UUID,
        user_id: uuid.UUID,
        conversation_id: uuid.UUID | None = None,
    ):
        self._connection = connection
        self._tenant_id = tenant_id
        self._user_id = user_id
        self._conversation_id = conversation_id

    async def add(self, *, title: str, due_date: str | None, priority: str) -> uuid.UUID:
        """Keep a new pending task and return its id; `due_date` is ISO 8601, kept as given too. Raises ValueError."""
        due = None if due_date is None else due_moment(due_date)
        task_id = uuid.uuid4()
        given = (task_id, self._tenant_id, self._user_id, title, due, due_date, priority, self._conversation_id)
        await rows.run(self._connection, _ADD_TASK, given)
        return task_id

    async def list(self, *, status: str | None, limit: int) -> list[dict[str, Any]]:
        """The newest tasks of this status (None is every status) as `{id, title, due_date, status, taint}`, all text
        but the last."""
        wanted = {"tenant_id": self._tenant_id, "user_id": self._user_id, "status": status, "limit": Int8(limit)}
        return [row | {"id": str(row["id"])} for row in await rows.dicts(self._connection, _LIST_TASKS, wanted)]

    async def update(self, task_id: uuid.UUID, changes: Mapping[str, Any]) -> dict[str, Any] | None:
        """Change what is in `changes` (title, due_date, priority, status) of a task.

        Returns the task as `{id, title, due_date, priority, status, taint}`, or None when the user has no such task.
        Raises ValueError for a due date that names no moment. A completed task stays completed as of when it first was.
        """
        due_text = changes.get("due_date")
        wanted = {
            "id": task_id,
            "conversation": self._conversation_id,
            "tenant_id": self._tenant_id,
            "user_id": self._user_id,
            "title": changes.get("title"),
            "due": "due_date" in changes,
            "due_date": None if due_text is None else due_moment(due_text),
            "due_text": due_text,
            "priority": changes.get("priority"),
            "status": changes.get("status"),
        }
        found = await rows.dicts(self._connection, _UPDATE_TASK, wanted)
        return found[0] | {"id": str(found[0]["id"])} if found else None
