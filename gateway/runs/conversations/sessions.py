"""The user's conversations as tools see them: the handle `sessions`, over the connection of its call."""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from audit.calls import taint
from audit.calls.rows import ToolCall
from tenants.scope.transactions import Connection, TenantScope
from tools.errors import ToolValidationError

# Of a message, in characters.
_SHOWN = 4000
_COLUMNS = """c.id, c.title, c.kind, c.labels, c.updated_at, taint_labels(c.id) AS taint, (
        SELECT r.status FROM runs r WHERE r.conversation_id = c.id ORDER BY r.created_at DESC LIMIT 1) AS status"""
_FIND = f"""
    SELECT {_COLUMNS} FROM conversations c WHERE c.user_id = %s AND (%s::text IS NULL OR %s = ANY (c.labels))
        AND c.title ILIKE ALL (%s::text[])
    ORDER BY c.updated_at DESC, c.id LIMIT %s"""
_READ = f"SELECT {_COLUMNS} FROM conversations c WHERE c.user_id = %s AND c.id = %s"
_MESSAGES = """
    SELECT role, left(content, %s) AS content, length(content) > %s AS truncated, created_at FROM messages
    WHERE conversation_id = %s ORDER BY created_at DESC, role LIMIT %s"""
_LABEL = "UPDATE conversations SET labels = %s WHERE user_id = %s AND id = %s RETURNING id"


@dataclass(frozen=True, slots=True)
class SessionsOfCall:
    """See `tools.handles.Sessions`."""

    connection: Connection
    call: ToolCall

    async def find(
        self, *, query: str | None, label: str | None, limit: int
    ) -> tuple[list[dict[str, Any]], frozenset[str]]:
        """By the rows of this moment."""
        words = [f"%{_escaped(word)}%" for word in (query or "").split()]
        values = [self.call.user_id, label, label, words, limit]
        found = await (await self.connection.execute(_FIND, values)).fetchall()
        return [_shown(row) for row in found], frozenset(each for row in found for each in row["taint"])

    async def read(self, session_id: str, limit: int) -> tuple[dict[str, Any], frozenset[str]]:
        """By the rows of this moment."""
        session = id_of(session_id)
        row = await (await self.connection.execute(_READ, [self.call.user_id, session])).fetchone()
        if row is None:
            raise no_session(session_id)
        said = await (await self.connection.execute(_MESSAGES, [_SHOWN, _SHOWN, session, limit])).fetchall()
        messages = [
            {"role": each["role"], "content": each["content"], "truncated": each["truncated"], "at": _at(each)}
            for each in reversed(said)
        ]
        return {**_shown(row), "messages": messages}, frozenset(row["taint"])

    async def label(self, session_id: str | None, labels: Sequence[str]) -> str:
        """In the call's transaction: what was read where the labels come from flows to what they are given."""
        own = self.call.conversation_id
        wanted = own if session_id is None else id_of(session_id)
        if wanted is None:
            raise ToolValidationError("This call belongs to no session, so it has to name one.", "session_id")
        values = [list(labels), self.call.user_id, wanted]
        if await (await self.connection.execute(_LABEL, values)).fetchone() is None:
            raise no_session(session_id or str(wanted))
        scope = TenantScope(self.call.tenant_id, self.call.user_id)
        await taint.flow(self.connection, scope, from_conversation=own, to_conversation=wanted, to_run=None)
        return str(wanted)


def id_of(session_id: str) -> uuid.UUID:
    """The id that a model wrote. Raises ToolValidationError, as for a session that does not exist."""
    try:
        return uuid.UUID(session_id)
    except ValueError:
        raise no_session(session_id) from None


def no_session(session_id: str) -> ToolValidationError:
    """What is said of a session that does not exist, or is somebody else's."""
    return ToolValidationError(
        f"There is no session {session_id[:50]!a} of this user's; list_sessions says which there are.", "session_id"
    )


def _escaped(word: str) -> str:
    return word.replace("\\", "\\\\").replace("%", r"\%").replace("_", r"\_")


def _at(row: dict[str, Any]) -> str:
    return str(row["created_at"].isoformat())


def _shown(row: dict[str, Any]) -> dict[str, Any]:
    return {
        "session_id": str(row["id"]),
        "title": row["title"],
        "kind": row["kind"],
        "labels": row["labels"],
        "status": "in_progress" if row["status"] == "waiting" else row["status"],
        "updated_at": row["updated_at"].isoformat(),
    }
