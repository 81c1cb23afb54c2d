"""The built-in tools' own rows, reached over a connection that is already inside the call's transaction and tenant."""

import uuid
from datetime import UTC, datetime
from typing import Any

from psycopg import AsyncConnection
from psycopg.rows import dict_row

_SAVE_NOTE = """
    INSERT INTO notes (id, tenant_id, user_id, title, content, tags) VALUES (%s, %s, %s, %s, %s, %s::text[])
"""
_ADD_TASK = """
    INSERT INTO tasks (id, tenant_id, user_id, title, due_date, due_text, priority) VALUES (%s, %s, %s, %s, %s, %s, %s)
"""
# Row security says the same; said here too, so that neither alone has to be right.
_LIST_TASKS = """
    SELECT id, title, due_text AS due_date, status
    FROM tasks
    WHERE tenant_id = %(tenant_id)s AND user_id = %(user_id)s
      AND (%(status)s::text IS NULL OR status = %(status)s::text)
    ORDER BY created_at DESC, id DESC
    LIMIT %(limit)s
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


class NoteStore:
    """One user's notes in one tenant."""

    def __init__(self, connection: AsyncConnection[Any], tenant_id: uuid.UUID, user_id: uuid.UUID):
        self._connection = connection
        self._tenant_id = tenant_id
        self._user_id = user_id

    async def save(self, *, title: str, content: str, tags: list[str]) -> uuid.UUID:
        """Keep a new note and return its id."""
        note_id = uuid.uuid4()
        await self._connection.execute(_SAVE_NOTE, (note_id, self._tenant_id, self._user_id, title, content, tags))
        return note_id


class TaskStore:
    """One user's tasks in one tenant."""

    def __init__(self, connection: AsyncConnection[Any], tenant_id: uuid.UUID, user_id: uuid.UUID):
        self._connection = connection
        self._tenant_id = tenant_id
        self._user_id = user_id

    async def add(self, *, title: str, due_date: str | None, priority: str) -> uuid.UUID:
        """Keep a new pending task and return its id; `due_date` is ISO 8601, kept as given too. Raises ValueError."""
        due = None if due_date is None else due_moment(due_date)
        task_id = uuid.uuid4()
        await self._connection.execute(
            _ADD_TASK, (task_id, self._tenant_id, self._user_id, title, due, due_date, priority)
        )
        return task_id

    async def list(self, *, status: str | None, limit: int) -> list[dict[str, Any]]:
        """The newest tasks of this status (None is every status) as `{id, title, due_date, status}`, all text."""
        async with self._connection.cursor(row_factory=dict_row) as cursor:
            await cursor.execute(
                _LIST_TASKS,
                {"tenant_id": self._tenant_id, "user_id": self._user_id, "status": status, "limit": limit},
            )
            return [row | {"id": str(row["id"])} for row in await cursor.fetchall()]
