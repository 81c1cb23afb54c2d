"""Replays of runs that a running Toolgate has made, and what must stand still meanwhile."""

import asyncio
import json
import uuid
from typing import Any

import psycopg
from django.conf import settings

from audit.log import sealing
from gateway.providers.openai import requests
from gateway.providers.translation import managed
from gateway.runs.replay.driver import Replayed, replay
from tenants.scope import transactions
from tests.database import rows
from tests.people import Cast, Person
from tests.stack import Stack
from tests.waiting import until

TABLES = (
    *("conversations", "messages", "runs", "turns", "run_requests", "continuations", "tool_calls", "ledger_entries"),
    *("approval_requests", "approval_decisions", "notes", "tasks"),
)
FINAL = ("completed", "incomplete", "failed", "cancelled")


def replayed(run_id: str) -> Replayed:
    """A replay, on an event loop of its own."""

    async def alone() -> Replayed:
        try:
            return await replay(uuid.UUID(run_id))
        finally:
            await transactions.close_pools()

    return asyncio.run(alone())


def seal() -> None:
    """Seal what is committed."""

    async def alone() -> None:
        try:
            while (await sealing.seal()).busy:
                pass
        finally:
            await transactions.close_pools()

    asyncio.run(alone())


def everything(tenant: Cast) -> dict[str, str]:
    """A digest of every row of the tenant, by table; but not of an entry's place in the log, which is given later."""
    query = """
        SELECT md5(coalesce(string_agg(t, '|' ORDER BY t), '')) AS it
        FROM (SELECT (to_jsonb(t) - 'leaf_index' - 'tenant_index')::text AS t FROM {} t WHERE tenant_id = %(t)s) each"""
    return {table: rows(query.format(table), t=tenant.id)[0]["it"] for table in TABLES}


def intact(tenant: Cast, run_id: str) -> Replayed:
    """A replay that finds no difference, goes to the end, and leaves every row as it was."""
    before = everything(tenant)
    found = replayed(run_id)
    assert found.differences == []
    assert found.stopped == ""
    assert everything(tenant) == before
    return found


def wheres(run_id: str) -> list[tuple[str, str]]:
    """Where a replay finds differences, and in what."""
    return [(each.where, each.what) for each in replayed(run_id).differences]


def run_of(tenant: Cast) -> str:
    """The id of the tenant's only run."""
    (row,) = rows("SELECT id FROM runs WHERE tenant_id = %(t)s", t=tenant.id)
    return str(row["id"])


def ended(stack: Stack, person: Person, run_id: str) -> dict[str, Any]:
    """The run's body once it is over."""

    def look() -> Any:
        run = stack.get(person, f"/api/v1/runs/{run_id}").json()
        return run if run["status"] in FINAL else None

    found: dict[str, Any] = until(look)
    return found


def tamper(table: str, statement: str, *values: object) -> None:
    """Change a table's rows as only the database's owner can: with its triggers off."""
    with psycopg.connect(settings.DATABASE_URLS["owner"]) as owner:
        owner.execute(f"ALTER TABLE {table} DISABLE TRIGGER USER".encode())
        assert owner.execute(statement.encode(), values).rowcount >= 1
        owner.execute(f"ALTER TABLE {table} ENABLE TRIGGER USER".encode())


def wire(prompt: Any) -> Any:
    """The body that an OpenAI-compatible provider would be sent."""
    return json.loads(json.dumps(requests.body(prompt, managed.names(prompt), limit="max_tokens", streaming=False)))
