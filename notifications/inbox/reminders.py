"""Reminders: made by a tool or a person, told once at their time, in the inbox and where the person wants reminders.

waiting → told       `fire`, by whichever sweep finds it due first; the entry, what is sent, and that it was told
                     are one commit
waiting → dropped    `fire`, where its person is no member any more
"""

import uuid
from datetime import UTC, datetime, timedelta
from typing import Any

from django.db.models import QuerySet

from notifications import outbox
from notifications.destinations import sending
from notifications.inbox import entries, live
from notifications.models import Reminder
from tenants.errors import Refused
from tenants.people.principal import Principal
from tenants.scope import transactions
from tenants.scope.transactions import Connection, TenantScope, transaction

# Of one person, those that wait.
MOST = 1000
HORIZON = timedelta(days=5 * 366)
# Those that were told go when they are this old.
RETENTION_DAYS = 180
PATH = "/inbox/reminders/"

_COUNT = """
    SELECT count(*) AS waiting FROM (SELECT FROM reminders
        WHERE tenant_id = %s AND user_id = %s AND fired_at IS NULL LIMIT %s) waiting"""
_ADD = "INSERT INTO reminders (id, tenant_id, user_id, text, at, call_id) VALUES (%s, %s, %s, %s, %s, %s)"
# Whoever comes second waits for the row, and finds that it was told.
_FIRE = """
    UPDATE reminders r SET fired_at = now()
    WHERE id = %(id)s AND tenant_id = %(tenant_id)s AND user_id = %(user_id)s AND fired_at IS NULL AND at <= now()
    RETURNING text, at, call_id, EXISTS (
        SELECT FROM memberships m JOIN users u ON u.id = m.user_id
        WHERE m.tenant_id = r.tenant_id AND m.user_id = r.user_id AND u.is_active) AS is_member"""
_DUE = "SELECT tenant_id, user_id, id FROM reminders WHERE fired_at IS NULL AND at <= now() ORDER BY at LIMIT %s"
_FORGET = "DELETE FROM reminders WHERE fired_at < now() - make_interval(days => %s) RETURNING id"


class ImpossibleReminder(Refused):
    """The moment is past or too far away, or there are too many."""

    code = "invalid_reminder"


def checked(at: datetime) -> datetime:
    """The moment in UTC, if one can be reminded then. Raises ImpossibleReminder."""
    if at.tzinfo is None:
        raise ImpossibleReminder('"at" needs an offset from UTC, such as 2026-03-01T10:00:00+01:00.', "at")
    try:
        moment, now = at.astimezone(UTC), datetime.now(UTC)
    except OverflowError:
        raise ImpossibleReminder('"at" is outside the years 1 to 9999 in UTC.', "at") from None
    if moment <= now:
        raise ImpossibleReminder(
            f'"at" is in the past: it is {now:%Y-%m-%dT%H:%M:%S}+00:00 now. Give a later moment.', "at"
        )
    if moment > now + HORIZON:
        raise ImpossibleReminder(f'"at" is more than {HORIZON.days} days away, which is as far as reminders go.', "at")
    return moment


def full() -> ImpossibleReminder:
    """What is said of one reminder too many."""
    return ImpossibleReminder(f"There are {MOST} reminders that wait already. Delete some at {PATH} first.")


async def add(
    connection: Connection, scope: TenantScope, *, text: str, at: datetime, call_id: uuid.UUID | None
) -> tuple[uuid.UUID, datetime]:
    """A new reminder, in a transaction of its person; its id and its moment in UTC. Raises ImpossibleReminder."""
    moment, reminder_id = checked(at), uuid.uuid4()
    [row] = await (await connection.execute(_COUNT, [*scope, MOST])).fetchall()
    if row["waiting"] >= MOST:
        raise full()
    await connection.execute(_ADD, (reminder_id, *scope, text, moment, call_id))
    return reminder_id, moment


def own(principal: Principal, *, waiting: bool = False) -> QuerySet[Reminder]:
    """The caller's reminders; with `waiting` those that were not told yet, the next one first."""
    found = Reminder.objects.filter(tenant_id=principal.tenant_id, user_id=principal.user_id).order_by("at", "id")
    return found.filter(fired_at=None) if waiting else found


def create(principal: Principal, *, text: str, at: datetime) -> Reminder:
    """A new reminder of the caller's, within their scope. Raises ImpossibleReminder."""
    moment = checked(at)
    if own(principal, waiting=True)[:MOST].count() >= MOST:
        raise full()
    row = Reminder(text=text, at=moment)
    row.tenant_id, row.user_id = principal.tenant_id, principal.user_id
    row.save(force_insert=True)
    row.refresh_from_db()
    return row


def delete(principal: Principal, id: uuid.UUID) -> bool:
    """Delete a reminder, told or not; False when the caller has no such reminder."""
    deleted, _ = own(principal).filter(pk=id).delete()
    return bool(deleted)


async def due(most: int) -> list[dict[str, Any]]:
    """Reminders that are due, of all tenants: whose they are, and their ids."""
    return await transactions.fetch(_DUE, [most], login="system")


async def fire(row: dict[str, Any]) -> bool:
    """Tell a person what they wanted to be reminded of; False when that was done by somebody else, or is not to be."""
    scope = TenantScope(row["tenant_id"], row["user_id"])
    async with transaction(scope) as connection:
        fired = await (await connection.execute(_FIRE, {"id": row["id"], **scope._asdict()})).fetchone()
        if fired is None or not fired["is_member"]:
            return False
        key, text = f"reminder:{row['id']}", fired["text"]
        title = f"Reminder: {text}"
        more = {"text": text if len(title) > entries.MAX_TITLE or "\n" in text else "", "call_id": fired["call_id"]}
        await entries.put(connection, *scope, kind="reminder", key=key, title=title, path=PATH, **more)
        sent = await sending.remind(connection, *scope, text=text, key=key)
    await live.announce(*scope)
    if sent:
        await outbox.ask([scope.tenant_id])
    return True


async def forget_old() -> None:
    """Drop what was told more than RETENTION_DAYS ago, of all tenants."""
    await transactions.fetch(_FORGET, [RETENTION_DAYS], login="system")
