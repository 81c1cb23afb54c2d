"""What pages beside the queue show of approvals: the number that waits, and a call's story."""

from collections.abc import Iterable
from typing import Any

from django import template

from approvals.models import Question
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


@register.simple_tag
def questions_of(call: Any, entries: Iterable[Any]) -> list[Question]:
    """What the call asked its user, in order; whoever may read the call may read it, as its arguments and result.

    The tables are not asked about a call that waits for nobody, and whose ledger `entries` have no answer.
    """
    if call.status != "running" and not any(entry.kind == "answered" for entry in entries):
        return []
    return list(Question.objects.filter(call_id=call.id).order_by("round", "position"))
