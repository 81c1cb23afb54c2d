"""One's own inbox as a file of JSON lines, made while it is sent."""

from collections.abc import AsyncIterator
from typing import Any

import orjson
from django.db.models import QuerySet

from notifications.destinations import changes, sending
from notifications.inbox import entries, reminders
from notifications.models import Destination, InboxEntry, Reminder, SentMessage
from tenants.people.principal import Principal
from tools.keeping.exporting import BATCH, batches


async def lines(principal: Principal) -> AsyncIterator[bytes]:
    """A line for each entry, message, reminder and destination: `{"kind": "inbox", …}`, oldest first; no secrets."""
    kinds: tuple[tuple[QuerySet[Any], Any], ...] = (
        (entries.own(principal), _entry),
        (sending.own(principal), _sent),
        (reminders.own(principal), _reminder),
        (changes.own(principal), _destination),
    )
    for rows, shown in kinds:
        async for batch in batches(principal, rows, BATCH):
            yield b"".join(orjson.dumps(shown(row)) + b"\n" for row in batch)


def _entry(entry: InboxEntry) -> dict[str, Any]:
    return {
        "kind": "inbox",
        "id": entry.id,
        "about": entry.kind,
        "title": entry.title,
        "text": entry.text,
        "path": entry.path,
        "media": entry.media,
        "created_at": entry.created_at,
        "read_at": entry.read_at,
    }


def _sent(message: SentMessage) -> dict[str, Any]:
    return {
        "kind": "message",
        "id": message.id,
        "to": message.recipient,
        "channel": message.channel,
        "text": message.text,
        "operation": message.operation,
        "media": message.media,
        "status": message.status,
        "created_at": message.created_at,
        "finished_at": message.finished_at,
    }


def _reminder(reminder: Reminder) -> dict[str, Any]:
    return {
        "kind": "reminder",
        "id": reminder.id,
        "text": reminder.text,
        "at": reminder.at,
        "created_at": reminder.created_at,
        "fired_at": reminder.fired_at,
    }


def _destination(row: Destination) -> dict[str, Any]:
    return {
        "kind": "destination",
        "id": row.id,
        "name": row.name,
        "channel": row.channel,
        "destination": row.destination,
        "reminders": row.reminders,
        "verified_at": row.verified_at,
        "created_at": row.created_at,
    }
