"""Rows of `tool_calls` as a page finds them, whatever their content."""

import json
import uuid
from datetime import UTC, datetime
from typing import Any

import psycopg
from django.conf import settings
from django.test import Client
from psycopg.types.json import Jsonb

from audit.identifiers import uuid7
from tests.browser.sessions import session_of
from tests.people import Person

KEY = b"k" * 32
JSON = {"input", "output", "approved_input", "decision", "resumed_decision", "side_effects"}


def row(person: Person, **columns: Any) -> uuid.UUID:
    """A finished call of list_tasks, or what `columns` make of it; its id."""
    now = datetime.now(UTC)
    values: dict[str, Any] = {
        "id": uuid7(), "tenant_id": person.scope.tenant_id, "user_id": person.scope.user_id,
        "conversation_id": uuid7(), "message_id": uuid7(), "run_id": uuid7(), "turn": 1, "position": 0,
        "tool_name": "list_tasks", "tier": "read_only", "input": {}, "output": {"tasks": []}, "display": "0 tasks",
        "status": "success", "decision": [], "side_effects": [], "row_key": KEY, "created_at": now,
        "queued_at": now, "started_at": now, "finished_at": now, "execution_time_ms": 1, "time_limit_ms": 1000,
        "attempt": 1, "fence": 1,
    } | columns  # fmt: skip
    values = {name: Jsonb(value) if name in JSON and value is not None else value for name, value in values.items()}
    names = ", ".join(values)
    places = ", ".join(f"%({name})s" for name in values)
    with psycopg.connect(settings.DATABASE_URLS["owner"]) as owner:
        owner.execute(f"INSERT INTO tool_calls ({names}) VALUES ({places})".encode(), values)
    return uuid.UUID(str(values["id"]))


def changed(call_id: uuid.UUID, **columns: Any) -> None:
    """The call goes on: its columns are others now."""
    sets = ", ".join(f"{name} = %({name})s" for name in columns)
    values = {name: json.dumps(value) if name in JSON else value for name, value in columns.items()}
    with psycopg.connect(settings.DATABASE_URLS["owner"]) as owner:
        owner.execute(f"UPDATE tool_calls SET {sets} WHERE id = %(id)s".encode(), values | {"id": call_id})


def signed_in(person: Person) -> Client:
    """A client that is logged in."""
    client = Client()
    client.cookies["sessionid"] = session_of(person)
    return client
