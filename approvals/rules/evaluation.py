"""Rules that decide in advance: approve what would wait for a human, or deny a call whatever its tier.

Rules fail closed: a condition that cannot be decided in bounded time approves nothing, and denies.
"""

import uuid
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from tenants.scope.transactions import Connection
from tools.gates.interface import RulesExhausted
from tools.schemas.effort import Effort

EVERY_TOOL = "*"
# Columns beside those of tools.gates.policy: the rules in force that may concern the member, deny first. A rule
# approves in its owner's stead: never the owner's own calls, and nothing once the owner may not approve either. And
# when the next rule of the tenant expires.
COLUMNS = """
    (SELECT jsonb_agg(jsonb_build_array(r.id, r.name, r.effect, r.tool_name, r.agent, r.condition, r.uses_left,
            r.binding) ORDER BY r.effect DESC, r.created_at, r.id)
        FROM approval_rules r
        WHERE r.tenant_id = m.tenant_id AND r.enabled AND (r.expires_at IS NULL OR r.expires_at > now())
            AND (r.user_id IS NULL OR r.user_id = m.user_id) AND (r.role = '' OR r.role = m.role)
            AND (r.effect = 'deny' OR (r.uses_left IS NULL OR r.uses_left > 0) AND r.owner_id <> m.user_id
                AND EXISTS (SELECT FROM memberships o JOIN users u ON u.id = o.user_id
                    WHERE o.tenant_id = r.tenant_id AND o.user_id = r.owner_id AND u.is_active
                        AND o.role IN ('approver', 'owner')))) AS rules,
    (SELECT min(r.expires_at) FROM approval_rules r
        WHERE r.tenant_id = m.tenant_id AND r.enabled AND r.expires_at > now()) AS rights_valid_until"""
# Rules with uses are locked one after the other in the order of their ids, so that two turns never wait for each
# other; the others are only kept from being switched off before the calls are committed.
_USE = """
    WITH wanted AS (SELECT * FROM unnest(%s::uuid[], %s::integer[]) AS wanted (id, times)), unlimited AS (
        SELECT r.id FROM approval_rules r JOIN wanted USING (id)
        WHERE uses_left IS NULL AND enabled AND (expires_at IS NULL OR expires_at > now()) FOR SHARE OF r), locked AS (
        SELECT r.id, times FROM approval_rules r JOIN wanted USING (id)
        WHERE uses_left >= times AND enabled AND (expires_at IS NULL OR expires_at > now())
        ORDER BY r.id FOR UPDATE OF r), limited AS (
        UPDATE approval_rules r SET uses_left = uses_left - times, updated_at = now() FROM locked
        WHERE r.id = locked.id AND uses_left >= times RETURNING r.id)
    SELECT id FROM unlimited UNION ALL SELECT id FROM limited"""


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule in force, as far as it is not about who asks."""

    id: str
    name: str
    effect: str
    tool_name: str
    agent: str
    condition: dict[str, Any] | None
    # Two that differ in this alone decide alike while both have any; `use` counts.
    uses_left: int | None = field(compare=False)
    # Of a tool of a service: what it was when the rule was made.
    binding: str = ""

    @property
    def denies(self) -> bool:
        """Whether it denies, instead of approving."""
        return self.effect == "deny"

    def concerns(self, tool_name: str, agent: str) -> bool:
        """Whether it is about calls of the tool by the agent, whatever their arguments."""
        named = self.tool_name == tool_name or (self.denies and self.tool_name == EVERY_TOOL)
        return named and self.agent in ("", agent)

    def matches(self, arguments: dict[str, Any], effort: Effort) -> bool | None:
        """Whether the arguments are among those that it is about; None when that cannot be decided."""
        return True if self.condition is None else effort.satisfies(self.condition, arguments)


def from_row(row: dict[str, Any] | None) -> tuple[Rule, ...]:
    """The rules out of a row that holds COLUMNS."""
    return tuple(Rule(*values) for values in (row and row["rules"]) or ())


async def use(connection: Connection, rule_ids: Iterable[str]) -> None:
    """Count the calls that rules let through, in the transaction that commits the calls; raises RulesExhausted."""
    times = Counter(rule_ids)
    if not times:
        return
    used = await connection.execute(_USE, [[uuid.UUID(each) for each in times], list(times.values())])
    if len(await used.fetchall()) < len(times):
        raise RulesExhausted
