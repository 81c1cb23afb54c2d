"""Schedules as tests make and read them."""

import asyncio
import os
import time
import uuid
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg

from tests.database import rows
from tests.people import Cast, Person
from tests.waiting import until
from tools.invocation.dispatch import request_takeover
from tools.network import redis

_MAKE = """
    INSERT INTO schedules (id, tenant_id, user_id, agent_id, cron, tz, content, next_at)
    SELECT %s, %s, %s, (SELECT id FROM agents WHERE tenant_id = %s AND slug = %s), %s, 'UTC', %s, %s::timestamptz"""

# Between two sweeps of the beat.
EVERY_SECONDS = 3.0


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


def drive(run_id: uuid.UUID, enough: Callable[[], object] | None = None) -> None:
    """Wait until the run is completed, or until `enough` is true where it is given.

    The stack of the tests has no beat, so a worker is asked for here to take the run over, and as rarely as a sweep
    would. A sweep would ask for all that other tests left behind, too: its calls then wait for hundreds of messages.
    """
    [run] = rows("SELECT tenant_id, user_id FROM runs WHERE id = %(r)s", r=run_id)
    asked_at = -EVERY_SECONDS

    async def ask() -> None:
        try:
            await request_takeover(run["tenant_id"], run["user_id"], run_id)
        finally:
            await redis.close()

    def over() -> object:
        nonlocal asked_at
        if time.monotonic() - asked_at > EVERY_SECONDS:
            asyncio.run(ask())
            asked_at = time.monotonic()
        if enough is not None:
            return enough()
        return rows("SELECT FROM runs WHERE id = %(r)s AND status = 'completed'", r=run_id)

    until(over)
