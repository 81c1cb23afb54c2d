"""A person's destinations, and calls of the tools that send to them, without the pipeline around them."""

import asyncio
import uuid
from types import SimpleNamespace
from typing import Any

from notifications.destinations import changes
from notifications.inbox.handles import Messenger, ReminderBook
from notifications.models import Destination
from tenants.people.changes import acting
from tenants.scope import transactions
from tenants.scope.transactions import transaction
from tests.database import rows
from tests.notifications.outbox import owner
from tests.notifications.receiver import Receiver
from tests.people import Person
from tests.tools.context import context
from tools.builtin.messages.create_reminder import CreateReminder
from tools.builtin.messages.message import Message
from tools.interface import Tier, ToolResult


def make(who: Person, name: str, channel: str, destination: str, **more: Any) -> Destination:
    """A destination of the person's, not verified yet."""
    principal = who.principal
    with transactions.scope(*who.scope), acting(principal.user_id, "page"):
        return changes.make(principal, name=name, channel=channel, destination=destination, **more)[0]


async def verified(who: Person, name: str, channel: str, destination: str, **more: Any) -> Destination:
    """A destination that has proved itself."""
    row = await asyncio.to_thread(make, who, name, channel, destination, **more)
    owner("UPDATE destinations SET verified_at = now() WHERE id = %s", row.id)
    return row


async def send(
    who: Person,
    to: str,
    text: str = "Hello",
    *,
    tier: Tier = Tier.SYSTEM,
    call_id: uuid.UUID | None = None,
    conversation_id: uuid.UUID | None = None,
    **more: Any,
) -> ToolResult:
    """What the tool `message` answers to a call that the gates let through at this tier; committed."""
    call: Any = SimpleNamespace(
        id=call_id or uuid.uuid4(),
        tenant_id=who.scope[0],
        user_id=who.scope[1],
        tier=str(tier),
        conversation_id=conversation_id,
    )
    async with transaction(who.scope) as connection:
        messenger = Messenger(connection, call)
        result = await Message().execute({"to": to, "text": text} | more, context(messages=messenger))
    await messenger.committed()
    return result


async def remind(who: Person, text: str, at: str) -> ToolResult:
    """What the tool `create_reminder` answers; committed."""
    call: Any = SimpleNamespace(id=uuid.uuid4(), tenant_id=who.scope[0], user_id=who.scope[1], tier="workspace")
    async with transaction(who.scope) as connection:
        book = ReminderBook(connection, call)
        return await CreateReminder().execute({"text": text, "at": at}, context(reminders=book))


def sent_by(who: Person) -> list[dict[str, Any]]:
    """The person's messages, oldest first."""
    return rows(
        "SELECT * FROM sent_messages WHERE tenant_id = %(t)s AND user_id = %(u)s ORDER BY created_at, id",
        t=who.scope.tenant_id,
        u=who.scope.user_id,
    )


def slack_of(receiver: Receiver) -> str:
    """An incoming webhook as of Slack, at the receiver."""
    return f"http://127.0.0.1:{receiver.port}/services/T0/B0/secret"
