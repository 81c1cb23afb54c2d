"""Events, and the rows that are to be delivered about them."""

import asyncio
import uuid
from dataclasses import fields
from datetime import timedelta
from typing import Any

import psycopg
from aiohttp import web
from django.conf import settings

from approvals import events
from approvals.events import ApprovalEvents, Change
from approvals.rows import ApprovalRequest
from tenants.scope.transactions import transaction
from tests.approvals.requests import held
from tests.database import rows
from tests.notifications.receiver import Receiver
from tests.people import Cast, Person


async def serve(receiver: Receiver) -> web.AppRunner:
    """Let a receiver listen."""
    app = web.Application()
    app.router.add_post("/{path:.*}", receiver.handle)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    receiver.port = runner.addresses[0][1]
    return runner


def address(*people: Person) -> None:
    """Give people an e-mail address."""
    for person in people:
        owner("UPDATE users SET email = username || '@example.com' WHERE id = %s", person.scope.user_id)


async def happen(person: Person, change: Change = "requested", **more: Any) -> uuid.UUID:
    """A change of a fresh request of the person's, committed; the request's id."""
    request_id = await asyncio.to_thread(held, person, **more)
    await publish(person, request_id, change)
    return request_id


def request_of(request_id: uuid.UUID) -> ApprovalRequest:
    """The request's row, whichever tenant's it is."""
    [row] = rows("SELECT * FROM approval_requests WHERE id = %(id)s", id=request_id)
    return ApprovalRequest(**{each.name: row[each.name] for each in fields(ApprovalRequest)})


async def publish(person: Person, request_id: uuid.UUID, change: Change = "requested") -> ApprovalEvents:
    """A change of a request that is there, written in a transaction of the person's and committed."""
    request = request_of(request_id)
    async with transaction(person.scope) as connection:
        return await events.write(connection, [request], change)


def outbox(cast: Cast) -> list[dict[str, Any]]:
    """The tenant's notifications, oldest first."""
    return rows("SELECT * FROM notifications WHERE tenant_id = %(t)s ORDER BY created_at, id", t=cast.id)


def owner(statement: str, *values: object) -> None:
    """A change that only the database's owner could make."""
    with psycopg.connect(settings.DATABASE_URLS["owner"]) as connection:
        connection.execute(statement.encode(), values)


def make_due(cast: Cast, ago: timedelta = timedelta()) -> None:
    """As if the pause, and `ago` before it, had passed."""
    owner("UPDATE notifications SET due_at = now(), created_at = created_at - %s WHERE tenant_id = %s", ago, cast.id)
