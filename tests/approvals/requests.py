"""Held calls as a run leaves them, without a run: enough for whoever reads and decides."""

import uuid
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
from django.conf import settings
from psycopg.types.json import Jsonb

from audit.canonical import sha256_hex
from audit.identifiers import uuid7
from tests.people import Person
from tools.registry import registry

INPUT = {"title": "Milk", "content": "Two litres"}
EDITED = {"title": "Milk", "content": "Three litres", "tags": ["shop"]}


def held(person: Person, tool_name: str = "save_note", **more: Any) -> uuid.UUID:
    """A call of the person's that waits for a decision; the request's id. `more` are columns of approval_requests."""
    tool = registry().get(tool_name)
    assert tool is not None
    arguments = more.pop("input", INPUT)
    now = more.pop("created_at", datetime.now(UTC))
    request = {
        "id": _id_at(now),
        "tenant_id": person.scope.tenant_id,
        "user_id": person.scope.user_id,
        "call_id": uuid7(),
        "run_id": uuid7(),
        "conversation_id": uuid7(),
        "agent": "default",
        "tool_name": tool_name,
        "tier": "elevated",
        "why": f"{tool_name} is elevated: a human has to approve it",
        "context": [{"role": "user", "text": "Please save a note.", "cut": 0}],
        "schema_hash": sha256_hex(tool.parameters),
        "params_hash": sha256_hex(arguments),
        "approvals_needed": 1,
        "status": "pending",
        "expires_at": now + timedelta(hours=24),
        "created_at": now,
        **more,
    }
    call = {
        "id": request["call_id"],
        "tenant_id": request["tenant_id"],
        "user_id": request["user_id"],
        "conversation_id": request["conversation_id"],
        "message_id": uuid7(),
        "run_id": request["run_id"],
        "turn": 1,
        "position": 0,
        "tool_name": tool_name,
        "tier": "elevated",
        "input": arguments,
        "params_hash": sha256_hex(arguments),
        "status": "awaiting_approval",
        "approval_id": request["id"],
        "row_key": b"k" * 32,
        "created_at": now,
    }
    with psycopg.connect(settings.DATABASE_URLS["owner"]) as owner:
        for table, row in (("tool_calls", call), ("approval_requests", request)):
            values = {name: Jsonb(value) if isinstance(value, dict | list) else value for name, value in row.items()}
            columns, places = ", ".join(values), ", ".join(f"%({name})s" for name in values)
            owner.execute(f"INSERT INTO {table} ({columns}) VALUES ({places})".encode(), values)
    return uuid.UUID(str(request["id"]))


def _id_at(moment: datetime) -> uuid.UUID:
    return uuid.UUID(int=(int(moment.timestamp() * 1000) << 80) | (uuid7().int & ((1 << 80) - 1)))
