"""Whether one member may call one tool, gate by gate: what REST answers and the pages of tools show."""

from collections.abc import Sequence
from dataclasses import dataclass

from approvals.requests import callers_rights
from gateway.runs import reading
from gateway.runs.errors import NoSuchAgent
from tenants.scope.transactions import TenantScope, transaction
from tools.gates.interface import Caller, GateResult, Rights
from tools.invocation import evaluation, lookup


@dataclass(frozen=True, slots=True)
class Access:
    """The gates' answers about a tool, through an agent; None for one that nobody can call, and `why`."""

    agent: str
    gates: Sequence[GateResult] | None
    tier: str = ""
    why: str = ""

    @property
    def allowed(self) -> bool:
        """Whether every gate says yes, if need be once a human has approved."""
        return self.gates is not None and all(answer.ok for answer in self.gates)


async def rights_under(scope: TenantScope, agent: str | None) -> tuple[Rights, str]:
    """The rights of the scope's user under an agent, or the tenant's default one, and its slug. Raises NoSuchAgent."""
    async with transaction(scope) as connection:
        row = None if agent and "\x00" in agent else await reading.context(connection, scope.user_id, agent)
    if row is None or row["agent_id"] is None:
        raise NoSuchAgent(agent)
    return callers_rights.from_row(row, row), row["slug"]


async def of(scope: TenantScope, name: str, agent: str | None) -> Access:
    """Whether the scope's user may call the tool; nothing is counted. Raises NoSuchAgent."""
    found, slug = await rights_under(scope, agent)
    tool = lookup.known(found.policy, name)
    if tool is None:
        why = found.policy.closed_tools.get(name)
        return Access(slug, None, why=f"{name} cannot be called: {why}." if why else "There is no such tool.")
    answers = await evaluation.access(tool, found, Caller(*scope, agent=slug, charge=False))
    return Access(slug, answers, found.policy.tier(tool).value)
