"""What a member's rights know of their verified destinations, which models may send to without asking."""

from dataclasses import replace
from typing import Any

from tools.interface import CallFacts

# Of those that may be sent to: not removed, and proved.
OPEN = "d.removed_at IS NULL AND d.verified_at IS NOT NULL"
# A column beside those of tools.gates.policy: names, and addresses of e-mail, as names are compared. Whatever changes
# what it says lets cached rights be read again: notifications/migrations/0005_destinations.py says where.
COLUMN = f"""
    (SELECT coalesce(array_agg(d.folded), '{{}}')
        || coalesce(array_agg(lower(d.destination)) FILTER (WHERE d.channel = 'email'), '{{}}')
        FROM destinations d WHERE d.tenant_id = m.tenant_id AND d.user_id = m.user_id AND {OPEN}) AS destinations"""


def from_row(row: dict[str, Any] | None, facts: CallFacts) -> dict[str, Any]:
    """`facts` of a policy with the destinations of a row that holds COLUMN; without a row they are not known."""
    if row is None:
        return {"facts": facts}
    return {"facts": replace(facts, destinations=frozenset(row["destinations"] or ()))}
