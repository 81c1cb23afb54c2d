"""Who may use a tool, as pages say it.

Agents belong to a package above this one, which registers here how that is found, when Django starts.
"""

import uuid
from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class AgentAudience:
    """The roles whose members may call a tool through an agent; `why` says what keeps all others from it."""

    agent: str
    name: str
    roles: list[str]
    why: str = ""


@dataclass(frozen=True, slots=True)
class Audience:
    """Who may use a tool: by agent and role, and the grants that single people have."""

    agents: list[AgentAudience] = field(default_factory=list)
    grants: list[tuple[str, str, str]] = field(default_factory=list)


Find = Callable[[uuid.UUID, str], Audience]
_registered: list[Find] = []


def register(find: Find) -> None:
    """Say how the audience of a tenant's tool is found, in place of what was said before."""
    _registered[:] = [find]


def of(tenant_id: uuid.UUID, tool_name: str) -> Audience | None:
    """Who may use a tool in the caller's scope, were it switched on; None when nothing says so."""
    return _registered[0](tenant_id, tool_name) if _registered else None
