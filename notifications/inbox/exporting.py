"""One's own inbox as a file of JSON lines, made while it is sent."""

from collections.abc import AsyncIterator
from typing import Any

import orjson
from django.db.models import QuerySet

from notifications.destinations import changes, sending
from notifications.inbox import entries, reminders
from notifications.models import Destination, InboxEntry, Reminder, SentMessage
from tenants.people.principal import Principal
from tools.keeping.exporting import BATCH, batches, line


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
    row = line("inbox", entry, "id", "title", "text", "path", "media", "created_at", "read_at")
    return row | {"about": entry.kind}


def _sent(message: SentMessage) -> dict[str, Any]:
    names = ("id", "channel", "text", "operation", "media", "status", "created_at", "finished_at")
    return line("message", message, *names) | {"to": message.recipient}


def _reminder(reminder: Reminder) -> dict[str, Any]:
    return line("reminder", reminder, "id", "text", "at", "created_at", "fired_at")


def _destination(row: Destination) -> dict[str, Any]:
    names = ("id", "name", "channel", "destination", "reminders", "verified_at", "created_at")
    return line("destination", row, *names)
