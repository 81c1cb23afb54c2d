"""Schedules as tests make and read them."""

import asyncio
import os
import uuid
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg

from gateway.operations import sweeper
from tenants.scope import transactions
from tests.database import rows
from tests.people import Cast, Person
from tools.network import redis

_MAKE = """
    INSERT INTO schedules (id, tenant_id, user_id, agent_id, cron, tz, content, next_at)
    SELECT %s, %s, %s, (SELECT id FROM agents WHERE tenant_id = %s AND slug = %s), %s, 'UTC', %s, %s::timestamptz"""


def change(query: str, *values: object) -> None:
    """Change the tables past row-level security."""
    with psycopg.connect(os.environ["DATABASE_OWNER_URL"], autocommit=True) as connection:
        connection.execute(query.encode(), values)


def far_off() -> str:
    """A time of each day that does not come while a test runs."""
    return f"0 {(datetime.now(UTC) + timedelta(hours=12)).hour} * * *"


def make_schedule(
    person: Person,
    *,
    content: str = "hello",
    cron: str | None = None,
    next_at: datetime | str | None = "now",
    agent: str | None = None,
) -> uuid.UUID:
    """A schedule of the person's that is due since `next_at`, a moment or what PostgreSQL reads as one.

    Without `cron` it is due once more, long after the test.
    """
    made, me = uuid.uuid4(), person.principal
    change(_MAKE, made, me.tenant_id, me.user_id, me.tenant_id, agent, cron or far_off(), content, next_at)
    return made


def slots(schedule_id: uuid.UUID) -> list[dict[str, Any]]:
    """A schedule's slots, oldest first."""
    return rows("SELECT * FROM schedule_slots WHERE schedule_id = %(id)s ORDER BY slot_at", id=schedule_id)


def schedule(schedule_id: uuid.UUID) -> dict[str, Any]:
    """A schedule's row."""
    [row] = rows("SELECT * FROM schedules WHERE id = %(id)s", id=schedule_id)
    return row


def runs(tenant: Cast) -> list[dict[str, Any]]:
    """The tenant's runs, oldest first."""
    return rows("SELECT * FROM runs WHERE tenant_id = %(t)s ORDER BY created_at", t=tenant.id)


def drive(run_id: uuid.UUID) -> bool:
    """Whether the run is over; the stack of the tests has no beat, so a sweep is asked for here."""

    async def sweep() -> None:
        try:
            await sweeper.sweep()
        finally:
            await redis.close()
            await transactions.close_pools()

    asyncio.run(sweep())
    [run] = rows("SELECT status FROM runs WHERE id = %(r)s", r=run_id)
    return bool(run["status"] == "completed")
