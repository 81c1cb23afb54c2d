"""Rows of what models keep, as if their tools had stored them."""

import uuid
from typing import Any

from tests.database import rows
from tests.people import Person

CALL = uuid.UUID(int=7)


def memory(who: Person, content: str, scope: str = "user", **more: Any) -> str:
    """A memory of the person's, or with the scope `tenant` one that they stored for everybody; its id."""
    principal = who.principal
    values = {
        "id": str(uuid.uuid4()), "t": principal.tenant_id, "a": principal.user_id, "scope": scope, "content": content,
        "u": None if scope == "tenant" else principal.user_id, "agent": "helpdesk" if scope == "agent" else "",
        "call": CALL, "tags": [], "taint": [],
    } | more  # fmt: skip
    rows(
        "INSERT INTO memories (id, tenant_id, user_id, author_id, scope, agent, content, tags, taint, source_call_id)"
        " VALUES (%(id)s, %(t)s, %(u)s, %(a)s, %(scope)s, %(agent)s, %(content)s, %(tags)s, %(taint)s, %(call)s)"
        " RETURNING id",
        **values,
    )
    return str(values["id"])
