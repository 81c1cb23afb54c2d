"""What pages show of what reaches people: the number of unread entries, and how far a call's messages are."""

from contextlib import nullcontext
from typing import Any

from django import template
from django.db import connection

from notifications.destinations import sending
from notifications.inbox import entries
from notifications.models import SentMessage
from tenants.people.principal import Principal
from tenants.scope import transactions

register = template.Library()


@register.simple_tag
def unread_entries(principal: Principal) -> int:
    """How many entries the reader has not read, up to one beyond MOST; one query on a page in its tenant's scope."""
    scope = transactions.scope(principal.tenant_id, principal.user_id)
    with nullcontext() if connection.in_atomic_block else scope:
        return entries.unread(principal)


@register.simple_tag
def messages_of(call: Any, principal: Principal) -> list[SentMessage]:
    """What the call has sent, for the person in whose name it was."""
    return sending.of_call(principal, call)


@register.filter
def up_to_most(count: int) -> str:
    """The number as a badge shows it; nothing for none."""
    return f"{entries.MOST}+" if count > entries.MOST else str(count or "")
