"""Rules that decide in advance: approve what would wait for a human, or deny a call whatever its tier.

Rules fail closed: a condition that cannot be decided approves nothing, and denies.
"""

import uuid
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from tenants.scoping import Connection
from tools import schema

EVERY_TOOL = "*"
# A column beside those of tools.policy: the rules in force that may concern the member, deny first.
COLUMN = """
    (SELECT jsonb_agg(jsonb_build_array(r.id, r.name, r.effect, r.tool_name, r.agent, r.condition, r.uses_left)
            ORDER BY r.effect DESC, r.created_at, r.id)
        FROM approval_rules r
        WHERE r.enabled AND (r.expires_at IS NULL OR r.expires_at > now()) AND (r.uses_left IS NULL OR r.uses_left > 0)
            AND (r.user_id IS NULL OR r.user_id = m.user_id) AND (r.role = '' OR r.role = m.role)) AS rules"""
_USE = """
    UPDATE approval_rules SET uses_left = uses_left - used.times, updated_at = now()
    FROM unnest(%s::uuid[], %s::integer[]) AS used (id, times)
    WHERE approval_rules.id = used.id AND enabled AND (expires_at IS NULL OR expires_at > now())
        AND (uses_left IS NULL OR uses_left >= used.times)
    RETURNING approval_rules.id"""


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule in force, as far as it is not about who asks."""

    id: str
    name: str
    effect: str
    tool_name: str
    agent: str
    condition: dict[str, Any] | None
    uses_left: int | None

    @property
    def denies(self) -> bool:
        """Whether it denies, instead of approving."""
        return self.effect == "deny"

    def concerns(self, tool_name: str, agent: str) -> bool:
        """Whether it is about calls of the tool by the agent, whatever their arguments."""
        named = self.tool_name == tool_name or (self.denies and self.tool_name == EVERY_TOOL)
        return named and self.agent in ("", agent)

    def matches(self, arguments: dict[str, Any]) -> bool:
        """Whether the arguments are among those that it is about; what cannot be decided counts against the call."""
        if self.condition is None:
            return True
        fits = schema.satisfies(self.condition, arguments)
        return self.denies if fits is None else fits


def from_row(row: dict[str, Any] | None) -> tuple[Rule, ...]:
    """The rules out of a row that holds COLUMN."""
    return tuple(Rule(*values) for values in (row and row["rules"]) or ())


class RulesExhausted(Exception):
    """A rule was used up, switched off or ran out after it had let a call through: judge again."""


async def use(connection: Connection, rule_ids: Iterable[str]) -> None:
    """Count the calls that rules let through, in the transaction that commits the calls; raises RulesExhausted."""
    times: Mapping[str, int] = Counter(rule_ids)
    if not times:
        return
    # In one order everywhere, so that two turns never wait for each other.
    ids = sorted(times)
    used = await connection.execute(_USE, [[uuid.UUID(each) for each in ids], [times[each] for each in ids]])
    if len(await used.fetchall()) < len(ids):
        raise RulesExhausted
