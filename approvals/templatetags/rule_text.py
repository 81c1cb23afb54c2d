"""How a dry run reads on a page."""

from django import template

from approvals.rules import dry_run

register = template.Library()

WORDS = {
    "approved_by_human": "approved by a human",
    "denied_by_human": "denied by a human",
    "expired": "expired before anybody decided",
    "cancelled": "withdrawn before anybody decided",
    "waiting": "still waiting for a human",
    dry_run.BY_RULE: "let through by a rule",
    dry_run.RAN: "ran without anybody being asked",
    dry_run.REFUSED: "refused by a gate",
}


@register.filter
def in_words(outcome: str) -> str:
    """What came of a call."""
    return WORDS[outcome]
