"""What pages beside the queue show of approvals: the number that waits, and a call's story."""

from typing import Any

from django import template

from approvals.requests import queue
from approvals.web import cards
from tenants.people.principal import Principal

register = template.Library()

# More are told as 99+.
MOST = 99


@register.simple_tag
def waiting_approvals(principal: Principal) -> int:
    """How many requests wait in the reader's tenant, up to one beyond MOST."""
    return queue.waiting(principal, MOST + 1)


@register.filter
def capped(count: int) -> str:
    """The number as a badge shows it; nothing for none."""
    return f"{MOST}+" if count > MOST else str(count or "")


@register.simple_tag
def approval_of(call: Any, principal: Principal) -> dict[str, Any] | None:
    """The card of the request that a call waited for; None for a call that never waited."""
    found = queue.visible().filter(id=call.approval_id).first() if call.approval_id else None
    return None if found is None else cards.card(found, principal)
