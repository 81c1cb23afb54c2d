"""What an agent was after each of its changes, who changed it, and what differs between two versions."""

import uuid
from decimal import Decimal
from typing import Any

from django.db.models import QuerySet

from gateway.models import Agent, AgentVersion
from tenants.people import changes
from tenants.people.changes import Kind, record
from tools.interface import Tier

# What a version says of an agent, and a run takes over when it begins.
FIELDS = (
    *("name", "instructions", "model", "tools", "is_default", "max_tier", "on_refused_approval", "on_disconnect"),
    *("max_turns", "max_seconds", "max_run_tokens", "max_run_usd", "tool_seconds", "max_result_bytes"),
    *("max_offered_tools", "pinned_tools"),
)

# Fields that came after the first versions. No agent had any of them before.
_LATER = frozenset({"max_run_tokens", "max_run_usd"})


def _reaches_further(before: changes.Said | None, after: changes.Said | None) -> bool:
    """An agent that can be chosen names a tool that it did not, or uses tools of a higher tier."""
    if after is None or after.values["archived"]:
        return False
    was: Any = (
        before.values if before is not None and not before.values["archived"] else {"tools": [], "max_tier": None}
    )
    if not after.values["tools"]:
        return False
    if was["tools"] != "all" and (after.values["tools"] == "all" or set(after.values["tools"]) - set(was["tools"])):
        return True
    return _rank(after.values["max_tier"]) > _rank(was["max_tier"])


def _rank(max_tier: str) -> int:
    """Empty is any tier."""
    return Tier(max_tier or Tier.ELEVATED).rank


# What the record of changes says of an agent.
AGENT = Kind(target="agent", name="slug", fields=(*FIELDS, "archived"), raises=_reaches_further)


def values(agent: Agent) -> dict[str, Any]:
    """What a version says of an agent as it is now: JSON values, of which money is a decimal string."""
    return {name: changes.plain(getattr(agent, name)) for name in FIELDS}


def fields_of(version: AgentVersion) -> dict[str, Any]:
    """What a version says of its agent, and of fields that came later what every agent had then."""
    found = {name: version.values.get(name) for name in FIELDS if name in version.values or name in _LATER}
    most = found["max_run_usd"]
    return found | {"max_run_usd": None if most is None else Decimal(most)}


def put_on_record(agent: Agent, before: changes.Said | None, restored: int | None = None) -> None:
    """Record what became of an agent that was saved under a new number, by whoever acts; in the change's transaction.

    `before` is what AGENT said of it, None for a new one; `restored` the number of the version that was taken back.
    """
    by = changes.actor()
    AgentVersion.objects.create(
        tenant_id=agent.tenant_id,
        agent=agent,
        number=agent.version,
        values=values(agent),
        restored=restored,
        actor_id=by.user_id,
        via=by.via,
    )
    record(before, AGENT.of(agent))


def of(agent_id: uuid.UUID) -> QuerySet[AgentVersion]:
    """An agent's versions, the newest first, with who made them."""
    return AgentVersion.objects.filter(agent_id=agent_id).select_related("actor").order_by("-number")


def before(agent_id: uuid.UUID, number: int) -> AgentVersion | None:
    """The version that one came after; None for the first that is known."""
    return of(agent_id).filter(number__lt=number).first()


def found(agent_id: uuid.UUID, number: int) -> AgentVersion | None:
    """One version of an agent."""
    # A larger number is none that the column can hold.
    if not 0 < number < 2**31:
        return None
    return AgentVersion.objects.filter(agent_id=agent_id, number=number).select_related("actor").first()


def differences(before: dict[str, Any], after: dict[str, Any]) -> dict[str, list[Any]]:
    """By field, [before, after], where two versions say different things; a field that one does not know is null."""
    names = [name for name in FIELDS if name in before or name in after]
    return {name: [before.get(name), after.get(name)] for name in names if before.get(name) != after.get(name)}
