"""The handles that tools write messages and reminders with, in the transaction of their call."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from audit.calls.rows import ToolCall
from notifications import media as found
from notifications import outbox
from notifications.destinations import sending
from notifications.destinations.sending import Where
from notifications.inbox import entries, live, reminders
from notifications.inbox.reminders import ImpossibleReminder
from tenants.scope.transactions import Connection, TenantScope
from tools.errors import ToolPermissionDenied, ToolValidationError
from tools.interface import Tier
from tools.network import mail
from tools.stores import folded

INBOX = "inbox"
PAGE = "/settings/destinations/"
_TITLE = 80
_NAMES = """
    SELECT name, verified_at IS NOT NULL AS verified FROM destinations
    WHERE tenant_id = %s AND user_id = %s AND removed_at IS NULL ORDER BY created_at"""
_ZONE = "SELECT time_zone FROM users WHERE id = %s"
_OPERATIONS = {"reply": "slack", "data": "webhook"}


class Messenger:
    """Sends one call's message: into the inbox at once, else by the outbox. See `tools.handles.Messages`."""

    def __init__(self, connection: Connection, call: ToolCall):
        self._connection = connection
        self._call = call
        self._scope = TenantScope(call.tenant_id, call.user_id)
        self._entered = self._queued = False

    async def send(
        self, *, to: str, text: str, operation: dict[str, Any] | None, media: Sequence[str] = ()
    ) -> dict[str, Any]:
        """Raises ToolValidationError, ToolPermissionDenied."""
        files: list[dict[str, Any]] = []
        tainted: frozenset[str] = frozenset()
        if media:
            files, tainted = await found.find(self._connection, self._scope, self._call.conversation_id, media)
        if folded(to) == INBOX:
            return await self._tell(text, operation, files) | {"taint": tainted}
        where = await sending.find(self._connection, *self._scope, to) or await self._address(to)
        _check(where, operation)
        message_id = await sending.write(
            self._connection,
            *self._scope,
            where,
            kind="message",
            key=f"call:{self._call.id}",
            text=text,
            operation=operation,
            call_id=self._call.id,
            media=files,
        )
        self._queued = True
        sent = {"message_id": str(message_id), "to": where.name, "channel": where.channel, "status": "queued"}
        return sent | {"taint": tainted}

    async def committed(self) -> None:
        """After the commit: have it delivered, and the person's pages look."""
        if self._queued:
            await outbox.ask([self._scope.tenant_id])
        if self._entered:
            await live.announce(*self._scope)

    async def _tell(self, text: str, operation: dict[str, Any] | None, files: list[dict[str, Any]]) -> dict[str, Any]:
        if operation is not None:
            raise _cannot("The inbox", operation)
        line = text.strip().split("\n", 1)[0]
        title = line if len(line) <= _TITLE else f"{line[:_TITLE].rstrip()}…"
        entry_id = await entries.put(
            self._connection,
            *self._scope,
            kind="message",
            key=f"call:{self._call.id}",
            title=title or "A message",
            text="" if title == text.strip() else text,
            call_id=self._call.id,
            media=files,
        )
        self._entered = True
        return {"message_id": str(entry_id), "to": INBOX, "channel": INBOX, "status": "delivered"}

    async def _address(self, to: str) -> Where:
        """An address of e-mail, which a human has agreed to. Raises ToolValidationError, ToolPermissionDenied."""
        if not mail.is_plain_address(to):
            raise ToolValidationError(await self._unknown(to), "to")
        if self._call.tier != Tier.ELEVATED:
            # It was a verified destination when the call was let through, and is none any more.
            raise ToolPermissionDenied(
                f"No destination that the user has verified is there any more for this address. Nothing was sent. "
                f"The user can verify it at {PAGE}; or call the tool again, and a human is asked."
            )
        return Where(None, to, "email")

    async def _unknown(self, to: str) -> str:
        rows = await (await self._connection.execute(_NAMES, list(self._scope))).fetchall()
        open_ = ", ".join(["inbox", *(row["name"] for row in rows if row["verified"])])
        if any(folded(row["name"]) == folded(to) for row in rows):
            return f"This destination is not verified. The user can verify it at {PAGE}. There are {open_}."
        return (
            f"There is no such destination, and it is no e-mail address. There are {open_}. The user can add a Slack "
            f"channel or a webhook at {PAGE}."
        )


class ReminderBook:
    """Writes one call's reminder. See `tools.handles.Reminders`."""

    def __init__(self, connection: Connection, call: ToolCall):
        self._connection = connection
        self._call = call

    async def add(self, *, text: str, at: datetime) -> dict[str, str]:
        """Raises ToolValidationError."""
        scope = TenantScope(self._call.tenant_id, self._call.user_id)
        try:
            reminder_id, moment = await reminders.add(self._connection, scope, text=text, at=at, call_id=self._call.id)
        except ImpossibleReminder as refused:
            raise ToolValidationError(refused.detail, refused.field) from None
        row = await (await self._connection.execute(_ZONE, [scope.user_id])).fetchone()
        zone = row["time_zone"] if row and row["time_zone"] else "UTC"
        local = moment.astimezone(ZoneInfo(zone))
        return {"id": str(reminder_id), "at": moment.isoformat(), "shown": f"{local:%Y-%m-%d %H:%M} ({zone})"}


class Handles:
    """See `tools.invocation.ports.Notifications`."""

    def messages(self, connection: Connection, call: ToolCall) -> Messenger:
        """For one call, in its transaction."""
        return Messenger(connection, call)

    def reminders(self, connection: Connection, call: ToolCall) -> ReminderBook:
        """For one call, in its transaction."""
        return ReminderBook(connection, call)


def _check(where: Where, operation: dict[str, Any] | None) -> None:
    """Raises ToolValidationError for what the channel cannot do, and for an operation without what it needs."""
    if operation is None:
        return
    kind = operation["type"]
    if _OPERATIONS.get(kind) != where.channel:
        raise _cannot({"slack": "A Slack webhook", "webhook": "A webhook"}.get(where.channel, "E-mail"), operation)
    needed = {"reply": "thread", "data": "data"}[kind]
    if needed not in operation:
        raise ToolValidationError(f"The operation {kind} needs {needed}.", "operation")


def _cannot(what: str, operation: dict[str, Any]) -> ToolValidationError:
    words = {
        "reply": "Only a Slack destination can reply in a thread.",
        "react": (
            "A reaction needs a Slack app's token, which no destination has: an incoming webhook only posts. Where an "
            "owner has added the service slack (/settings/services/), its tool add_reaction reacts."
        ),
        "data": "Only a webhook destination takes data.",
    }[operation["type"]]
    return ToolValidationError(f"{what} cannot {operation['type']}. {words} Nothing was sent.", "operation")
